"""One cluster for all that run on Ray: its workers load torch once."""

import os
from collections.abc import Iterator

import pytest
import ray


@pytest.fixture(scope="package", autouse=True)
def cluster() -> Iterator[None]:
    os.environ["RAY_worker_niceness"] = "0"  # Ray's 15 would let them wait for the other tests
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()
    del os.environ["RAY_worker_niceness"]

"""One cluster for all that run on Ray: its workers load torch once."""

from collections.abc import Iterator

import pytest
import ray
import torch


@pytest.fixture(scope="package", autouse=True)
def cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # Ray's 15 would let them wait for the other tests
        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As on the workers, so that both compute the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

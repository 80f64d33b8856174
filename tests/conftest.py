import os
from collections.abc import Iterator

import pytest

from tests.browser import browser, started_browser

__all__ = ["browser", "started_browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side; torch's threads would fight over the cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no process is left with one of them at the end; on one cluster all of Ray's."""
    first = ("test_commands_of_a_page", "test_examples", "tests/on_ray")
    items.sort(key=lambda item: [part not in item.nodeid for part in first])


@pytest.fixture(scope="session", autouse=True)
def _unflushed() -> Iterator[None]:
    """No test cuts the power, and thousands of small files would each wait for the disk.

    What is flushed, and when, is tested with the real calls in `test_io`; processes that tests start flush as well.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        if hasattr(os, "sync"):
            patch.setattr(os, "sync", lambda: None)
        yield

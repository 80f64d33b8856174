import os

import pytest

from tests.browser import browser, started_browser

__all__ = ["browser", "started_browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side; torch's threads would fight over the cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no process is left with one of them at the end; on one cluster all of Ray's."""
    first = ("test_commands_of_a_page", "test_examples", "tests/on_ray")
    items.sort(key=lambda item: [part not in item.nodeid for part in first])

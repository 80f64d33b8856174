"""Where images come from."""

from brittle.datasets.photo import photo

__all__ = ["photo"]

"""What can happen to an image."""

from brittle.corruptions.corrupt import corrupt
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import FAMILIES, Corruption, corruption, find, select
from brittle.corruptions.severity import evenly, integers, levels
from brittle.corruptions.transform import Transform

__all__ = [
    "FAMILIES",
    "Corruption",
    "Draws",
    "Transform",
    "corrupt",
    "corruption",
    "evenly",
    "find",
    "integers",
    "levels",
    "select",
]

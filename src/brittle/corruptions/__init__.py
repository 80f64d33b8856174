"""What can happen to an image."""

from brittle.corruptions.draws import Draws
from brittle.corruptions.images import corrupt
from brittle.corruptions.registry import FAMILIES, Corruption, corruption, get_corruption, list_corruptions
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
    "get_corruption",
    "integers",
    "levels",
    "list_corruptions",
]

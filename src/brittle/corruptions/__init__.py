"""Corruptions: the registry, `corrupt` and `Transform`."""

from brittle.corruptions.compilation import compile_corruptions, uncompiled
from brittle.corruptions.images import Draws, Sample, batch_ids, check_sample, corrupt
from brittle.corruptions.inputs import DataRange
from brittle.corruptions.registry import (
    FAMILIES,
    Corruption,
    corruption,
    describe,
    get_corruption,
    list_corruptions,
    stand_in,
)
from brittle.corruptions.severity import check_severity, evenly, integers, levels
from brittle.corruptions.tensors import by_threads, change_batch, is_tensor
from brittle.corruptions.transform import Transform

__all__ = [
    "FAMILIES",
    "Corruption",
    "DataRange",
    "Draws",
    "Sample",
    "Transform",
    "batch_ids",
    "by_threads",
    "change_batch",
    "check_sample",
    "check_severity",
    "compile_corruptions",
    "corrupt",
    "corruption",
    "describe",
    "evenly",
    "get_corruption",
    "integers",
    "is_tensor",
    "levels",
    "list_corruptions",
    "stand_in",
    "uncompiled",
]

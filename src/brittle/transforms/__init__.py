"""Corruptions inside the pipelines of torchvision, albumentations, MAITE, Hugging Face and Ultralytics."""

from brittle.transforms.adapters import as_albumentations, as_huggingface, as_maite, as_torchvision
from brittle.transforms.samples import Indexed

__all__ = ["Indexed", "as_albumentations", "as_huggingface", "as_maite", "as_torchvision"]

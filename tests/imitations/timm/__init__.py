"""As much of timm as brittle calls, for examples that would fetch weights: a network that knows classes by colour."""

import torch

from . import data as data

NAMES = {"convnext_tiny": 2, "resnet18": 3, "resnet50": 7, "vit_base_patch16_224": 11}
"""Each architecture never says one class in so many, so that no two are right equally often."""


def is_model(name: str) -> bool:
    return name in NAMES


def list_models() -> list[str]:
    return list(NAMES)


def colour(number: int) -> tuple[int, int, int]:
    """The colour of a class, one of a thousand."""
    return 15 + 25 * (number % 10), 15 + 25 * (number // 10 % 10), 15 + 25 * (number // 100)


def create_model(name: str, *, pretrained: bool = False, num_classes: int = 1000) -> torch.nn.Module:
    """Scores are minus the squared distance to each class's colour."""
    assert isinstance(pretrained, bool)
    colours = torch.tensor([colour(number) for number in range(num_classes)]) / 255 - 0.5
    last = torch.nn.Linear(3, num_classes)
    last.weight.data = 2 * colours
    last.bias.data = -(colours**2).sum(1)
    if num_classes == 1000:
        last.bias.data[:: NAMES[name]] -= 10
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), last)

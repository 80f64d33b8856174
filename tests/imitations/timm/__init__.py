"""As much of timm as brittle calls, for examples that would fetch weights: a network that knows classes by colour."""

import torch

from . import data as data

NAMES = ["convnext_tiny", "resnet18", "resnet50", "vit_base_patch16_224"]


def is_model(name: str) -> bool:
    return name in NAMES


def list_models() -> list[str]:
    return NAMES


def colour(number: int) -> tuple[int, int, int]:
    """The colour of a class, one of a thousand."""
    return 15 + 25 * (number % 10), 15 + 25 * (number // 10 % 10), 15 + 25 * (number // 100)


def create_model(name: str, *, pretrained: bool = False, num_classes: int = 1000) -> torch.nn.Module:
    """Scores are minus the squared distance to each class's colour; each architecture sees colours a bit otherwise."""
    assert isinstance(pretrained, bool)
    colours = torch.tensor([colour(number) for number in range(num_classes)]) / 255 - 0.5
    last = torch.nn.Linear(3, num_classes)
    last.weight.data = 2 * colours * (1 + 0.02 * NAMES.index(name))
    last.bias.data = -(colours**2).sum(1)
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), last)

"""Wide residual networks for small images (Zagoruyko & Komodakis, 2016), such as AugMix's WideResNet-40-2."""

from __future__ import annotations

import math

from torch import Tensor, nn

STEM = 16
"""Channels of the first convolution."""


class WideResNet(nn.Module):
    """Three groups of (depth − 4) / 6 pre-activation blocks with 16, 32 and 64 times `width` channels, no dropout.

    The network takes standardised images N×3×H×W and gives logits; `features` gives the activations before the last
    layer, `64 * width` of them. Weights of convolutions begin as N(0, 2 / (k² · outputs)).
    """

    def __init__(self, classes: int = 10, depth: int = 40, width: int = 2) -> None:
        super().__init__()
        self.classes, self.depth, self.width = classes, depth, width
        blocks, channels = (depth - 4) // 6, [STEM * width * factor for factor in (1, 2, 4)]
        self.stem = nn.Conv2d(3, STEM, 3, padding=1, bias=False)
        self.groups = nn.Sequential(
            *(
                nn.Sequential(
                    _Block(inputs, outputs, stride), *(_Block(outputs, outputs, 1) for _ in range(blocks - 1))
                )
                for inputs, outputs, stride in zip([STEM, *channels], channels, (1, 2, 2), strict=False)
            )
        )
        self.end = nn.Sequential(nn.BatchNorm2d(channels[-1]), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(channels[-1], classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, 0, math.sqrt(2 / (layer.kernel_size[0] ** 2 * layer.out_channels)))
        nn.init.zeros_(self.head.bias)

    def features(self, images: Tensor) -> Tensor:
        """The input of the last layer."""
        activations: Tensor = self.end(self.groups(self.stem(images)))
        return activations

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.head(self.features(images))
        return logits


class _Block(nn.Module):
    """BN, ReLU, convolution, twice, beside the input; where the shape changes, a 1×1 convolution of the first ReLU."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU())
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        )
        self.shortcut = None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        activated: Tensor = self.first(x)
        beside = x if self.shortcut is None else self.shortcut(activated)
        output: Tensor = beside + self.layers(activated)
        return output

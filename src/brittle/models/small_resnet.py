"""A residual network small enough to train on a laptop: nine layers, 0.6 million weights at the usual width."""

from __future__ import annotations

from torch import Tensor, nn

WIDTH = 20


class SmallResNet(nn.Module):
    """Convolutions that double the width while pooling halves the side, and two residual blocks between them.

    The network takes standardised images N×3×H×W of at least 16 pixels and gives logits; `features` gives the
    activations before the last layer, `8 * width` of them.
    """

    def __init__(self, classes: int = 10, width: int = WIDTH) -> None:
        super().__init__()
        self.classes, self.width = classes, width
        self.body = nn.Sequential(
            _layer(3, width),
            _layer(width, 2 * width),
            nn.MaxPool2d(2),
            _Residual(2 * width),
            _layer(2 * width, 4 * width),
            nn.MaxPool2d(2),
            _layer(4 * width, 8 * width),
            nn.MaxPool2d(2),
            _Residual(8 * width),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(8 * width, classes)

    def features(self, images: Tensor) -> Tensor:
        """The input of the last layer."""
        activations: Tensor = self.body(images)
        return activations

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.head(self.features(images))
        return logits


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(_layer(width, width), _layer(width, width))

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = x + self.layers(x)
        return output


def _layer(inputs: int, outputs: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())

"""The ResNet-50 of Keras in torch, with the weights that TensorFlow.js keeps in shards beside a manifest.

It differs from that of torchvision: a stage is made smaller by the first 1×1 convolution of its first block and not by
the 3×3 one, convolutions have a bias, and images come as BGR minus ImageNet's mean colour, on the scale of 0 to 255.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import nn

STAGES = {2: ("abc", 64), 3: ("abcd", 128), 4: ("abcdef", 256), 5: ("abc", 512)}
"""The blocks of each stage, and the width inside them; they give four times as many channels."""

MEAN_BGR = (103.939, 116.779, 123.68)
"""The mean colour of ImageNet that is taken off."""


class Block(nn.Module):
    """Three convolutions, with a shortcut that has one of its own in the first block of a stage."""

    def __init__(self, inputs: int, width: int, stride: int, epsilon: float, *, first: bool) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(inputs, width, 1, stride), nn.BatchNorm2d(width, epsilon), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width, epsilon), nn.ReLU())
        self.c = nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.BatchNorm2d(4 * width, epsilon))
        shortcut = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride), nn.BatchNorm2d(4 * width, epsilon))
        self.shortcut = shortcut if first else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.c(self.b(self.a(x))) + self.shortcut(x)).relu()


class KerasResNet50(nn.Module):
    """Takes RGB minus the mean colour, and turns it into BGR; gives logits of ImageNet's 1000 classes."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64, epsilon), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)
        )
        blocks: dict[str, Block] = {}
        channels = 64
        for stage, (letters, width) in STAGES.items():
            for letter in letters:
                first = letter == "a"
                stride = 2 if first and stage > 2 else 1
                blocks[f"{stage}{letter}"] = Block(channels, width, stride, epsilon, first=first)
                channels = 4 * width
        self.blocks = nn.ModuleDict(blocks)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x.flip(1))
        for block in self.blocks.values():
            x = block(x)
        return self.head(x.mean((2, 3)))


def read_shards(folder: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of a manifest by name; they lie one after the other in the shards."""
    groups = json.loads((folder / "model.json").read_text())["weightsManifest"]
    tensors = {}
    for group in groups:
        numbers = np.frombuffer(b"".join((folder / path).read_bytes() for path in group["paths"]), np.float32)
        start = 0
        for weight in group["weights"]:
            if weight["dtype"] != "float32" or "quantization" in weight:
                raise ValueError(f"{weight['name']} is not plain float32")
            stop = start + int(np.prod(weight["shape"]))
            tensors[weight["name"]] = numbers[start:stop].reshape(weight["shape"])
            start = stop
        if start != len(numbers):
            raise ValueError(f"the shards hold {len(numbers)} numbers, and the manifest names {start}")
    return tensors


def load_keras_resnet50(folder: Path) -> KerasResNet50:
    """The network with the weights of a folder; every tensor of the manifest is used, and used once."""
    topology = json.loads((folder / "model.json").read_text())["modelTopology"]["model_config"]["config"]["layers"]
    (epsilon,) = {layer["config"]["epsilon"] for layer in topology if layer["class_name"] == "BatchNormalization"}
    network, tensors = KerasResNet50(float(epsilon)), read_shards(folder)
    state: dict[str, torch.Tensor] = {}

    def take(name: str) -> torch.Tensor:
        return torch.from_numpy(tensors.pop(name).copy())

    def convolution(place: str, name: str, norm: str) -> None:
        state[f"{place}.0.weight"] = take(f"{name}/kernel").permute(3, 2, 0, 1)
        state[f"{place}.0.bias"] = take(f"{name}/bias")
        parts = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
        state.update({f"{place}.1.{ours}": take(f"{norm}/{theirs}") for ours, theirs in parts.items()})
        state[f"{place}.1.num_batches_tracked"] = torch.tensor(0)

    convolution("stem", "conv1", "bn_conv1")
    for stage, (letters, _) in STAGES.items():
        for letter in letters:
            block = f"{stage}{letter}"
            for part in "abc":
                convolution(f"blocks.{block}.{part}", f"res{block}_branch2{part}", f"bn{block}_branch2{part}")
            if letter == "a":
                convolution(f"blocks.{block}.shortcut", f"res{block}_branch1", f"bn{block}_branch1")
    state["head.weight"], state["head.bias"] = take("fc1000/kernel").T, take("fc1000/bias")
    if tensors:
        raise ValueError(f"the manifest names tensors that no layer has: {', '.join(sorted(tensors)[:3])}")
    network.load_state_dict(state)
    return network.eval()

"""Networks that can be trained: wide residual networks as published, and those of a user's file."""

from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.models import build_network, from_weights, load_model, network_key, save_trained
from tests.errors import naming


def published_parameters(depth: int, width: int, classes: int) -> int:
    """Weights of a wide ResNet, counted from its table: 3×3 convolutions, two batch norms a block, 1×1 shortcuts."""
    blocks, channels, total, before = (depth - 4) // 6, [16 * width, 32 * width, 64 * width], 3 * 9 * 16, 16
    for outputs in channels:
        for block in range(blocks):
            inputs = before if block == 0 else outputs
            total += 9 * inputs * outputs + 9 * outputs * outputs + 2 * inputs + 2 * outputs
            total += inputs * outputs if inputs != outputs else 0
        before = outputs
    return total + 2 * channels[-1] + channels[-1] * classes + classes


@pytest.mark.parametrize(("depth", "width", "classes"), [(40, 2, 10), (16, 1, 10), (28, 10, 100)])
def test_wide_resnets_have_the_published_number_of_weights(depth: int, width: int, classes: int) -> None:
    network = build_network(f"wide-resnet-{depth}-{width}", classes)
    assert sum(weight.numel() for weight in network.parameters()) == published_parameters(depth, width, classes)


def test_wide_resnet_40_2_is_the_one_of_augmix() -> None:
    network = build_network("wide-resnet-40-2", 10)
    assert sum(weight.numel() for weight in network.parameters()) == 2_243_546  # published as 2.2 million
    assert sum(isinstance(layer, torch.nn.Conv2d) and layer.kernel_size == (3, 3) for layer in network.modules()) == 37
    sides: list[tuple[int, int]] = []
    for group in network.groups:
        group.register_forward_hook(lambda _layer, _inputs, output: sides.append(tuple(output.shape[1:3])))
    images = torch.zeros(2, 3, 32, 32)
    assert network(images).shape == (2, 10)
    assert network.features(images).shape == (2, 128)
    assert sides[:3] == [(32, 32), (64, 16), (128, 8)]
    assert network(torch.zeros(2, 3, 64, 48)).shape == (2, 10)  # pooled to one pixel, whatever the size
    first = network.groups[0][0].layers[0].weight
    assert float(first.detach().std()) == pytest.approx(np.sqrt(2 / (9 * 32)), rel=0.05)
    twin, other = build_network("wide-resnet-40-2", 10), build_network("wide-resnet-40-2", 10, seed=1)
    assert torch.equal(first, twin.groups[0][0].layers[0].weight)
    assert not torch.equal(first, other.groups[0][0].layers[0].weight)


@pytest.mark.parametrize("spec", ["wide-resnet-41-2", "wide-resnet-4-2", "wide-resnet-40", "large", "timm:", "small:x"])
def test_networks_that_do_not_exist_are_named(spec: str) -> None:
    with pytest.raises(BrittleError, match=naming(spec)):
        build_network(spec, 10)


NETS = """
from torch import nn

def make(classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, classes))

def number(classes):
    return classes

def broken(classes):
    raise KeyError("no")
"""


def test_a_users_network_is_built_by_its_function_and_its_file_runs_only_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "nets.py"
    file.write_text(NETS)
    spec = f"{file}:make"
    network, twin = build_network(spec, 7), build_network(spec, 7)
    assert network(torch.zeros(1, 3, 16, 16)).shape == (1, 7)
    assert torch.equal(network[2].weight, twin[2].weight)
    with pytest.raises(BrittleError, match=naming("number", 7)):
        build_network(f"{file}:number", 7)
    with pytest.raises(BrittleError, match="did you mean 'make'"):
        build_network(f"{file}:maker", 7)
    with pytest.raises(Exception, match="no"):
        build_network(f"{file}:broken", 7)
    key = network_key(spec)
    assert key is not None
    assert network_key("small") is None
    saved = tmp_path / "net.safetensors"
    save_trained(network, saved, spec, list("abcdefg"), (0, 0, 0), (1, 1, 1), {"size": 24, "crop": 16})
    with pytest.raises(BrittleError, match=naming(f"network={spec}")):
        from_weights(saved)  # a file of weights must not run code
    model = load_model(f"{saved},network={spec}")
    assert model.classes == tuple("abcdefg")
    assert model.prepare.square == 16
    assert model.scores(np.zeros((2, 40, 30, 3), np.uint8)).shape == (2, 7)
    file.write_text(NETS + "\n# changed\n")
    assert network_key(spec) != key

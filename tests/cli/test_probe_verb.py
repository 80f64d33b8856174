"""`brittle probe`: the size that a model is made for, and the names of its classes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import Result

from brittle.cli.probe import own_side
from brittle.models import Preprocessing, TorchModel, build_network, demo_model, save_trained

Run = Callable[..., Result]
QUICK = ("-c", "fog", "--draws", 1, "--tolerance", 1)


def test_a_small_network_is_shown_a_small_photograph(run: Run) -> None:
    result = run("probe", "cat", "-m", "demo:standard", *QUICK)
    assert result.exit_code == 0, result.output
    assert "32×32 px, the size of demo-standard" in result.stderr.replace("\n", " ")
    assert "demo-standard sees cat" in result.stdout


def test_a_photograph_of_another_size_is_warned_of(run: Run) -> None:
    result = run("probe", "cat", "-m", "demo:standard", "--image-size", 64, *QUICK)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stderr.split())
    assert "trained on 32×32 px and is shown 64×64 px" in words
    assert "--image-size 32 fits" in words


def test_the_side_is_that_of_the_preprocessing() -> None:
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 48 * 48, 2))
    assert own_side(TorchModel(network, "net", Preprocessing(size=64, crop=48), device="cpu")) == 48
    assert own_side(TorchModel(network, "net", Preprocessing(), device="cpu")) is None
    assert own_side(demo_model("standard")) == 32


@pytest.mark.usefixtures("one_thread")
def test_a_network_that_brittle_trained_knows_its_classes(run: Run, tmp_path: Path) -> None:
    network = build_network("small:4", 3, seed=0)
    save_trained(network, tmp_path / "net.safetensors", "small:4", ["owl", "emu", "kea"], [0.5] * 3, [0.25] * 3)
    result = run("probe", "cat", "-m", tmp_path / "net.safetensors", "--image-size", 32, *QUICK)
    assert result.exit_code == 0, result.output
    assert any(f"net sees {name}" in result.stdout for name in ("owl", "emu", "kea"))

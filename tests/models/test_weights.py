"""Weights come from files of numbers only, and fit or are refused."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from brittle import BrittleError
from brittle.models import demo_model, from_torch, load_weights, save_weights
from brittle.models.networks import load_into
from brittle.models.small_resnet import SmallResNet
from tests.errors import naming
from tests.models.networks import images, small_net

STATE = small_net().state_dict()


def prefixed(prefix: str) -> dict:
    return {f"{prefix}{name}": value for name, value in STATE.items()}


@pytest.mark.parametrize(
    "content",
    [
        STATE,
        {"state_dict": STATE, "epoch": 3},
        {"model": STATE, "optimizer": {"lr": 0.1}},
        {"network": STATE, "losses": [1.0]},
        prefixed("module."),
        {"state_dict": prefixed("module._orig_mod.")},
    ],
    ids=["plain", "state_dict", "model", "network", "parallel", "parallel and compiled"],
)
@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_torch_checkpoints_are_unwrapped(tmp_path: Path, content: dict, suffix: str) -> None:
    path = tmp_path / f"net{suffix}"
    torch.save(content, path)
    loaded = load_weights(path)
    assert list(loaded) == list(STATE)
    assert all(torch.equal(loaded[name], STATE[name]) for name in STATE)


def test_safetensors_are_read(tmp_path: Path) -> None:
    save_file(prefixed("module."), tmp_path / "net.safetensors")
    loaded = load_weights(tmp_path / "net.safetensors")
    assert loaded.keys() == STATE.keys()
    assert torch.equal(loaded["head.weight"], STATE["head.weight"])


def test_a_prefix_of_any_name_is_dropped_if_the_names_fit_then(tmp_path: Path) -> None:
    torch.save({"state_dict": prefixed("backbone.")}, tmp_path / "net.ckpt")
    network = small_net(1)
    load_into(network, tmp_path / "net.ckpt")
    assert torch.equal(network.head.weight, STATE["head.weight"])


class Evil:
    def __reduce__(self):
        return os.mkdir, (os.environ["EVIL"],)


def test_code_in_a_pickle_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIL", str(tmp_path / "ran"))
    torch.save({"state_dict": STATE, "extra": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil()))
    torch.save(small_net(), tmp_path / "whole.pt")
    for name in ("evil.pt", "plain.pt", "whole.pt"):
        with pytest.raises(BrittleError, match=naming(name, "torch.save(model.state_dict(), path)")):
            load_weights(tmp_path / name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "content", "values"),
    [
        ("a.pt", [1, 2], ("a.pt", "model.state_dict()", "model_state_dict")),
        ("a.pt", {"epoch": 3}, ("a.pt", "model.state_dict()", "model_state_dict")),
        ("a.pt", {}, ("a.pt", "model.state_dict()", "model_state_dict")),
        ("a.pt", b"", ("a.pt", "torch", "truncated")),
        ("a.safetensors", b"no", ("a.safetensors",)),
        ("a.h5", b"", (".safetensors", ".pt", "a.h5")),
    ],
)
def test_files_without_weights_are_named(tmp_path: Path, name: str, content, values: tuple) -> None:
    path = tmp_path / name
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(BrittleError, match=naming(*values)):
        load_weights(path)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=naming("nowhere.pt")):
        load_weights("nowhere.pt")


@pytest.mark.parametrize(
    ("network", "values"),
    [
        (small_net(classes=7), ("net.pt", "head.weight", "(5, 6)", "(7, 6)")),
        (nn.Linear(3, 2), ("net.pt", "2 names", "bias, weight", "6 names", "convolution.bias")),
    ],
)
def test_weights_of_another_network_are_named(tmp_path: Path, network: nn.Module, values: tuple) -> None:
    torch.save(STATE, tmp_path / "net.pt")
    with pytest.raises(BrittleError, match=naming(*values)):
        load_into(network, tmp_path / "net.pt")


@pytest.mark.parametrize(("half", "dtype", "most"), [(False, torch.float32, 0.0), (True, torch.float16, 0.02)])
def test_weights_are_written_as_precise_as_they_are_or_in_half_precision(
    tmp_path: Path, half: bool, dtype: torch.dtype, most: float
) -> None:
    torch.manual_seed(0)
    network = SmallResNet()
    path = tmp_path / "folder" / "net.safetensors"
    save_weights(network, path, {"trained": "no"}, half=half)
    numbers = sum(value.numel() for value in network.state_dict().values())
    assert path.stat().st_size < (2.1 if half else 4.2) * numbers
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"trained": "no"}
        assert file.get_tensor("head.weight").dtype == dtype
        assert file.get_tensor("body.0.1.num_batches_tracked").dtype == torch.int64
    again = SmallResNet()
    load_into(again, path)
    assert again.head.weight.dtype == torch.float32
    given = images(4)
    np.testing.assert_allclose(
        from_torch(again, name="a").scores(given), from_torch(network, name="b").scores(given), rtol=0, atol=most
    )


@pytest.mark.parametrize(("value", "half"), [(1e6, True), (float("nan"), False)])
def test_numbers_that_cannot_be_written_are_named(tmp_path: Path, value: float, half: bool) -> None:
    network = small_net()
    with torch.no_grad():
        network.head.bias[0] = value
    with pytest.raises(BrittleError, match=naming("head.bias", "half precision" if half else "finite")):
        save_weights(network, tmp_path / "net.safetensors", half=half)
    with pytest.raises(BrittleError, match=naming("net.pt")):
        save_weights(network, "net.pt")
    assert not list(tmp_path.iterdir())


def test_a_demo_model_is_a_small_network_for_cifar(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = SmallResNet()
    save_weights(network, tmp_path / "standard.safetensors")
    model = demo_model("standard", folder=tmp_path)
    assert (model.name, model.scores(images(3)).shape) == ("demo-standard", (3, 10))
    assert model.prepare.mean == pytest.approx((0.4914, 0.4824, 0.4467), abs=1e-4)
    np.testing.assert_allclose(model.features(images(2)).shape, (2, 160))
    with pytest.raises(FileNotFoundError, match=naming("augmix.safetensors")):
        demo_model("augmix", folder=tmp_path)
    with pytest.raises(BrittleError, match=naming("best")):
        demo_model("best")

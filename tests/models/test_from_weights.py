"""Files of networks that brittle trained say themselves what they are."""

from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.models import build_network, from_torch, from_weights, load_model, save_trained, save_weights
from tests.errors import naming
from tests.models.networks import images

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.2, 0.25)


def test_a_trained_network_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    network = build_network("small:4", 3, seed=5).half().float().eval()
    path = tmp_path / "noc.blur.safetensors"
    save_trained(network, path, "small:4", ["a", "b", "c"], MEAN, STD, {"recipe": "short"})
    model = load_model(str(path))
    assert model.name == "noc.blur"
    batch = images(4, 16)
    expected = from_torch(network, name="x", mean=MEAN, std=STD).scores(batch)
    np.testing.assert_allclose(model.scores(batch), expected, atol=1e-5)
    assert from_weights(path, name="other").name == "other"
    assert load_model(f"weights:{path}").key == model.key


def test_weights_of_an_unknown_network_are_refused(tmp_path: Path) -> None:
    save_weights(torch.nn.Linear(2, 2), tmp_path / "net.safetensors")
    with pytest.raises(
        BrittleError, match=naming("net.safetensors", "network", "classes", "FILE.py:FUNCTION,weights=")
    ):
        load_model(str(tmp_path / "net.safetensors"))
    with pytest.raises(FileNotFoundError, match=naming("none.safetensors")):
        load_model(str(tmp_path / "none.safetensors"))

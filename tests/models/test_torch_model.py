"""A torch network gives its own scores, whatever is done around it."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from brittle import BrittleError
from brittle.models import Model, Preprocessing, TorchModel, from_torch
from brittle.models.small_resnet import SmallResNet
from tests.errors import naming
from tests.models.networks import SmallNet, images, small_net


class Wrapped(nn.Module):
    """Gives what another gives, in another form."""

    def __init__(self, wrap) -> None:
        super().__init__()
        self.inner, self.wrap = small_net(), wrap

    def forward(self, x: torch.Tensor):
        return self.wrap(self.inner(x))


def model(**options) -> TorchModel:
    return from_torch(small_net(), name="small", **options)


def test_scores_are_those_of_the_network() -> None:
    given = images(4)
    mean, std = (torch.tensor(n).view(1, 3, 1, 1) for n in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with torch.no_grad():
        expected = small_net().eval()((torch.from_numpy(given).permute(0, 3, 1, 2) / 255 - mean) / std)
    assert isinstance(model(), Model)
    np.testing.assert_allclose(model().scores(given), expected, atol=1e-5)
    np.testing.assert_allclose(model(device="cpu").scores(given[:1]), expected[:1], atol=1e-5)


def test_the_network_is_in_evaluation_mode() -> None:
    given = images(8)
    network = nn.Sequential(nn.BatchNorm2d(3), nn.Dropout(), nn.Flatten(), nn.Linear(3 * 32 * 32, 4)).train()
    wrapped = from_torch(network, name="a")
    np.testing.assert_array_equal(wrapped.scores(given)[:2], wrapped.scores(given)[:2])
    np.testing.assert_allclose(wrapped.scores(given[:2]), wrapped.scores(given)[:2], atol=1e-5)


@pytest.mark.parametrize("wrap", [lambda x: (x, None), lambda x: [x], lambda x: type("Output", (), {"logits": x})()])
def test_outputs_that_wrap_the_scores_are_opened(wrap) -> None:
    np.testing.assert_array_equal(from_torch(Wrapped(wrap), name="w").scores(images(2)), model().scores(images(2)))


def test_an_output_without_scores_is_named() -> None:
    with pytest.raises(TypeError, match=naming("w")):
        from_torch(Wrapped(lambda x: {"a": x}), name="w").scores(images(2))


def test_bf16_is_near_and_has_a_key_of_its_own() -> None:
    exact, rough = model().scores(images(4)), model(bf16=True).scores(images(4))
    assert rough.dtype == np.float32
    assert 0 < np.abs(exact - rough).max() < 0.05
    assert model().key != model(bf16=True).key


def test_the_key_names_all_that_changes_the_scores_and_nothing_else() -> None:
    keys = {
        "plain": model().key,
        "weights": from_torch(small_net(1), name="small").key,
        "mean": model(mean=(0, 0, 0)).key,
        "size": model(size=64).key,
        "interpolation": model(interpolation="bicubic").key,
        "relu": from_torch(nn.Sequential(nn.Flatten(), nn.ReLU()), name="small").key,
        "gelu": from_torch(nn.Sequential(nn.Flatten(), nn.GELU()), name="small").key,
    }
    assert len(set(keys.values())) == len(keys)
    assert from_torch(small_net(), name="another name", device="cpu").key == keys["plain"]


@pytest.mark.parametrize("options", [{}, {"size": 48, "crop": 40, "bf16": True}])
def test_a_model_travels_to_another_process(tmp_path, options: dict) -> None:
    sent = model(**options)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(sent))
    np.save(tmp_path / "images.npy", images(3))
    code = (
        "import sys, pickle, pathlib, numpy as np; sys.path.insert(0, sys.argv[2]); here = pathlib.Path(sys.argv[1])\n"
        "model = pickle.loads((here / 'model.pickle').read_bytes())\n"
        "np.save(here / 'scores.npy', model.scores(np.load(here / 'images.npy'))); print(model.key)"
    )
    command = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sent.key
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), sent.scores(images(3)), atol=1e-6)


def test_features_are_what_the_last_layer_sees() -> None:
    network = SmallResNet(width=4).eval()
    wrapped = from_torch(network, name="resnet")
    given = images(3)
    with torch.no_grad():
        expected = network.features(wrapped.prepare.tensor(given, "cpu"))
    np.testing.assert_allclose(wrapped.features(given), expected, atol=1e-5)
    assert not network.head._forward_hooks


def test_the_last_layer_is_the_last_to_run() -> None:
    wrapped = model()
    head = wrapped.module.head
    features = wrapped.features(images(3))
    assert features.shape == (3, 6)
    with torch.no_grad():
        np.testing.assert_allclose(head(torch.from_numpy(features)), wrapped.scores(images(3)), atol=1e-5)


@pytest.mark.parametrize(
    "network",
    [nn.Flatten(), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 8), nn.GLU())],
    ids=["none", "not the last"],
)
def test_a_network_without_a_last_linear_layer_has_no_features(network: nn.Module) -> None:
    with pytest.raises(BrittleError, match=naming("odd")):
        from_torch(network, name="odd").features(images(2))


@pytest.mark.parametrize(
    ("device", "values"),
    [
        ("gpu", ("device", "auto", "cpu", "mps", "cuda:<number>", "'gpu'")),
        ("cpu:1", ("device", "cpu:1")),
        ("cuda:x", ("device", "cuda:x")),
        ("cuda", ("CUDA", "'cuda'", "device='cpu'")),
        ("mps", ("MPS", "'mps'", "device='cpu'")),
    ],
)
def test_a_device_that_is_not_there_is_named(device: str, values: tuple) -> None:
    if device == "cuda" and torch.cuda.is_available():
        device, values = f"cuda:{torch.cuda.device_count()}", "there is no 'cuda:"
    if device == "mps" and torch.backends.mps.is_available():
        device, values = "mps:1", "got 'mps:1'"
    with pytest.raises(BrittleError, match=naming(*values)):
        model(device=device)


def test_only_modules_are_torch_models() -> None:
    with pytest.raises(TypeError, match=naming(3)):
        from_torch(3, name="three")


def test_the_call_of_the_first_version_still_works() -> None:
    wrapped = from_torch(SmallNet(), name="a", mean=(0.5,) * 3, std=(0.25,) * 3, size=16, device="cpu")
    assert wrapped.prepare == Preprocessing((0.5,) * 3, (0.25,) * 3, 16)
    assert wrapped.scores(images(2)).shape == (2, 5)

"""timm and torchvision, for real, in an environment of their own, since torchvision may not fit the torch of the tests.

Published weights are not fetched.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from brittle import BrittleError
from brittle._optional import require
from brittle.cli.slide import VERBS
from brittle.models import from_timm, from_torchvision, load_model, save_weights
from tests.errors import naming
from tests.models.networks import images

torchvision = require("torchvision")
timm = import_module("timm")  # it imports torchvision itself, so only now

SIDES = [(300, 260), (240, 333), (64, 64)]


def shown(transform, given: np.ndarray) -> torch.Tensor:
    return torch.stack([transform(Image.fromarray(image)) for image in given])


def test_a_torchvision_that_does_not_fit_is_mended() -> None:
    """In a fresh process: with the guard a classifier works, and what was broken was the import, if anything."""
    plain = subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, text=True)
    assert plain.returncode == 0 or "torchvision::nms does not exist" in plain.stderr
    code = (
        "from brittle._optional import require\n"
        "assert require('torchvision') is require('torchvision'); import torch, timm, torchvision\n"
        "print(timm.create_model('resnet10t', num_classes=3)(torch.zeros(1, 3, 64, 64)).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "torch.Size([1, 3])"


FEW_SLIDES = """
import sys
from brittle.papers import cns_slides, reproduce
from brittle.sliders import DEMO_TRAINING, sampling_settings
cns_slides.CLASSES = {"small": ("bag",)}
cns_slides.SHIFTS = {"small": ("heavy_snow",)}
cns_slides.SEEDS = {"small": 2}
cns_slides.SLIDE_SCALES = (0.0, 2.5)
quick = {**DEMO_TRAINING, "steps": 1, "batch_size": 1, "denoising_steps": 2}
cns_slides.training_settings = lambda name: quick
cns_slides.sampling_settings = lambda name, **more: sampling_settings(name, denoising_steps=2, **more)
[found] = reproduce("cns", ["fig3"], sys.argv[1], device="cpu")
assert found.tables
"""
"""`reproduce cns fig3` by one slider of one step, which no option of the command line asks for."""


def test_every_slide_verb_runs_beside_it(tmp_path: Path) -> None:
    """Each in a fresh process, with the bundled demo pipeline: diffusers, peft and transformers import torchvision."""
    pytest.importorskip("diffusers", reason="of the extra sliders")
    quick = ("--denoising-steps", "2", "--batch-size", "1")
    one = ("--class", "bag", "--steps", "1")
    filtering = ("--clip", "tiny", "--dino", "tiny", "--thresholds", "limits.json", "-o", "filtered")
    verbs = {
        "train": ("tiny", *one, "--shift", "heavy_fog", *quick, "-o", "sliders"),
        "sample": ("tiny", "sliders", "--seeds", "1", "--scales", "0,1", *quick, "-o", "slides"),
        "token": ("tiny", "-d", "cns-bench:slides", *one, "--batch-size", "1", "-o", "tokens"),
        "measure": ("slides", "--clip", "tiny", "-o", "measured"),
        "label": ("slides", "--page", "label.html"),
        "filter": ("slides", *filtering),
        "demo": (*one, "--shift", "heavy_fog", "--seeds", "2", "-o", "demo"),
    }
    assert verbs.keys() == {name for name, *_ in VERBS}
    models = ("-m", "tiny:small", "-m", "tiny:diffusion", "-m", "timm:resnet10t,checkpoint=net.pt,classes=10")
    torch.save(timm.create_model("resnet10t", num_classes=10).state_dict(), tmp_path / "net.pt")
    calls = [
        *(("-m", "brittle", "slide", verb, *call) for verb, call in verbs.items()),
        ("-m", "brittle", "run", *models, "-d", "cns-bench:slides", "--keep", "filtered/kept.csv", "-o", "run"),
        ("-m", "brittle", "report", "run"),
        ("-c", FEW_SLIDES, "found"),
    ]
    (tmp_path / "limits.json").write_text('{"least": 1, "thresholds": {"CLIP_class": -100.0}}')
    for call in calls:
        done = subprocess.run([sys.executable, *call], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (call, done.stderr)
    for made in ("filtered/kept.csv", "tokens/tokens.pt", "demo/report.html", "run/report.html", "found/index.html"):
        assert (tmp_path / made).is_file(), made


@pytest.mark.parametrize(
    "architecture",
    ["resnet10t", "vit_tiny_patch16_224", "mobilenetv3_small_050", "test_efficientnet", "vit_pe_core_tiny_patch16_384"],
)
@pytest.mark.parametrize("sides", SIDES)
def test_pixels_are_those_of_timm(architecture: str, sides: tuple) -> None:
    model = from_timm(architecture, pretrained=False, device="cpu")
    config = timm.data.resolve_model_data_config(model.module)
    given = images(2, *sides)
    expected = shown(timm.data.create_transform(**config, is_training=False), given)
    torch.testing.assert_close(model.prepare.tensor(given, "cpu"), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("crop_mode", ["squash", "center"])
@pytest.mark.parametrize("crop_pct", [0.8, 0.95, 1.0])
def test_every_crop_of_timm(crop_mode: str, crop_pct: float) -> None:
    from brittle.models.hubs import _preprocessing

    config = {"input_size": (3, 96, 96), "interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.2,) * 3}
    config |= {"crop_pct": crop_pct, "crop_mode": crop_mode}
    given = images(2, 130, 99)
    expected = shown(timm.data.create_transform(**config, is_training=False), given)
    torch.testing.assert_close(_preprocessing("a", config).tensor(given, "cpu"), expected, atol=1e-6, rtol=1e-6)


def test_a_checkpoint_is_loaded(tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = timm.create_model("resnet10t", num_classes=7).eval()
    save_file(network.state_dict(), tmp_path / "net.safetensors")
    torch.save({"state_dict": {f"module.{k}": v for k, v in network.state_dict().items()}}, tmp_path / "net.pth")
    keys = set()
    for name in ("net.safetensors", "net.pth"):
        model = load_model("timm:resnet10t", checkpoint=tmp_path / name, classes=7, device="cpu")
        given = images(2, model.prepare.crop[0], model.prepare.crop[1])
        with torch.no_grad():
            expected = network(model.prepare.tensor(given, "cpu"))
            features = network.forward_head(
                network.forward_features(model.prepare.tensor(given, "cpu")), pre_logits=True
            )
        np.testing.assert_allclose(model.scores(given), expected, atol=1e-4)
        np.testing.assert_allclose(model.features(given), features, atol=1e-4)
        keys.add(model.key)
    assert len(keys) == 1
    save_weights(network, tmp_path / "half.safetensors", half=True)
    half = from_timm("resnet10t", checkpoint=tmp_path / "half.safetensors", classes=7)
    np.testing.assert_allclose(half.scores(given), expected, atol=0.05)
    with pytest.raises(BrittleError, match=naming("net.pth", "classes")):
        from_timm("resnet10t", checkpoint=tmp_path / "net.pth")


def test_names_and_networks_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrittleError, match=naming("resnet10", "resnet10t")):
        from_timm("resnet10")
    with pytest.raises(BrittleError, match=naming("nothing", "list_models")):
        from_timm("nothing")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match=naming("resnet10t")):
        from_timm("resnet10t")


@pytest.mark.parametrize("architecture", ["resnet18", "efficientnet_b1", "mobilenet_v3_small"])
@pytest.mark.parametrize("sides", SIDES)
def test_pixels_are_those_of_torchvision(architecture: str, sides: tuple) -> None:
    model = from_torchvision(architecture, weights=None, device="cpu")
    given = images(2, *sides)
    expected = shown(torchvision.models.get_model_weights(architecture).DEFAULT.transforms(), given)
    torch.testing.assert_close(model.prepare.tensor(given, "cpu"), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("weights", "size"), [("IMAGENET1K_V1", 256), ("IMAGENET1K_V2", 232)])
def test_a_text_names_the_published_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str, size: int
) -> None:
    """Each file of published weights is one of random numbers here, where torchvision would keep it."""
    torch.manual_seed(1)
    network = torchvision.models.mobilenet_v2().eval()
    published = torchvision.models.MobileNet_V2_Weights[weights]
    file = tmp_path / "hub" / "checkpoints" / Path(published.url).name
    file.parent.mkdir(parents=True)
    torch.save(network.state_dict(), file)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    model = load_model(f"torchvision:mobilenet_v2,weights={weights}", device="cpu")
    given = images(1, 224, 224)
    with torch.no_grad():
        np.testing.assert_allclose(model.scores(given), network(model.prepare.tensor(given, "cpu")), atol=1e-4)
    assert model.prepare.size == size


def test_a_text_names_a_checkpoint(tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = timm.create_model("resnet10t", num_classes=7).eval()
    torch.save(network.state_dict(), tmp_path / "net.pt")
    model = load_model(f"timm:resnet10t,checkpoint={tmp_path / 'net.pt'},classes=7", device="cpu")
    given = images(1, 96, 96)
    with torch.no_grad():
        np.testing.assert_allclose(model.scores(given), network(model.prepare.tensor(given, "cpu")), atol=1e-4)


def test_torchvision_weights_of_a_file(tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = torchvision.models.resnet18(num_classes=6).eval()
    torch.save(network.state_dict(), tmp_path / "net.pth")
    model = load_model("torchvision:resnet18", weights=tmp_path / "net.pth", classes=6, device="cpu", name="mine")
    given = images(2, 224, 224)
    with torch.no_grad():
        np.testing.assert_allclose(model.scores(given), network(model.prepare.tensor(given, "cpu")), atol=1e-4)
    assert (model.name, model.features(given).shape) == ("mine", (2, 512))


def test_torchvision_names_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrittleError, match=naming("resnet19", "resnet18")):
        from_torchvision("resnet19")
    with pytest.raises(BrittleError, match=naming("fasterrcnn_resnet50_fpn")):
        from_torchvision("fasterrcnn_resnet50_fpn")
    with pytest.raises(BrittleError, match=naming("IMAGENET1K_V1", "V3")):
        from_torchvision("resnet18", weights="V3")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(OSError, match=naming("resnet18")):
        from_torchvision("resnet18")

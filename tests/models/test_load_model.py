"""A text on the command line names a model, or is refused with a way out."""

import re
import subprocess
import sys
import tomllib
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle._optional import EXTRAS, INSTALL, how_to_install
from brittle.models import Preprocessing, from_callable, from_torch, load_model, model_sources, save_weights
from brittle.models.load import model_options, model_texts
from brittle.models.small_resnet import SmallResNet
from tests.errors import naming
from tests.models.graphs import write
from tests.models.networks import images, small_net
from tests.models.test_transformers import save

FILE = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from tests.models.networks import small_net  # beside this file
from brittle.models import from_callable

@dataclass
class Mean:
    scale: float = 1.0
    def __call__(self, images):
        return images.mean((1, 2)) * self.scale

def network():
    return small_net()

def callable_():
    return Mean(2.0)

def model():
    return from_callable(Mean(), name="mean colour", version="7")

ready = network()
number = 3
def gives_number():
    return number
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(FILE)
    return tmp_path / "nets.py"


def test_each_kind_of_text_finds_its_model(tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "net.onnx", ("n", 3, 32, 32))
    save(tmp_path / "vit")
    save_weights(SmallResNet(), tmp_path / "standard.safetensors")
    for spec, options, name, classes in [
        ("net.onnx", {}, "net", 5),
        ("onnx:net.onnx", {"name": "n"}, "n", 5),
        (Path("net.onnx"), {"mean": (0, 0, 0)}, "net", 5),
        ("transformers:vit", {}, "vit", 5),
        ("demo:standard", {"folder": tmp_path}, "demo-standard", 10),
        (f"torch:{code}:network", {}, "network", 5),
        ("nets.py:network", {}, "network", 5),
        ("torch:nets.py:ready", {"name": "mine", "size": 16}, "mine", 5),
        ("torch:nets.py:callable_", {"version": "2"}, "callable_", 3),
        ("torch:nets.py:model", {}, "mean colour", 3),
        ("torch:tests.models.networks:small_net", {"mean": (0.5, 0.5, 0.5)}, "small_net", 5),
    ]:
        model = load_model(spec, device="cpu", **options)
        assert (model.name, model.scores(images(2)).shape) == (name, (2, classes)), spec


def test_options_reach_the_model(tmp_path: Path, code: Path) -> None:
    torch.save(small_net(4).state_dict(), tmp_path / "net.pt")
    model = load_model(f"torch:{code}:network", weights=tmp_path / "net.pt", size=40, crop=32, bf16=True)
    assert model.key == from_torch(small_net(4), name="a", size=40, crop=32, bf16=True).key
    there = from_callable(lambda x: x.mean((1, 2)), name="there")
    assert load_model(there) is there


@pytest.mark.parametrize(
    ("spec", "options", "error", "values"),
    [
        ("tim:resnet50", {}, ValueError, ("'tim'", "'timm'")),
        ("kerras:resnet50", {}, ValueError, ("'kerras'", "'keras'")),
        ("paddle:resnet50", {}, ValueError, ("'paddle'", ", ".join(sorted(model_sources())))),
        ("timm:", {}, ValueError, ("'timm:'", "demo:standard", "timm:NAME")),
        ("timm", {}, ValueError, ("'timm'", "timm:…")),
        ("resnet50", {}, ValueError, ("'resnet50'", "demo:standard", "timm:NAME")),
        (".", {}, ValueError, ("'.'", "transformers:.")),
        (
            str(Path(__file__).parents[2] / "pyproject.toml"),
            {},
            ValueError,
            ("pyproject.toml", "FILE.py:FUNCTION,weights="),
        ),
        ("demo:best", {}, ValueError, ("standard", "augmix", "'best'")),
        ("demo:standard", {"size": 3}, TypeError, ("demo", "'size'", "device", "bf16", "folder")),
        ("a.onnx", {"bf16": True}, ValueError, ("'a.onnx'", "bf16")),
        ("a.onnx", {}, FileNotFoundError, ("a.onnx",)),
        ("torch:nowhere.py:f", {}, FileNotFoundError, ("nowhere.py",)),
        ("torch:function", {}, ValueError, ("package.module:function", "path/to/file.py:function", "'function'")),
        (
            "torch:tests.models.networks:small_nets",
            {},
            ValueError,
            ("'tests.models.networks'", "'small_nets'", "'small_net'"),
        ),
        (
            from_callable(len, name="a", version="1"),
            {"size": 3},
            TypeError,
            ("size",),
        ),
        (3, {}, TypeError, ("timm:resnet50", "name", "key", "scores", 3)),
    ],
)
def test_texts_that_name_no_model(spec, options: dict, error: type, values: tuple) -> None:
    with pytest.raises(error, match=naming(*values)):
        load_model(spec, **options)


@pytest.mark.parametrize(
    ("function", "options", "values"),
    [
        ("model", {"size": 3}, ("nets.py:model", "size")),
        ("callable_", {"bf16": True}, ("nets.py:callable_", "bf16")),
        ("callable_", {"weights": "a.pt"}, ("nets.py:callable_", "weights")),
        ("gives_number", {}, ("nets.py:gives_number", 3, "torch.nn.Module")),
    ],
)
def test_functions_that_give_something_else(code: Path, function: str, options: dict, values: tuple) -> None:
    with pytest.raises(TypeError, match=naming(*values)):
        load_model(f"torch:{code}:{function}", **options)


HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=sys.argv[1])
sys.meta_path.insert(0, Hidden())
from brittle.models import load_model, load_weights
try:
    load_weights(sys.argv[3]) if sys.argv[2] == "weights" else load_model(sys.argv[2])
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "spec"),
    [
        ("torch", "timm:resnet50"),
        ("torch", "transformers:x"),
        ("torchvision", "torchvision:resnet50"),
        ("transformers", "transformers:x"),
        ("onnxruntime", "there.onnx"),
        ("safetensors", "weights"),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_command(tmp_path: Path, missing: str, spec: str) -> None:
    write(tmp_path / "there.onnx", ("n", 3, 32, 32))
    save_weights(small_net(), tmp_path / "net.safetensors")
    command = [sys.executable, "-c", HIDE, missing, spec, "net.safetensors"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"needs {missing}," in done.stdout
    assert how_to_install(INSTALL[missing]) in done.stdout


def test_timm_brings_torchvision_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HIDE, "torchvision", "timm:resnet50"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert how_to_install("timm") in done.stdout


def test_what_is_told_to_install_is_what_the_extras_hold_and_never_our_own_name() -> None:
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    def packages(extra: str) -> set[str]:
        found = set()
        for wanted in extras[extra]:
            name, rest = re.match(r"([\w-]+)(?:\[(\w+)\])?", wanted).groups()
            found |= packages(rest) if name == "brittle" else {name}
        return found

    for extra, listed in EXTRAS.items():
        assert set(listed.split()) == packages(extra)
    for extra in {*INSTALL.values(), *EXTRAS}:
        assert f"'.[{extra}]'" in how_to_install(extra) or how_to_install(extra) == f"pip install {extra}"
        assert "brittle[" not in how_to_install(extra)


def test_the_room_opens_without_its_heavy_packages() -> None:
    heavy = ["torch", "torchvision", "timm", "transformers", "onnxruntime", "safetensors"]
    code = f"import brittle.models, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_scheme_takes_a_device() -> None:
    import inspect

    for scheme, maker in model_sources().items():
        options = inspect.signature(maker).parameters
        assert "device" in options, scheme
        assert np.all([options[name].kind == options[name].KEYWORD_ONLY for name in list(options)[1:]])


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("demo:standard,demo:augmix", ["demo:standard", "demo:augmix"]),
        ("a.onnx, nets.py:make ,", ["a.onnx", "nets.py:make"]),
        ("timm:resnet50,checkpoint=a.pt,demo:standard", ["timm:resnet50,checkpoint=a.pt", "demo:standard"]),
        ("nets.py:make,mean=0.5,0.5,0.5,net.onnx", ["nets.py:make,mean=0.5,0.5,0.5", "net.onnx"]),
        ("C:\\a.onnx,size=224,nets.py:b", ["C:\\a.onnx,size=224", "nets.py:b"]),
        ("odd,name=1.onnx,size=8", ["odd,name=1.onnx,size=8"]),
    ],
)
def test_commas_between_models_and_before_options(
    text: str, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd,name=1.onnx").touch()
    assert model_texts(text) == texts


@pytest.mark.parametrize(
    ("text", "plain", "options"),
    [
        ("timm:resnet50", "timm:resnet50", {}),
        ("torchvision:resnet50,weights=IMAGENET1K_V1", "torchvision:resnet50", {"weights": "IMAGENET1K_V1"}),
        (
            "nets.py:make,weights=a,b=c.pt, mean=0.5;0.5;0.5",
            "nets.py:make",
            {"weights": "a", "b": "c.pt", "mean": "0.5;0.5;0.5"},
        ),
        ("C:\\nets.py:make,weights=D:\\a.pt", "C:\\nets.py:make", {"weights": "D:\\a.pt"}),
        ("nets.py:make,weights=my,file.pt", "nets.py:make", {"weights": "my,file.pt"}),
        ("odd,name=1.py:make,version=3", "odd,name=1.py:make", {"version": "3"}),
        ("odd,name=1.py:make", "odd,name=1.py:make", {}),
    ],
)
def test_options_of_a_text(
    text: str, plain: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd,name=1.py").touch()
    assert model_options(text) == (plain, options)


def test_options_in_the_text_are_those_of_python(tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(code.parent)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    torch.manual_seed(5)
    save_weights(small_net(), tmp_path / "a.safetensors")
    given = {"weights": "a.safetensors", "mean": (0.5, 0.4, 0.3), "std": (0.2,) * 3, "size": 40, "crop": (32, 24)}
    text = "nets.py:network,weights=a.safetensors,mean=0.5,0.4,0.3,std=0.2,size=40,crop=32x24"
    asked, same = load_model(text, device="cpu"), load_model("nets.py:network", device="cpu", **given)
    assert asked.key == same.key
    assert asked.prepare == Preprocessing((0.5, 0.4, 0.3), (0.2,) * 3, 40, (32, 24))
    assert load_model("nets.py:callable_,version=2").key != load_model("nets.py:callable_,version=3").key
    trained = load_model("nets.py:network,device=cpu,bf16=no")
    assert (trained.device, trained.bf16) == ("cpu", False)


def test_published_weights_of_torchvision_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 of the weights, as the papers have them; what is called is called with what Python would give."""
    calls = []

    @wraps(model_sources()["torchvision"])
    def made(architecture: str, **options: object) -> object:
        calls.append((architecture, options))
        return from_callable(lambda x: x, name=architecture)

    monkeypatch.setitem(model_sources(), "torchvision", made)
    load_model("torchvision:resnet50,weights=IMAGENET1K_V1")
    load_model("torchvision:resnet50,weights=none,classes=7,size=64")
    assert [options["weights"] for _, options in calls] == ["IMAGENET1K_V1", None]
    assert (calls[1][1]["classes"], calls[1][1]["size"]) == (7, 64)


@pytest.mark.parametrize(
    ("text", "error", "named"),
    [
        ("demo:standard,mean=0.5", TypeError, ["'mean'", "folder"]),
        ("nets.py:network,mean=0.5,0.4", ValueError, ["mean", "'0.5,0.4'"]),
        ("nets.py:network,size=big", ValueError, ["size", "'big'"]),
        ("nets.py:network,bf16=maybe", ValueError, ["bf16", "'maybe'"]),
        ("timm:resnet18,classes=few", ValueError, ["classes", "'few'"]),
        ("nets.py:network,size=3,size=4", ValueError, ["size", "twice"]),
        ("nets.py", ValueError, ["nets.py:network", "nets.py:model", "nets.py:gives_number", "nets.py:Mean"]),
        ("head.pt", ValueError, ["FILE.py:FUNCTION,weights=head.pt", "timm:NAME,checkpoint=head.pt"]),
    ],
)
def test_mistakes_in_options_are_named(
    text: str, error: type[Exception], named: list[str], tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(code.parent)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    (tmp_path / "head.pt").touch()
    with pytest.raises(error) as told:
        load_model(text)
    assert all(word in str(told.value) for word in named)
    if text == "nets.py":
        assert "small_net" not in str(told.value)


def test_an_option_is_given_once(code: Path) -> None:
    with pytest.raises(TypeError, match=naming("size", "'3'", 4)):
        load_model(f"{code}:network,size=3", size=4)

"""Models of RobustBench's zoo, of which an imitation stands in: its weights are behind links of Google Drive."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import brittle
from tests.errors import naming


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the zoo was asked for; it knows one model, which says how bright an image is."""
    asked: list[dict[str, Any]] = []

    class Bright(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.mean(dim=(2, 3))

    def load_model(**options: Any) -> torch.nn.Module:
        asked.append(options)
        if options["model_name"] == "Geirhos2018_SIN_IN":
            raise ConnectionError("no network")
        if options["model_name"] == "Nowhere2020":
            raise ValueError("Model `Nowhere2020` has no `gdrive_id` specified.")
        if options["model_name"] == "Kept2020":
            raise FileURLRetrievalError("Too many users have viewed the file")
        return {"Hendrycks2020AugMix": Bright}[options["model_name"]]()

    class DownloadError(Exception):
        pass

    class FileURLRetrievalError(DownloadError):
        pass

    gdown = ModuleType("gdown")
    gdown.exceptions = SimpleNamespace(DownloadError=DownloadError)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gdown", gdown)
    package, utils = ModuleType("robustbench"), ModuleType("robustbench.utils")
    utils.load_model = load_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "robustbench", package)
    monkeypatch.setitem(sys.modules, "robustbench.utils", utils)
    return asked


def test_a_network_that_normalises_itself_sees_images_from_zero_to_one(zoo: list[dict[str, Any]]) -> None:
    model = brittle.load_model("robustbench:Hendrycks2020AugMix,name=AugMix,folder=weights", device="cpu")
    assert model.name == "AugMix"
    assert zoo == [
        {
            "model_name": "Hendrycks2020AugMix",
            "dataset": "imagenet",
            "threat_model": "corruptions",
            "model_dir": "weights",
        }
    ]
    images = np.full((2, 300, 400, 3), 51, np.uint8)
    assert model.scores(images) == pytest.approx(np.full((2, 3), 0.2), abs=1e-6)


@pytest.mark.usefixtures("zoo")
def test_an_unknown_model_is_one_sentence() -> None:
    with pytest.raises(brittle.BrittleError, match=naming("Hendrycks2020Mix", "imagenet", "Linf", "corruptions")):
        brittle.load_model("robustbench:Hendrycks2020Mix,threat_model=Linf")


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("Hendrycks2020AugMix,threat_model=noise", ("threat_model", "corruptions", "Linf", "noise")),
        ("Hendrycks2020AugMix,dataset=mnist", ("dataset", "imagenet", "cifar10", "mnist")),
    ],
)
def test_an_unknown_part_of_the_zoo_is_one_sentence(spec: str, values: tuple[str, ...]) -> None:
    with pytest.raises(brittle.BrittleError, match=naming(*values)):
        brittle.load_model(f"robustbench:{spec}")


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("Geirhos2018_SIN_IN", ("Geirhos2018_SIN_IN.pt", "./models/imagenet/corruptions", "no network")),
        ("Geirhos2018_SIN_IN,threat_model=corruptions_3d,folder=w", ("w/imagenet/corruptions",)),
        ("Kept2020,dataset=cifar10,threat_model=L2", ("Kept2020.pt", "./models/cifar10/L2", "Too many users")),
    ],
)
def test_weights_that_cannot_be_fetched_say_where_a_file_goes(spec: str, values: tuple[str, ...]) -> None:
    with pytest.raises(OSError, match=naming(*values)):
        brittle.load_model(f"robustbench:{spec}")


@pytest.mark.usefixtures("zoo")
def test_what_is_no_failed_download_keeps_its_own_message() -> None:
    with pytest.raises(brittle.BrittleError, match=naming("Nowhere2020", "gdrive_id")) as raised:
        brittle.load_model("robustbench:Nowhere2020")
    assert "download" not in str(raised.value)


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize(("dataset", "shown"), [("imagenet", (224, 224)), ("cifar10", None)])
def test_only_photographs_are_resized(dataset: str, shown: tuple[int, int] | None) -> None:
    """The zoo of CIFAR-10 takes images of 32 px, that of ImageNet 224 of 256."""
    model = brittle.load_model(f"robustbench:Hendrycks2020AugMix,dataset={dataset}", device="cpu")
    assert model.prepare.shown == shown
    ramp = np.linspace(0, 255, 320).astype(np.uint8)[None, None, :, None]
    brightness = model.scores(np.ascontiguousarray(np.broadcast_to(ramp, (1, 320, 320, 3))))
    np.testing.assert_allclose(brightness, 0.5, atol=2e-3)  # the middle of the ramp stays in the middle


def test_without_the_package_the_command_is_named() -> None:
    if "robustbench" in sys.modules:
        pytest.skip("robustbench is installed")
    with pytest.raises(ModuleNotFoundError, match=naming("robustbench", "pip install robustbench")):
        brittle.load_model("robustbench:Hendrycks2020AugMix")

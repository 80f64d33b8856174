"""The adapters inside the real libraries, in environments of their own (`make interop`); writes the ticks of workers.

`python -m tests.transforms.in_interop_venv` prints the table of docs/how-to/pipelines.md from a run of all loaders.
"""

import json
from typing import Any

import numpy as np
import pytest
import torch

import brittle
from brittle._optional import require
from brittle.transforms import Indexed, as_albumentations, as_huggingface, as_maite, as_torchvision
from tests.transforms.pipelines import (
    LOADERS,
    Pictures,
    by_albumentations,
    by_columns,
    by_torchvision,
    picture,
    two_epochs,
)

pytestmark = pytest.mark.filterwarnings("default")

IMAGE = picture(1)
FOGGY = brittle.corrupt(IMAGE, "fog", 3, sample="a")


def adapters() -> dict[str, Any]:
    """Datasets with each adapter inside."""
    settings: dict[str, Any] = {"corruptions": ["fog", "gaussian_noise"], "severity": (1, 5), "p": 0.7}
    albumentations = require("albumentations")
    return {
        "torchvision": Pictures(as_torchvision(**settings), by_torchvision),
        "albumentations": Pictures(albumentations.Compose([as_albumentations(**settings)]), by_albumentations),
        "Hugging Face": Pictures(as_huggingface(**settings), by_columns),
    }


@pytest.mark.parametrize("name", ["torchvision", "albumentations", "Hugging Face"])
@pytest.mark.parametrize("loader", LOADERS[1:])
def test_workers_give_the_pixels_of_none(name: str, loader: tuple) -> None:
    expected = two_epochs(Indexed(adapters()[name]), 0, "", False)
    np.testing.assert_array_equal(two_epochs(Indexed(adapters()[name]), *loader), expected)


def test_albumentations_composes_saves_and_replays() -> None:
    A = pytest.importorskip("albumentations")  # noqa: N806
    compose = A.Compose([as_albumentations("fog", 3)], bbox_params=A.BboxParams(format="yolo", label_fields=["of"]))
    out = compose(image=IMAGE, bboxes=[[0.5, 0.5, 0.2, 0.2]], of=[1], sample="a")
    np.testing.assert_array_equal(out["image"], FOGGY)
    restored = A.from_dict(json.loads(json.dumps(A.to_dict(compose))))
    again = restored(image=IMAGE, bboxes=[[0.5, 0.5, 0.2, 0.2]], of=[1], sample="a")
    np.testing.assert_array_equal(again["image"], FOGGY)
    replay = A.ReplayCompose([as_albumentations(["fog", "snow"], p=0.5)])
    first = replay(image=IMAGE)
    second = A.ReplayCompose.replay(first["replay"], image=IMAGE)
    np.testing.assert_array_equal(first["image"], second["image"])
    moving = A.Compose([as_albumentations("noc/rotation", 3)])
    assert not np.array_equal(moving(image=IMAGE)["image"], IMAGE)
    with pytest.raises(brittle.BrittleError, match="noc/rotation"):
        moving(image=IMAGE, mask=IMAGE[..., 0])


def test_torchvision_composes() -> None:
    if not require_vision():
        pytest.skip("torchvision is not in this environment")
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    compose = v2.Compose([as_torchvision("fog", 3), v2.ToDtype(torch.float32, scale=True)])
    image = tv_tensors.Image(torch.from_numpy(IMAGE.transpose(2, 0, 1).copy()))
    boxes = tv_tensors.BoundingBoxes([[0, 0, 4, 4]], format="XYXY", canvas_size=IMAGE.shape[:2])
    out, target = compose(image, {"boxes": boxes, "sample": "a"})
    assert type(out) is tv_tensors.Image
    np.testing.assert_array_equal((out * 255).round().byte().permute(1, 2, 0), FOGGY)
    with pytest.raises(brittle.BrittleError, match="noc/rotation"):
        as_torchvision("noc/rotation")(image, target)


def require_vision() -> bool:
    try:
        require("torchvision")
    except ModuleNotFoundError:
        return False
    return True


def test_hugging_face_transforms_rows() -> None:
    datasets = pytest.importorskip("datasets")
    from PIL import Image as Pil

    rows = datasets.Dataset.from_dict(
        {"image": [Pil.fromarray(IMAGE)] * 2, "sample": ["a", "b"]},
        features=datasets.Features({"image": datasets.Image(), "sample": datasets.Value("string")}),
    ).with_transform(as_huggingface("fog", 3))
    np.testing.assert_array_equal(np.asarray(rows[0]["image"]), FOGGY)


def test_maite_knows_it_for_an_augmentation() -> None:
    protocols = pytest.importorskip("maite.protocols.image_classification")
    assert isinstance(as_maite("fog"), protocols.Augmentation)


def test_ultralytics_takes_it_and_is_told_of_boxes() -> None:
    pytest.importorskip("albumentations")
    if not require_vision():
        pytest.skip("torchvision is not in this environment")
    augment = pytest.importorskip("ultralytics.data.augment")
    photometric = augment.Albumentations(p=1.0, transforms=[as_albumentations("fog", 3)])
    assert not np.array_equal(photometric({"img": IMAGE.copy()})["img"], IMAGE)
    assert augment.Albumentations(p=1.0, transforms=[as_albumentations("noc/rotation")]).contains_spatial


def ticks() -> str:
    """The table of the docs."""
    names = list(adapters())
    expected = {name: two_epochs(Indexed(adapters()[name]), 0, "", False) for name in names}
    lines = [f"| workers | start | persistent | {' | '.join(names)} |", "|---:|---|---|" + "---|" * len(names)]
    for loader in LOADERS:
        found = [np.array_equal(two_epochs(Indexed(adapters()[name]), *loader), expected[name]) for name in names]
        workers, method, persistent = loader
        how = f"{method} | {'yes' if persistent else 'no'}" if workers else "– | –"
        lines.append(f"| {workers} | {how} | {' | '.join('✓' if each else '✗' for each in found)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(ticks())

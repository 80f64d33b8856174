"""The adapters inside the real libraries, in environments of their own (`make interop`), and the ticks of the docs.

The tests of workers leave what they saw in their environment; `python -m tests.transforms.in_interop_venv` then writes
the table of docs/how-to/pipelines.md from all environments.
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import brittle
from brittle.transforms import Indexed, as_albumentations, as_huggingface, as_maite, as_torchvision
from tests.transforms.pipelines import (
    EPOCHS,
    LOADERS,
    Albumentations,
    HuggingFace,
    Maite,
    Many,
    Torchvision,
    picture,
    two_epochs,
)

pytestmark = pytest.mark.filterwarnings("default")

IMAGE = picture(1)
FOGGY = brittle.corrupt(IMAGE, "fog", 3, sample="a")


ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "pipelines.md"
MARKS = ("<!-- make interop -->", "<!-- end of make interop -->")
SEEN = Path(sys.prefix) / "ticks.json"
SETTINGS: dict[str, Any] = {"corruptions": ["fog", "gaussian_noise"], "severity": (1, 5), "p": 0.7}
PACKAGES = ("torchvision", "albumentations", "nrtk-albumentations", "datasets", "maite")


def installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def needs(*packages: str) -> None:
    for package in packages:
        if not any(map(installed, package.split(" or "))):
            pytest.skip(f"{package} is not in this environment")


def pipelines() -> dict[str, Any]:
    """Each package that is installed here, with its adapter inside."""
    made = {
        "torchvision": lambda: Torchvision(as_torchvision(**SETTINGS)),
        "albumentations": lambda: Albumentations(as_albumentations(**SETTINGS)),
        "nrtk-albumentations": lambda: Albumentations(as_albumentations(**SETTINGS)),
        "datasets": lambda: HuggingFace(as_huggingface(**SETTINGS)),
        "maite": lambda: Maite(as_maite(**SETTINGS)),
    }
    return {f"{package} {version(package)}": made[package]() for package in PACKAGES if installed(package)}


@pytest.fixture(scope="module")
def ticks() -> Any:
    """{loader: {package: whether it gave the pixels}}, kept for the table."""
    seen: dict[str, dict[str, bool]] = {}
    yield seen
    SEEN.write_text(json.dumps(seen, indent=1) + "\n")


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: "-".join(map(str, loader)))
def test_workers_give_the_pixels_of_the_sample_and_the_epoch(loader: tuple, ticks: dict) -> None:
    everything = pipelines()
    out = two_epochs(Indexed(Many(everything)), *loader)
    alone = brittle.Transform(**SETTINGS)
    ids = [f"{index}#{epoch}" if epoch else index for epoch in EPOCHS for index in range(9)]
    expected = [alone.apply(picture(place % 9), sample) for place, sample in enumerate(ids)]
    assert len(out) == len(expected)
    assert not np.array_equal(expected[:9], expected[9:])
    same = {name: np.array_equal(out[:, place], expected) for place, name in enumerate(everything)}
    ticks["-".join(map(str, loader))] = same
    assert all(same.values()), same


def test_albumentations_composes_saves_and_replays() -> None:
    needs("albumentations or nrtk-albumentations")
    import albumentations as A  # noqa: N812

    compose = A.Compose([as_albumentations("fog", 3)], bbox_params=A.BboxParams(format="yolo", label_fields=["of"]))
    out = compose(image=IMAGE, bboxes=[[0.5, 0.5, 0.2, 0.2]], of=[1], sample="a")
    np.testing.assert_array_equal(out["image"], FOGGY)
    restored = A.from_dict(json.loads(json.dumps(A.to_dict(compose))))
    again = restored(image=IMAGE, bboxes=[[0.5, 0.5, 0.2, 0.2]], of=[1], sample="a")
    np.testing.assert_array_equal(again["image"], FOGGY)
    replay = A.ReplayCompose([as_albumentations(["fog", "snow"], p=0.5)])
    first = replay(image=IMAGE)
    saved = json.loads(json.dumps(first["replay"]))
    for other in (IMAGE, picture(2)):
        again = A.ReplayCompose.replay(saved, image=other)["image"]
        np.testing.assert_array_equal(again, A.ReplayCompose.replay(first["replay"], image=other)["image"])
        assert np.array_equal(again, first["image"]) == (other is IMAGE)
    forced = A.Compose([A.OneOf([as_albumentations("fog", 3, p=1e-9)], p=1)], seed=1)
    np.testing.assert_array_equal(forced(image=IMAGE, sample="a")["image"], FOGGY)
    moving = A.Compose([as_albumentations("noc/rotation", 3)])
    assert not np.array_equal(moving(image=IMAGE)["image"], IMAGE)


@pytest.mark.parametrize("labels", ["mask", "masks", "bboxes", "keypoints"])
def test_albumentations_labels_pass_beside_photometric_corruptions_and_are_refused_by_moving_ones(labels: str) -> None:
    needs("albumentations or nrtk-albumentations")
    import albumentations as A  # noqa: N812

    given = {"mask": IMAGE[..., 0], "masks": [IMAGE[..., 0]], "bboxes": [[2, 2, 9, 9]], "keypoints": [[3, 4]]}[labels]
    settings = {
        "bbox_params": A.BboxParams(format="pascal_voc", label_fields=["of"]),
        "keypoint_params": A.KeypointParams(format="xy"),
    }
    data = {"image": IMAGE, "sample": "a", "bboxes": [[0, 0, 5, 5]], "of": [1], "keypoints": [[1, 1]], labels: given}
    out = A.Compose([as_albumentations("fog", 3)], **settings)(**data)
    np.testing.assert_array_equal(out["image"], FOGGY)
    np.testing.assert_allclose(out[labels], given, atol=1e-6)
    params = {"bboxes": "bbox_params", "keypoints": "keypoint_params"}
    only = {params[labels]: settings[params[labels]]} if labels in params else {}
    more = {"of": [1]} if labels == "bboxes" else {}
    for moving in (c.id for c in brittle.list_corruptions() if c.moves_pixels):
        compose = A.Compose([as_albumentations(["fog", moving])], **only)
        with pytest.raises(brittle.BrittleError, match=f"{moving} moves pixels, so.*{labels}"):
            compose(image=IMAGE, **{labels: given}, **more)


def test_albumentations_takes_several_images_of_one_sample() -> None:
    needs("albumentations or nrtk-albumentations")
    import albumentations as A  # noqa: N812

    frames = np.stack([IMAGE, IMAGE])
    transform = A.Compose([as_albumentations("fog", 3)])
    for data in ({"images": frames}, {"volume": frames}, {"volumes": frames[None]}):
        out = transform(**data, sample="a")[next(iter(data))]
        np.testing.assert_array_equal(out.reshape(frames.shape), [FOGGY, FOGGY])
    two = A.Compose([as_albumentations("fog", 3)], additional_targets={"other": "image"})
    np.testing.assert_array_equal(two(image=IMAGE, other=IMAGE, sample="a")["other"], FOGGY)


def test_torchvision_composes() -> None:
    needs("torchvision")
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    compose = v2.Compose([as_torchvision("fog", 3), v2.ToDtype(torch.float32, scale=True)])
    image = tv_tensors.Image(torch.from_numpy(IMAGE.transpose(2, 0, 1).copy()))
    boxes = tv_tensors.BoundingBoxes([[0, 0, 4, 4]], format="XYXY", canvas_size=IMAGE.shape[:2])
    out, target = compose(image, {"boxes": boxes, "sample": "a"})
    assert type(out) is tv_tensors.Image
    np.testing.assert_array_equal((out * 255).round().byte().permute(1, 2, 0), FOGGY)
    with pytest.raises(brittle.BrittleError, match=r"noc/rotation.*boxes"):
        as_torchvision("noc/rotation")(image, target)
    mask = tv_tensors.Mask(torch.zeros(IMAGE.shape[:2], dtype=torch.uint8))
    with pytest.raises(brittle.BrittleError, match="noc/rotation"):
        as_torchvision("noc/rotation")(image, {"where": mask})
    batch = as_torchvision("fog", 3)(tv_tensors.Image(torch.stack([image, image])), sample=["a", "b"])
    assert type(batch) is tv_tensors.Image
    np.testing.assert_array_equal(batch[0].permute(1, 2, 0), FOGGY)


def test_hugging_face_transforms_rows() -> None:
    needs("datasets")
    from PIL import Image as Pil

    import datasets

    rows = datasets.Dataset.from_dict(
        {"image": [Pil.fromarray(IMAGE)] * 2, "sample": ["a", "b"]},
        features=datasets.Features({"image": datasets.Image(), "sample": datasets.Value("string")}),
    ).with_transform(as_huggingface("fog", 3))
    np.testing.assert_array_equal(np.asarray(rows[0]["image"]), FOGGY)


def test_maite_knows_it_for_an_augmentation() -> None:
    needs("maite")
    from maite.protocols import image_classification as protocols

    assert isinstance(as_maite("fog"), protocols.Augmentation)


def test_ultralytics_takes_it_and_is_told_of_boxes() -> None:
    needs("albumentations", "torchvision", "ultralytics")
    from ultralytics.data import augment

    photometric = augment.Albumentations(p=1.0, transforms=[as_albumentations("fog", 3)])
    assert not np.array_equal(photometric({"img": IMAGE.copy()})["img"], IMAGE)
    assert augment.Albumentations(p=1.0, transforms=[as_albumentations("noc/rotation")]).contains_spatial


EXAMPLES = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=lambda code: code.split()[1])
def test_the_examples_of_the_page_run(code: str) -> None:
    for package in ("torchvision", "albumentations or nrtk-albumentations", "datasets", "maite", "ultralytics"):
        if re.search(rf"^(import|from) {package.split()[0]}\b", code, re.MULTILINE):
            needs(package)
    names: dict[str, Any] = {}
    exec(code, names)
    if "A.to_dict" in code:
        np.testing.assert_array_equal(names["image"], names["same"])
        np.testing.assert_array_equal(names["first"]["image"], names["again"]["image"])
    if "noc/rotation" in code:
        with pytest.raises(brittle.BrittleError, match="noc/rotation moves pixels, so mask"):
            exec(code.replace("except brittle.BrittleError as error:\n    print(error)", "finally:\n    pass"), names)


def table() -> str:
    """What the tests of all environments saw, a row for each loader."""
    seen = [json.loads(file.read_text()) for file in sorted(ROOT.glob(".venv-interop*/ticks.json"))]
    names = sorted({name for each in seen for ticks in each.values() for name in ticks})
    lines = [f"| workers | start | persistent | {' | '.join(names)} |", "|---:|---|---|" + "---|" * len(names)]
    for loader in LOADERS:
        found = {name: same for each in seen for name, same in each.get("-".join(map(str, loader)), {}).items()}
        workers, method, persistent = loader
        how = f"{method} | {'yes' if persistent else 'no'}" if workers else "– | –"
        marks = [{True: "✓", False: "✗", None: "not run"}[found.get(name)] for name in names]
        lines.append(f"| {workers} | {how} | {' | '.join(marks)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    assert MARKS[0] in text
    written = f"{MARKS[0]}\n\n{table()}\n\n{MARKS[1]}"
    PAGE.write_text(re.sub(f"{MARKS[0]}.*{MARKS[1]}", written, text, flags=re.DOTALL), encoding="utf-8")
    print(f"wrote the table of {PAGE.relative_to(ROOT)}")

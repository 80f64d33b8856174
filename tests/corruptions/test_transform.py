import numpy as np
import pytest
import torch
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.datasets import photo
from tests.errors import naming


def test_severity_is_drawn_for_each_image() -> None:
    transform = brittle.Transform("imagenet-c/brightness", severity=(1, 5))
    image = np.full((8, 8, 3), 60, np.uint8)
    greys = {int(transform(image)[0, 0, 0]) for _ in range(40)}
    low, high = (int(brittle.corrupt(image, "imagenet-c/brightness", s)[0, 0, 0]) for s in (1, 5))
    assert len(greys) > 10
    assert low <= min(greys) < max(greys) <= high


def test_two_equal_transforms_draw_equally_and_another_seed_differently() -> None:
    image = photo("cat", 32)
    runs = []
    for seed in (0, 0, 1):
        transform = brittle.Transform(["snow", "fog", "gaussian_noise"], seed=seed)
        runs.append([transform(image).tobytes() for _ in range(6)])
    assert runs[0] == runs[1] != runs[2]
    assert len(set(runs[0])) == 6


def test_addressed_calls_do_not_depend_on_order() -> None:
    transform, image = brittle.Transform(["snow", "fog"]), photo("cat", 32)
    forward = {sample: transform.apply(image, sample).tobytes() for sample in range(5)}
    assert {sample: transform.apply(image, sample).tobytes() for sample in reversed(range(5))} == forward


def test_the_share_of_corrupted_images_is_p() -> None:
    transform, image = brittle.Transform("imagenet-c/contrast", p=0.3), photo("cat", 32)
    changed = sum(not np.array_equal(transform(image), image) for _ in range(400))
    assert 80 < changed < 160
    assert brittle.Transform("imagenet-c/contrast", p=0)(image) is image


def test_it_fits_torchvision_albumentations_and_pil_pipelines() -> None:
    image, transform = photo("cat", 32), brittle.Transform("fog", severity=3)
    out, label = transform(image, 7)
    assert (out.shape, label) == (image.shape, 7)
    named = transform(image=image, mask="kept")
    assert named["image"].shape == image.shape
    assert named["mask"] == "kept"
    assert isinstance(transform(Pil.fromarray(image)), Pil.Image)


IMAGE = photo("cat", 32)
TENSOR = torch.from_numpy(IMAGE.transpose(2, 0, 1).copy())


class BoundingBoxes(torch.Tensor):
    """Boxes as torchvision's type of that name has them."""


@pytest.mark.parametrize(
    ("inputs", "named", "left_behind"),
    [
        ((), {"image": IMAGE, "mask": np.zeros((32, 32))}, "mask"),
        ((), {"image": IMAGE, "bboxes": [(1, 2, 3, 4)]}, "bboxes"),
        ((), {"image": IMAGE, "keypoints": [(1, 2)]}, "keypoints"),
        ((), {"image": IMAGE, "depth": np.zeros((32, 32, 1))}, "depth"),
        ((IMAGE, np.zeros((32, 32), np.int64)), {}, "input 2"),
        ((Pil.fromarray(IMAGE), 3, Pil.new("L", (32, 32))), {}, "input 3"),
        ((TENSOR, torch.zeros(2, 32, 32)), {}, "input 2"),
        ((TENSOR, {"labels": [1], "boxes": torch.zeros(1, 4)}), {}, "input 2"),
        ((TENSOR, torch.zeros(1, 4).as_subclass(BoundingBoxes)), {}, "input 2"),
    ],
)
def test_labels_that_would_stay_behind_are_refused(inputs: tuple, named: dict, left_behind: str) -> None:
    moving = brittle.Transform(["fog", "noc/rotation"], severity=5, p=0)
    with pytest.raises(BrittleError, match=naming("noc/rotation", left_behind, "`brittle list`")) as caught:
        moving(*inputs, **named)
    assert "imagenet-c/fog" not in str(caught.value)
    out = brittle.Transform(["fog", "glass_blur"], severity=5)(*inputs, **named)
    labels = [out[key] is named[key] for key in named if key != "image"] if named else map(_is, out[1:], inputs[1:])
    assert all(labels)


def _is(one: object, other: object) -> bool:
    return one is other


def test_labels_of_whole_images_pass_whatever_moves() -> None:
    moving = brittle.Transform("noc/rotation", severity=5)
    assert moving(IMAGE, 7)[1] == 7
    assert moving(IMAGE, {"label": 7, "name": "cat"})[1]["label"] == 7
    named = moving(image=IMAGE, label=np.zeros(10), mask=None)
    assert named["mask"] is None
    assert (named["image"] != IMAGE).any()
    assert moving(np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1)))[1].shape == (1, 1)


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        ((TENSOR.float() / 255 - 0.5) / 0.25, ("[0, 1]", "-1.85882", "1.16863")),
        (TENSOR.float(), ("[0, 1]", 9, 202, 255)),
        (IMAGE.astype(np.float32) / 100, ("[0, 1]", "0.09", "2.02", 255)),
        (np.stack([IMAGE, IMAGE]), ("(2, 32, 32, 3)",)),
    ],
)
def test_a_wrong_input_fails_at_the_first_call_also_if_it_is_not_drawn(wrong: object, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        brittle.Transform("fog", p=0)(wrong)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: brittle.Transform("fog", severity=(3, 1)), ("(3, 1)",)),
        (lambda: brittle.Transform("fog", severity=(0, 6)), ("severity", 0, 5, 6)),
        (lambda: brittle.Transform("fog", p=2), ("p", 0, 1, 2)),
        (lambda: brittle.Transform([]), ("Transform", "corruption", "empty")),
        (lambda: brittle.Transform("fgo"), ("fgo", "imagenet-c/fog")),
    ],
)
def test_bad_settings_are_named(make, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        make()


def test_it_says_what_it_is() -> None:
    assert repr(brittle.Transform("fog", severity=2)) == "Transform(imagenet-c/fog, severity=(2, 2), seed=0, p=1)"
    with pytest.raises(TypeError, match=naming("Transform", "t(image)")):
        brittle.Transform("fog")()


class Photographs(torch.utils.data.Dataset):
    """A user's dataset, which knows nothing of sample ids."""

    def __init__(self, transform: brittle.Transform) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(torch.from_numpy(photo("cat", 32).transpose(2, 0, 1).copy()))


@pytest.mark.parametrize("kind", [torch.uint8, torch.float32])
def test_tensors_stay_tensors(kind: torch.dtype) -> None:
    array = photo("cat", 32)
    tensor = torch.from_numpy(array.transpose(2, 0, 1).copy())
    tensor = tensor if kind == torch.uint8 else tensor / 255
    out = brittle.Transform("imagenet-c/contrast", severity=3)(tensor)
    assert (out.dtype, out.shape) == (kind, tensor.shape)
    expected = brittle.corrupt(array, "imagenet-c/contrast", 3).transpose(2, 0, 1)
    np.testing.assert_allclose(out.numpy() * (1 if kind == torch.uint8 else 255), expected, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_of_tensors_is_its_images_one_by_one(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brittle.corruptions.tensors.cores", lambda: threads)
    monkeypatch.setattr("brittle.corruptions.tensors.THREADED_VALUES", 1)
    batch = torch.stack([TENSOR] * 7)
    alone = brittle.Transform(["fog", "snow"], p=0.7)
    together = brittle.Transform(["fog", "snow"], p=0.7)
    for _ in range(2):
        np.testing.assert_array_equal(together(batch), torch.stack([alone(each) for each in batch]))
    out = together.apply(batch, list("abcdefg"))
    np.testing.assert_array_equal(out, torch.stack([alone.apply(TENSOR, sample) for sample in "abcdefg"]))
    assert len({each.numpy().tobytes() for each in out}) > 3
    with pytest.raises(BrittleError, match=naming(7, "'a'")):
        together.apply(batch, "a")


def test_a_tensor_of_another_shape_is_named() -> None:
    with pytest.raises(BrittleError, match=naming(1, 3, 4, 32)):
        brittle.Transform("fog")(torch.zeros(32, 32, 3))
    with pytest.raises(BrittleError, match=naming("(0, 3, 8, 8)")):
        brittle.Transform("fog")(torch.zeros(0, 3, 8, 8))


def test_workers_and_epochs_draw_differently_and_a_manual_seed_repeats_them() -> None:
    loader = torch.utils.data.DataLoader(
        Photographs(brittle.Transform("gaussian_noise")), batch_size=None, num_workers=2
    )

    def epoch() -> list[bytes]:
        return [image.numpy().tobytes() for image in loader]

    torch.manual_seed(0)
    first, second = epoch(), epoch()
    assert len({*first, *second}) == 16
    torch.manual_seed(0)
    assert epoch() == first

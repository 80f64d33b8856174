import numpy as np
import pytest
import torch
from PIL import Image as Pil

import brittle
from brittle.datasets import photo


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: brittle.Transform("fog", severity=(3, 1)), "goes from low to high"),
        (lambda: brittle.Transform("fog", severity=(0, 6)), "between 0"),
        (lambda: brittle.Transform("fog", p=2), "p is a share between 0 and 1, got 2"),
        (lambda: brittle.Transform([]), "at least one corruption"),
        (lambda: brittle.Transform("fgo"), "did you mean"),
    ],
)
def test_bad_settings_are_named(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_it_says_what_it_is() -> None:
    assert repr(brittle.Transform("fog", severity=2)) == "Transform(imagenet-c/fog, severity=(2, 2), seed=0, p=1)"
    with pytest.raises(TypeError, match="needs an image"):
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


def test_a_tensor_of_another_shape_is_named() -> None:
    with pytest.raises(ValueError, match=r"a tensor image is C×H×W with 1, 3 or 4 channels, got shape \(32, 32, 3\)"):
        brittle.Transform("fog")(torch.zeros(32, 32, 3))


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

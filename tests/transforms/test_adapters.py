"""The adapters against `brittle.corrupt`; the real libraries meet them in in_interop_venv.py."""

import numpy as np
import pytest
import torch
from PIL import Image as Pil

import brittle
from brittle.transforms import Indexed, as_huggingface, as_maite, as_torchvision
from brittle.transforms.samples import content_id
from tests.errors import naming
from tests.transforms.pipelines import Pictures, by_columns, by_torchvision, picture, two_epochs

IMAGE = picture(1)
FOGGY = brittle.corrupt(IMAGE, "fog", 3, sample="a")
PLANES = torch.from_numpy(IMAGE.transpose(2, 0, 1).copy())


@pytest.mark.parametrize(
    "given",
    [PLANES, PLANES.float() / 255, PLANES.double() / 255, Pil.fromarray(IMAGE), PLANES[None]],
    ids=["uint8", "float32", "float64", "PIL", "batch"],
)
def test_torchvision_gives_the_pixels_of_corrupt(given) -> None:
    sample = ["a"] if getattr(given, "ndim", 3) == 4 else "a"
    out = as_torchvision("fog", 3)(given, sample=sample)
    assert type(out) is type(given)
    if isinstance(out, torch.Tensor):
        assert (out.dtype, out.shape) == (given.dtype, given.shape)
        out = (out * (255 if out.is_floating_point() else 1)).round().byte().reshape(PLANES.shape).permute(1, 2, 0)
    np.testing.assert_array_equal(np.asarray(out), FOGGY)


def test_labels_pass_through_and_a_dict_carries_the_id() -> None:
    boxes = torch.zeros(2, 4)
    image, target = as_torchvision("fog", 3)(Pil.fromarray(IMAGE), {"boxes": boxes, "sample": "a"})
    np.testing.assert_array_equal(np.asarray(image), FOGGY)
    assert target["boxes"] is boxes


@pytest.mark.parametrize("name", [c.id for c in brittle.list_corruptions() if c.moves_pixels])
def test_what_moves_pixels_is_refused_beside_boxes(name: str) -> None:
    with pytest.raises(brittle.BrittleError, match=naming(name, "boxes")):
        as_torchvision(name)(PLANES, {"boxes": torch.zeros(1, 4)})
    with pytest.raises(brittle.BrittleError, match=naming(name, "objects")):
        as_huggingface(name)({"image": [IMAGE], "objects": [{"bbox": [[0, 0, 1, 1]]}]})

    class Target:
        boxes = np.zeros((1, 4))

    with pytest.raises(brittle.BrittleError, match=naming(name, "boxes")):
        as_maite(name)(([PLANES.numpy()], [Target()], [{"id": 1}]))


def test_maite_takes_ids_from_the_metadata() -> None:
    images, targets, metadata = as_maite("fog", 3)(([PLANES.numpy(), PLANES], [0, 1], [{"id": "a"}, {"id": "b"}]))
    np.testing.assert_array_equal(images[0].transpose(1, 2, 0), FOGGY)
    assert isinstance(images[1], torch.Tensor)
    assert not np.array_equal(images[0], images[1].numpy())
    assert (targets, metadata[1]) == ([0, 1], {"id": "b"})
    with pytest.raises(brittle.BrittleError, match=naming("id")):
        as_maite("fog")(([PLANES], [0], [{}]))


def test_ids_are_given_or_of_the_dataset_or_of_the_pixels() -> None:
    transform = as_huggingface("fog", 3)
    np.testing.assert_array_equal(transform({"image": [IMAGE], "sample": ["a"]})["image"][0], FOGGY)
    inside = Indexed(Pictures(transform, by_columns), ids=list("xaxxxxxxx"))
    np.testing.assert_array_equal(inside[1], FOGGY)
    outside = by_columns(transform, IMAGE)
    np.testing.assert_array_equal(outside, by_torchvision(as_torchvision("fog", 3), IMAGE))
    assert not np.array_equal(outside, FOGGY)
    changed = np.array(IMAGE)
    changed[-1, -1, -1] ^= 1
    assert transform.ids.of(None)(changed) != transform.ids.of(None)(IMAGE)
    transform.set_epoch(2)
    expected = brittle.corrupt(IMAGE, "fog", 3, sample="a#2")
    np.testing.assert_array_equal(transform({"image": [IMAGE], "sample": ["a"]})["image"][0], expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("loader", [(0, "", False), (2, "fork", True), (1, "spawn", True), (1, "forkserver", False)])
def test_workers_and_threads_give_the_pixels_of_none(loader: tuple, threads: int) -> None:
    """All loaders and libraries are in in_interop_venv.py."""

    def dataset(threads: int) -> Indexed:
        pictures = Pictures(as_torchvision(["fog", "snow"], (1, 5), p=0.7), by_torchvision)
        return Indexed(pictures, threads=threads)

    expected = two_epochs(dataset(1), 0, "", False)
    np.testing.assert_array_equal(two_epochs(dataset(threads), *loader), expected)
    assert not np.array_equal(expected[:9], expected[9:])


@pytest.fixture
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brittle.corruptions.tensors.cores", lambda: 3)
    monkeypatch.setattr("brittle.corruptions.tensors.THREADED_VALUES", 1)


@pytest.mark.usefixtures("many_threads")
def test_a_batch_by_many_threads_is_each_image_alone() -> None:
    batch = torch.stack([PLANES] * 5)
    out = as_torchvision("snow", 3)(batch, sample=list("abcde"))
    assert out.is_contiguous()
    for planes, sample in zip(out, "abcde", strict=True):
        np.testing.assert_array_equal(planes.permute(1, 2, 0), brittle.corrupt(IMAGE, "snow", 3, sample=sample))
    by_column = as_huggingface("snow", 3)(
        {"image": [IMAGE, Pil.fromarray(IMAGE), PLANES], "sample": np.array(list("abc"))}
    )
    for image, planes in zip(by_column["image"], out, strict=False):
        pixels = image.permute(1, 2, 0) if isinstance(image, torch.Tensor) else np.asarray(image)
        np.testing.assert_array_equal(pixels, planes.permute(1, 2, 0))


def test_the_checksum_of_a_large_picture_knows_every_pixel() -> None:
    large = picture(3, side=100)
    ids = {content_id(large), content_id(large.reshape(50, 200, 3))}
    for place in range(7, large.size, 1000):
        other = large.copy()
        other.flat[place] ^= 128
        ids.add(content_id(other))
    assert len(ids) == 2 + large.size // 1000
    assert content_id(large) == content_id((large / 255).astype(np.float32)) == content_id(large[:, ::-1][:, ::-1])
    assert content_id(picture(1, side=50)) == "pixels:cca90c75"


@pytest.mark.usefixtures("many_threads")
def test_the_frames_of_a_sample_are_addressed_by_it_whatever_thread_corrupts_them() -> None:
    transform, frames = as_torchvision("snow", 3), torch.stack([PLANES] * 4)

    class Clips:
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> torch.Tensor:
            return transform(frames)

    out = Indexed(Clips(), ids=["clip"])[0]
    for place, planes in enumerate(out):
        expected = brittle.corrupt(IMAGE, "snow", 3, sample=f"clip/{place}")
        np.testing.assert_array_equal(planes.permute(1, 2, 0), expected)


@pytest.mark.parametrize("kind", [torch.uint8, torch.float32, torch.float16])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_order_of_the_channels_in_memory_changes_no_pixel(kind: torch.dtype, channels: int) -> None:
    image = picture(2)[..., [0, 1, 2, 0]][..., :channels]
    planes = torch.from_numpy(image.transpose(2, 0, 1).copy())
    planes = planes if kind == torch.uint8 else (planes / 255).to(kind)
    interleaved = planes.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    transform = as_torchvision("snow", 3)
    one, other = (transform(each, sample="a") for each in (planes, interleaved))
    assert one.is_contiguous()
    assert other.is_contiguous()
    torch.testing.assert_close(one, other, rtol=0, atol=0)
    expected = brittle.corrupt(image, "snow", 3, sample="a")
    np.testing.assert_array_equal((one * (1 if kind == torch.uint8 else 255)).round().byte().permute(1, 2, 0), expected)
    assert (one[3] == planes[3]).all() if channels == 4 else (expected != image).any()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: as_torchvision("fog")(IMAGE), ("ndarray",)),
        (lambda: as_torchvision("fog")(torch.zeros(5, 8, 8)), (5,)),
        (lambda: as_torchvision("fog")(PLANES[None], sample=["a", "b"]), (1,)),
        (lambda: as_torchvision("fog").set_epoch(-1), (-1,)),
        (lambda: as_huggingface("fog")({"img": [IMAGE]}), ("image", "img")),
        (lambda: as_torchvision("fog", p=0)(PLANES.float()), ("[0, 1]", 255)),
        (lambda: as_torchvision("fog")(PLANES[None][:0]), ("empty", 0)),
        (lambda: Indexed(iter([1])), ("list_iterator",)),
        (lambda: Indexed([1, 2])[:1], ("slice",)),
    ],
)
def test_mistakes_are_named(call, named: tuple) -> None:
    with pytest.raises((brittle.BrittleError, TypeError), match=naming(*map(str, named))):
        call()

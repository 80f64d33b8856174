"""Which images a folder has, and that every kind of file is read right or reported."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import UnreadableImage, find_images, photo, read_image
from tests.errors import naming

PHOTO = Pil.fromarray(photo(size=40)).crop((0, 0, 40, 30))
GREY = PHOTO.convert("L")


def test_images_are_found_at_every_depth_in_a_stable_order(tmp_path: Path) -> None:
    names = ["b.jpg", "a/x.JPEG", "a/deep/y.png", "Äpfel/ö 1.webp"]
    for name in [*names, "notes.txt", "._b.jpg", ".cache/z.jpg", "a/labels.csv"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert find_images(tmp_path) == ["a/deep/y.png", "a/x.JPEG", "b.jpg", "Äpfel/ö 1.webp"]


@pytest.mark.parametrize(
    ("name", "values"), [("nowhere", ("nowhere",)), ("file", ("file",)), ("", (".jpg", ".png", ".webp"))]
)
def test_a_folder_without_images_is_a_mistake(tmp_path: Path, name: str, values: tuple) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        find_images(tmp_path / name)


def _saved(picture: Pil.Image, form: str, **how: object) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form, **how)
    return stream.getvalue()


def _turned(picture: Pil.Image) -> bytes:
    exif = Pil.Exif()
    exif[0x0112] = 6  # the camera was turned by 90°
    return _saved(picture.transpose(Pil.Transpose.ROTATE_90), "PNG", exif=exif)


def _see_through(picture: Pil.Image) -> Pil.Image:
    picture = picture.copy()
    picture.putalpha(picture.convert("L"))
    return picture


DEEP = Pil.fromarray(np.asarray(GREY).astype(np.uint16) * 257)
REAL = Pil.fromarray(np.asarray(GREY).astype(np.float32) / 255)
FEW = PHOTO.quantize(16)
KINDS = {
    "RGB png": (_saved(PHOTO, "PNG"), PHOTO, 0),
    "RGB jpeg": (_saved(PHOTO, "JPEG", quality=95), PHOTO, 4),
    "grey jpeg": (_saved(GREY, "JPEG", quality=95), GREY, 2),
    "grey 16-bit": (_saved(DEEP, "PNG"), GREY, 0),
    "grey 16-bit tiff": (_saved(DEEP, "TIFF"), GREY, 0),
    "grey real tiff": (_saved(REAL, "TIFF"), GREY, 0),
    "RGBA": (_saved(_see_through(PHOTO), "PNG"), PHOTO, 0),
    "grey and alpha": (_saved(_see_through(GREY), "PNG"), GREY, 0),
    "CMYK": (_saved(PHOTO.convert("CMYK"), "JPEG", quality=95), PHOTO, 6),
    "palette": (_saved(FEW, "PNG"), FEW, 0),
    "palette with transparency": (_saved(FEW, "PNG", transparency=bytes(16)), FEW, 0),
    "black and white": (_saved(PHOTO.convert("1"), "PNG"), PHOTO.convert("1"), 0),
    "animation": (_saved(FEW, "GIF", save_all=True, append_images=[FEW.rotate(180)]), FEW, 0),
    "turned camera": (_turned(PHOTO), PHOTO, 0),
    "webp": (_saved(PHOTO, "WEBP", lossless=True), PHOTO, 0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_image_becomes_upright_rgb(tmp_path: Path, kind: str) -> None:
    data, meant, tolerance = KINDS[kind]
    (tmp_path / "file").write_bytes(data)
    image = read_image(tmp_path / "file")
    assert (image.dtype, image.shape) == (np.uint8, (30, 40, 3))
    assert np.abs(image.astype(int) - np.asarray(meant.convert("RGB"), int)).mean() <= tolerance


BROKEN = {
    "cut jpeg": (_saved(PHOTO, "JPEG")[:700], "truncated"),
    "cut png": (_saved(PHOTO, "PNG")[:700], "truncated"),
    "nothing": (b"", "empty"),
    "text": (b"not a picture", "Pillow"),
    "not numbers": (_saved(Pil.fromarray(np.full((4, 4), np.nan, np.float32)), "TIFF"), "NaN"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_says_why(tmp_path: Path, kind: str) -> None:
    data, reason = BROKEN[kind]
    (tmp_path / "file.jpg").write_bytes(data)
    with pytest.raises(UnreadableImage, match=naming(reason)):
        read_image(tmp_path / "file.jpg")


@pytest.mark.parametrize("size", [(300, 256), (256, 301), (1000, 300), (230, 900), (224, 224)])
def test_imagenet_preparation_is_the_central_224_of_a_short_side_of_256(tmp_path: Path, size: tuple[int, int]) -> None:
    across, down = np.meshgrid(np.linspace(0, 1, size[0]), np.linspace(0, 1, size[1]))
    ramps = np.rint(np.stack([across, down, 0 * down], axis=2) * 255).astype(np.uint8)
    Pil.fromarray(ramps).save(tmp_path / "ramps.png")
    image = read_image(tmp_path / "ramps.png", prepare="imagenet")
    assert image.shape == (224, 224, 3)
    scale = 256 / min(size)
    for axis, side in ((0, size[0]), (1, size[1])):  # how much of the ramp is left after the crop
        seen = np.ptp(image[:, :, axis].astype(int)) / 255
        assert seen == pytest.approx(224 / (side * scale), abs=0.02)
        assert image[:, :, axis].mean() == pytest.approx(127.5, abs=1.5)


def test_a_photograph_of_the_right_size_is_only_cropped(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (256, 301, 3), np.uint8)
    Pil.fromarray(pixels).save(tmp_path / "noise.png")
    assert (read_image(tmp_path / "noise.png", prepare="imagenet") == pixels[16:240, 38:262]).all()

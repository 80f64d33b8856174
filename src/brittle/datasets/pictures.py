"""Single pictures: photographs by their names, one corrupted picture of them, and files that pictures are saved to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._types import Image
from brittle.corruptions import Sample, corrupt
from brittle.datasets.images import photo, read_image, square
from brittle.datasets.load import load_dataset

BUNDLED = ("cat", "coffee")
"""The photographs that come with brittle."""

SAVING: dict[str, dict[str, Any]] = {
    ".png": {"format": "PNG", "optimize": True},
    ".jpg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".jpeg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".webp": {"format": "WEBP", "quality": 90, "method": 4},
}
"""By the ending of a file: how Pillow saves a picture there."""

USUAL_SEVERITY = 3.0
"""The severity of a corruption in `corrupt_picture` if none is given."""


def load_photo(name: str | Path) -> Image:
    """A photograph by its file, or a bundled one by its name: `cat` or `coffee`.

    >>> from brittle.datasets import load_photo
    >>> load_photo("cat").shape
    (300, 300, 3)
    """
    name = str(name)
    if name in BUNDLED and not Path(name).exists():
        return photo(name, size=300)
    try:
        return read_image(name)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no photograph {name!r}; give an image file, or {' or '.join(map(repr, BUNDLED))}"
        ) from None
    except ValueError as error:
        raise BrittleError(f"cannot read the photograph {name!r}: {error}") from None


def corrupt_picture(
    source: str | Path,
    destination: str | Path,
    corruptions: Sequence[str] = (),
    severities: Sequence[float] = (),
    *,
    seed: int = 0,
    sample: str | None = None,
    image_size: int | None = None,
    prepare: str = "none",
) -> Image:
    """Write one picture with corruptions over each other, in the order in which they are named, and give its pixels.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from brittle.datasets import corrupt_picture
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corrupt_picture("cat", Path(folder) / "cat.png", ["fog", "snow"], [3.5, 2], image_size=64).shape
    (64, 64, 3)

    Args:
        source: a photograph, as for `load_photo`; or data, as for `load_dataset`, of which `sample` names one image.
        destination: a .png, .jpg or .webp file.
        corruptions: names; without any the picture is clean.
        severities: one for each corruption; without any each has 3.
        sample: the sample id that the random draws depend on, by default the name of the photograph's file.
        image_size: the side of the central square that is corrupted; by default the whole image as it is.
        prepare: how an image of data is prepared, as in `Dataset.prepared`.
    """
    check_picture(destination)
    levels = severities_for(corruptions, severities)
    image, identity = _source(str(source), sample, prepare)
    if image_size is not None:
        image = square(image, image_size)
    for name, severity in zip(corruptions, levels, strict=True):
        image = corrupt(image, name, severity, seed=seed, sample=identity)
    save_picture(Pil.fromarray(image), destination)
    return image


def severities_for(corruptions: Sequence[str], severities: Sequence[float]) -> list[float]:
    """A severity for each corruption of one picture."""
    levels = list(severities) or [USUAL_SEVERITY] * len(corruptions)
    if len(corruptions) != len(levels):
        raise BrittleError(
            f"one picture has each corruption at its own severity, got {len(corruptions)} corruptions and "
            f"{len(levels)} severities; give as many of both, in one order"
        )
    return levels


def _source(source: str, sample: str | None, prepare: str) -> tuple[Image, Sample]:
    """The pixels, and the sample id of the draws: a photograph by its file, or an image of a dataset by its id."""
    if source in BUNDLED or Path(source).is_file():
        return load_photo(source), sample if sample is not None else Path(source).name
    data = load_dataset(source)
    if sample is None:
        raise BrittleError(f"{source!r} has {len(data):,} images; say which by `sample`, such as {data.ids[0]}")
    places = {str(identity): place for place, identity in enumerate(data.ids)}
    if sample not in places:
        raise BrittleError(f"{source!r} has no sample {sample!r}; its ids are such as {data.ids[0]} and {data.ids[-1]}")
    place = places[sample]
    data = data if prepare == "none" else data.prepared(prepare)
    return data.image(place), data.ids[place]


def is_picture(path: str | Path) -> bool:
    """Whether a path is the file of one picture, by its ending, and no folder."""
    return Path(path).suffix.lower() in SAVING and not Path(path).is_dir()


def check_picture(path: str | Path) -> None:
    """Raise unless a picture can be saved under this name."""
    if Path(path).suffix.lower() not in SAVING:
        raise BrittleError(f"the output must end in {', '.join(SAVING)}; got {str(path)!r}")


def save_picture(picture: Pil.Image, path: str | Path) -> Path:
    """Save a picture by the ending of its file, complete or not at all, and make its folder if there is none."""
    check_picture(path)
    output = Path(path)
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as part:
        picture.save(part, **SAVING[output.suffix.lower()])
    return output

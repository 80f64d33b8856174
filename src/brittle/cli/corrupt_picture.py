"""`brittle corrupt PHOTO FILE.png`: one picture, with corruptions over each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brittle._errors import BrittleError
from brittle.cli.console import SAVING, console, save_picture

if TYPE_CHECKING:
    from brittle._types import Image
    from brittle.corruptions import Sample

USUAL_SEVERITY = 3.0


def is_picture(destination: Path) -> bool:
    """Whether DST is the file of one picture, and no folder."""
    return destination.suffix.lower() in SAVING and not destination.is_dir()


def corrupt_picture(
    source: str,
    destination: Path,
    corruptions: Sequence[str],
    severities: Sequence[str],
    *,
    seed: int | None,
    sample: str | None,
    size: int | None,
    prepare: str,
) -> None:
    """Write one picture: each corruption at its own severity, in the order in which they are named."""
    from PIL import Image as Pil

    import brittle
    from brittle.datasets import square

    names = [name for text in corruptions for name in text.split(",") if name]
    levels = [_severity(word) for text in severities for word in text.split(",") if word]
    if len(levels) == 0:
        levels = [USUAL_SEVERITY] * len(names)
    if len(names) != len(levels):
        raise BrittleError(
            f"one picture has each corruption at its own severity, got {len(names)} by -c and {len(levels)} by -s; "
            "give as many of both, in one order"
        )
    image, identity = _source(source, sample, prepare)
    if size is not None:
        image = square(image, size)
    for name, severity in zip(names, levels, strict=True):
        image = brittle.corrupt(image, name, severity, seed=seed or 0, sample=identity)
    save_picture(Pil.fromarray(image), destination)
    shown = ", ".join(f"{name} {severity:g}" for name, severity in zip(names, levels, strict=True)) or "clean"
    height, width = image.shape[:2]
    console().print(f"{destination}  [dim]{width}×{height} px, {shown}, seed {seed or 0}[/]", soft_wrap=True)


def _source(source: str, sample: str | None, prepare: str) -> tuple[Image, Sample]:
    """The pixels, and the sample id of the draws: a photograph by its file, or an image of a dataset by its id."""
    from brittle.datasets import load_dataset
    from brittle.evaluation import load_photo

    if source in ("cat", "coffee") or Path(source).is_file():
        return load_photo(source), sample if sample is not None else Path(source).name
    data = load_dataset(source)
    if sample is None:
        raise BrittleError(
            f"{source!r} has {len(data):,} images; say which one with --sample ID, such as {data.ids[0]}"
        )
    places = {str(identity): place for place, identity in enumerate(data.ids)}
    if sample not in places:
        raise BrittleError(f"{source!r} has no sample {sample!r}; its ids are such as {data.ids[0]} and {data.ids[-1]}")
    place = places[sample]
    data = data if prepare == "none" else data.prepared(prepare)
    return data.image(place), data.ids[place]


def _severity(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise BrittleError(f"severities must be numbers such as 1,2.5,5; got {word!r}") from None

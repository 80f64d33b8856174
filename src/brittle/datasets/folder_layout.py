"""The layout of the released ImageNet-C: a folder per corruption, severity and class, a file per image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PIL import Image as Pil

from brittle._io import flush, is_whole, replacing
from brittle.arrays import Image
from brittle.benchmarks import Benchmark, level_name
from brittle.datasets.folder import BrokenImage, find_images, find_labels, read_image
from brittle.datasets.prepare import PREPARATIONS
from brittle.datasets.published import Progress, Written, claim, names, write_skipped
from brittle.datasets.workers import check_jobs, spread, stopped

FORMATS = {"jpeg": ".JPEG", "png": ".png"}
"""Each format with the suffix of its files; .JPEG is how the released sets spell it."""


@dataclass(frozen=True)
class _Run:
    source: Path
    destination: Path
    benchmark: Benchmark
    prepare: str
    format: str


def write_folders(
    source: str | Path,
    destination: str | Path,
    benchmark: Benchmark,
    *,
    prepare: str = "none",
    format: str = "jpeg",  # noqa: A002 - what a user would call it
    jobs: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Corrupt every image below `source` into `destination/<corruption>/<severity>/<class>/<name>.JPEG`.

    The sample id of an image is its relative path, so neither order nor `jobs` changes a pixel. Files that are
    there already are kept, so a run that was interrupted goes on where it ended; pictures that a crash left empty or
    cut off are written again, and counted. Files that cannot be read are skipped, counted and listed in skipped.txt.

    Args:
        source: a folder of images, in class folders or flat.
        destination: a new folder, or one that the same recipe has written to before.
        benchmark: the recipe, which is saved beside the pictures.
        prepare: "none", or "imagenet" for the published short side of 256 and central crop of 224.
        format: "jpeg" (quality 85, as released) or "png" (the exact pixels).
        jobs: worker processes; by default one for each processor.
        overwrite: remove what an earlier recipe wrote to the destination, and start anew.
        progress: called with (done, total) pictures.
    """
    source, destination = Path(source), Path(destination)
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if prepare not in PREPARATIONS:
        raise ValueError(f"prepare must be one of {', '.join(PREPARATIONS)}, got {prepare!r}")
    if destination.resolve().is_relative_to(source.resolve()):
        raise ValueError(f"the destination {str(destination)!r} lies inside the source; its pictures would be read too")
    images = find_images(source)
    jobs = check_jobs(jobs, len(images))
    layout = {"layout": "imagenet-c", "format": format, "prepare": prepare}
    claim(destination, benchmark, layout, overwrite=overwrite)
    if benchmark.storage == "jpeg85" and format == "jpeg":
        benchmark = replace(benchmark, storage="none")  # the file itself is that pass
    run = _Run(source, destination, benchmark, prepare, format)
    tasks = list(zip(images, output_names(images, FORMATS[format]), strict=True))
    total, account = len(tasks) * len(benchmark), Written()
    account.labels, account.masks = find_labels(source, images)
    try:
        with closing(spread(partial(_corrupt_file, run), tasks, jobs=jobs)) as results:
            for number, (image, written, damaged, reason) in enumerate(results, 1):
                account.damaged += damaged
                if reason is not None:
                    account.skipped[image] = reason
                else:
                    account.kept += len(benchmark) - written
                account.written += written
                if progress is not None:
                    progress(number * len(benchmark), total)
    finally:
        flush()  # once for all pictures: one flush for each would take as long as to corrupt it
        write_skipped(destination, account.skipped)
    return account


def output_names(images: Sequence[str], suffix: str) -> list[str]:
    """The file name each image gets: its own with the new suffix.

    Where that would put two images into one file, as with cat.png beside cat.jpg, both keep their whole names:
    cat.png.JPEG and cat.jpg.JPEG.
    """
    whole: set[str] = set()
    while True:
        outputs = [(name if name in whole else _stem(name)) + suffix for name in images]
        counts = Counter(outputs)
        clashing = {name for name, output in zip(images, outputs, strict=True) if counts[output] > 1} - whole
        if not clashing:
            return outputs
        whole |= clashing


def _stem(name: str) -> str:
    return name[: name.rindex(".")]


def _corrupt_file(run: _Run, task: tuple[str, str]) -> tuple[str, int, int, str | None]:
    """Write the pictures of one image that are still missing, or damaged.

    What comes back is the image, how many were written, how many of these were damaged, and why it was skipped.
    """
    image, output = task
    folders = names(run.benchmark)
    missing = []
    for corruption, level in run.benchmark.cells():
        path = run.destination / folders[corruption.id] / level_name(level) / output
        if not is_whole(path):
            missing.append((corruption, level, path))
    if not missing:
        return image, 0, 0, None
    try:
        clean = read_image(run.source / image, prepare=run.prepare)
    except (BrokenImage, OSError) as error:
        for _, _, path in missing:
            path.unlink(missing_ok=True)  # what a crash left empty or cut off
        return image, 0, 0, str(error)
    written = damaged = 0
    for corruption, level, path in missing:
        if stopped():
            break
        try:
            picture = run.benchmark.apply(clean, corruption, level, image)
        except (ValueError, TypeError, FileNotFoundError):  # the recipe is at fault: the same for every image
            raise
        except Exception as error:  # this image is: too large for the memory, too long for OpenCV
            return image, written, damaged, f"{corruption.name} failed on it: {str(error) or type(error).__name__}"
        damaged += path.exists()
        _save(picture, path, run.format)
        written += 1
    return image, written, damaged, None


def _save(picture: Image, path: Path, form: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, durable=False) as part:
        if form == "png":
            Pil.fromarray(picture).save(part, "PNG")
            return
        try:
            Pil.fromarray(picture).save(part, "JPEG", quality=85, optimize=True)
        except OSError:  # Pillow's buffer is too small for noise on a very thin image; the pixels are the same without
            Pil.fromarray(picture).save(part, "JPEG", quality=85)

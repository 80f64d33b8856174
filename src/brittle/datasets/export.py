"""Write corrupted images in the layouts of the published sets, resumably."""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import (
    allocated_array,
    atomic_rename,
    atomic_write,
    file_name,
    flush,
    is_complete,
    locked,
    missing_or_damaged,
    toml_text,
)
from brittle._parallel import check_workers, parallel_map, stopped
from brittle._parts import part, sweep
from brittle._types import Image, printable
from brittle.benchmarks import Benchmark, Entry, Level, ends, level_name, load_benchmark
from brittle.datasets.array_files import check_images, check_labels, read_array, read_labels
from brittle.datasets.images import PREPARATIONS, UnreadableImage, find_images, find_labels, read_image

RECIPE, LAYOUT, SKIPPED = "recipe.toml", "layout.toml", "skipped.txt"

Progress = Callable[[int, int], None]
"""Called with (done, total) pictures as they are written."""


@dataclass
class Written:
    """The outcome of a run: pictures written, existing pictures kept, and unreadable files.

    `damaged` of those written existed before, but were empty or truncated. `labels` are files beside the images that
    look like annotations and are not copied, and `masks` are images that look like masks and were corrupted anyway.
    """

    written: int = 0
    kept: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    labels: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Pictures that exist now."""
        return self.written + self.kept


def names(benchmark: Benchmark) -> dict[str, str]:
    """The published name of each corruption id: the short one, or `source-name` where two sets share it."""
    plain = [entry.corruption.name for entry in benchmark.entries]
    shared = {name for name, count in Counter(plain).items() if count > 1}
    unique = {
        entry.id: "-".join(map(file_name, (entry.corruption.source, name))) if name in shared else file_name(name)
        for entry, name in zip(benchmark.entries, plain, strict=True)
    }
    return (
        unique if len(set(unique.values())) == len(unique) else {identity: file_name(identity) for identity in unique}
    )


def claim(folder: Path, benchmark: Benchmark, layout: Mapping[str, str], *, overwrite: bool) -> None:
    """Prepare the folder for this recipe: a new folder is created, one of the same recipe is resumed, others raise.

    `overwrite` removes what an earlier recipe wrote there; nothing is ever removed from a folder without a recipe file.
    """
    recipe = folder / RECIPE
    if folder.exists() and not folder.is_dir():
        raise BrittleError(f"{str(folder)!r} is a file; the destination is a folder")
    with locked(folder):
        if recipe.is_file():
            if overwrite:
                _clear(folder, Benchmark.load(recipe) if is_complete(recipe) else benchmark)
            else:
                _check_same(folder, benchmark, layout)
        elif any(not item.name.startswith(".") for item in folder.iterdir()):
            raise BrittleError(
                f"{str(folder)!r} is not empty and has no {RECIPE}, so brittle did not write it; choose a new folder"
            )
        sweep(folder)
        noted = {**layout, "brittle": version("brittle"), "recipe": benchmark.hash}
        benchmark.save(recipe)
        with atomic_write(folder / LAYOUT) as path:
            path.write_text(toml_text(noted), encoding="utf-8")


WAY_OUT = "choose another folder, or start again with `overwrite=True`"


def _check_same(folder: Path, benchmark: Benchmark, layout: Mapping[str, str]) -> None:
    """Raise unless the folder was made by this recipe and layout; one of the two files that say so may be damaged."""
    recipe, path = folder / RECIPE, folder / LAYOUT
    damaged = missing_or_damaged(recipe, "it is written again")
    noted = {} if missing_or_damaged(path, "it is written again") else tomllib.loads(path.read_text(encoding="utf-8"))
    if damaged and "recipe" not in noted:
        raise BrittleError(
            f"{str(recipe)!r} is empty or truncated, so the recipe of the pictures beside it is unknown; {WAY_OUT}"
        )
    stored = benchmark if damaged else Benchmark.load(recipe)
    if (noted["recipe"] if damaged else stored.hash) != benchmark.hash:
        comparison = "" if damaged else f": {_summary(stored)}, and this one is {_summary(benchmark)}"
        raise BrittleError(f"{str(folder)!r} was made by another recipe{comparison}; {WAY_OUT}")
    if noted.get("images", layout.get("images")) != layout.get("images"):
        raise BrittleError(f"{str(folder)!r} was made from other images; {WAY_OUT}")
    for key, value in {**layout, "brittle": version("brittle")}.items():
        if noted.get(key, value) != value:
            raise BrittleError(f"{str(folder)!r} was made with {key} {noted[key]!r}, not {value!r}; {WAY_OUT}")


def _summary(benchmark: Benchmark) -> str:
    count = len(benchmark.entries)
    levels = sorted({level for entry in benchmark.entries for level in entry.levels}, key=ends)
    listed = ", ".join(map(level_name, levels))
    corruptions = f"{count} corruptions" if count > 1 else benchmark.entries[0].corruption.name
    return f"{benchmark.name!r} ({corruptions}, severities {listed}, seed {benchmark.seed})"


def _clear(folder: Path, benchmark: Benchmark) -> None:
    for identity, name in names(benchmark).items():
        (folder / f"{name}.npy").unlink(missing_ok=True)
        for level in benchmark.entry(identity).levels:
            shutil.rmtree(folder / name / level_name(level), ignore_errors=True)
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
    for name in ("labels.npy", SKIPPED, LAYOUT, RECIPE):
        (folder / name).unlink(missing_ok=True)


def write_skipped(folder: Path, skipped: Mapping[str, str]) -> None:
    """Write the list of unreadable files beside the pictures, one `path<TAB>reason` per line."""
    if not skipped:
        (folder / SKIPPED).unlink(missing_ok=True)
        return
    with atomic_write(folder / SKIPPED) as path:
        path.write_text("".join(f"{printable(name)}\t{skipped[name]}\n" for name in sorted(skipped)), encoding="utf-8")


def write_corrupted(
    source: str | Path,
    destination: str | Path,
    benchmark: str | Path | Benchmark | None = None,
    *,
    prepare: str = "none",
    image_format: str | None = None,
    array_labels: str | Path | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Corrupt a folder of images as ImageNet-C is laid out, or an .npy or .npz array as CIFAR-10-C is.

    Args:
        source: a folder of images, in class folders or flat, or an array of N×H×W×C images.
        destination: a new folder, or one that the same recipe has written to before, which is resumed.
        benchmark: the recipe; by default imagenet-c for folders and cifar10-c for arrays.
        prepare: see `write_folders`; for folders only.
        image_format: "jpeg", the default, or "png"; for folders only.
        array_labels: an .npy file with the labels of an array, if it does not hold them itself.
        workers: worker processes; by default one for each processor.
        overwrite: remove what an earlier recipe wrote to the destination, and start again.
        progress: called with (done, total) pictures.
    """
    is_array = Path(source).suffix in ARRAY_SUFFIXES
    if is_array and (image_format is not None or prepare != "none"):
        raise BrittleError(
            "`image_format` and `prepare` are for folders of images; an array stays as it is and becomes .npy"
        )
    if array_labels is not None and not is_array:
        raise BrittleError("`array_labels` is for arrays; in a folder the names of the class folders are the labels")
    recipe = source_benchmark(source) if benchmark is None else benchmark
    if not isinstance(recipe, Benchmark):
        recipe = load_benchmark(recipe)
    options: dict[str, Any] = {"workers": workers, "overwrite": overwrite, "progress": progress}
    if not is_array:
        return write_folders(
            source, destination, recipe, prepare=prepare, image_format=image_format or "jpeg", **options
        )
    images, labels = read_array(source)
    if array_labels is not None:
        labels = read_labels(array_labels, len(images))
    return write_arrays(images, destination, recipe, labels=labels, **options)


ARRAY_SUFFIXES = (".npy", ".npz")


def source_benchmark(source: str | Path) -> str:
    """The benchmark whose layout fits the images: cifar10-c for arrays, imagenet-c for folders."""
    return "cifar10-c" if Path(source).suffix in ARRAY_SUFFIXES else "imagenet-c"


BLOCK_BYTES = 2**20
"""Approximate bytes of images per task: 341 images of CIFAR-10."""

Block = tuple[str, Level, int, Image]
"""(corruption id, level, index of the first image, images)."""


def write_arrays(
    images: Image,
    destination: str | Path,
    benchmark: Benchmark,
    *,
    labels: NDArray[Any] | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Corrupt N images into `destination/<corruption>.npy`, each (levels·N)×H×W×C, first all images at the first level.

    The sample id of an image is its index. Existing arrays are kept. With labels, labels.npy holds them
    once for each level. `workers`, `overwrite` and `progress` are those of `write_folders`.
    """
    destination = Path(destination)
    images = check_images(images)
    if labels is not None:
        labels = check_labels(labels, len(images))
        levels = {entry.id: len(entry.levels) for entry in benchmark.entries}
        few, many = min(levels, key=levels.__getitem__), max(levels, key=levels.__getitem__)
        if levels[few] != levels[many]:
            raise BrittleError(
                "one labels.npy serves all corruptions, so in this layout all need the same number of levels; "
                f"{few} has {levels[few]} and {many} has {levels[many]}"
            )
    per_block = max(1, BLOCK_BYTES // images[0].nbytes)
    workers = check_workers(workers, len(benchmark) * -(-len(images) // per_block))
    claim(destination, benchmark, {"layout": "cifar-c", "images": _images_digest(images)}, overwrite=overwrite)
    paths = {identity: destination / f"{name}.npy" for identity, name in names(benchmark).items()}
    redo = "its pictures are drawn again"
    missing = [entry for entry in benchmark.entries if missing_or_damaged(paths[entry.id], redo)]
    total = len(images) * len(benchmark)
    account = Written(kept=total - len(images) * sum(len(entry.levels) for entry in missing))
    if labels is not None:
        _write_labels(destination / "labels.npy", np.tile(labels, len(benchmark.entries[0].levels)))
    outputs = {entry.id: _OutputArray(entry, paths[entry.id], images) for entry in missing}
    blocks = _blocks(missing, images, per_block)
    try:
        with closing(parallel_map(partial(_corrupt_block, benchmark), blocks, workers=workers)) as results:
            for identity, level, start, pictures in results:
                outputs[identity].put(level, start, pictures)
                account.written += len(pictures)
                if progress is not None:
                    progress(account.done, total)
    finally:
        for array in outputs.values():
            array.abandon()
    return account


def _write_labels(path: Path, labels: NDArray[Any]) -> None:
    """Write the labels, unless they are there."""
    if is_complete(path) and np.array_equal(np.load(path), labels):
        return
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        np.save(file, labels)


def _blocks(entries: list[Entry], images: Image, length: int) -> Iterator[Block]:
    for entry in entries:
        for level in entry.levels:
            for start in range(0, len(images), length):
                yield entry.id, level, start, np.array(images[start : start + length])


def _corrupt_block(benchmark: Benchmark, block: Block) -> Block:
    identity, level, start, images = block
    return identity, level, start, benchmark.apply(images, identity, level, range(start, start + len(images)))


def _images_digest(images: Image) -> str:
    digest = sha256(repr(images.shape).encode())
    for start in range(0, len(images), 1024):
        digest.update(images[start : start + 1024].tobytes())
    return digest.hexdigest()[:16]


class _OutputArray:
    """One output array, on disk under a temporary name until its last image is written."""

    def __init__(self, entry: Entry, path: Path, images: Image) -> None:
        self.path, self.levels, self.count = path, entry.levels, len(images)
        self.shape = (len(entry.levels) * len(images), *images.shape[1:])
        self.remaining = self.shape[0]
        self.part = part(path)
        self.array: np.memmap[Any, Any] | None = None

    def put(self, level: Level, start: int, pictures: Image) -> None:
        if self.array is None:
            self.array = allocated_array(self.part, self.shape, np.uint8)
        first = self.levels.index(level) * self.count + start
        self.array[first : first + len(pictures)] = pictures
        self.remaining -= len(pictures)
        if self.remaining == 0:
            self.array.flush()
            self.array = None
            atomic_rename(self.part, self.path)

    def abandon(self) -> None:
        self.array = None
        self.part.unlink(missing_ok=True)


FORMATS = {"jpeg": ".JPEG", "png": ".png"}
"""Each format with the suffix of its files; .JPEG is the spelling of the released sets."""


@dataclass(frozen=True)
class _FolderRun:
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
    image_format: str = "jpeg",
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Corrupt every image below `source` into `destination/<corruption>/<severity>/<class>/<name>.JPEG`.

    The sample id of an image is its relative path, so neither order nor `workers` changes a pixel. Existing
    files are kept, so an interrupted run resumes; pictures that a crash left empty or truncated are written again,
    and counted. Files that cannot be read are skipped, counted and listed in skipped.txt.

    Args:
        source: a folder of images, in class folders or flat.
        destination: a new folder, or one that the same recipe has written to before.
        benchmark: the recipe, which is saved beside the pictures.
        prepare: "none", or "imagenet" for the published short side of 256 and central crop of 224.
        image_format: "jpeg" (quality 85, as released) or "png" (the exact pixels).
        workers: worker processes; by default one for each processor.
        overwrite: remove what an earlier recipe wrote to the destination, and start again.
        progress: called with (done, total) pictures.
    """
    source, destination = Path(source), Path(destination)
    if image_format not in FORMATS:
        raise BrittleError(f"image_format must be one of {', '.join(FORMATS)}, got {image_format!r}")
    if prepare not in PREPARATIONS:
        raise BrittleError(f"prepare must be one of {', '.join(PREPARATIONS)}, got {prepare!r}")
    if destination.resolve().is_relative_to(source.resolve()):
        raise BrittleError(
            f"the destination {str(destination)!r} lies inside the source; its pictures would be read as input"
        )
    images = find_images(source)
    workers = check_workers(workers, len(images))
    layout = {"layout": "imagenet-c", "format": image_format, "prepare": prepare}
    claim(destination, benchmark, layout, overwrite=overwrite)
    if benchmark.storage == "jpeg85" and image_format == "jpeg":
        benchmark = replace(benchmark, storage="none")  # writing the file is that JPEG pass
    run = _FolderRun(source, destination, benchmark, prepare, image_format)
    tasks = list(zip(images, output_names(images, FORMATS[image_format]), strict=True))
    total, account = len(tasks) * len(benchmark), Written()
    account.labels, account.masks = find_labels(source, images)
    try:
        with closing(parallel_map(partial(_corrupt_file, run), tasks, workers=workers)) as results:
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
        flush()  # once for all pictures: a flush of each would take as long as corrupting it
        write_skipped(destination, account.skipped)
    return account


def output_names(images: Sequence[str], suffix: str) -> list[str]:
    """The output file name of each image: its name with the new suffix.

    Where two images would get the same name, as cat.png beside cat.jpg, both keep their full names: cat.png.JPEG and
    cat.jpg.JPEG.
    """
    full_names: set[str] = set()
    while True:
        outputs = [(name if name in full_names else _stem(name)) + suffix for name in images]
        counts = Counter(outputs)
        clashing = {name for name, output in zip(images, outputs, strict=True) if counts[output] > 1} - full_names
        if not clashing:
            return outputs
        full_names |= clashing


def _stem(name: str) -> str:
    return name[: name.rindex(".")]


def _corrupt_file(run: _FolderRun, task: tuple[str, str]) -> tuple[str, int, int, str | None]:
    """Write the missing or damaged pictures of one image.

    Returns the image, how many were written, how many of these were damaged, and why it was skipped.
    """
    image, output = task
    folders = names(run.benchmark)
    missing = []
    for cell in run.benchmark.cells():
        path = run.destination / folders[cell.corruption] / level_name(cell.level) / output
        _sweep_once(path.parent)
        if not is_complete(path):
            missing.append((cell, path))
    if not missing:
        return image, 0, 0, None
    try:
        clean = read_image(run.source / image, prepare=run.prepare)
    except (UnreadableImage, OSError) as error:
        for _, path in missing:
            path.unlink(missing_ok=True)  # empty or truncated by a crash
        return image, 0, 0, str(error)
    written = damaged = 0
    for cell, path in missing:
        if stopped():
            break
        try:
            picture = run.benchmark.apply(clean, cell.corruption, cell.level, printable(image))
        except (ValueError, TypeError, FileNotFoundError):  # an error of the recipe: the same for every image
            raise
        except Exception as error:  # an error of this image: too large for the memory, too long for OpenCV
            return image, written, damaged, f"{cell.title} failed on it: {str(error) or type(error).__name__}"
        damaged += path.exists()
        _save(picture, path, run.format)
        written += 1
    return image, written, damaged, None


@lru_cache(maxsize=1 << 16)
def _sweep_once(folder: Path) -> None:
    """Remove what killed processes left in a folder, the first time that this process writes to it."""
    sweep(folder)


def _save(picture: Image, path: Path, file_format: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, durable=False) as part:
        if file_format == "png":
            Pil.fromarray(picture).save(part, "PNG")
            return
        try:
            Pil.fromarray(picture).save(part, "JPEG", quality=85, optimize=True)
        except OSError:  # Pillow's buffer is too small for noise on a very thin image; the pixels are the same without
            Pil.fromarray(picture).save(part, "JPEG", quality=85)

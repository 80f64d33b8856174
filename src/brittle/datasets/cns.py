"""CNS-Bench: generated images of ImageNet classes under shifts of continuous scale."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from brittle._errors import BrittleError
from brittle.datasets.classes import imagenet_names
from brittle.datasets.dataset import Dataset, Files, dataset_source
from brittle.datasets.folders import first_few
from brittle.datasets.images import find_images

FILE = re.compile(r"seed_(\d+).*_scale_(\d+)m?\.(png|jpe?g)$", re.IGNORECASE)
FOLDER = re.compile(r"(\d{1,3})_(.+)")
CLASSES_FILE = "classes.txt"
"""File with class names other than ImageNet's, one per line; published folders have no such file."""


@dataset_source("cns-bench")
def cns_bench(
    path: str | Path,
    *,
    shift: str | None = None,
    scale: float | None = None,
    classes: Sequence[str] | None = None,
    keep: str | Path | Collection[str] | None = None,
) -> Dataset:
    """The images of `path/<shift>/<class number>_<class name>/seed_0034_scale_1000.jpg`.

    The label is the number of the class folder, an index of ImageNet-1k; as in the paper all 1000 outputs of a model
    count. `columns` has the shift, the seed and the scale (0 to 2.5; the number in the file name is 1000 times that)
    of each image; the images with the same shift, class and seed are one trajectory from clean to shifted. `shift` and
    `scale` select images. `path` may also be the folder of a single shift, or hold newly generated images.
    `classes` are the class names by number if they are not ImageNet's; by default they are read from `classes.txt`.
    `keep` are the samples to keep, or their file, as `read_kept_samples` reads it; by default all.
    """
    root = Path(path)
    names, labels, columns, unmatched = [], [], [], []
    for name in find_images(root):
        parts = name.split("/")
        file = FILE.search(parts[-1])
        folder = FOLDER.fullmatch(parts[-2]) if len(parts) > 1 else None
        if file is None or folder is None:
            unmatched.append(name)
            continue
        names.append(name)
        labels.append((int(folder[1]), folder[2]))
        columns.append((parts[-3] if len(parts) > 2 else root.resolve().name, int(file[1]), int(file[2]) / 1000))
    if not names:
        raise BrittleError(
            f"{str(root)!r} has no images of CNS-Bench, such as "
            f"painting_style/022_bald eagle/seed_0034_scale_1000.jpg; it has {first_few(unmatched)}"
        )
    class_names = classes if classes is not None else _stored_classes(root)
    selected = _select(columns, shift, scale)
    files = Files(root, [names[i] for i in selected])
    skipped = f"{len(unmatched)} images have other file names and were skipped: {first_few(unmatched)}"
    dataset = Dataset(
        "cns-bench" if shift is None else f"cns-bench/{shift}",
        files,
        files.names,
        content=files.content,
        labels=[labels[i][0] for i in selected],
        classes=imagenet_names() if class_names is None else class_names,
        columns={key: [columns[i][column] for i in selected] for column, key in enumerate(("shift", "seed", "scale"))},
        notes=[
            *([skipped] if unmatched else ()),
            *(_misnamed_folders({labels[i] for i in selected}) if class_names is None else ()),
        ],
    )
    return dataset if keep is None else _kept(dataset, keep, root)


def _kept(dataset: Dataset, keep: str | Path | Collection[str], root: Path) -> Dataset:
    samples = set(read_kept_samples(keep) if isinstance(keep, str | Path) else keep)
    indices = [i for i, sample in enumerate(dataset.ids) if sample in samples]
    if not indices:
        raise BrittleError(f"none of the {len(samples)} samples to keep is among the images of {str(root)!r}")
    return dataset.subset(indices)


def _stored_classes(root: Path) -> list[str] | None:
    """The class names in `classes.txt` of the folder or of its parent; None if there is no such file."""
    for path in (root / CLASSES_FILE, root.resolve().parent / CLASSES_FILE):
        if path.is_file():
            return path.read_text(encoding="utf-8").splitlines()
    return None


def _select(columns: list[tuple[str, int, float]], shift: str | None, scale: float | None) -> list[int]:
    for column, value, index in (("shift", shift, 0), ("scale", scale, 2)):
        available = sorted({row[index] for row in columns}, key=lambda item: (isinstance(item, str), item))
        if value is not None and value not in available:
            raise BrittleError(f"there is no {column} {value!r}; there are: {', '.join(map(str, available))}")
    selected = [i for i, row in enumerate(columns) if shift in (None, row[0]) and scale in (None, row[2])]
    if not selected:
        raise BrittleError(f"the shift {shift!r} has no images of scale {scale!r}")
    return selected


def _misnamed_folders(classes: set[tuple[int, str]]) -> list[str]:
    names = imagenet_names()
    expected = {(number, _normalise(name)) for number, name in enumerate(names)}
    misnamed = [f"{number:03}_{name}" for number, name in sorted(classes) if (number, _normalise(name)) not in expected]
    if not misnamed:
        return []
    shown = first_few(misnamed)
    return [f"{len(misnamed)} of {len(classes)} class folders are not named as in ImageNet's class table: {shown}"]


def _normalise(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def read_kept_samples(path: str | Path) -> list[str]:
    """The samples of a CSV file with a column `sample`, such as the kept.csv of `brittle slide filter` and `label`.

    Of filtered.csv, which has a column `kept`, these are the kept ones. Files that say nothing about what to keep, such
    as labels made by hand and scores, are refused.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of samples {str(path)!r}; `brittle slide filter` writes kept.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or ())
        if "sample" not in columns:
            raise BrittleError(f"{str(path)!r} has columns {columns}; a file of samples has one called sample")
        rows = list(reader)
    if any(not (row.get("label") or "0").strip().isdecimal() for row in rows):
        raise BrittleError(
            f"{str(path)!r} has labels made by hand, which say nothing about whole trajectories; "
            f"`brittle slide label SLIDES --labels {path} -o labelled` writes the kept.csv of them"
        )
    if "kept" not in columns and any(column.startswith(("CLIP_", "DINO_")) for column in columns):
        raise BrittleError(
            f"{str(path)!r} has the scores of all images; `brittle slide filter SLIDES --scores {path}` writes the "
            "kept.csv of them"
        )
    return [row["sample"] for row in rows if row.get("kept", "true").strip().casefold() in ("true", "1")]

"""CNS-Bench: generated images of ImageNet classes under shifts that grow continuously."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from brittle._errors import BrittleError
from brittle.datasets.classes import imagenet_names
from brittle.datasets.dataset import Dataset, Files, dataset_source
from brittle.datasets.folders import some
from brittle.datasets.images import find_images

FILE = re.compile(r"seed_(\d+).*_scale_(\d+)m?\.(png|jpe?g)$", re.IGNORECASE)
FOLDER = re.compile(r"(\d{1,3})_(.+)")
CLASSES = "classes.txt"
"""Names of classes that are not ImageNet's, one a line; published folders have no such file."""


@dataset_source("cns-bench")
def cns_bench(
    path: str | Path, *, shift: str | None = None, scale: float | None = None, classes: Sequence[str] | None = None
) -> Dataset:
    """The images of `path/<shift>/<class number>_<class name>/seed_0034_scale_1000.jpg`.

    The label is the number of the class folder, an index of ImageNet-1k; as in the paper all 1000 outputs of a model
    count. `columns` has the shift, the seed and the scale (0 to 2.5; the number in the file name is 1000 times that)
    of each image; the images with the same shift, class and seed are one path from clean to shifted. `shift` and
    `scale` choose. `path` may be a single shift's folder too, and freshly generated images are read as well.
    `classes` are the names by number where they are not ImageNet's; a file `classes.txt` in the folder says them too.
    """
    root = Path(path)
    names, labels, columns, strange = [], [], [], []
    for name in find_images(root):
        parts = name.split("/")
        file = FILE.search(parts[-1])
        folder = FOLDER.fullmatch(parts[-2]) if len(parts) > 1 else None
        if file is None or folder is None:
            strange.append(name)
            continue
        names.append(name)
        labels.append((int(folder[1]), folder[2]))
        columns.append((parts[-3] if len(parts) > 2 else root.resolve().name, int(file[1]), int(file[2]) / 1000))
    if not names:
        raise BrittleError(
            f"{str(root)!r} has no images of CNS-Bench, such as "
            f"painting_style/022_bald eagle/seed_0034_scale_1000.jpg; it has {some(strange)}"
        )
    known = classes if classes is not None else _written(root)
    keep = _chosen(columns, shift, scale)
    files = Files(root, [names[i] for i in keep])
    notes = [f"{len(strange)} images have other names and were left out: {some(strange)}"] if strange else []
    return Dataset(
        "cns-bench" if shift is None else f"cns-bench/{shift}",
        files,
        files.names,
        content=files.content,
        labels=[labels[i][0] for i in keep],
        classes=imagenet_names() if known is None else known,
        columns={key: [columns[i][place] for i in keep] for place, key in enumerate(("shift", "seed", "scale"))},
        notes=[*notes, *(_misspelt({labels[i] for i in keep}) if known is None else ())],
    )


def _written(root: Path) -> list[str] | None:
    """The names in `classes.txt`, of the folder or of the one above a single shift's."""
    for place in (root / CLASSES, root.resolve().parent / CLASSES):
        if place.is_file():
            return place.read_text(encoding="utf-8").splitlines()
    return None


def _chosen(columns: list[tuple[str, int, float]], shift: str | None, scale: float | None) -> list[int]:
    for what, given, place in (("shift", shift, 0), ("scale", scale, 2)):
        there = sorted({row[place] for row in columns}, key=lambda value: (isinstance(value, str), value))
        if given is not None and given not in there:
            raise BrittleError(f"there is no {what} {given!r}; there are: {', '.join(map(str, there))}")
    keep = [i for i, row in enumerate(columns) if shift in (None, row[0]) and scale in (None, row[2])]
    if not keep:
        raise BrittleError(f"the shift {shift!r} has no images of scale {scale!r}")
    return keep


def _misspelt(classes: set[tuple[int, str]]) -> list[str]:
    names = imagenet_names()
    known = {(number, _bare(name)) for number, name in enumerate(names)}
    other = [f"{number:03}_{word}" for number, word in sorted(classes) if (number, _bare(word)) not in known]
    if not other:
        return []
    return [f"{len(other)} of {len(classes)} class folders are not called as in ImageNet's class table: {some(other)}"]


def _bare(word: str) -> str:
    return re.sub(r"[\W_]+", "", word).casefold()

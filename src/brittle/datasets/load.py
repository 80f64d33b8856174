"""A dataset, or a published corrupted set, from a short text, as on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle.benchmarks import Benchmark, Cell
from brittle.corruptions import list_corruptions
from brittle.datasets.array_files import array_file
from brittle.datasets.cifar import array_corruptions, cifar_c, demo
from brittle.datasets.classes import imagenet_classes, imagenet_names, read_class_names
from brittle.datasets.cns import cns_bench, read_kept_samples
from brittle.datasets.dataset import SOURCES, Dataset
from brittle.datasets.export import RECIPE
from brittle.datasets.folders import image_folder, part_folder, split
from brittle.datasets.imagenet_sets import (
    folder_corruptions,
    imagenet,
    imagenet_100,
    imagenet_c,
    severities,
    tiny_imagenet_c,
)
from brittle.datasets.nuisance_sets import IMAGENET_D, imagenet_d, ood_cv_cells

Cells = Mapping[Cell, Callable[[], Dataset]]

STORED = "stored"
"""The key of a cell whose pixels are files."""

RECIPES = {
    "imagenet-c": ("imagenet-c", "imagenet-c-extra", "imagenet-c-bar"),
    "tiny-imagenet-c": ("tiny-imagenet-c",),
    "cifar-c": ("cifar10-c", "cifar10-c-bar"),
    "cns-bench": (),
    "ood-cv": (),
    "ood-cv-imagenet": (),
    "imagenet-d": (),
}
"""The recipes that a stored set may hold the pictures of."""

OPTIONS = {
    "imagenet-c": ("partial",),
    "tiny-imagenet-c": ("partial",),
    "cifar-c": (),
    "cns-bench": ("classes", "keep"),
    "ood-cv": ("partial",),
    "ood-cv-imagenet": ("partial",),
    "imagenet-d": (),
}
"""The options of each reader of a stored set."""


@dataclass(frozen=True, eq=False)
class StoredSet:
    """A published set of corrupted images; the dataset of each cell is opened on demand.

    `folder` is its path.
    """

    name: str
    scheme: str
    cells: Cells
    folder: str = ""

    @property
    def recipes(self) -> tuple[str, ...]:
        """The bundled recipes it may be compared with."""
        return RECIPES[self.scheme]

    @property
    def written_by(self) -> Benchmark | None:
        """The recipe by which `brittle corrupt` wrote the pictures; None if another program wrote them."""
        file = Path(self.folder) / RECIPE
        return Benchmark.load(file) if self.folder and file.is_file() else None


def stored_set(
    spec: str | Path, *, keep: str | Path | Collection[str] | None = None, **options: Any
) -> StoredSet | None:
    """The complete set named by a text such as "imagenet-c:PATH" or "cifar-c:PATH"; None if it is not one.

    Corruptions get the ids of brittle, gaussian_noise becoming imagenet-c/gaussian_noise, so that scores, families and
    published numbers match. `keep` names the samples of slides to keep, or their file, as for `read_kept_samples`;
    `options` are those of the reader, such as partial=True.
    """
    scheme, colon, location = str(spec).partition(":")
    path = Path(location).expanduser()
    if not colon or scheme not in RECIPES:
        return None
    if not path.is_dir():
        if path.parent.parent.is_dir() and len(path.parts) > 2:
            return None  # one cell, path/<corruption>/<severity>, of arrays
        raise FileNotFoundError(f"there is no folder {str(path)!r} of {scheme}")
    if keep is not None:
        options["keep"] = read_kept_samples(keep) if isinstance(keep, str | Path) else keep
    for option in options:
        if option not in OPTIONS[scheme]:
            allowed = ", ".join(OPTIONS[scheme]) or "none"
            raise BrittleTypeError(f"{scheme} has no option {option!r}; it has: {allowed}")
    cells = _READERS[scheme](path, **options)
    folder = path.resolve()
    return StoredSet(folder.name, scheme, cells, str(folder)) if cells else None


def _folder_cells(reader: Callable[..., Dataset], path: Path, **options: Any) -> Cells:
    return {
        Cell(_corruption_id(name), float(number), STORED): partial(reader, path, name, level, **options)
        for name, folder in sorted(folder_corruptions(path).items())
        for number, level in enumerate(severities(folder), 1)
    }


def _array_cells(path: Path) -> Cells:
    return {
        Cell(_corruption_id(name), float(severity), STORED): partial(cifar_c, path, name, severity)
        for name in array_corruptions(path)
        for severity in range(1, 6)
    }


def shift_cells(path: Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None) -> Cells:
    """The cells "cns/<shift>", scale of a CNS-Bench folder; `keep` are the samples to keep, by default all."""
    dataset = cns_bench(path, classes=classes, keep=keep)
    shifts, scales = dataset.columns["shift"], dataset.columns["scale"]
    cells: dict[Cell, Callable[[], Dataset]] = {}
    for shift, scale in sorted(set(zip(shifts.tolist(), scales.tolist(), strict=True))):
        indices = np.flatnonzero((shifts == shift) & (scales == scale))
        cells[Cell(f"cns/{shift}", float(scale), STORED)] = partial(dataset.subset, indices)
    return cells


def _nuisance_cells(path: Path, *, imagenet: bool = False, **options: Any) -> Cells:
    """The cells of OOD-CV; the I.I.D. test set is the clean one."""
    found = ood_cv_cells(path, imagenet=imagenet, **options)
    return {Cell(key=STORED) if name == "clean" else Cell(name, 1.0, STORED): read for name, read in found.items()}


def _imagenet_d_cells(path: Path) -> Cells:
    imagenet_d(path)  # all parts, or a sentence about what is missing
    return {
        Cell(f"imagenet-d/{shift}", 1.0, STORED): lambda shift=shift: imagenet_d(path, shift=shift).prepared("imagenet")  # type: ignore[misc]
        for shift in IMAGENET_D
    }


_READERS: dict[str, Callable[..., Cells]] = {
    "imagenet-c": partial(_folder_cells, imagenet_c),
    "tiny-imagenet-c": partial(_folder_cells, tiny_imagenet_c),
    "cifar-c": _array_cells,
    "cns-bench": shift_cells,
    "ood-cv": _nuisance_cells,
    "ood-cv-imagenet": partial(_nuisance_cells, imagenet=True),
    "imagenet-d": _imagenet_d_cells,
}


def _corruption_id(name: str) -> str:
    """The id of brittle for a published name, else the name itself."""
    for source in ("imagenet-c", "c-bar"):
        for corruption in list_corruptions(source=source):
            if corruption.name == name:
                return corruption.id
    return name


def _cell(reader: Callable[..., Dataset], path: str, **options: Any) -> Dataset:
    """A published corrupted set: the path ends in the corruption and the severity."""
    folder = Path(path)
    if len(folder.parts) < 3:
        raise BrittleError(f"{path!r} does not end in a corruption and a severity, such as …/gaussian_noise/3")
    severity = int(folder.name) if folder.name.isdecimal() else folder.name
    return reader(folder.parent.parent, folder.parent.name, severity, **options)


SOURCES.update(
    {
        "cifar-c": partial(_cell, cifar_c),
        "imagenet-c": partial(_cell, imagenet_c),
        "tiny-imagenet-c": partial(_cell, tiny_imagenet_c),
    }
)  # these take path/<corruption>/<severity>


def dataset_sources() -> dict[str, Callable[..., Dataset]]:
    """The reader of each scheme, of this package and of all imported modules."""
    for module in iter_modules(import_module("brittle.datasets").__path__):
        import_module(f"brittle.datasets.{module.name}")
    return SOURCES


PHOTOGRAPHS = (
    *("imagenet", "imagenet-100", "imagenet-a", "imagenet-a-clean", "imagenet-r", "imagenet-r-clean"),
    *("imagenet-v2", "imagenet-sketch", "objectnet", "ood-cv", "ood-cv-imagenet", "imagenet-d", "domainnet"),
)
"""Sets of photographs of all sizes, which are prepared as ImageNet by default."""


def load_dataset(
    spec: str | Path | Dataset,
    *,
    prepare: str | None = None,
    classes: Sequence[str] | str | Path | None = None,
    **options: Any,
) -> Dataset:
    """A dataset by a text: "demo", "cifar10:PATH", "imagenet-c:PATH/fog/3", a folder of images, an .npz or .npy file.

    >>> import brittle
    >>> brittle.load_dataset("demo").limited(100)                # 1,000 bundled images of CIFAR-10
    <Dataset 'demo': 100 images, 10 classes>

    Args:
        spec: the text, a path, or a dataset, which is returned as it is.
        prepare: "imagenet" brings photographs to one size, the short side to 256 and then the central 224×224; that
            is the default for ImageNet, for its natural shifts, and for folders of images of different or large sizes.
            "342,299" does so with other numbers, "224x224" resizes to exactly that, and "none" leaves images as
            they are. By default `evaluate` uses the input size of the model instead, if it is known.
        classes: names or WordNet ids in the order of the model's outputs, or a text file with one per line; by default
            the sorted class folders.
        options: those of the reader, such as train=True or partial=True.
    """
    if classes is not None:
        options["classes"] = read_class_names(classes) if isinstance(classes, str | Path) else list(classes)
    dataset = _load(spec, options)
    if prepare is None and str(spec).partition(":")[0] in PHOTOGRAPHS and ":" in str(spec):
        prepare = "imagenet"
    return dataset.prepared_for() if prepare is None else dataset.prepared(prepare)


def _load(spec: str | Path | Dataset, options: dict[str, Any]) -> Dataset:
    if isinstance(spec, Dataset):
        if list(options) == ["classes"]:
            return spec.with_classes(options["classes"])
        if options:
            raise BrittleTypeError(f"a loaded dataset takes no options, got {', '.join(options)}")
        return spec
    return _call_reader(*_reader(spec), options)


def load_training_set(
    data: str | Path,
    train_data: str | Path | None = None,
    *,
    train_limit: int | None = None,
    prepare: str | None = None,
    photo_prepare: str | None = None,
    labelled: bool = True,
    held_out: bool = False,
    partial: bool = False,
    all_classes: bool = False,
    keep: str | Path | None = None,
) -> Dataset:
    """The images to train with: those of `train_data`, or the training part of `data`.

    Args:
        data: a text or path as for `load_dataset`. All images of a folder without train and val are its training part,
            and so are generated ones, "cns-bench:PATH".
        train_data: other images to train with, where the data has no training part or another is wanted.
        train_limit: the number of images, evenly over the set; all by default.
        prepare: see `load_dataset`.
        photo_prepare: how photographs that are brought to one size are prepared if `prepare` is not given, such as by
            a published training.
        labelled: a network is trained, so there must be a training part, and its classes must have names. Without it,
            all images stand in where no training part exists.
        held_out: of a folder without train and val leave a fifth of each class out, which `load_test_set` gives.
        partial: some classes may be missing, where the reader checks that.
        all_classes: keep the 1000 classes of ImageNet as labels, even if some have no folder.
        keep: of generated images, the file of those to keep, as for `read_kept_samples`.
    """
    if train_data is None and labelled and not (_is_generated(data) and not held_out):
        _check_training_part(data)
    options: dict[str, Any] = {"train": True} if train_data is None and has_training_part(data) else {}
    options |= {"partial": True} if partial else {}
    options |= {} if keep is None else {"keep": keep}
    dataset = _photos(train_data or data, prepare, photo_prepare, options)
    if held_out and is_split(data, train_data):
        dataset = split(dataset)[0]
    dataset = dataset.limited(train_limit)
    if not labelled:
        return dataset
    if not dataset.classes:
        raise BrittleError(
            f"{dataset.name!r} does not name its classes, so a network cannot be made; give an .npz `classes`"
        )
    return dataset if all_classes else dataset.present_classes()


def _check_training_part(data: str | Path) -> None:
    if "train" not in dataset_options(data):
        raise BrittleError(f"{str(data)!r} has no training part; name training images by `train_data`")


def _is_generated(data: str | Path) -> bool:
    """Whether all images of a text are there to train with, since they were made and not put aside to test."""
    return _reader(data)[1] == "cns-bench"


def load_mixed_set(mix: str | Path, training: Dataset, *, prepare: str | None = None, partial: bool = False) -> Dataset:
    """Other images to mix with those of `training`: of the same size, with the numbers of its classes.

    They are the training part of `mix`, a text or path as for `load_dataset`, or all its images if it has none. Every
    class of theirs must be one of `training`. They are prepared as `training` is, unless `prepare` says how.
    """
    sides = training.preparation if prepare is None and training.preparation != "none" else prepare
    whole = None if has_training_part(mix) else mix
    dataset = load_training_set(mix, whole, prepare=sides, partial=partial, all_classes=True)
    return numbered_as(dataset, training.classes)


def numbered_as(dataset: Dataset, classes: tuple[str, ...]) -> Dataset:
    """A dataset with the numbers of these classes, such as those of another dataset; it may have no other class."""
    dataset = dataset.for_outputs(len(classes))
    if dataset.classes == classes:
        return dataset
    two_cranes = classes == imagenet_names()  # names that occur twice need WordNet ids
    return dataset.with_classes([row.wnid for row in imagenet_classes()] if two_cranes else classes)


def load_test_set(
    data: str | Path,
    training: Dataset,
    train_data: str | Path | None = None,
    *,
    limit: int | None = None,
    prepare: str | None = None,
    photo_prepare: str | None = None,
    partial: bool = False,
) -> Dataset:
    """The images to test networks with that were trained on `training`, with the numbers of its classes.

    They are the test part of `data`, or the fifth that `load_training_set` left out with held_out=True. The other
    arguments are those of `load_training_set`; `limit` is the number of images.
    """
    dataset = _photos(data, prepare, photo_prepare, {"partial": True} if partial else {})
    dataset = (split(dataset)[1] if is_split(data, train_data) else dataset).limited(limit)
    if not dataset.classes or dataset.classes == training.classes:
        return dataset
    return dataset.with_classes(training.classes)


def is_split(data: str | Path, train_data: str | Path | None = None) -> bool:
    """Whether the data are folders without a training part, so that some of their images must be left out to test."""
    return train_data is None and "train" in dataset_options(data) and not has_training_part(data)


def _photos(spec: str | Path, prepare: str | None, photo_prepare: str | None, options: dict[str, Any]) -> Dataset:
    dataset = load_dataset(spec, prepare=prepare, **options)
    if prepare is None and photo_prepare is not None and dataset.preparation != "none":
        return dataset.prepared(photo_prepare)
    return dataset


def dataset_options(spec: str | Path) -> list[str]:
    """The options that the reader of a text takes, such as train for "cifar10:PATH"."""
    reader, _, _ = _reader(spec)
    return _options(reader)


def _reader(spec: str | Path) -> tuple[Callable[..., Dataset], str, str | None]:
    """The reader of a text, its scheme, and the path, if there is one."""
    text = str(spec)
    scheme, colon, location = text.partition(":")
    if isinstance(spec, Path) or not colon or len(scheme) == 1 or Path(text).exists():  # one letter is a drive
        return _reader_of_path(text)
    if scheme not in dataset_sources():
        raise BrittleError(f"there is no dataset scheme {scheme!r}; {did_you_mean(scheme, dataset_sources())}")
    if not location:
        raise BrittleError(f"{text!r} has no path; write {scheme}:PATH")
    return dataset_sources()[scheme], scheme, str(Path(location).expanduser())


def _reader_of_path(text: str) -> tuple[Callable[..., Dataset], str, str | None]:
    if text == "demo":
        return demo, "demo", None
    path = Path(text).expanduser()
    if path.is_dir():
        return image_folder, "folder", str(path)
    if path.is_file() and path.suffix in (".npy", ".npz"):
        return array_file, "array", str(path)
    if path.is_file():
        raise BrittleError(f"{text!r} is a file; a dataset is a folder, an .npz or an .npy file")
    if text in dataset_sources():
        raise BrittleError(f"{text!r} needs a path; write {text}:PATH")
    names = ", ".join(f"{scheme}:PATH" for scheme in sorted(dataset_sources()))
    hint = did_you_mean(text, ["demo", *dataset_sources()])
    hint = f"{hint} A" if hint.startswith("did") else "a"
    raise FileNotFoundError(f"there is no folder or file {text!r}; {hint} dataset is demo, a path, or one of {names}")


def has_training_part(spec: str | Path) -> bool:
    """Whether the data of a text have a training part: `train=True` reads it."""
    reader, _, path = _reader(spec)
    if "train" not in _options(reader):
        return False
    return reader not in (image_folder, imagenet, imagenet_100) or part_folder(str(path), train=True) is not None


def _call_reader(reader: Callable[..., Dataset], scheme: str, path: str | None, options: dict[str, Any]) -> Dataset:
    if "classes" in options and reader is not image_folder:  # other datasets are reordered afterwards
        order = options["classes"]
        others = {option: value for option, value in options.items() if option != "classes"}
        return _call_reader(reader, scheme, path, others).with_classes(order)
    allowed = _options(reader)
    for option in options:
        if option not in allowed:
            raise BrittleTypeError(f"{scheme} has no option {option!r}; it has: {', '.join(allowed) or 'none'}")
    return reader(**options) if path is None else reader(path, **options)


def _options(reader: Callable[..., Dataset]) -> list[str]:
    function = reader.args[0] if isinstance(reader, partial) else reader
    return [key for key, part in inspect.signature(function).parameters.items() if part.kind == part.KEYWORD_ONLY]

"""Photographs and generated images by what is unusual about them: OOD-CV, and the two sets called ImageNet-D."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import partial as later
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle._texts import read_json_file
from brittle.datasets.classes import objectnet_folders
from brittle.datasets.dataset import Dataset, Files, dataset_source
from brittle.datasets.folders import find_classes, first_few, folder_of
from brittle.datasets.images import find_images

NUISANCES = ("pose", "shape", "texture", "context", "weather", "occlusion")
"""The nuisance factors of OOD-CV; each is a test set of its own."""

OOD_CV_CLASSES = {
    "aeroplane": (404, 895),
    "bicycle": (444, 671),
    "boat": (472, 484, 510, 554, 576, 625, 628, 724, 780, 814, 871, 914),
    "bus": (654, 779, 874),
    "car": (407, 436, 468, 511, 609, 627, 656, 661, 717, 751, 817),
    "chair": (423, 559, 765),
    "diningtable": (532,),
    "motorbike": (665, 670),
    "sofa": (831,),
    "train": (466, 547, 565, 705, 820),
}
"""The ten classes, numbered in this order, with the ImageNet classes that are kinds of them.

Those are brittle's choice: the authors train a network with ten outputs."""


@dataset_source("ood-cv")
def ood_cv(
    path: str | Path, *, nuisance: str | None = None, train: bool = False, partial: bool = False, imagenet: bool = False
) -> Dataset:
    """The I.I.D. test set of OOD-CV (Zhao et al., ECCV 2022), the images of one nuisance, or the training set.

    `path` holds what the authors' converter writes as ROBINv1.1-cls-pose: train, iid_test and nuisances/<nuisance>,
    each with labels.csv and Images/<class>/*.jpg, objects cut out with ten pixels around them. The flat layout of their
    first release, <nuisance>/<class>/*.jpg, is read too. Not every nuisance has images of every class, as published.
    An image that labels.csv lists and that is missing raises, unless `partial`.

    The layout was checked with converter.py, the evaluation code and the lists of test images of the repository
    eccv22-ood-workshop/ROBIN-dataset: 4,848 I.I.D. test images, 1,075 of pose, 981 of shape, 565 of texture, 567 of
    context, 1,348 of weather and 5,779 of occlusion. The images themselves were not at hand.

    Args:
        nuisance: one of `NUISANCES`.
        imagenet: for models with ImageNet's 1000 outputs: each counts as the class that it is a kind of, or as wrong.
    """
    root, name = Path(path), "train" if train else nuisance or "iid_test"
    if nuisance is not None and (train or nuisance not in NUISANCES):
        what = "the training set has none" if train else did_you_mean(nuisance, NUISANCES)
        raise BrittleError(f"there is no nuisance {nuisance!r} here; {what}")
    folder = _part(root, name)
    images = folder / "Images" if (folder / "Images").is_dir() else folder
    layout = find_classes(images)
    unknown = [found for found in layout.folders if found not in OOD_CV_CLASSES]
    if unknown or not layout.folders:
        raise BrittleError(
            f"{str(images)!r} has {f'folders such as {first_few(unknown)}' if unknown else 'no class folders'}; those "
            f"of OOD-CV are {', '.join(OOD_CV_CLASSES)}"
        )
    if not partial:
        _check_listed(folder / "labels.csv", layout.images)
    return _set(f"ood-cv/{name}", images, layout.images, OOD_CV_CLASSES, mapped=imagenet)


@dataset_source("ood-cv-imagenet")
def ood_cv_imagenet(path: str | Path, *, nuisance: str | None = None, partial: bool = False) -> Dataset:
    """OOD-CV for models with ImageNet's 1000 outputs: `ood_cv` with imagenet=True."""
    return ood_cv(path, nuisance=nuisance, partial=partial, imagenet=True)


def ood_cv_cells(path: str | Path, *, partial: bool = False, imagenet: bool = False) -> dict[str, Any]:
    """How to read the I.I.D. test set, called "clean", and each nuisance, "ood-cv/<nuisance>".

    Images are brought to one size as ImageNet's are. A missing nuisance raises, unless `partial`; the I.I.D. test set
    may be missing, as in the authors' first release.
    """
    root = Path(path)
    there = [name for name in NUISANCES if _part(root, name, missing=True) is not None]
    lacking = [name for name in NUISANCES if name not in there]
    if lacking and not (partial and there):
        raise BrittleError(
            f"{str(root)!r} lacks {', '.join(lacking)}; OOD-CV has a folder for each of {', '.join(NUISANCES)}, in "
            "`nuisances` beside iid_test: complete the copy, or read a part with --partial (partial=True in Python)"
        )
    iid = {"clean": None} if _part(root, "iid_test", missing=True) is not None else {}
    return {
        name if name == "clean" else f"ood-cv/{name}": later(_prepared, ood_cv, root, nuisance, partial, imagenet)
        for name, nuisance in {**iid, **dict(zip(there, there, strict=True))}.items()
    }


def _prepared(reader: Any, root: Path, nuisance: str | None, partial: bool, imagenet: bool) -> Dataset:
    dataset: Dataset = reader(root, nuisance=nuisance, partial=partial, imagenet=imagenet)
    return dataset.prepared("imagenet")


def _part(root: Path, name: str, *, missing: bool = False) -> Any:
    """The folder of the I.I.D. test set, the training set or a nuisance; raises, or with `missing` gives None."""
    for place in (root / "nuisances" / name, root / name):
        if place.is_dir():
            return place
    if missing:
        return None
    if not root.is_dir():
        raise FileNotFoundError(f"{str(root)!r} is not a folder; give that of OOD-CV, with iid_test and nuisances")
    names = sorted(item.name for place in (root, root / "nuisances") if place.is_dir() for item in place.iterdir())
    raise BrittleError(f"{str(root)!r} has no {name!r} of OOD-CV; it has {first_few(names, 8) or 'nothing'}")


def _check_listed(file: Path, images: Sequence[str]) -> None:
    """Raise if images are missing that a labels.csv lists."""
    if not file.is_file():
        return
    with file.open(encoding="utf-8-sig", newline="") as text:
        rows = list(csv.DictReader(text))
    if rows and not {"imgs", "labels"} <= rows[0].keys():
        raise BrittleError(f"{str(file)!r} has columns {list(rows[0])}; that of OOD-CV has imgs and labels")
    there = set(images)
    missing = [row["imgs"] for row in rows if f"{row['labels']}/{row['imgs']}" not in there]
    if missing:
        raise BrittleError(
            f"{len(missing)} of the {len(rows)} images that {str(file)!r} lists are missing ({first_few(missing)}); "
            "complete the copy, or read a part of it with --partial (partial=True in Python)"
        )


IMAGENET_D = ("background", "texture", "material")
"""The parts of the ImageNet-D of Zhang et al."""

RENAMED = {
    "bath_towel": "full_sized_towel",
    "cleaver": "butchers_knife",
    "coffee_or_french_press": "coffee_french_press",
    "dishcloth": "hand_towel_or_rag",
    "drying_rack_for_plates": "drying_rack_for_dishes",
    "gown": "dress",
    "matchstick": "match",
    "mixing_or_salad_bowl": "mixing_salad_bowl",
    "shopping_basket": "basket",
    "t_shirt": "t-shirt",
    "tea_cup": "drinking_cup",
    "teddy_bear": "stuffed_animal",
}
"""Folders of ImageNet-D whose class has another name in ObjectNet; the other 101 have the same."""


def imagenet_d_classes() -> dict[str, tuple[int, ...]]:
    """The 113 classes of ImageNet-D with their ImageNet classes: those of ObjectNet, twelve of them renamed."""
    names = {theirs: ours for ours, theirs in RENAMED.items()}
    return dict(
        sorted((names.get(folder, folder), indices) for folder, indices in objectnet_folders().items() if indices)
    )


@dataset_source("imagenet-d")
def imagenet_d(path: str | Path, *, shift: str | None = None) -> Dataset:
    """ImageNet-D (Zhang et al., CVPR 2024): objects that a diffusion model drew with unusual surroundings.

    `path` holds background, texture and material, each with folders of the 113 classes that ImageNet and ObjectNet
    share; `shift` is one of them, by default all. Several ImageNet classes may be one of these, so `class_map` maps a
    model's output to its class; as in the authors' evaluation any of them is right. Which folders exist in each part
    is not checked. Checked with README, loaders and class lists of the repository chenshuang-zhang/imagenet_d.
    """
    root = Path(path)
    if not root.is_dir():
        raise FileNotFoundError(f"{str(root)!r} is not a folder; give that of ImageNet-D, with background and texture")
    if shift is not None and shift not in IMAGENET_D:
        raise BrittleError(f"there is no part {shift!r} of ImageNet-D; {did_you_mean(shift, IMAGENET_D)}")
    parts = [shift] if shift is not None else list(IMAGENET_D)
    lacking = [part for part in parts if not (root / part).is_dir()]
    if lacking:
        raise BrittleError(
            f"{str(root)!r} lacks {', '.join(lacking)}; ImageNet-D has the folders {', '.join(IMAGENET_D)}: name "
            "the one that holds them"
        )
    classes = imagenet_d_classes()
    images = [f"{part}/{name}" for part in parts for name in find_images(root / part)]
    unknown = sorted({_class_of(name) for name in images} - set(classes))
    if unknown or not images:
        raise BrittleError(
            f"{str(root)!r} has {f'class folders such as {first_few(unknown)}' if unknown else 'no images'}; "
            f"ImageNet-D has {len(classes)} classes such as alarm_clock"
        )
    name = "imagenet-d" if shift is None else f"imagenet-d/{shift}"
    return _set(name, root, images, classes, mapped=True, columns={"shift": [name.split("/")[0] for name in images]})


CLASS_MAP = "imagenet_classes.json"


@dataset_source("domainnet")
def domainnet(
    path: str | Path, *, domain: str | None = None, mapping: Mapping[str, Sequence[int]] | str | Path | None = None
) -> Dataset:
    """One domain of DomainNet (VisDA-2019) with ImageNet's classes: the ImageNet-D of Rusak et al. (2021).

    `path/<domain>/<class>/*.jpg`, or the folder of a domain. Its 345 classes are mapped to ImageNet's by `mapping`,
    {"bird": [7, 8, …]}, or a JSON file of that, by default imagenet_classes.json beside the domains. The authors
    find the map by a program that matches names and corrects some by hand (`get_imagenet_visda_mapping` in
    examples/imagenet_d of the repository bethgelab/robustness), and merge ambiguous classes such as mug and cup; that
    map is not bundled, so export it once from there. Classes that it does not have are left out, and counted in the
    notes.
    """
    root = Path(path)
    folder = root if domain is None else root / domain
    layout = find_classes(folder)
    table = _class_map(mapping, root)
    classes = {name: tuple(table[name]) for name in layout.folders if table.get(name)}
    images = [image for image in layout.images if folder_of(image) in classes]
    if not images:
        raise BrittleError(
            f"{str(folder)!r} has {len(layout.folders)} class folders, none of them in the map of {len(table)}; "
            "give the folder of one domain, such as clipart"
        )
    dropped = len(layout.images) - len(images)
    note = (
        f"{dropped:,} images of {len(layout.folders) - len(classes)} classes have no ImageNet class and were left out"
    )
    name = f"domainnet/{folder.resolve().name}"
    return _set(name, folder, images, classes, mapped=True, notes=(*layout.notes, *([note] if dropped else ())))


def _class_map(mapping: Mapping[str, Sequence[int]] | str | Path | None, root: Path) -> dict[str, list[int]]:
    if mapping is None:
        places = [root / CLASS_MAP, root.resolve().parent / CLASS_MAP]
        mapping = next((place for place in places if place.is_file()), None)
        if mapping is None:
            raise BrittleError(
                f"there is no {CLASS_MAP} in {str(root)!r} or above, which maps the classes to ImageNet's, such as "
                '{"bird": [7, 8]}; export it from the code of ImageNet-D'
            )
    try:
        data = mapping if isinstance(mapping, Mapping) else read_json_file(Path(mapping))
        table = {str(name): [int(index) for index in indices] for name, indices in data.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BrittleError(f'{str(mapping)!r} is no map of classes, such as {{"bird": [7, 8]}}: {error}') from error
    outside = [index for indices in table.values() for index in indices if not 0 <= index < 1000]
    if outside:
        raise BrittleError(f"the map has the ImageNet class {outside[0]}; they are 0 to 999")
    return table


def _class_of(name: str) -> str:
    return name.split("/")[-2]


def _set(
    name: str,
    root: Path,
    images: Sequence[str],
    classes: Mapping[str, Sequence[int]],
    *,
    mapped: bool,
    **more: Any,
) -> Dataset:
    """A dataset of class folders; with `mapped` ImageNet's 1000 outputs count as its classes."""
    number = {folder: index for index, folder in enumerate(classes)}
    class_map = None
    if mapped:
        class_map = np.full(1000, -1)
        for folder, indices in classes.items():
            taken = [index for index in indices if class_map[index] >= 0]
            if taken:
                first = list(classes)[class_map[taken[0]]]
                raise BrittleError(
                    f"the ImageNet class {taken[0]} counts as {first!r} and as {folder!r}; merge these classes"
                )
            class_map[list(indices)] = number[folder]
    files = Files(root, images)
    labels = [number[_class_of(image)] for image in images]
    return Dataset(
        name, files, images, content=files.content, labels=labels, classes=tuple(classes), class_map=class_map, **more
    )

"""What people see in generated images: labels of several annotators, their agreement, and one label for each image."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError, did_you_mean
from brittle._io import atomic_write
from brittle._texts import read_json_file
from brittle.metrics import Estimate, wilson

LABELS = ("class", "partial", "not class")
"""The image shows the class; some properties of it; or none of it, so it is out of class."""

PARTIAL = ("class", "not class", "skip")
RULES = ("agree", "majority", "any-ooc")
SYNONYMS = {"partial class": "partial", "partial class properties": "partial"}
SCALE = re.compile(r"_scale_\d+m?\.[^.]+$")


def read_labels(path: str | Path) -> dict[str, str]:
    """Labels by sample id from a CSV file with columns sample and label; rows without a label are skipped.

    A label is "class", "partial" or "not class". The labelling page writes such a file, and so does `write_labels`.
    If several annotators are in it, they must agree; `read_annotations` reads them one by one.
    """
    labels: dict[str, str] = {}
    rows = _read_csv(Path(path), {})
    for sample, _, label in rows:
        if labels.setdefault(sample, label) != label:
            annotators = len({annotator for _, annotator, _ in rows})
            raise BrittleError(
                f"{annotators} annotators of {str(path)!r} label {sample!r} as {labels[sample]!r} and as {label!r}; "
                f"make one of theirs with `brittle slide label SLIDES --labels {path} --rule majority`"
            )
    return labels


def write_labels(labels: Mapping[str, str], path: str | Path) -> None:
    """Write labels as a CSV file for `read_labels`."""
    for sample, label in labels.items():
        check_label(label, repr(sample))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(Path(path)) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sample", "label"))
        writer.writerows(labels.items())


def check_label(label: str, where: str) -> None:
    """Raise if a label is none."""
    if label not in LABELS:
        raise BrittleError(f"{where} has the label {label!r}; labels are {', '.join(LABELS)}")


def resolve_partial(labels: Mapping[str, str], partial: str) -> dict[str, str]:
    """Labels with "partial" counted as "class" or as "not class"; "skip" leaves such images out."""
    if partial not in PARTIAL:
        raise BrittleError(f"partial must be one of {', '.join(PARTIAL)}, got {partial!r}")
    for sample, label in labels.items():
        check_label(label, repr(sample))
    resolved = {sample: partial if label == "partial" else label for sample, label in labels.items()}
    return {sample: label for sample, label in resolved.items() if label != "skip"}


def read_annotations(
    *files: str | Path,
    samples: Iterable[str] | None = None,
    words: Mapping[str, str] | None = None,
    attribute: str | None = None,
) -> pl.DataFrame:
    """The labels of several annotators: a table with columns sample, annotator and label.

    A file is a CSV with columns sample and label, and annotator if several people are in it, or a project of the VGG
    Image Annotator (VIA 1 and 2), its annotations as CSV or JSON, in which the label is an attribute of the file. Where
    a file does not name the annotator, it is the name of the file.

    Args:
        samples: the ids of all images. A VIA project names files; each is matched with the one id that its path ends
            in or that ends in it. An image that is not among them raises.
        words: labels in other words, such as {"ooc": "not class"}.
        attribute: the attribute of a VIA project that holds the label, if it has several.
    """
    if not files:
        raise BrittleError("there is no file of labels to read; give at least one")
    known = None if samples is None else [str(sample) for sample in samples]
    spelling = {_plain(word): label for word, label in (words or {}).items()}
    for word, label in spelling.items():
        check_label(label, f"the word {word!r}")
    rows: dict[tuple[str, str], str] = {}
    for file in map(Path, files):
        for sample, annotator, label in _read(file, known, spelling, attribute):
            earlier = rows.setdefault((sample, annotator), label)
            if earlier != label:
                raise BrittleError(
                    f"{annotator!r} labels {sample!r} as {earlier!r} and, in {str(file)!r}, as {label!r}; an annotator "
                    "has one label for an image: correct one of them, or give the files of two people two names"
                )
    table = [(sample, annotator, label) for (sample, annotator), label in rows.items()]
    return pl.DataFrame(table, schema=["sample", "annotator", "label"], orient="row")


def _read(
    file: Path, samples: Sequence[str] | None, words: Mapping[str, str], attribute: str | None
) -> list[tuple[str, str, str]]:
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of labels {str(file)!r}")
    with file.open(encoding="utf-8-sig", errors="replace") as text:
        start = text.read(200).lstrip()
    if start.startswith("{"):
        return _from_via(file, _via_json(file), samples, words, attribute)
    if start.lstrip("#").startswith("filename"):
        return _from_via(file, _via_csv(file), samples, words, attribute)
    rows = _read_csv(file, words)
    if samples is not None:
        unknown = sorted({sample for sample, _, _ in rows} - set(samples))
        if unknown:
            raise _other_images(file, unknown, len({sample for sample, _, _ in rows}), len(samples))
    return rows


def _read_csv(file: Path, words: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(sample, annotator, label) of a plain CSV file; rows without a label are skipped."""
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of labels {str(file)!r}")
    rows: dict[tuple[str, str], str] = {}
    named, unnamed = 0, 0
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        if not {"sample", "label"} <= set(reader.fieldnames or ()):
            raise BrittleError(f"{str(file)!r} has columns {reader.fieldnames}; a file of labels has sample and label")
        for line, row in enumerate(reader, 2):
            label, annotator = (row["label"] or "").strip(), (row.get("annotator") or "").strip()
            if label:
                named, unnamed = named + bool(annotator), unnamed + (not annotator)
                label = _label(label, words, f"line {line} of {str(file)!r}")
                earlier = rows.setdefault((row["sample"], annotator), label)
                if earlier != label:
                    raise BrittleError(
                        f"line {line} of {str(file)!r} labels {row['sample']!r} as {label!r}, and an earlier one as "
                        f"{earlier!r}; an annotator has one label for an image: remove one of them"
                    )
    if named and unnamed:
        raise BrittleError(
            f"{str(file)!r} names the annotator of {named} labels and of {unnamed} not; fill the column `annotator` in "
            "every row, or remove it if one person made all labels"
        )
    if not rows:
        raise BrittleError(f"{str(file)!r} has no labels yet")
    return [(sample, annotator or file.stem, label) for (sample, annotator), label in rows.items()]


def _plain(word: str) -> str:
    return " ".join(re.sub(r"[_-]+", " ", word).split()).casefold()


def _label(text: str, words: Mapping[str, str], where: str) -> str:
    plain = _plain(text)
    label = words.get(plain) or SYNONYMS.get(plain, plain)
    if label not in LABELS:
        raise BrittleError(
            f"{where} has the label {text!r}; labels are {', '.join(LABELS)}, and other words need to be said, as in "
            f"--word {plain.split(' ')[0]}=class"
        )
    return label


def _via_json(file: Path) -> dict[str, dict[str, Any]]:
    """The attributes of each file, from a VIA project or its annotations; options by their descriptions, if any."""
    try:
        data = read_json_file(file)
    except ValueError as error:
        raise BrittleError(f"{str(file)!r} is no JSON file: {error}") from error
    if {"project", "file", "metadata"} <= set(data):
        raise BrittleError(
            f"{str(file)!r} is a project of VIA 3; save the labels with VIA 2, or as a CSV of sample, label"
        )
    images = data.get("_via_img_metadata", data)
    options = {
        name: described.get("options") or {}
        for name, described in ((data.get("_via_attributes") or {}).get("file") or {}).items()
        if isinstance(described, dict)
    }
    found: dict[str, dict[str, Any]] = {}
    for image in images.values() if isinstance(images, dict) else ():
        if not isinstance(image, dict) or "filename" not in image:
            raise BrittleError(f"{str(file)!r} is no project of VIA: an image in it has no filename")
        attributes = image.get("file_attributes") or {}
        found[str(image["filename"])] = {
            name: options.get(name, {}).get(value) or value if isinstance(value, str) else value
            for name, value in attributes.items()
        }
    return found


def _via_csv(file: Path) -> dict[str, dict[str, Any]]:
    """The attributes of each file, from the annotations of VIA as CSV, which has a row for each region."""
    found: dict[str, dict[str, Any]] = {}
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text)
        columns = [name.lstrip("#").strip() for name in next(reader)]
        if "file_attributes" not in columns:
            raise BrittleError(f"{str(file)!r} has columns {columns}; annotations of VIA have file_attributes")
        for line, values in enumerate(reader, 2):
            row = dict(zip(columns, values, strict=False))
            try:
                attributes = json.loads(row.get("file_attributes") or "{}")
            except ValueError as error:
                raise BrittleError(
                    f"line {line} of {str(file)!r} has file_attributes that are no JSON: {error}"
                ) from error
            found.setdefault(row["filename"], {}).update(attributes)
    return found


def _from_via(
    file: Path,
    images: Mapping[str, Mapping[str, Any]],
    samples: Sequence[str] | None,
    words: Mapping[str, str],
    attribute: str | None,
) -> list[tuple[str, str, str]]:
    present = Counter(name for attributes in images.values() for name, value in attributes.items() if _chosen(value))
    name = attribute or ("label" if "label" in present else next(iter(present), "label"))
    if not present or name not in present or (attribute is None and "label" not in present and len(present) > 1):
        there = ", ".join(sorted(present)) or "none"
        raise BrittleError(
            f"{str(file)!r} has no labels: the label is one attribute of each file, such as `label`, and the "
            f"attributes with values are: {there}"
        )
    labelled = {image: _chosen(attributes.get(name)) for image, attributes in images.items()}
    labelled = {image: values for image, values in labelled.items() if values}
    twice = next((image for image, values in labelled.items() if len(values) > 1), None)
    if twice is not None:
        raise BrittleError(f"{str(file)!r} has {len(labelled[twice])} labels for {twice!r}; an image has one")
    found = dict.fromkeys(labelled) if samples is None else _find_samples(labelled, samples, file)
    return [
        (found[image] or image, file.stem, _label(values[0], words, f"{image!r} in {str(file)!r}"))
        for image, values in labelled.items()
    ]


def _chosen(value: Any) -> list[str]:
    """The chosen options of an attribute: a text, or a mapping of options to whether they are checked."""
    if isinstance(value, Mapping):
        return [str(option) for option, checked in value.items() if checked]
    return [str(value)] if value not in (None, "") else []


def _find_samples(names: Iterable[str], samples: Sequence[str], file: Path) -> dict[str, str | None]:
    """The sample of each file of a VIA project."""
    ends: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        parts = sample.split("/")
        for i in range(len(parts)):
            ends["/".join(parts[i:])].append(sample)
    complete = set(samples)
    found: dict[str, str | None] = {}
    for name in names:
        path = name.replace("\\", "/").removeprefix("file://").lstrip("./")
        tails = ["/".join(path.split("/")[i:]) for i in range(len(path.split("/")))]
        matches = ends.get(path) or [tail for tail in tails if tail in complete][:1]
        if len(matches) > 1:
            raise BrittleError(
                f"{name!r} in {str(file)!r} may be any of {len(matches)} images, such as {matches[0]!r} and "
                f"{matches[1]!r}; name files in VIA with their folders"
            )
        found[name] = matches[0] if matches else None
    unknown = [name for name, sample in found.items() if sample is None]
    if unknown:
        raise _other_images(file, unknown, len(found), len(samples))
    return found


def _other_images(file: Path, unknown: Sequence[str], labelled: int, images: int) -> BrittleError:
    return BrittleError(
        f"{len(unknown)} of the {labelled} images that {str(file)!r} labels, such as {unknown[0]!r}, are not among the "
        f"{images} given ones; name the folder that was labelled"
    )


def merged_labels(annotations: pl.DataFrame, rule: str = "agree") -> dict[str, str]:
    """One label for each image from those of several annotators, as `read_annotations` gives them.

    `agree` keeps an image if all who labelled it agree. `majority` takes the label that more than half of them chose.
    `any-ooc` is the strictest: "not class" if anybody says so, else "partial" if anybody does. Images without such a
    label are left out.
    """
    if rule not in RULES:
        raise BrittleError(f"there is no rule {rule!r} to merge labels by; {did_you_mean(rule, RULES)}")
    votes: dict[str, list[str]] = defaultdict(list)
    for sample, label in annotations.select("sample", "label").iter_rows():
        check_label(label, repr(sample))
        votes[sample].append(label)
    merged: dict[str, str] = {}
    for sample, labels in votes.items():
        if rule == "any-ooc":
            merged[sample] = max(labels, key=LABELS.index)
            continue
        label, count = Counter(labels).most_common(1)[0]
        if count == len(labels) or (rule == "majority" and 2 * count > len(labels)):
            merged[sample] = label
    if not merged:
        raise BrittleError(
            f"no image has a label by the rule {rule!r}: annotators agree on none of {len(votes)}; choose another rule "
            f"of {', '.join(RULES)}"
        )
    return merged


def cohen_kappa(
    first: Sequence[str], second: Sequence[str], *, groups: Sequence[object] | None = None, level: float = 0.95
) -> Estimate:
    """Cohen's κ of two annotators' labels of the same images: their agreement beyond chance.

    κ = (agreement − chance) / (1 − chance), where chance is how often they would agree if each kept to the shares of
    their labels and nothing else. The interval is that of the agreement (Wilson's) with chance held, as in Cohen
    (1960). With `groups`, the trajectory of each image, a trajectory counts as one observation.
    """
    a, b = np.asarray(first, str), np.asarray(second, str)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise BrittleError(f"κ is of two rows of labels of the same length, got {a.shape} and {b.shape}")
    names = np.union1d(a, b)
    agreement = float((a == b).mean())
    chance = float(sum((a == name).mean() * (b == name).mean() for name in names))
    if chance == 1:
        raise BrittleError(f"κ is undefined: both annotators label all {len(a)} images as {names[0]!r}")
    count = len(a) if groups is None else len(set(groups))
    low, high = (float((end - chance) / (1 - chance)) for end in wilson(agreement * count, count, level=level))
    return Estimate("Cohen's κ", (agreement - chance) / (1 - chance), low, high, level, count, "wilson", percent=False)


def annotator_agreement(annotations: pl.DataFrame, *, partial: str = "class", level: float = 0.95) -> pl.DataFrame:
    """The agreement and Cohen's κ of each pair of annotators on the images that both labelled.

    There are two rows for each pair: of the three labels, and of whether the image is out of class, with "partial"
    counted as `partial` says. Where κ is undefined it is null. A trajectory counts as one observation.
    """
    by_annotator = {
        str(name): dict(annotations.filter(pl.col("annotator") == name).select("sample", "label").iter_rows())
        for name in annotations["annotator"].unique().sort()
    }
    rows = []
    for first, second in combinations(by_annotator, 2):
        for kind in ("three labels", f"partial as {partial}"):
            pair = [by_annotator[name] for name in (first, second)]
            if kind != "three labels":
                pair = [resolve_partial(labels, partial) for labels in pair]
            shared = sorted(pair[0].keys() & pair[1].keys())
            a, b = ([labels[sample] for sample in shared] for labels in pair)
            agreement = float(np.mean([x == y for x, y in zip(a, b, strict=True)])) if shared else None
            try:
                kappa = cohen_kappa(a, b, groups=[SCALE.sub("", sample) for sample in shared], level=level)
                ends: tuple[float | None, ...] = (kappa.value, kappa.low, kappa.high)
            except BrittleError:
                ends = (None, None, None)
            rows.append((first, second, kind, len(shared), agreement, *ends))
    numbers = dict.fromkeys(("agreement", "kappa", "low", "high"), pl.Float64)
    texts = dict.fromkeys(("first", "second", "labels"), pl.String)
    return pl.DataFrame(rows, schema={**texts, "images": pl.Int64, **numbers}, orient="row")


def label_counts(annotations: pl.DataFrame) -> pl.DataFrame:
    """How many images each annotator labelled, and how many of them with each label."""
    counts = annotations.group_by("annotator").agg(
        pl.len().alias("images"), *[(pl.col("label") == label).sum().alias(label) for label in LABELS]
    )
    return counts.sort("annotator")


def keep_labelled(
    labels: Mapping[str, str], samples: Iterable[str], *, partial: str = "class", unlabelled: str = "not class"
) -> list[str]:
    """The images of the trajectories whose images all show their class by their labels, in the order of `samples`.

    `samples` are all images, `partial` says how images with some properties of the class count, and `unlabelled` how
    those without a label do: "class" if only doubtful images were labelled, as `hard_samples` finds them.
    """
    if unlabelled not in ("class", "not class"):
        raise BrittleError(f"unlabelled must be class or not class, got {unlabelled!r}")
    resolved, ids = resolve_partial(labels, partial), [str(sample) for sample in samples]
    if not resolved.keys() & set(ids):
        raise BrittleError(f"none of the {len(labels)} labelled images is among the {len(ids)} given ones")
    outside = {_trajectory(sample) for sample in ids if resolved.get(sample, unlabelled) != "class"}
    kept = [sample for sample in ids if _trajectory(sample) not in outside]
    if not kept:
        raise BrittleError(
            f"no trajectory is left: each has an image that is out of class or without a label, of {len(ids)} images, "
            f"{len(resolved)} with labels; count images without a label as class, or partial ones"
        )
    return kept


def _trajectory(sample: str) -> str:
    return SCALE.sub("", sample)


def read_words(texts: Iterable[str]) -> dict[str, str]:
    """The words for labels of texts such as "ooc=not class"."""
    words: dict[str, str] = {}
    for text in texts:
        word, equals, label = text.partition("=")
        if not equals or not word.strip() or label.strip() not in LABELS:
            raise BrittleError(
                f"a word for a label is given as ooc=LABEL, with one of {', '.join(LABELS)}; got {text!r}"
            )
        words[word.strip()] = label.strip()
    return words

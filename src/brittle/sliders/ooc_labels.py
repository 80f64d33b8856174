"""What people say an image shows: labels for choosing and checking the filter."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from brittle._io import replacing
from brittle.sliders.image_scores import TRAJECTORY, ImageScores

LABELS = ("class", "partial", "not class")
"""The class is there; some of its properties are; it is not there, so the image is out of class."""

PARTIAL = ("class", "not class", "skip")


def read_labels(path: str | Path) -> dict[str, str]:
    """Labels by sample from a CSV file with columns sample and label; rows without a label are left out.

    A label is "class", "partial" or "not class". The labelling page writes such a file.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of labels {str(path)!r}")
    with file.open(encoding="utf-8-sig", newline="") as rows:
        reader = csv.DictReader(rows)
        if not {"sample", "label"} <= set(reader.fieldnames or ()):
            raise ValueError(f"{str(path)!r} has columns {reader.fieldnames}; a file of labels has sample and label")
        found: dict[str, str] = {}
        for number, row in enumerate(reader, 2):
            label = (row["label"] or "").strip()
            if not label:
                continue
            _check(label, f"line {number} of {str(path)!r}")
            if found.get(row["sample"], label) != label:
                raise ValueError(f"line {number} of {str(path)!r} labels {row['sample']!r} a second time, otherwise")
            found[row["sample"]] = label
    if not found:
        raise ValueError(f"{str(path)!r} has no labels yet")
    return found


def write_labels(labels: Mapping[str, str], path: str | Path) -> None:
    """Write labels as such a file."""
    for sample, label in labels.items():
        _check(label, repr(sample))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(Path(path)) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sample", "label"))
        writer.writerows(labels.items())


def labelled(scores: ImageScores | pl.DataFrame, labels: Mapping[str, str], *, partial: str = "class") -> pl.DataFrame:
    """The rows of the labelled images, with a column `out_of_class`.

    The filter is to find what a shift destroyed. So images at scale 0 are left out, which are compared with
    themselves and pass two scores whatever they show, and so are trajectories whose image at scale 0 is labelled out of
    class: no shift took from them what they never had.
    """
    if partial not in PARTIAL:
        raise ValueError(f"partial must be one of {', '.join(PARTIAL)}, got {partial!r}")
    table = scores.table if isinstance(scores, ImageScores) else scores
    said = {s: label if label != "partial" else partial for s, label in labels.items()}
    for sample, label in labels.items():
        _check(label, repr(sample))
    rows = [(sample, label == "not class") for sample, label in said.items() if label != "skip"]
    found = table.join(
        pl.DataFrame(rows, schema={"sample": pl.String, "out_of_class": pl.Boolean}, orient="row"), on="sample"
    )
    if found.is_empty():
        raise ValueError(f"none of the {len(labels)} labelled samples is among the {len(table)} images with scores")
    never = found.filter((pl.col("scale") == 0) & pl.col("out_of_class"))
    found = found.filter(pl.col("scale") != 0).join(never, on=TRAJECTORY, how="anti")
    if found.is_empty():
        raise ValueError(
            f"none of the {len(labels)} labelled samples can tell what a shift destroys; label images at other scales "
            "than 0, of trajectories that show their class at scale 0"
        )
    return found


def _check(label: str, where: str) -> None:
    if label not in LABELS:
        raise ValueError(f"{where} has the label {label!r}; labels are {', '.join(LABELS)}")

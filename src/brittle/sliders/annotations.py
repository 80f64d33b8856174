"""The list of all images of a folder, as CNS-Bench comes with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from brittle._io import replacing
from brittle.datasets.cns_bench import cns_bench

FILE = "annotations_cns.json"


def write_annotations(folder: str | Path) -> Path:
    """Write `annotations_cns.json` with the keys info, scales, classes, shifts and images of the published file.

    Each image has its relative path, seed, scale, shift and class. Call it when all sliders of a folder are done.
    """
    dataset = cns_bench(folder)
    assert dataset.labels is not None
    columns = {key: dataset.columns[key].tolist() for key in ("seed", "scale", "shift")}
    labels = dataset.labels.tolist()
    images = [
        {"image": str(sample), "seed": seed, "scale": scale, "shift": shift, "class": label}
        for sample, seed, scale, shift, label in zip(
            dataset.ids, columns["seed"], columns["scale"], columns["shift"], labels, strict=True
        )
    ]
    whole = {
        "info": {"description": "made with brittle", "date_created": datetime.now(UTC).strftime("%Y/%m/%d")},
        "scales": sorted(set(columns["scale"])),
        "classes": sorted(set(labels)),
        "shifts": sorted(set(columns["shift"])),
        "images": images,
    }
    path = Path(folder) / FILE
    with replacing(path) as part:
        part.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    return path

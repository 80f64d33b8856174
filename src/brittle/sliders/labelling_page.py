"""A page on which somebody says what each image shows."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image as Pil

from brittle._io import replacing
from brittle.datasets import BrokenImage, Dataset
from brittle.sliders.check_whole import check_whole
from brittle.sliders.image_scores import class_name
from brittle.sliders.ooc_labels import LABELS

PAGE = Path(__file__).parent / "labelling_page.html"


def write_labelling_page(
    dataset: Dataset, path: str | Path, *, samples: Sequence[str] | None = None, side: int = 192
) -> list[str]:
    """Write one HTML file that shows images one by one and saves labels as a CSV file for `read_labels`.

    It needs no network and no server, and keeps what was done in the browser. Keys 1, 2, 3 label, ← goes back.
    The label of a class is its folder's words. Images that cannot be read are left out, and given back.

    Args:
        samples: the ids to label, in this order; by default all.
        side: the longest side of the images in the page; larger ones are made smaller.
    """
    check_whole(side=(side, 8))
    place = {str(sample): i for i, sample in enumerate(dataset.ids)}
    wanted = list(place) if samples is None else [str(sample) for sample in samples]
    unknown = [sample for sample in wanted if sample not in place]
    if unknown or not wanted:
        raise ValueError(f"{dataset.name!r} has no image {unknown[0]!r}" if unknown else "there is nothing to label")
    items, broken = [], []
    for sample in wanted:
        try:
            picture = Pil.fromarray(dataset.image(place[sample]))
        except BrokenImage:
            broken.append(sample)
            continue
        picture.thumbnail((side, side))
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=90)
        items.append([sample, class_name(sample), base64.b64encode(stream.getvalue()).decode()])
    data = json.dumps({"items": items, "labels": LABELS}, ensure_ascii=False).replace("<", "\\u003c")
    page = PAGE.read_text(encoding="utf-8").replace("__TITLE__", html.escape(dataset.name)).replace("__DATA__", data)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        part.write_text(page, encoding="utf-8")
    return broken

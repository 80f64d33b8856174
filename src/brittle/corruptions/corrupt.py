"""The front door: one image or one batch, one corruption, one severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.corruptions import images
from brittle.corruptions.draws import Draws, Sample, check_sample, check_seed
from brittle.corruptions.registry import Corruption, find
from brittle.corruptions.severity import check_severity


def corrupt(
    image: Any,
    corruption: str | Corruption,
    severity: float,
    *,
    seed: int = 0,
    sample: Sample | Sequence[Sample] | None = None,
    table: int | None = None,
    jpeg85: bool = False,
    **options: Any,
) -> Any:
    """Corrupt an image, or a batch of images, and give it back in the kind it came in.

    The result depends on the image, the corruption, the severity, the seed and the sample id, and on nothing
    else. The input is never changed, and severity 0 gives an equal copy of it.

    Args:
        image: H×W, H×W×1, H×W×3 or H×W×4 (alpha is kept) as uint8 or as float in [0, 1]; a PIL image (L, RGB,
            RGBA); or a batch N×H×W×C. Float images are rounded to 8 bit first: that is what corruptions are
            defined on.
        corruption: an id such as "imagenet-c/fog", or "fog" if only one set has it.
        severity: any real number from 0 (clean) to the largest published level, usually 5.
        seed: the benchmark's seed.
        sample: what names this image among others, an index or a file name; for a batch one for each image
            (0, 1, 2 … if not given).
        table: use the published parameters for this image side (32, 64, 224, 299) whatever the size of the
            image.
        jpeg85: finish with a JPEG pass of quality 85, as the files of the released ImageNet-C have it.
        options: what the corruption itself offers, such as `textures=` of frost.
    """
    chosen = find(corruption)
    severity = check_severity(severity, chosen.max_severity)
    seed = check_seed(seed)
    chosen.check_options(options)
    chosen.check_table(table)
    images.check(image)
    if isinstance(image, np.ndarray) and image.ndim == 4:
        ids = batch_ids(sample, len(image))
        one = [
            corrupt(each, chosen, severity, seed=seed, sample=i, table=table, jpeg85=jpeg85, **options)
            for each, i in zip(image, ids, strict=True)
        ]
        return np.stack(one)
    draws = Draws(seed, chosen.id, check_sample(0 if sample is None else sample))

    def at(level: float, clean: Image) -> Image:
        if level == 0:
            return clean
        parameters = chosen.parameters(level, clean.shape[:2], table=table)
        if not chosen.bundled:
            clean = clean.copy()  # a stranger's function may write to what it is shown
        out: Image = chosen.function(clean, draws, **parameters, **options)
        if not isinstance(out, np.ndarray) or out.dtype.char != "B" or out.shape != clean.shape:
            what = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise TypeError(
                f"{chosen.id} must return uint8 of shape {clean.shape}, as it was given; it returned {what}"
            )
        return out

    def change(clean: Image) -> Image:
        step = severity % 1
        if chosen.blends and step:
            weak, strong = at(severity - step, clean), at(severity - step + 1, clean)
            out = np.rint(weak + step * (strong.astype(np.float64) - weak)).astype(np.uint8)
        else:
            out = at(severity, clean)
        if jpeg85:
            from brittle.corruptions.kernels.jpeg import jpeg

            out = jpeg(out, 85)
        return out

    if severity == 0 and not jpeg85:
        return image.copy()
    return images.apply(image, change, chosen.channels)


def batch_ids(sample: Any, count: int) -> Sequence[Sample]:
    """One sample id for each image of a batch: those given, or 0, 1, 2 …"""
    if sample is None:
        return range(count)
    if isinstance(sample, str) or not isinstance(sample, Sequence | np.ndarray) or len(sample) != count:
        raise ValueError(f"a batch of {count} images needs a sequence of {count} sample ids, got sample={sample!r}")
    return [check_sample(i) for i in sample]

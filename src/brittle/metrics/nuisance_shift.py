"""The scores of CNS-Bench: rCE and accuracy drops over continuous shifts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats, divide, fractions


def shift_rce(errors: ArrayLike, baseline: ArrayLike) -> Floats:
    """Σ_s (E_s − E_0) / Σ_s (E_baseline,s − E_baseline,0) for each shift; the terms of `rce`.

    The last axis is the scale and begins with scale 0; E_0 is the error on the scale-0 images of the same shift.
    Hendrycks' relative form: the paper's typesetting leaves the scope of the sum open, and no code is released.
    """
    return divide(_rise(errors, "the error"), _rise(baseline, "the baseline error"), "the baseline's summed rise")


def rce(errors: ArrayLike, baseline: ArrayLike) -> Floats:
    """rCE of CNS-Bench: the mean over shifts, from errors [shift, scale]. Not multiplied by 100."""
    return np.asarray(shift_rce(errors, baseline).mean(axis=-1))


def mean_accuracy_drop(accuracy: ArrayLike, images: ArrayLike | None = None) -> Floats:
    """acc(0) − acc(s) for each non-zero scale, averaged over shifts, from accuracies [shift, scale] with scale 0 first.

    Without `images`, shifts count alike. With the number of images of each shift, images count alike, as in the
    authors' notebook, where shifts differ in size.
    """
    right = fractions(accuracy, "the accuracy")
    if right.ndim < 2 or right.shape[-1] < 2:
        raise ValueError(f"accuracies are shift × scale, scale 0 first, got shape {right.shape}")
    weights = np.ones(right.shape[-2]) if images is None else np.asarray(images, dtype=np.float64)
    if weights.shape != right.shape[-2:-1] or (weights <= 0).any():
        raise ValueError(f"images holds one positive number for each of {right.shape[-2]} shifts, got {images!r}")
    average = (weights / weights.sum()) @ right
    return np.asarray(average[..., :1] - average[..., 1:])


def _rise(errors: ArrayLike, what: str) -> Floats:
    """How far the errors rise above scale 0, summed over the other scales."""
    e = fractions(errors, what)
    if e.ndim < 1 or e.shape[-1] < 2:
        raise ValueError(f"{what} needs scale 0 and at least one more on its last axis, got shape {e.shape}")
    return np.asarray((e[..., 1:] - e[..., :1]).sum(axis=-1))

"""Labels for the filter where nobody labels: a classifier that knows the shifts says what images show."""

from __future__ import annotations

import numpy as np

from brittle.datasets import Dataset
from brittle.models import Model

UNSURE = 0.1
"""A class that the judge gives a lower probability is not in the image."""


def judge_labels(data: Dataset, judge: Model, *, unsure: float = UNSURE, batch_size: int = 256) -> dict[str, str]:
    """Labels by sample, as `read_labels` gives them.

    An image shows its class if the judge answers with it, does not if the judge gives it a probability below `unsure`,
    and shows some of it otherwise: "partial".
    """
    if data.labels is None:
        raise ValueError(f"{data.name!r} has no labels to judge by")
    said: dict[str, str] = {}
    for start in range(0, len(data), batch_size):
        places = range(start, min(start + batch_size, len(data)))
        logits = judge.scores(np.stack([data.image(i) for i in places])).astype(np.float64)
        exp = np.exp(logits - logits.max(1, keepdims=True))
        for i, answer, given in zip(places, logits.argmax(1), exp / exp.sum(1, keepdims=True), strict=True):
            label = int(data.labels[i])
            said[str(data.ids[i])] = "class" if answer == label else "not class" if given[label] < unsure else "partial"
    return said

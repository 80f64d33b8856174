"""One model for each augmentation scheme, all trained alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._io import file_name, missing_or_damaged
from brittle.arrays import Image
from brittle.datasets.dataset import Dataset, no_labels
from brittle.design.claim import claim, weights_key
from brittle.design.learn import learn
from brittle.design.overlap_plan import STANDARD, Plan
from brittle.models import TorchModel, load_weights, save_trained
from brittle.models.from_weights import from_weights
from brittle.training import build_network
from brittle.training.augmentation import Scheme

Progress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""


def scheme_models(
    schemes: Mapping[str, Scheme],
    training: Dataset,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, TorchModel]:
    """A standard model, and one that was trained with each scheme; weights that are in the folder stay.

    The plan says how: fine-tuned from the standard model for a while, from scratch, or by batch normalisation alone.
    `start` is a file of weights for the standard model, which is trained otherwise.
    """
    plan, folder = plan or Plan(), Path(folder)
    if training.labels is None:
        raise no_labels(training, "and a network learns from labels")
    if STANDARD in schemes:
        raise ValueError(f"{STANDARD!r} is the name of the model that all start from; name the scheme otherwise")
    about = {"plan": repr(plan), "training": training.key, "start": weights_key(start)}
    claim(folder / "models.json", about, "models")
    pictures: list[Image] = []
    made: dict[str, TorchModel] = {}
    for place, (name, scheme) in enumerate([(STANDARD, None), *schemes.items()]):
        path = folder / f"{_file_name(name, scheme)}.safetensors"
        if missing_or_damaged(path, "the model is trained again"):
            network = build_network(plan.network, len(training.classes), seed=plan.standard.seed)
            if scheme is None and start is not None:
                network.load_state_dict(load_weights(start))
            else:
                if not pictures:
                    pictures.append(np.stack(list(training.images())))
                if scheme is not None and plan.mode != "scratch":
                    network.load_state_dict(made[STANDARD].module.state_dict())
                said = _said(progress, name, place, len(schemes) + 1)
                full = scheme is None or plan.mode == "scratch"
                kept: dict[str, Any] = {"checkpoint": path.with_suffix(".pt"), "progress": said}
                learn(network, pictures[0], training.labels, plan, scheme, full=full, **kept)
            how = {"plan": repr(plan), "scheme": repr(scheme)}
            mean, std = plan.standard.mean, plan.standard.std
            save_trained(network, path, plan.network, training.classes, mean, std, how)
            path.with_suffix(".pt").unlink(missing_ok=True)
        made[name] = from_weights(path, name=name)
    return made


def _said(progress: Progress | None, name: str, place: int, count: int) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda done, total, _loss: progress(f"training {name}", place * total + done, count * total)


def _file_name(name: str, scheme: Scheme | None) -> str:
    """The name, and a digest of what the scheme does."""
    plain = file_name(name)
    return plain if scheme is None else f"{plain}-{sha256(repr(scheme).encode()).hexdigest()[:8]}"

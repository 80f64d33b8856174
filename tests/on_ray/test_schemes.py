"""The models of augmentation schemes, made by the workers of a cluster."""

from pathlib import Path

import numpy as np

from brittle.design import scheme_models
from brittle.models import load_weights
from brittle.training.augmentation import AugMix, FlipCrop
from tests.design.test_scheme_study import DATA, PLAN


def test_workers_make_the_same_models(tmp_path: Path) -> None:
    schemes, said = {"mix": AugMix(), "crop": FlipCrop()}, []
    scheme_models(schemes, DATA, tmp_path / "ray", PLAN, engine="ray", progress=lambda *what: said.append(what[0]))
    assert {"trained mix", "trained crop"} <= set(said)
    scheme_models(schemes, DATA, tmp_path / "local", PLAN)
    for path in (tmp_path / "local").glob("*.safetensors"):
        here, there = load_weights(path), load_weights(tmp_path / "ray" / path.name)
        for name, weights in here.items():
            np.testing.assert_allclose(weights, there[name], rtol=0.02, atol=0.02, err_msg=f"{path.name} {name}")

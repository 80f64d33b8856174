"""The Ray engine trains and draws the sliders that the local one does."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.sliders import Base, Pick, Sampling, find_class, find_sliders, load_slider, sample_sliders, train_sliders
from tests.errors import naming
from tests.sliders import tiny_world

NAMES = ("bag", "sneaker")
FEW = {"steps": 2, "batch_size": 1, "denoising_steps": 2}
CLASSES = [find_class(name, NAMES) for name in ("0", "sneaker")]


def _keep(seen: list, *at) -> None:
    seen.append(at)


@pytest.fixture(scope="module")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipeline") / "tiny"
    tiny_world.pipeline().save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_a_cluster_gives_the_same_sliders_and_images(pipeline_folder: Path, tmp_path: Path) -> None:
    base = Base(str(pipeline_folder), device="cpu")
    how = {"sampling": Sampling(steps=2), "file_format": "png"}
    seen: dict[str, list] = {"local": [], "ray": []}
    for engine in ("local", "ray"):
        place = tmp_path / engine
        tick = partial(_keep, seen[engine])
        done = train_sliders(base, CLASSES, ["heavy snow"], place / "s", engine=engine, progress=tick, **FEW)
        assert (len(done.folders), done.existing) == (2, 0)
        picks = [Pick(CLASSES[one.number], one.shift, one) for one in find_sliders(place / "s")]
        drawn = sample_sliders(base, picks, place / "i", (0, 1), (1, 2), engine=engine, names=NAMES, **how)
        assert (drawn.drawn, drawn.existing) == (8, 0)
        again = sample_sliders(base, picks, place / "i", (0, 1), (1, 2), engine=engine, names=NAMES, **how)
        assert (again.drawn, again.existing) == (0, 8)
        with pytest.raises(BrittleError, match=naming("heavy_snow/000_bag", "active")):
            sample_sliders(base, picks, place / "i", (0, 1), (1,), engine=engine, names=NAMES, **how, active=0.5)
    assert [at[1:] for at in seen["local"]] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(at[1:] for at in seen["ray"]) == [(2, 4), (4, 4)]
    for name in ("heavy_snow_class_000", "heavy_snow_class_001"):
        one, other = (load_slider(tmp_path / engine / "s" / name).weights for engine in ("local", "ray"))
        assert all(torch.equal(one[key], other[key]) for key in one)
    local, ray = (cns_bench(tmp_path / engine / "i") for engine in ("local", "ray"))
    assert local.ids == ray.ids
    np.testing.assert_array_equal(np.stack(list(local.images())), np.stack(list(ray.images())))
    cards = [json.loads(next((tmp_path / e / "i").rglob("sampling.json")).read_text()) for e in ("local", "ray")]
    assert cards[0] == cards[1]


@pytest.mark.filterwarnings("ignore")
def test_an_error_on_the_cluster_is_raised_here(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("nowhere")):
        train_sliders(Base("nowhere"), CLASSES, ["fog"], tmp_path, engine="ray", **FEW)

"""Slides on disk are CNS-Bench's layout, are never drawn twice, and go through evaluation."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.datasets.load import stored_set
from brittle.evaluation import cns_scores, evaluate_stored
from brittle.models import from_callable
from brittle.sliders import (
    Sampling,
    draw_trajectory,
    trajectory_dataset,
    write_annotations,
    write_trajectories,
    write_two_prompts,
)
from tests.errors import naming

FEW = Sampling(steps=2)
EAGLE = {"number": 22, "name": "bald_eagle", "sampling": FEW}


@pytest.fixture(scope="module")
def folder(pipeline, slider, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("slides") / "world"
    write_trajectories(pipeline, slider, place, (0, 1, 2.5), (1, 34), **EAGLE, file_format="png")
    return place


def test_the_layout_is_the_published_one_and_reads_back(pipeline, slider, folder: Path) -> None:
    data = cns_bench(folder)
    assert data.ids[1] == "heavy_snow/022_bald eagle/seed_0001_scale_1000.png"
    assert data.labels.tolist() == [22] * 6
    assert data.columns["seed"].tolist() == [1, 1, 1, 34, 34, 34]
    assert data.columns["scale"].tolist() == [0, 1, 2.5] * 2
    assert data.notes == ()
    drawn = draw_trajectory(pipeline, slider, (0, 1, 2.5), (1, 34), sampling=FEW)
    np.testing.assert_array_equal(np.stack(list(data.images())), drawn.reshape(6, 16, 16, 3))
    card = json.loads((folder / "heavy_snow" / "022_bald eagle" / "sampling.json").read_text())
    assert (card["active"], card["sampling"]["steps"], card["slider"]["shift"]) == (0.75, 2, "heavy snow")


def test_annotations_have_the_published_keys(folder: Path) -> None:
    whole = json.loads(write_annotations(folder).read_text())
    assert list(whole) == ["info", "scales", "classes", "shifts", "images"]
    assert (whole["scales"], whole["classes"], whole["shifts"]) == ([0, 1, 2.5], [22], ["heavy_snow"])
    assert whole["images"][-1] == {
        "image": "heavy_snow/022_bald eagle/seed_0034_scale_2500.png",
        "seed": 34,
        "scale": 2.5,
        "shift": "heavy_snow",
        "class": 22,
    }


def test_what_is_there_is_not_drawn_again(pipeline, slider, tmp_path: Path) -> None:
    stop = iter((None, KeyboardInterrupt))

    def interrupt(*_) -> None:
        if problem := next(stop):
            raise problem

    with pytest.raises(KeyboardInterrupt):
        write_trajectories(pipeline, slider, tmp_path, (0, 1), (1, 2), **EAGLE, batch_size=1, progress=interrupt)
    place = tmp_path / "heavy_snow" / "022_bald eagle"
    early = {path.name: path.read_bytes() for path in place.glob("*.jpg")}
    assert sorted(early) == ["seed_0001_scale_0000.jpg", "seed_0001_scale_1000.jpg"]
    steps = []
    done = write_trajectories(
        pipeline, slider, tmp_path, (0, 1), (1, 2), **EAGLE, progress=lambda *at: steps.append(at)
    )
    assert (done.folder, done.drawn, done.existing, steps) == (place, 2, 2, [(3, 4), (4, 4)])
    assert all((place / name).read_bytes() == content for name, content in early.items())
    more = write_trajectories(pipeline, slider, tmp_path, (0, 1, 0.5), (1, 2), **EAGLE)
    assert (more.drawn, more.existing) == (2, 4)
    assert write_trajectories(pipeline, slider, tmp_path, (0, 1, 0.5), (1, 2), **EAGLE).drawn == 0
    with pytest.raises(BrittleError, match=naming("heavy_snow/022_bald eagle", "active")):
        write_trajectories(pipeline, slider, tmp_path, (0, 1), (1, 2), **EAGLE, active=0.5)
    assert not list(place.glob("*.part"))


def test_two_prompts_have_scales_0_and_1(pipeline, tmp_path: Path) -> None:
    write_two_prompts(pipeline, "bag", "heavy snow", tmp_path, (1, 2), **EAGLE)
    assert cns_bench(tmp_path).columns["scale"].tolist() == [0, 1, 0, 1]


def test_slides_go_through_evaluation(folder: Path, tmp_path: Path) -> None:
    means = [image.mean() for image in cns_bench(folder).images()]
    limit = np.median(means)
    models = [
        from_callable(lambda x: np.eye(1000)[np.where(x.mean((1, 2, 3)) > limit, 22, 0)], name="bright"),
        from_callable(lambda x: np.tile(np.eye(1000)[22], (len(x), 1)), name="eagle"),
    ]
    stored = stored_set(f"cns-bench:{folder}")
    assert stored is not None
    results = evaluate_stored(models, stored, tmp_path / "run")
    cns = cns_scores(results)
    expected = (np.array(means).reshape(2, 3) > limit).mean(0)
    bright = cns.accuracy.filter(pl.col("model") == "bright").sort("scale")
    np.testing.assert_allclose(bright["accuracy"], expected)
    np.testing.assert_allclose(bright["drop"], expected[0] - expected)
    assert cns.margins.filter(pl.col("model") == "eagle")["never_failed"].to_list() == [2]


def test_other_classes_and_filtered_samples(folder: Path, tmp_path: Path) -> None:
    classes = [f"thing {i}" for i in range(23)]
    keep = [sample for sample in cns_bench(folder).ids if "seed_0034" in str(sample)]
    stored = trajectory_dataset(folder, classes=classes, keep=keep)
    model = from_callable(lambda x: np.tile(np.eye(23)[22], (len(x), 1)), name="23 outputs")
    rows = evaluate_stored(model, stored, tmp_path / "run").rows.collect()
    assert sorted(rows["sample"]) == sorted(keep)
    assert rows["correct"].all()
    with pytest.raises(BrittleError, match=naming(1)):
        trajectory_dataset(folder, keep=["elsewhere.png"])


def test_a_damaged_image_drops_its_trajectory(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        for scale in (0, 1000):
            path = tmp_path / "w" / "heavy_fog" / "000_tench" / f"seed_{seed:04}_scale_{scale:04}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((16, 16, 3), 40 * seed, np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:50])
    model = from_callable(lambda x: np.tile(np.eye(1000)[0], (len(x), 1)), name="tench")
    results = evaluate_stored(model, trajectory_dataset(tmp_path / "w"), tmp_path / "run")
    cns = cns_scores(results)
    assert cns.dropped == {"heavy_fog": 1}
    assert cns.accuracy["trajectories"].to_list() == [2, 2]

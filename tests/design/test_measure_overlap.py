"""The models of an overlap matrix: made once, in every mode, and better at what they were trained on."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle._io import DamagedFile
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets import arrays
from brittle.design import (
    Plan,
    VanishingGain,
    accuracy_table,
    correct_cube,
    correct_cubes,
    measure_overlap,
    overlap_with_intervals,
)
from brittle.training import TrainingConfig
from tests.errors import naming

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(40, 216, (4, 3))
LABELS = np.arange(256) % 4


def squares(labels: np.ndarray, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 25, (len(labels), 16, 16, 3))
    return np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)


TRAINING = arrays(squares(LABELS, 1), LABELS, list("abcd"), name="training")
TEST = arrays(squares(LABELS[:64], 2), LABELS[:64], list("abcd"), name="test")
CANDIDATES = Benchmark("two", (Entry("noc/brightness", ((3, 5),)), Entry("noc/hue", ((3, 5),))))
QUICK = TrainingConfig(epochs=6, batch_size=32, learning_rate=0.05, crop=0)


@pytest.mark.parametrize("mode", ["scratch", "finetune", "batchnorm"])
def test_every_mode_trains(mode: str, tmp_path: Path) -> None:
    plan = Plan(
        mode, "small:4", standard=QUICK, tuning=TrainingConfig(epochs=4, batch_size=32, learning_rate=0.05, crop=0)
    )
    results = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan)
    table = accuracy_table(results, CANDIDATES)
    assert table.shape == (3, 3)
    assert correct_cube(results, CANDIDATES).shape == (3, 3, 64)
    assert table[0, 0] > 0.9
    if mode != "batchnorm":
        assert table[2, 2] > table[0, 2]  # the model trained with hue is better at it
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(stamps) == (3 if mode == "scratch" else 4)  # the cheap modes have a start
    again = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan)
    assert (accuracy_table(again, CANDIDATES) == table).all()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == stamps


@pytest.mark.parametrize(("mode", "control"), [("scratch", True), ("finetune", True), ("finetune", False)])
def test_repeated_trainings(mode: str, control: bool, tmp_path: Path) -> None:
    quick = replace(QUICK, epochs=2)
    plan = Plan(mode, "small:4", standard=quick, tuning=quick, tuning_images=96, control=control, repeats=2)
    results = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan)
    cubes = correct_cubes(results, CANDIDATES)
    assert cubes.shape == (2, 3, 3, 64)
    assert (cubes[0, 1:] != cubes[1, 1:]).any()  # other seeds and images
    assert (cubes[0, 0] == cubes[1, 0]).all() == (not control)  # there is one standard model without a control
    assert (correct_cube(results, CANDIDATES) == cubes.mean(axis=0)).all()
    once = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path / "once", replace(plan, repeats=1))
    assert (correct_cubes(once, CANDIDATES) == cubes[:1]).all()  # the first repetition is what no repetition gives
    with pytest.raises(BrittleError, match=naming("repeats=0")):
        Plan(repeats=0)


def test_an_interrupted_matrix_goes_on(tmp_path: Path) -> None:
    plan = Plan("scratch", "small:4", standard=QUICK)

    def stop(what: str, done: int, _total: int) -> None:
        if what == "training noc/hue" and done % 7 == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path / "torn", plan, progress=stop)
    torn = accuracy_table(measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path / "torn", plan), CANDIDATES)
    calm = accuracy_table(measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path / "calm", plan), CANDIDATES)
    np.testing.assert_array_equal(torn, calm)


def test_a_folder_belongs_to_one_plan(tmp_path: Path) -> None:
    plan = Plan("batchnorm", "small:4", standard=QUICK)
    measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan)
    with pytest.raises(BrittleError, match=naming("plan.mode", "batchnorm", "default")):
        measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, Plan("finetune", "small:4", standard=QUICK))
    with pytest.raises(BrittleError, match=naming("quick")):
        Plan("quick")


def test_weights_that_a_crash_cut_are_trained_again_and_a_lost_claim_is_told(tmp_path: Path) -> None:
    plan = Plan("batchnorm", "small:4", standard=QUICK)
    calm = accuracy_table(measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan), CANDIDATES)
    for run in ("cells", "failure-points"):
        shutil.rmtree(tmp_path / run, ignore_errors=True)
    weights = sorted(tmp_path.rglob("*.safetensors"))
    weights[-1].write_bytes(b"")
    weights[0].write_bytes(weights[0].read_bytes()[:-1])
    with pytest.warns(DamagedFile, match="safetensors"):
        again = accuracy_table(measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan), CANDIDATES)
    np.testing.assert_array_equal(again, calm)
    notes = [path for path in tmp_path.rglob("*.json") if (path.parent / weights[0].name).is_file()]
    notes += [path for path in tmp_path.glob("*.json") if path not in notes]
    notes[0].write_bytes(b"")
    with pytest.warns(DamagedFile, match=notes[0].name), pytest.raises(BrittleError, match=naming(notes[0].name)):
        measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan)


def test_candidates_with_several_levels_draw_one_for_each_image(tmp_path: Path) -> None:
    candidates = Benchmark("levels", (Entry("noc/brightness", (3, 5)), Entry("noc/hue", ((3, 5),))))
    results = measure_overlap(TRAINING, TEST, candidates, tmp_path, Plan("batchnorm", "small:4", standard=QUICK))
    cube = correct_cube(results, candidates)
    assert set(np.unique(cube)) <= {0, 0.5, 1}
    three, five = (results.matrix("standard", [Cell("noc/brightness", level)]).values[:, 0] for level in (3.0, 5.0))
    np.testing.assert_array_equal(cube[0, 1], (three.astype(float) + five) / 2)
    with pytest.warns(VanishingGain):
        matrix = overlap_with_intervals(cube, candidates, floor=0.99)
    assert matrix.candidates == candidates
    assert matrix.unlearned == ("noc/brightness", "noc/hue")

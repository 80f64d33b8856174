"""`brittle design overlap`, as a user calls it."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import brittle
from brittle.cli.design.overlap import _print, candidates_of
from brittle.design import OverlapMatrix, published_overlap
from tests.cli.design_cases import TRAIN
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder", "one_thread")


def test_overlap_trains_once_and_goes_on(run: Run, design_folder: Path) -> None:
    how = [
        "design",
        "overlap",
        *TRAIN,
        "--standard-epochs",
        3,
        "--epochs",
        8,
        "--lr",
        0.02,
        "--no-control",
        "-o",
        "out",
    ]
    printed = good(run(*how))
    assert "2 corruptions, 1 pairs" in printed
    matrix = OverlapMatrix.load("out/overlap.parquet")
    assert matrix.names == ("noc/contrast", "noc/gray_scale")
    assert matrix.low is not None
    np.testing.assert_array_equal(matrix.scores, OverlapMatrix.load("out/overlap.csv").scores)
    assert (design_folder / "out" / "overlap.svg").is_file()
    stamps = {path: path.stat().st_mtime_ns for path in design_folder.glob("out/models/*.safetensors")}
    assert len(stamps) == 3
    assert good(run(*how)) == printed
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    refused(run(*how, "--seed", 1, columns=400), "choose another folder")
    started = [
        "design",
        "overlap",
        *TRAIN,
        "--start",
        "out/models/standard.safetensors",
        "--mode",
        "batchnorm",
        "--train-limit",
        64,
    ]
    good(run(*started, "-o", "quick", "--form", "accuracy", "--limit", 32))
    assert "--lr 0.1 is that of fine-tuning" in run(*started, "-o", "other", "--lr", 0.1).stderr
    assert len(list(design_folder.glob("quick/models/*.safetensors"))) == 4  # the start too


def test_a_published_matrix_needs_no_training(run: Run) -> None:
    printed = good(run("design", "overlap", "--from-table", "noc-table7", "-o", "published"))
    assert re.search(r"gaussian_noise +imagenet-c/shot_noise +0\.97", printed)
    found = OverlapMatrix.load("published/overlap.csv")
    assert found.candidates == brittle.load_benchmark("imagenet-c")
    np.testing.assert_allclose(found.scores, published_overlap("noc-table7").scores)


def test_candidates_are_a_recipe_or_names() -> None:
    named = {entry.id: entry.levels for entry in candidates_of("fog, noc/rain,random_gamma").entries}
    published = [((1.0, 5.0),), (5.0,)]  # of NOC's and Syn2Nat's candidates
    assert named == {
        "imagenet-c/fog": (1.0, 2.0, 3.0, 4.0, 5.0),
        **dict(zip(("noc/rain", "syn2nat/random_gamma"), published, strict=True)),
    }
    assert candidates_of("imagenet-c") == brittle.load_benchmark("imagenet-c")
    assert candidates_of("two.toml") == brittle.load_benchmark("two.toml")


def test_what_was_hardly_learned_is_named_by_the_matrix(run: Run) -> None:
    """A model trained with no more than a little noise under gray_scale learns nothing that contrast's does not."""
    Path("weak.toml").write_text(Path("two.toml").read_text().replace("[3, 5]", "[0.01, 0.02]"))
    how = [
        "design",
        "overlap",
        *TRAIN,
        "--candidates",
        "weak.toml",
        "--standard-epochs",
        2,
        "--mode",
        "batchnorm",
        "--train-limit",
        64,
    ]
    printed = " ".join(good(run(*how, "-o", "weak")).split())
    found = OverlapMatrix.load("weak/overlap.parquet")
    assert found.unlearned
    assert f"masked, hardly learned by their own models: {', '.join(found.unlearned)};" in printed


def test_an_interval_without_an_upper_end_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    scores, high = np.array([[1, 0.2], [0.2, 1]]), np.array([[1, np.inf], [np.inf, 1]])
    _print(OverlapMatrix(("a", "b"), scores, scores, high))
    assert "∞: in some resamples of the test images" in capsys.readouterr().out
    _print(OverlapMatrix(("a", "b"), scores, scores, scores))
    assert "∞" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["design", "overlap", "-o", "x"],
            "say which --data to train and test on, or --from-table noc-table7 or noc-table8",
        ),
        (
            ["design", "overlap", "--from-table", "noc-table7", "-d", "demo", "-o", "x"],
            "trains nothing; leave --data out",
        ),
        (
            ["design", "overlap", "--from-table", "noc-table9", "-o", "x"],
            "there is no published table 'noc-table9'; did you mean",
        ),
        (
            ["design", "overlap", "--from-table", "noc-table5", "-o", "x"],
            "is not a table of models trained with one corruption",
        ),
        (["design", "overlap", "-d", "demo", "-o", "x"], "'demo' has no training part of its own"),
        (["design", "overlap", "-d", "test.npz", "--train-data", "bare.npz", "-o", "x"], "does not name its classes"),
        (
            ["design", "overlap", *TRAIN, "--mode", "quick", "-o", "x"],
            "not one of 'finetune', 'scratch', 'batchnorm'",
        ),
        (["design", "overlap", *TRAIN, "--candidates", "fog,snoww", "-o", "x"], "did you mean 'imagenet-c/snow'?"),
        (["design", "overlap", *TRAIN, "--candidates", "imagenet-d", "-o", "x"], "candidates are a recipe (cifar10-c,"),
        (["design", "overlap", *TRAIN, "--form", "log", "-o", "x"], "not one of 'ratio', 'accuracy'"),
        (["design", "overlap", *TRAIN, "--engine", "dask", "-o", "x"], "not one of 'local', 'ray'"),
        (["design", "overlap", *TRAIN, "--epochs", 0, "-o", "x"], "epochs must be at least 1"),
        (
            ["design", "overlap", *TRAIN, "--mode", "batchnorm", "--epochs", 2, "-o", "x"],
            "one pass over the images and no --epochs",
        ),
        (["design", "overlap", *TRAIN, "--mode", "scratch", "--standard-epochs", 2, "-o", "x"], "so use --epochs"),
        (["design", "overlap", *TRAIN, "--train-limit", 8, "-o", "x"], "--train-limit 8 do not fill a batch of 32"),
        (["design", "overlap", *TRAIN, "--start", "none.safetensors", "-o", "x"], "there is no file of weights"),
        (
            ["design", "overlap", *TRAIN, "--network", "big", "-o", "x", "--start", "w.pt"],
            "small, small:WIDTH",
        ),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], sentence: str) -> None:
    refused(run(*arguments, columns=400), sentence)

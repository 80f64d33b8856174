"""overlap, build, categories, correlate, coverage and calibrate, as a user calls them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import Result

import brittle
from brittle.design import (
    Categories,
    OverlapMatrix,
    agreement,
    correlation_table,
    coverage,
    non_overlapping,
    published_overlap,
    read_drops,
)

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
COLOURS = np.random.default_rng(0).integers(40, 216, (4, 3))

NETS = """
import numpy as np
from brittle.datasets import load_dataset
from brittle.models import from_callable

DATA = load_dataset("demo").subset(range(0, 1000, 10))
KNOWN = np.stack(list(DATA.images())).reshape(100, -1)[:, ::17].astype(np.float32)
CALLS = []

def scores(images):
    CALLS.append(len(images))
    if len(CALLS) == STOP:
        raise KeyboardInterrupt
    flat = images.reshape(len(images), -1)[:, ::17].astype(np.float32)
    distance = (flat**2).sum(1)[:, None] - 2 * flat @ KNOWN.T + (KNOWN**2).sum(1)
    return np.stack([-distance[:, DATA.labels == label].min(1) for label in range(10)], 1)

def by_heart():
    return from_callable(scores, name="by-heart")

def tones(channel):
    return lambda: from_callable(
        lambda x: -np.abs(x[..., channel].mean((1, 2))[:, None] - np.linspace(60, 190, 10)), name=f"tones-{channel}"
    )

red, green, blue = tones(0), tones(1), tones(2)
"""


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny networks are slowed down by more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def squares(labels: np.ndarray, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 25, (len(labels), 16, 16, 3))
    return np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tiny training and test data, two candidates, models, drops and categories."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 256), ("test", 64)):
        labels = np.arange(count) % 4
        np.savez(f"{name}.npz", images=squares(labels, count), labels=labels, classes=list("abcd"))
    np.savez("bare.npz", images=squares(np.arange(64) % 4, 1), labels=np.arange(64) % 4)
    entries = "".join(f'[[corruption]]\nid = "noc/{name}"\n' for name in ("contrast", "gray_scale"))
    Path("two.toml").write_text(f'name = "two"\nuniform = [3, 5]\n{entries}')
    Path("nets.py").write_text(NETS.replace("STOP", "-1"))
    rng = np.random.default_rng(3)
    names = ["fog", "snow", "frost", "contrast"]
    for file, columns in (("drops.csv", names), ("natural.csv", ["a", "r"]), ("few.csv", ["a"])):
        rows = [",".join(["model", *columns])]
        models = 2 if file == "few.csv" else 8
        rows += [",".join([f"m{i}", *(f"{x:.4f}" for x in rng.random(len(columns)))]) for i in range(models)]
        Path(file).write_text("\n".join(rows))
    Path("groups.csv").write_text("corruption,category\nfog,haze\ncontrast,haze\nsnow,cold\nfrost,cold\n")
    Path("odd.csv").write_text("corruption,a,b\na,1,0.2\nb,0.3,1\n")
    return tmp_path


TRAIN = ["-d", "test.npz", "--training", "train.npz", "-C", "two.toml", "--network", "small:4", "--batch-size", 32]


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr or result.exception
    assert max(map(len, result.stdout.splitlines())) <= 80, result.stdout
    return result.stdout


def test_overlap_trains_once_and_goes_on(run: Run, folder: Path) -> None:
    how = ["overlap", *TRAIN, "--standard-epochs", 3, "--epochs", 8, "--rate", 0.02, "--no-control", "-o", "out"]
    printed = good(run(*how))
    assert "2 corruptions, 1 pairs" in printed
    matrix = OverlapMatrix.load("out/overlap.parquet")
    assert matrix.names == ("noc/contrast", "noc/gray_scale")
    assert matrix.low is not None
    np.testing.assert_array_equal(matrix.scores, OverlapMatrix.load("out/overlap.csv").scores)
    assert (folder / "out" / "overlap.svg").is_file()
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("out/models/*.safetensors")}
    assert len(stamps) == 3
    assert good(run(*how)) == printed
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    refused = run(*how, "--seed", 1)
    assert refused.exit_code == 2
    assert "choose another folder" in refused.stderr
    started = ["overlap", *TRAIN, "--start", "out/models/standard.safetensors", "--mode", "batchnorm", "--images", 64]
    good(run(*started, "-o", "quick", "--form", "accuracy", "--test-images", 32))
    assert "--rate 0.1 is that of fine-tuning" in run(*started, "-o", "other", "--rate", 0.1).stderr
    assert len(list(folder.glob("quick/models/*.safetensors"))) == 4  # the start too


def test_a_published_matrix_needs_no_training(run: Run) -> None:
    printed = good(run("overlap", "--from-table", "noc-table7", "-o", "published"))
    assert re.search(r"gaussian_noise +shot_noise +0\.97", printed)
    found = OverlapMatrix.load("published/overlap.csv")
    np.testing.assert_allclose(found.scores, published_overlap("noc-table7").scores)


def test_the_largest_set_becomes_a_recipe(run: Run, folder: Path) -> None:
    printed = good(
        run("build", "non-overlapping", "noc-table8", "-t", 0.1, "-b", "noc-candidates", "-o", "sub/noc.toml")
    )
    recipe = brittle.benchmark(folder / "sub" / "noc.toml")
    assert {entry.id for entry in recipe.entries} == {e.id for e in brittle.benchmark("imagenet-noc").entries}
    assert {entry.levels for entry in recipe.entries} == {((1.0, 5.0),)}
    assert recipe.name == "noc"
    assert re.search(r"0\.1 +8 ", printed)
    assert (folder / "sub" / "noc.svg").is_file()
    how = ["--sweep", "s.svg", "--thresholds", "0.1,0.2,0.6", "-b", "imagenet-c", "--name", "mine", "-o", "six.toml"]
    printed = good(run("build", "non-overlapping", "noc-table7", "-t", 0.3, *how))
    best = non_overlapping(published_overlap("noc-table7"), 0.3)
    assert [entry.corruption.name for entry in brittle.benchmark("six.toml").entries] == list(best.members)
    assert brittle.benchmark("six.toml").name == "mine"
    assert len(re.findall(r"^ +0\.\d+ +\d+ ", printed, re.M)) == 4
    assert (folder / "s.svg").is_file()


def test_categories_and_balanced_benchmarks_of_them(run: Run, folder: Path) -> None:
    printed = good(run("categories", "noc-table7", "-o", "three.toml"))
    groups = Categories.load("three.toml")
    assert len(groups) == 3
    assert "0.60 / -0.23" in " ".join(printed.split())
    assert (folder / "three.svg").is_file()
    good(run("categories", "noc-table7", "--method", "hierarchical", "--count", 4, "--figure", "f.svg", "-o", "4.csv"))
    assert len(Categories.load("4.csv")) == 4
    how = ["build", "balanced", "--categories", "three.toml", "-n", 3, "-k", 2]
    good(run(*how, "--overlap", "noc-table7", "-b", "imagenet-c", "-o", "best.toml"))
    best = brittle.benchmark("best.toml")
    matrix = published_overlap("noc-table7")
    chosen = [entry.corruption.name for entry in best.entries]
    pairs = [(a, b) for a in chosen for b in chosen if a < b and groups.of(a) == groups.of(b)]
    assert len(pairs) == 3
    for a, b in pairs:  # the smallest of each category, since all 900 benchmarks were looked at
        group = groups.members[groups.of(a)]
        assert matrix[a, b] == pytest.approx(min(matrix[x, y] for x in group for y in group if x != y))
    assert "20 of 900 benchmarks" in good(run(*how, "--count", 20, "-o", "many.csv"))
    rows = [tuple(line.split(",")) for line in Path("many.csv").read_text().split()]
    assert len(set(rows)) == 20
    assert {len(row) for row in rows} == {6}
    good(run("build", "balanced", "-c", "syn2nat", "-n", 6, "-k", 3, "-o", "s.toml"))
    assert len(brittle.benchmark("s.toml").entries) == 18


def test_masked_corruptions_are_left_out_of_categories_and_named(run: Run) -> None:
    table = published_overlap("noc-table7")
    scores = np.array(table.scores)
    scores[3], scores[:, 3] = np.nan, np.nan
    scores[3, 3] = 1
    OverlapMatrix(table.names, scores).save("masked.csv")
    printed = good(run("categories", "masked.csv", "-o", "c.toml"))
    assert f"left out, all their overlaps are masked: {table.names[3]}" in printed
    assert table.names[3] not in Categories.load("c.toml").names
    assert "masked pairs" in good(run("build", "non-overlapping", "masked.csv", "-b", "imagenet-c", "-o", "r.toml"))


def test_real_models_are_held_against_categories(run: Run) -> None:
    four = published_overlap("noc-table7").subset(["fog", "snow", "frost", "contrast"])
    four.save("four.parquet")
    printed = good(run("categories", "four.parquet", "--count", 2, "--check", "drops.csv", "-o", "c.toml"))
    drops = read_drops("drops.csv")
    assert str(agreement(Categories.load("c.toml"), drops.values, drops.names)) in " ".join(printed.split())


def test_coverage_says_what_is_missed(run: Run, folder: Path) -> None:
    printed = good(run("coverage", "noc-table7", "-b", "fog,snow", "-o", "c.csv"))
    found = coverage(published_overlap("noc-table7"), ["fog", "snow"], of=published_overlap("noc-table7").names)
    assert str(found) in printed
    assert re.search(r"contrast +0\.49 +fog", printed)
    assert re.search(r"glass_blur +– +nothing", printed)
    rows = pl.read_csv("c.csv")
    assert len(rows) == 15 * 2
    assert rows.filter(pl.col("covers"))["corruption"].n_unique() == len(found.covered)
    assert (folder / "c.svg").is_file()
    both = good(run("coverage", "noc-table8", "-b", "imagenet-noc", "--of", "noc/hue,border", "-t", 0.5))
    assert "2 of 2 covered (overlap > 0.5), 2 of them as members" in both


def test_correlations_from_tables_and_from_runs(run: Run, folder: Path) -> None:
    how = ["--categories", "groups.csv", "--nk", "2,1", "--nk", "1,2"]
    printed = good(run("correlate", "--synthetic", "drops.csv", "--natural-csv", "natural.csv", *how, "-o", "t.csv"))
    mine, world = read_drops("drops.csv"), read_drops("natural.csv")
    groups = {"(2,1)": [(h, c) for h in ("fog", "contrast") for c in ("snow", "frost")]}
    wanted = correlation_table(mine.values, mine.names, groups, world.columns())
    assert f"{wanted['(2,1)'][-1]:.3f}" in printed
    rows = pl.read_csv("t.csv")
    assert rows["benchmarks"].to_list() == [4, 4, 2, 2]
    assert rows["mean_r"][0] == pytest.approx(wanted["(2,1)"][0])
    assert (folder / "t.svg").is_file()
    for net in ("red", "green", "blue"):
        cells = ["-b", "cifar10-c", "-c", "fog,snow,frost,contrast", "-s", "2"]
        assert run("run", "-m", f"nets.py:{net}", "-d", "demo", "--limit", 60, *cells, "-o", "syn").exit_code == 0
        assert run("run", "-m", f"nets.py:{net}", "-d", "demo", "--limit", 37, "-o", "nat").exit_code == 0
    recipe = brittle.Benchmark("pair", tuple(brittle.benchmark("imagenet-c").entry(c) for c in ("fog", "snow")))
    recipe.save("pair.toml")
    printed = good(
        run("correlate", "--synthetic", "syn", "--natural", "odd=nat", *how, "-b", "pair.toml", "-o", "r.csv")
    )
    assert "over 3 models" in printed
    assert pl.read_csv("r.csv")["group"].to_list() == ["(2,1)", "(1,2)", "pair"]


def test_calibration_goes_on_where_it_was(run: Run, folder: Path) -> None:
    Path("two.toml").write_text(
        Path("two.toml").read_text().replace("contrast", "brightness").replace("gray_scale", "border")
    )
    how = ["-d", "demo", "--limit", 100, "-C", "two.toml", "--tolerance", 0.2, "-o", "ours.toml"]
    Path("nets.py").write_text(NETS.replace("STOP", "18"))
    torn = run("calibrate", "-m", "nets.py:by_heart", *how)
    assert torn.exit_code == 130
    assert "the same command goes on" in torn.stderr
    first = json.loads(Path("ours.calibration.json").read_text())["found"]
    assert list(first) == ["noc/brightness"]
    assert not Path("ours.toml").exists()
    Path("nets.py").write_text(NETS.replace("STOP", "-1"))
    printed = good(run("calibrate", "-m", "nets.py:by_heart", *how))
    both = json.loads(Path("ours.calibration.json").read_text())["found"]
    assert both["noc/brightness"] == first["noc/brightness"]
    recipe = brittle.benchmark("ours.toml")
    assert recipe.image_size == 32
    for entry in recipe.entries:
        low, high = both[entry.id]["severities"]
        np.testing.assert_allclose(entry.levels[0], (low, high), atol=0.006)
        assert f"{low:.2f}" in printed
    assert (folder / "ours.svg").is_file()
    other = run("calibrate", "-m", "nets.py:by_heart", *how, "--robustness", "0.9,0.5")
    assert other.exit_code == 2
    assert "remove it or choose another output" in other.stderr


CALIBRATE = ["calibrate", "-m", "nets.py:by_heart", "-d", "demo", "-C", "two.toml"]
CORRELATE = ["correlate", "--synthetic", "drops.csv", "-o", "t.csv"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["overlap", "-o", "x"], "say which --data to train and test on, or --from-table noc-table7 or noc-table8"),
        (["overlap", "--from-table", "noc-table7", "-d", "demo", "-o", "x"], "trains nothing; leave --data out"),
        (
            ["overlap", "--from-table", "noc-table9", "-o", "x"],
            "there is no published table 'noc-table9'; did you mean",
        ),
        (["overlap", "--from-table", "noc-table5", "-o", "x"], "is not a table of models trained with one corruption"),
        (["overlap", "-d", "demo", "-o", "x"], "'demo' has no training part of its own"),
        (["overlap", "-d", "test.npz", "--training", "bare.npz", "-o", "x"], "does not name its classes"),
        (["overlap", *TRAIN, "--mode", "quick", "-o", "x"], "mode must be one of scratch, finetune, batchnorm"),
        (["overlap", *TRAIN, "-C", "imagenet-c", "-o", "x"], "has 5 levels; candidates have one level, or a range"),
        (["overlap", *TRAIN, "--form", "log", "-o", "x"], "the form is ratio (the papers) or accuracy"),
        (["overlap", *TRAIN, "--engine", "dask", "-o", "x"], "there are: local, ray"),
        (["overlap", *TRAIN, "--epochs", 0, "-o", "x"], "epochs must be at least 1"),
        (
            ["overlap", *TRAIN, "--mode", "batchnorm", "--epochs", 2, "-o", "x"],
            "one pass over the images and no --epochs",
        ),
        (["overlap", *TRAIN, "--mode", "scratch", "--standard-epochs", 2, "-o", "x"], "so use --epochs"),
        (["overlap", *TRAIN, "--images", 8, "-o", "x"], "--images 8 do not fill a batch of 32"),
        (["overlap", *TRAIN, "--start", "none.safetensors", "-o", "x"], "there is no file of weights"),
        (["overlap", *TRAIN, "--network", "big", "-o", "x", "--start", "w.pt"], "small, small:WIDTH or timm:NAME"),
        (
            ["build", "non-overlapping", "no.csv", "-o", "r.toml"],
            "there is no overlap matrix 'no.csv'; `brittle overlap`",
        ),
        (["build", "non-overlapping", "odd.csv", "-o", "r.toml"], "must be symmetric, but a with b is 0.2"),
        (["build", "non-overlapping", "noc-table7", "-o", "r.csv"], "a recipe is a .toml file, got 'r.csv'"),
        (["build", "non-overlapping", "noc-table7", "--sweep", "s.png", "-o", "r.toml"], "a figure is an .svg file"),
        (["build", "non-overlapping", "noc-table7", "-t", "nan", "-o", "r.toml"], "the threshold is a finite overlap"),
        (
            ["build", "non-overlapping", "noc-table8", "-o", "r.toml"],
            "say which: noc/blur, syn2nat/blur; or give the recipe",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 3, "-k", 1, "-o", "r.toml"],
            "there are 2 categories, so n lies",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 2, "-k", 3, "-o", "r.toml"],
            "has 2 members, so k lies between",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 2, "-k", 1, "--count", 9, "-o", "r.csv"],
            "there are 4 different",
        ),
        (["build", "balanced", "-c", "no.toml", "-n", 2, "-k", 1, "-o", "r.csv"], "there is no file of categories"),
        (
            ["build", "balanced", "-c", "noc", "-n", 2, "-k", 1, "-o", "r.csv"],
            "there are no published categories 'noc'",
        ),
        (["categories", "noc-table7", "-o", "c.txt"], "a file of categories is a .toml or .csv file, got 'c.txt'"),
        (["categories", "noc-table7", "--method", "tree", "-o", "c.csv"], "the method is k-means or hierarchical"),
        (["categories", "noc-table7", "--count", 99, "-o", "c.csv"], "make 1 to 15 categories, got 99"),
        (
            ["categories", "noc-table7", "--count", 3, "--min-correlation", 0.5, "-o", "c.csv"],
            "not both; got 3 and 0.5",
        ),
        (["categories", "noc-table7", "--check", "few.csv", "-o", "c.csv"], "is not in the table"),
        (["coverage", "noc-table7", "-b", "fogg"], "'fogg' is not in the table; did you mean 'fog'?"),
        (["coverage", "noc-table7", "-b", "imagenet-noc"], "'noc/rain' is not in the table"),
        (["coverage", "noc-table7", "-b", "fog", "-o", "c.toml"], "the table is a .csv file, got 'c.toml'"),
        ([*CORRELATE, "-b", "imagenet-c"], "--natural NAME=RUN, or all of them as --natural-csv FILE"),
        ([*CORRELATE, "--natural", "a=run", "-b", "imagenet-c"], "a .csv of drops has none"),
        (
            [*CORRELATE, "--natural-csv", "few.csv", "-b", "imagenet-c"],
            "needs three models or more on both sides, got 2",
        ),
        ([*CORRELATE, "--natural-csv", "natural.csv"], "say which benchmarks"),
        ([*CORRELATE, "--natural-csv", "natural.csv", "--nk", "2,1"], "--nk and --categories belong together"),
        (
            [*CORRELATE, "--natural-csv", "natural.csv", "-c", "groups.csv", "--nk", "2"],
            "two whole numbers, such as 6,3",
        ),
        ([*CORRELATE, "--natural-csv", "natural.csv", "-b", "imagenet-c"], "is not in the table"),
        ([*CALIBRATE, "-o", "r.csv"], "a recipe is a .toml file, got 'r.csv'"),
        ([*CALIBRATE, "--robustness", "0.9", "-o", "r.toml"], "takes two shares, such as 0.95,0.5"),
        ([*CALIBRATE, "--robustness", "95,50", "-o", "r.toml"], "a share of the clean accuracy between 0 and 1"),
        ([*CALIBRATE, "--figure", "f.pdf", "-o", "r.toml"], "a figure is an .svg file"),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], sentence: str) -> None:
    result = run(*arguments, columns=400)
    assert result.exit_code == 2, result.exception
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr


def test_a_verb_of_build_shows_where_an_error_arose_if_asked(run: Run) -> None:
    result = run("--traceback", "build", "non-overlapping", "no.csv", "-o", "r.toml")
    assert isinstance(result.exception, FileNotFoundError)


def test_what_pages_show_of_build_is_there(run: Run) -> None:
    """`brittle build` has verbs of its own, so each option is looked for in the help of the right one."""
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    lines = {line for page in pages for line in re.findall(r"^\$? ?brittle build (.*)$", page.read_text(), re.M)}
    assert lines
    for line in lines:
        verb, *rest = line.split("#")[0].split()
        described = run("build", verb, "--help", columns=200)
        assert described.exit_code == 0, line
        for word in rest:
            assert not word.startswith("-") or word in described.stdout, line

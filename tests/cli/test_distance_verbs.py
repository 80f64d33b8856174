"""distance, leak, study and build dissimilar, as a user calls them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import torch
from PIL import Image as Pil
from typer.testing import Result

import brittle

Run = Callable[..., Result]
COLOURS = np.random.default_rng(0).integers(40, 216, (4, 3))

OWN = """
from brittle.models import build_network, from_callable, from_torch
import numpy as np

def net():
    return from_torch(build_network("small:4", 4), name="net", device="cpu")

def blind():
    return from_callable(lambda x: np.zeros((len(x), 4), np.float32), name="blind")

def bare():
    import torch
    return from_torch(torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                          torch.nn.Unflatten(1, (3, 1)), torch.nn.Flatten()), name="bare", device="cpu")

def smaller(image):
    return image[::2, ::2]

def stops(image, draws):
    if draws.name.split("/")[2] == "i7":
        raise KeyboardInterrupt
    return image
"""

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny networks are slowed down by more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tiny data, two recipes, and models and augmentations in a file."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 160), ("test", 64)):
        labels = np.arange(count) % 4
        noise = np.random.default_rng(count).normal(0, 25, (count, 16, 16, 3))
        images = np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
        np.savez(f"{name}.npz", images=images, labels=labels, classes=list("abcd"))
    Path("own.py").write_text(OWN)
    names = ("gaussian_noise", "contrast", "brightness")
    entries = "".join(f'[[corruption]]\nid = "imagenet-c/{name}"\n' for name in names)
    Path("three.toml").write_text(f'name = "three"\nlevels = [1, 2, 3, 4, 5]\n{entries}')
    many = ("brownish_noise", "lines", "sparkles", "hue_shift", "checkerboard_cutout")
    entries = "".join(f'[[corruption]]\nid = "c-bar/{name}"\n' for name in many)
    Path("far.toml").write_text(f'name = "far"\nlevels = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n{entries}')
    return tmp_path


SMALL = ["-m", "own.py:net", "-d", "test.npz", "--images", 6, "--corruption-samples", 2]
TRAIN = [
    "-d",
    "test.npz",
    "--training",
    "train.npz",
    "--network",
    "small:4",
    "--standard-epochs",
    2,
    "--batch-size",
    32,
]
LOOK = ["--images", 5, "--samples", 20, "--corruption-samples", 2]


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr or result.exception
    assert max(map(len, result.stdout.splitlines())) <= 80, result.stdout
    return result.stdout


def figure(path: str) -> str:
    root = ElementTree.parse(path).getroot()
    return " ".join(node.text or "" for node in root.iter())


def test_distance_writes_tables_figures_and_pictures_and_goes_on(run: Run) -> None:
    how = [
        "distance",
        "-a",
        "augmix,patch-gaussian",
        "-b",
        "three.toml",
        "-s",
        "2,5",
        *SMALL,
        "--samples",
        12,
        "-o",
        "out",
    ]
    printed = good(run(*how))
    assert "24 augmentations of 6 images at" in printed
    table = pl.read_csv("out/distances.csv")
    assert table["augmentation"].unique(maintain_order=True).to_list() == ["augmix", "patch-gaussian"]
    assert len(table) == 6
    assert (table["msd_low"] <= table["msd"]).all()
    assert (table["msd"] <= table["msd_high"]).all()
    levels = pl.read_csv("out/levels.csv")
    means = levels.group_by("augmentation", "corruption", maintain_order=True).agg(pl.col("msd").mean())
    np.testing.assert_allclose(means["msd"], table["msd"])
    assert "patch-gaussian" in figure("out/msd.svg")
    assert "sampled augmentations" in figure("out/convergence.svg")
    with Pil.open("out/nearest.png") as picture:
        assert picture.width > 400
    assert "all features were there already" in good(run(*how))
    more = [20 if one == 12 else one for one in how]
    assert "16 augmentations of 6 images" in good(run(*more))


def test_an_interrupted_distance_says_that_nothing_is_lost(run: Run) -> None:
    how = ["distance", "-b", "three.toml", "-s", 3, *SMALL, "--samples", 12, "-o", "out", "--batch-size", 6]
    stopped = run(*how, "-a", "own.py:stops")
    assert stopped.exit_code == 130
    assert "the same command goes on" in stopped.stderr
    good(run(*how, "-a", "none"))


def test_leak_finds_what_is_trained_on_and_scores_without_it(run: Run) -> None:
    cheat = "corruptions:three.toml:brightness"
    good(run("run", "-m", "own.py:net", "-d", "test.npz", "-b", "three.toml", "-o", "run"))
    how = ["leak", "-a", cheat, "-b", "three.toml", *SMALL, "--samples", 200, "-o", "out"]
    printed = good(run(*how, "--results", "run"))
    assert "leaks 1 of 3 corruptions: brightness" in " ".join(printed.split())
    table = pl.read_csv("out/leak-corruptions-three.toml-brightness.csv")
    assert table.filter(pl.col("leaked"))["corruption"].to_list() == ["imagenet-c/brightness"]
    scores = pl.read_csv("out/scores-corruptions-three.toml-brightness.csv")
    assert scores["corruptions"].to_list() == ["all", "kept", "leaked"]
    assert scores["count"].to_list() == [3, 2, 1]
    assert "1 of 3 corruptions are leaked" in figure("out/leak-corruptions-three.toml-brightness.svg")


def test_a_study_of_distance_and_error_in_one_command(run: Run) -> None:
    how = ["study", "distance", *TRAIN, "-b", "three.toml", "-s", "3,5", "--schemes", 5, *LOOK, "-o", "out"]
    printed = good(run(*how, "--training-images", 64))
    assert "of 3 above 0.6" in printed
    assert "(the paper: 12 of 15)" in " ".join(printed.split())
    points, found = pl.read_csv("out/points.csv"), pl.read_csv("out/correlations.csv")
    assert len(points) == 5 * 3
    assert found["schemes"].to_list() == [5, 5, 5]
    assert figure("out/study.svg").count("ρ =") + figure("out/study.svg").count("no correlation") == 3
    assert len(brittle.load_results("out/run").models) == 5
    assert good(run(*how, "--training-images", 64)) == printed
    refused = run(*how, "--training-images", 96)
    assert refused.exit_code == 2
    assert "choose another folder" in refused.stderr


def test_a_study_of_mixtures_in_one_command(run: Run) -> None:
    look = ["--images", 5, "--samples", 20, "--corruption-samples", 40]
    mix = ["study", "mixing", *TRAIN, "-b", "three.toml", "--near", "gaussian_noise", *look, "--training-images", 64]
    printed = good(run(*mix, "--far", "contrast", "--shares", "1,0.5,0", "-o", "out"))
    table = pl.read_csv("out/mixing.csv")
    assert table.columns == ["share", "msd", "mmd", "picked", "error"]
    assert table["picked"].to_list()[::2] == [20, 0]
    assert table["mmd"][0] < 0.5 * table["mmd"][2]
    assert "error" in printed
    assert "share of the right augmentation" in figure("out/mixing.svg")
    good(run(*mix, "--far", "none", "--shares", "1,0", "--no-errors", "-o", "plain"))
    assert "error" not in pl.read_csv("plain/mixing.csv").columns


def test_build_dissimilar_writes_a_recipe_that_runs(run: Run) -> None:
    line = "train -d test.npz --training train.npz --network small:4 --epochs 4 --batch-size 32 -o net.safetensors"
    assert run(*line.split()).exit_code == 0
    how = ["build", "dissimilar", "-C", "far.toml", "-b", "three.toml", "-m", "net.safetensors", "-d", "test.npz"]
    few = ["--images", 4, "--corruption-samples", 2, "--datasets", 500, "--tolerance", 0.3]
    result = run(*how, *few, "-k", 2, "--runs", 2, "-o", "sub/mine.toml")
    printed = good(result)
    assert "2 of 5 candidates" in printed
    recipe = brittle.benchmark("sub/mine.toml")
    assert [len(entry.levels) for entry in recipe.entries] == [5, 5]
    table = pl.read_csv("sub/mine.csv")
    assert set(table.filter(pl.col("picked"))["candidate"]) == {entry.id for entry in recipe.entries}
    assert "standard errors over runs" in figure("sub/mine.svg")
    assert good(run(*how, *few, "-k", 2, "--runs", 2, "-o", "sub/mine.toml")) == printed
    refused = run(*how, *few, "-k", 12, "-o", "sub/mine.toml")
    assert refused.exit_code == 2
    assert "'far' has 5 candidates, so k is at most that; got 12" in refused.stderr


BAD = {
    "no features": (["-m", "own.py:blind"], "shows no features"),
    "no last layer": (["-m", "own.py:bare"], "has no features to show"),
    "another size": (["-a", "own.py:smaller"], "an augmentation must keep the size"),
    "unknown augmentation": (["-a", "augmx"], "did you mean 'augmix'"),
    "too few images": (["--images", 65], "has 64 images, 65 were asked for"),
    "no samples": (["--samples", 0], "samples must be at least 1"),
    "a tolerance in percent": (["--tolerance", 5], "tolerance is a share of the MSD between 0 and 1"),
    "unknown corruption": (["-c", "fogg"], "fogg"),
    "unknown benchmark": (["-b", "cifar10c"], "did you mean 'cifar10-c'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_distance_gets_one_sentence(name: str, run: Run) -> None:
    changed, message = BAD[name]
    usual = {"-a": "none", "-b": "three.toml", "-m": "own.py:net", "-d": "test.npz", "--images": 4}
    given = {**usual, "--corruption-samples": 1, "--samples": 2, "-o": "out", **dict([changed])}
    refused = run("distance", *(part for pair in given.items() for part in pair))
    assert refused.exit_code == 2, refused.output
    assert message in refused.stderr
    assert refused.stderr.count("\n") <= 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("leak -a flip-crop -b three.toml -m own.py:net -d test.npz -o out", "is itself a neutral augmentation"),
        ("leak -a none,augmix -b three.toml -m own.py:net -d test.npz -o out", "one augmentation at a time"),
        ("leak -a none -b three.toml -m own.py:net -d test.npz -o out --results nothing", "nothing"),
        ("study distance -d test.npz --training train.npz --schemes 3 -o out", "take 4 to 512 schemes"),
        ("study distance -d bare.npz -o out", "bare.npz"),
        ("study mixing -d test.npz --training train.npz --shares 0.5 -o out", "two --shares or more"),
        ("study mixing -d test.npz --training train.npz --shares 0.5,2 -o out", "a share lies between 0 and 1"),
        ("study mixing -d test.npz --training train.npz --far blurr -o out", "there is no augmentation 'blurr'"),
        ("build dissimilar -C far.toml -b three.toml -m own.py:net -d test.npz -o out.svg", "a recipe is a .toml file"),
        (
            "build dissimilar -C far.toml -b three.toml -m own.py:blind -d test.npz -k 2 -o out.toml",
            "shows no features",
        ),
        (
            "build dissimilar -C far.toml -b three.toml -m own.py:net -d test.npz -k 2 --runs 0 -o o.toml",
            "at least one run",
        ),
    ],
)
def test_other_mistakes_get_one_sentence(line: str, message: str, run: Run) -> None:
    refused = run(*line.split())
    assert refused.exit_code == 2, refused.output
    assert message in refused.stderr

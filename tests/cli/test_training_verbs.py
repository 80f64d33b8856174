"""train and balance, as a user calls them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import Result

from brittle.models import load_model
from tests.errors import unnamed

Run = Callable[..., Result]
COLOURS = np.random.default_rng(0).integers(40, 216, (4, 3))
TRAIN = ["augment", "train", "-d", "train.npz", "--train-data", "train.npz", "--network", "small:4", "--batch-size", 32]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Four colours to tell apart, and one thread, since tiny networks are slowed down by more."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 128), ("test", 64)):
        labels = np.arange(count) % 4
        noise = np.random.default_rng(count).normal(0, 25, (count, 16, 16, 3))
        images = np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
        np.savez(f"{name}.npz", images=images, labels=labels, classes=list("abcd"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path
    torch.set_num_threads(before)


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr or result.exception
    return result.stdout


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.stdout
    return " ".join(result.stderr.split())


def test_a_network_learns_a_benchmark_and_is_run_on_another(run: Run, folder: Path) -> None:
    printed = good(run(*TRAIN, "--epochs", 6, "-a", "corruptions:cifar10-noc", "-o", "noc.safetensors"))
    assert "6 epochs over 128 images" in printed
    assert not list(folder.glob("*.pt"))
    good(run(*TRAIN, "--start", "noc.safetensors", "-a", "augmix", "--ema", 0.9, "-o", "more.safetensors"))
    good(
        run("run", "-m", "noc.safetensors", "-m", "more.safetensors", "-d", "test.npz", "-c", "fog", "-s", 3, "-o", "r")
    )
    assert load_model("noc.safetensors").scores(np.zeros((1, 16, 16, 3), np.uint8)).shape == (1, 4)


def test_training_goes_on_from_its_checkpoint_and_from_no_other(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["brittle.training.trainer"]
    good(run(*TRAIN, "--epochs", 3, "-o", "calm.safetensors"))
    keep, calls = module._save_checkpoint, []

    def stop(*given: object) -> None:
        keep(*given)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "_save_checkpoint", stop)
    assert run(*TRAIN, "--epochs", 3, "-o", "cut.safetensors").exit_code != 0
    assert len(list(folder.glob("cut.*.pt"))) == 1
    good(run(*TRAIN, "--epochs", 3, "-a", "augmix", "-o", "cut.safetensors"))
    assert len(calls) == 5, "another training does not begin from this checkpoint"
    Path("cut.safetensors").unlink()
    good(run(*TRAIN, "--epochs", 3, "-o", "cut.safetensors"))
    assert len(calls) == 6
    a, b = (load_model(f"{name}.safetensors").module.state_dict() for name in ("calm", "cut"))
    assert all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["-o", "net.pt"], (".safetensors", "net.pt")),
        (["-o", "n.safetensors", "-a", "augmux"], ("augmux", "augmix", "affine", "flip-crop", "none")),
        (["-o", "n.safetensors", "--network", "large"], ("small:WIDTH", "'large'")),
        (["-o", "n.safetensors", "--optimizer", "lion"], ("--optimizer", "lion", "sgd", "adamw")),
        (["-o", "n.safetensors", "--start", "nowhere.pt"], ("nowhere.pt",)),
        (["-o", "n.safetensors", "--train-limit", "1"], (1, 2)),
    ],
)
def test_bad_trainings_are_told(run: Run, arguments: list[str], values: tuple) -> None:
    assert unnamed(refused(run(*TRAIN, *arguments)), *values) == []


def test_nothing_is_written_over(run: Run) -> None:
    Path("net.safetensors").touch()
    assert "'net.safetensors'" in refused(run(*TRAIN, "-o", "net.safetensors"))


def test_balance_reads_the_folder_of_an_overlap(run: Run, folder: Path) -> None:
    names = ("contrast", "gray_scale", "hue")
    entries = "".join(f'[[corruption]]\nid = "noc/{name}"\n' for name in names)
    Path("three.toml").write_text(f'name = "three"\nuniform = [3, 5]\n{entries}')
    how = ["--network", "small:4", "--batch-size", 32, "--standard-epochs", 12, "--train-limit", 64, "--no-control"]
    good(
        run(
            "design",
            "overlap",
            "-d",
            "test.npz",
            "--train-data",
            "train.npz",
            "--candidates",
            "three.toml",
            *how,
            "-o",
            "overlap",
        )
    )
    printed = good(
        run("design", "balance", "overlap", "-b", "three.toml", "-b", "contrast,hue", "-o", "sub/balance.csv")
    )
    assert printed.count("standard deviation") == 2
    assert "divided by the errors of the standard model" in " ".join(printed.split())
    table = pl.read_csv("sub/balance.csv")
    assert table["reference"].unique().to_list() == ["the standard model"]
    good(run("run", "-m", "overlap/models/standard.safetensors", "-d", "test.npz", "-b", "three.toml", "-o", "ref"))
    assert "divided by the errors of standard;" in " ".join(
        good(run("design", "balance", "overlap", "--reference", "ref")).split()
    )
    refusal = refused(run("design", "balance", "overlap", "--reference", "alexnet"))
    assert "noc/contrast of 'three' has other levels" in refusal
    assert "'nowhere'" in refused(run("design", "balance", "overlap", "--reference", "nowhere"))
    assert table["benchmark"].unique(maintain_order=True).to_list() == ["three", "contrast,hue"]
    assert len(table) == 5
    assert (folder / "sub" / "balance.svg").is_file()
    assert "'sub'" in refused(run("design", "balance", "sub"))
    assert "snow" in refused(run("design", "balance", "overlap", "-b", "snow,contrast"))
    assert "'balance.txt'" in refused(run("design", "balance", "overlap", "-o", "balance.txt"))

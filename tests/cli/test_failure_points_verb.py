"""Failure points on their own: numbers with intervals and units, a table, a picture and a report."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil
from typer.testing import Result

import brittle
from brittle._types import Image
from brittle.datasets.cifar import CIFAR10
from brittle.evaluation import load_failure_points
from brittle.evaluation.failures.summary import SearchedFolder, summarize_failure_points
from brittle.metrics import FailurePoints
from brittle.metrics.image_quality import contrast_kept, psnr, ssim
from brittle.report.grid import resized

Run = Callable[..., Result]

NETS = """
import numpy as np

class Tones:
    name, key = "tones", "v1"

    def scores(self, images):
        grey = images.reshape(len(images), -1).astype(np.float32)
        light, spread = grey.mean(1), grey.std(1)
        centres = np.linspace(40, 215, 10)
        return -np.abs(light[:, None] - centres) - np.abs(spread[:, None] - 60) * np.linspace(0, 1, 10)

class Reds(Tones):
    name, key = "reds", "v2"

    def scores(self, images):
        return super().scores(images[..., ::-1] // 2)

def tones():
    return Tones()

def reds():
    return Reds()
"""


def shown(sheet: Image, picture: Image) -> bool:
    """Whether a picture is on a sheet, its rounded corners left out."""
    inner = np.ascontiguousarray(resized(picture, 112)[8:-8, 8:-8])
    return float(cv2.matchTemplate(sheet, inner, cv2.TM_SQDIFF).min()) < inner.size


@pytest.fixture
def folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    how = ["-d", "demo", "--limit", 60, "-b", "cifar10-c", "-c", "fog,contrast", "--tolerance", 0.25]
    result = run("failure-points", "-m", "demo:standard", *how, "-o", "my run")
    assert result.exit_code == 0, result.output
    Path("printed.txt").write_text(result.stdout)
    return tmp_path / "my run"


def test_what_is_printed_are_the_quantiles_and_what_they_do(folder: Path) -> None:
    printed = (folder.parent / "printed.txt").read_text()
    words = " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 80
    searched = SearchedFolder(folder)
    assert [one.corruption for one in searched.summaries] != []
    for one in searched.summaries:
        own = one.rows["failed"].to_numpy()
        right = FailurePoints(own[own > 0], one.points.severities)
        for found, share in ((one.early, 0.05), (one.half, 0.5)):
            assert found == right.quantile(share)
            assert found is not None
            assert (f"{found.value:.2f}" if np.isfinite(found.value) else "> 5") in words
            assert (f"({found.low:.2f}–" if np.isfinite(found.low or 0) else "(> 5–") in words
        change = searched.change(one)
        assert change is not None
        entry = brittle.load_benchmark("cifar10-c").entry(one.corruption).corruption
        assert change.parameters == entry.parameters(change.severity, 32)
        for name, value in change.parameters.items():
            assert f"{name} {value:.3g}" in words
        assert f"{change.psnr:.1f} dB" in words
    first = searched.summaries[0]
    assert first.early is not None
    assert f"5 % of images fail below severity {first.early.value:.2f}" in words
    assert "evaluations per image over 2 corruptions" in words
    assert " looks" not in words


def test_the_table_has_every_image_once_for_each_corruption(folder: Path) -> None:
    rows = load_failure_points(folder)
    assert rows is not None
    table = pl.read_csv(folder / "failure-points.csv")
    assert len(table) == 2 * 60
    both = table.join(rows.with_columns(pl.col("sample").cast(pl.Int64)), on=["model", "corruption", "sample"])
    assert len(both) == len(table)
    assert (both["failure_point"].fill_null(np.inf) == both["failed"]).all()
    assert (
        table.filter(pl.col("failure_point").is_null())["prediction"].null_count() == rows["failed"].is_infinite().sum()
    )
    assert rows["evaluations"].n_unique() > 2  # counted for each image, not one mean in every row


def test_the_picture_shows_images_at_their_failure_points(folder: Path) -> None:
    searched = SearchedFolder(folder)
    with Pil.open(folder / "failure-points.png") as picture:
        sheet = np.asarray(picture.convert("RGB"))
    count = 0
    for one in searched.summaries:
        for example in one.examples():
            assert example.held < example.failed
            assert example.prediction != example.label
            for severity in (0.0, example.held, example.failed):
                image = searched.image(one, example.sample, severity)
                assert image is not None
                assert shown(sheet, image)
                count += 1
    assert count >= 9


def test_the_printed_next_command_writes_a_report(run: Run, folder: Path) -> None:
    printed = (folder.parent / "printed.txt").read_text()
    [command] = re.findall(r"next: brittle (.+)", printed)
    result = run(*shlex.split(command))
    assert result.exit_code == 0, result.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    early = SearchedFolder(folder).summaries[0].early
    assert early is not None
    for words in ("5 % fail below", f"{early.value:.2f}", "Survival curves", "Pictures", "PSNR"):
        assert words in page
    assert page.count("<img") >= 9
    assert any(f"✓</span> {name}" in page for name in CIFAR10)
    assert page.count('<figure class="panel chart"') == 2


def test_a_folder_of_failure_points_and_one_of_a_benchmark_are_two_reports(run: Run, folder: Path) -> None:
    how = ["-d", "demo", "--limit", 20, "-b", "cifar10-c", "-c", "fog", "-s", "1", "-o", "grid"]
    assert run("run", "-m", "demo:standard", *how).exit_code == 0
    result = run("report", "grid", folder)
    assert result.exit_code == 2
    assert str(folder) in result.stderr.replace("\n", "")


def test_two_models_get_a_picture_each_and_one_report(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(NETS)
    how = ["-d", "demo", "--limit", 60, "-b", "cifar10-c", "-c", "fog", "--tolerance", 0.5, "-o", "two"]
    result = run("failure-points", "-m", "nets.py:tones", "-m", "nets.py:reds", *how, "--picture", "pictures.png")
    assert result.exit_code == 0, result.output
    assert Path("pictures-tones.png").is_file()
    assert Path("pictures-reds.png").is_file()
    assert run("report", "two", "-o", "two.html").exit_code == 0
    page = Path("two.html").read_text(encoding="utf-8")
    assert "reds" in page
    assert "tones" in page


def test_an_image_that_never_fails_and_one_that_is_wrong_when_clean_are_not_examples() -> None:
    rows = pl.DataFrame(
        {
            "model": "m",
            "key": "k",
            "corruption": "imagenet-c/fog",
            "drawn": "d",
            "sample": ["never", "wrong", "early", "late"],
            "label": [0, 0, 0, 0],
            "failed": [np.inf, 0.0, 1.0, 4.0],
            "held": [5.0, 0.0, 0.5, 3.5],
            "evaluations": [6, 1, 3, 6],
            "prediction": [-1, 1, 1, 1],
            "clean_confidence": [0.9] * 4,
            "held_confidence": [0.9] * 4,
            "failed_confidence": [0.5] * 4,
            "resolution": 0.5,
            "max_severity": 5.0,
        }
    )
    [one] = summarize_failure_points(rows)
    assert [example.sample for example in one.examples()] == ["early", "late"]
    assert one.clean_accuracy == 0.75
    assert one.never == pytest.approx(1 / 3)
    assert one.evaluations == 4


def test_image_units_are_those_of_their_definitions() -> None:
    rng = np.random.default_rng(0)
    clean = rng.integers(60, 190, (48, 40, 3)).astype(np.uint8)
    brighter = (clean + 10).astype(np.uint8)
    assert psnr(clean, brighter) == pytest.approx(20 * np.log10(255 / 10))
    assert psnr(clean, clean) == np.inf
    assert ssim(clean, clean) == pytest.approx(1)
    assert contrast_kept(clean, brighter) == pytest.approx(1)
    grey = np.full_like(clean, 128)
    flat = (grey + (clean.astype(int) - 128) // 2).astype(np.uint8)
    assert contrast_kept(clean, flat) == pytest.approx(0.5, abs=0.01)
    x, y = (image.astype(np.float64) @ [0.299, 0.587, 0.114] for image in (clean, flat))
    weights = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    window = np.outer(weights, weights) / weights.sum() ** 2
    values = []
    for i in range(48 - 10):
        for j in range(40 - 10):
            a, b = x[i : i + 11, j : j + 11], y[i : i + 11, j : j + 11]
            ma, mb = (window * a).sum(), (window * b).sum()
            va, vb = (window * (a - ma) ** 2).sum(), (window * (b - mb) ** 2).sum()
            both = (window * (a - ma) * (b - mb)).sum()
            top = (2 * ma * mb + 2.55**2) * (2 * both + 7.65**2)
            values.append(top / ((ma**2 + mb**2 + 2.55**2) * (va + vb + 7.65**2)))
    assert ssim(clean, flat) == pytest.approx(np.mean(values), abs=1e-6)

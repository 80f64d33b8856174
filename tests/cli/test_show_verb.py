"""`brittle show` draws a sheet of what was asked for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil
from typer.testing import Result

import brittle
from brittle.datasets import photo
from brittle.report import contact_sheet
from tests.errors import unnamed

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("arguments", "corruptions", "severities", "how"),
    [
        (["-c", "fog,snow", "-s", "1,2.5"], ["fog", "snow"], [1, 2.5], {}),
        (["-c", "snow", "-c", "fog", "-s", "3", "-s", "1"], ["snow", "fog"], [3, 1], {}),
        (["coffee", "-c", "saturate"], ["saturate"], [1, 2, 3, 4, 5], {}),
        (
            ["-b", "imagenet-c-extra", "--image-size", "32", "--thumb", "32"],
            None,
            [1, 2, 3, 4, 5],
            {"size": 32, "thumb": 32},
        ),
        (["-c", "shot_noise", "--seed", "9"], ["shot_noise"], [1, 2, 3, 4, 5], {"seed": 9}),
        (["--image-size", "32", "--thumb", "48", "-s", "2"], "all", [2], {"size": 32, "thumb": 48}),
    ],
)
def test_the_sheet_is_the_one_asked_for(
    run: Run, tmp_path: Path, arguments: list[str], corruptions: object, severities: list[float], how: dict[str, int]
) -> None:
    result = run("show", *arguments, "-o", tmp_path / "new" / "sheet.png")
    assert result.exit_code == 0, result.stderr
    if corruptions is None:
        corruptions = brittle.load_benchmark("imagenet-c-extra").entries
    if corruptions == "all":
        corruptions = brittle.list_corruptions()
    picture = photo("coffee" if "coffee" in arguments else "cat", 300)
    expected = contact_sheet(picture, corruptions, severities, **how)
    assert (np.asarray(Pil.open(tmp_path / "new" / "sheet.png")) == np.asarray(expected)).all()


@pytest.mark.parametrize(("suffix", "form"), [(".png", "PNG"), (".jpg", "JPEG"), (".JPEG", "JPEG"), (".webp", "WEBP")])
def test_the_suffix_gives_the_format(run: Run, tmp_path: Path, suffix: str, form: str) -> None:
    Pil.fromarray(photo(size=50)).save(tmp_path / "mine.png")
    path = tmp_path / f"sheet{suffix}"
    result = run("show", tmp_path / "mine.png", "-c", "saturate", "-s", 1, "-o", path)
    assert result.exit_code == 0
    assert str(path) in result.stdout
    with Pil.open(path) as sheet:
        assert sheet.format == form


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["nowhere.jpg"], ("nowhere.jpg", "cat", "coffee")),
        (["-c", "fog", "-s", "7"], ("severity", 0, 5, "7.0")),
        (["-s", "strong"], ("severities", "1,2.5,5", "'strong'")),
        (["-c", "fgo"], ("fgo", "imagenet-c/fog")),
        (
            ["-b", "imagenet-c", "-c", "saturate"],
            ("imagenet-c/saturate", "imagenet-c", "brittle list --benchmark imagenet-c"),
        ),
        (["-o", "sheet.bmp"], (".png", ".jpg", ".jpeg", ".webp", "sheet.bmp")),
        (["--thumb", "1"], ("thumb", 8, 1)),
        ([__file__], ("test_show_verb.py",)),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], values: tuple
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("show", *arguments)
    assert result.exit_code == 2
    assert unnamed(result.stderr, *values) == []
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []

"""The contact sheet shows every picture it promises, in a shape that fits a screen."""

import cv2
import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle._types import Image
from brittle.benchmarks import Entry
from brittle.datasets import photo
from brittle.plots import FAMILY_COLOURS
from brittle.report import contact_sheet

CAT = photo(size=64)
ALL = brittle.list_corruptions()


def _shown(sheet: Image, picture: Image) -> bool:
    inner = picture[8:-8, 8:-8]  # corners are rounded
    return float(cv2.matchTemplate(sheet, inner, cv2.TM_SQDIFF).min()) < inner.size


@pytest.mark.parametrize("names", [["fog"], ["fog", "shot_noise", "snow", "saturate"]])
@pytest.mark.parametrize("severities", [[2.5], [1, 3, 5]])
def test_every_cell_is_what_corrupt_gives(names: list[str], severities: list[float]) -> None:
    drawn: list[None] = []
    sheet = contact_sheet(CAT, names, severities, seed=5, size=64, thumb=64, progress=lambda: drawn.append(None))
    assert len(drawn) == len(names) * len(severities)
    pixels = np.asarray(sheet)
    assert _shown(pixels, CAT)
    for name in names:
        for severity in severities:
            assert _shown(pixels, brittle.corrupt(CAT, name, severity, seed=5)), (name, severity)
    assert not _shown(pixels, brittle.corrupt(CAT, names[0], 4.3, seed=5))


@pytest.mark.parametrize("count", [4, 15, 19, 40, 112])
@pytest.mark.parametrize("levels", [1, 5])
def test_a_sheet_is_neither_a_tower_nor_a_ribbon(count: int, levels: int) -> None:
    rows = (["saturate", "defocus_blur", "zoom_blur", "shot_noise"] * 28)[:count]
    width, height = contact_sheet(CAT, rows, range(1, levels + 1), size=16, thumb=16).size
    assert 0.7 < width / height < 2.2


def test_pixels_of_small_images_stay_squares() -> None:
    clean = np.asarray(contact_sheet(CAT, ["saturate"], [0], size=16, thumb=64))
    small = cv2.resize(CAT, (16, 16), interpolation=cv2.INTER_AREA)
    assert _shown(clean, small.repeat(4, axis=0).repeat(4, axis=1))


def test_a_photograph_is_cut_to_its_middle() -> None:
    wide = np.zeros((64, 128, 3), np.uint8)
    wide[:, 32:96] = CAT
    assert _shown(np.asarray(contact_sheet(wide, ["saturate"], [1], size=64, thumb=64)), CAT)


def test_options_of_a_benchmark_entry_are_used(tmp_path: object) -> None:
    rime = np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8)
    cv2.imwrite(f"{tmp_path}/rime.png", rime)
    entry = Entry("frost", (5,), {"textures": str(tmp_path)})
    sheet = np.asarray(contact_sheet(CAT, [entry], [5], size=64, thumb=64))
    assert _shown(sheet, brittle.corrupt(CAT, "frost", 5, textures=str(tmp_path)))


def test_every_family_has_a_colour_of_its_own() -> None:
    from brittle.corruptions import FAMILIES

    assert set(FAMILY_COLOURS) == set(FAMILIES)
    assert len(set(FAMILY_COLOURS.values())) == len(FAMILIES)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"corruptions": []}, "at least one corruption"),
        ({"severities": []}, "one severity"),
        ({"size": 2}, "size must be at least 8"),
        ({"thumb": 0}, "thumb must be at least 8"),
        ({"image": CAT[:, :, 0]}, "H×W×3"),
        ({"corruptions": ["fgo"]}, "did you mean"),
    ],
)
def test_mistakes_are_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(BrittleError, match=sentence):
        contact_sheet(**{"image": CAT, "corruptions": ["fog"], "severities": [1], **change})

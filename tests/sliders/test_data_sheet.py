"""The data sheet beside generated images: what it says, and that an edited one stays."""

import json
from pathlib import Path

import pytest

from brittle import BrittleError
from brittle.sliders import data_sheet_text, write_data_sheet
from tests.errors import naming
from tests.sliders.cns_folder import cns_folder

SECTIONS = (
    "Motivation", "Composition", "Collection process", "Preprocessing, cleaning, labelling", "Uses", "Distribution",
    "Maintenance",
)  # fmt: skip


def test_the_sections_and_the_counts(tmp_path: Path) -> None:
    root = cns_folder(tmp_path / "slides")
    (root / "heavy_snow" / "000_tench" / "seed_0001_scale_2500.jpg").unlink()
    card = {"slider": {"rank": 4, "alpha": 1.0}, "active": 0.75, "precision": "float32", "network": "abc",
            "sampling": {"guidance": 7.5, "steps": 50, "scheduler": None}}  # fmt: skip
    (root / "heavy_snow" / "000_tench" / "sampling.json").write_text(json.dumps(card))
    text = data_sheet_text(root)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(SECTIONS)
    assert "71 generated images of 3 classes (tench, great_white_shark, bald_eagle) in 2 shifts" in text
    assert "Scales: 0, 0.5, 1, 2.5;" in text
    assert "| heavy_snow | 35 | 9 | 8 |" in text
    assert "| painting_style | 36 | 9 | 9 |" in text
    for fact in (
        "Guidance: 7.5.",
        "Steps: 50.",
        "Scheduler: the checkpoint's.",
        "last 75 % of the noise",
        "Keys of pipeline and prompt: abc.",
    ):
        assert fact in text
    assert "__" not in text


def test_an_edited_sheet_stays(tmp_path: Path) -> None:
    root = cns_folder(tmp_path / "slides")
    path = write_data_sheet(root)
    (root / "heavy_snow" / "000_tench" / "seed_0001_scale_2500.jpg").unlink()
    assert "71 generated images" in write_data_sheet(root).read_text()  # it follows the images
    path.write_text(path.read_text().replace("## Uses", "## Uses\n\nOurs."))
    (root / "heavy_snow" / "000_tench" / "seed_0002_scale_2500.jpg").unlink()
    assert "71 generated images" in write_data_sheet(root).read_text()
    path.write_text("Mine")
    assert write_data_sheet(root).read_text() == "Mine"


def test_a_damaged_card_is_named(tmp_path: Path) -> None:
    root = cns_folder(tmp_path / "slides")
    (root / "heavy_snow" / "000_tench" / "sampling.json").write_text("{")
    with pytest.raises(BrittleError, match=naming("sampling.json")):
        data_sheet_text(root)

"""Experiments: how they are found, run, resumed and written, with experiments of our own that take no time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil

from brittle.metrics import Estimate
from brittle.papers import Outcome, Setting, experiment, find_experiments, list_experiments, read_findings, reproduce
from brittle.papers import experiments as room
from tests.errors import naming

RUNS: list[str] = []


pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two experiments of NOC: one needs nothing, one needs photographs at the paper's scale."""
    list_experiments()  # what the papers register must be there before
    monkeypatch.setattr(room, "_EXPERIMENTS", dict(room._EXPERIMENTS))
    RUNS.clear()

    def plain(setting: Setting) -> Outcome:
        RUNS.append(setting.scale)
        rows = [{"model": "a|b", "ours": np.float64(1.5), "published": 2, "none": float("nan")}]
        picture = Pil.fromarray(np.zeros((4, 4, 3), np.uint8))
        agreement = [Estimate("Spearman, all", 0.5, 0.1, 0.8, n=9, percent=False)]
        return Outcome("One of 1 holds.", {"rows": rows}, agreement, ["no images"], {"dark": picture})

    def broken(setting: Setting) -> Outcome:
        RUNS.append("broken")
        folder = setting.work("shared")
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "half").exists():
            (folder / "half").touch()
            raise KeyboardInterrupt
        return Outcome("It went on.", {"rows": [{"kept": True}]})

    for name, run, needs in (("toy", plain, ()), ("broken", broken, ("imagenet-100",))):
        run.__module__ = "brittle.papers.noc_of_a_test"
        experiment(name, f"The {name} one", claim="It holds.", minutes=0.1, needs=needs)(run)


def test_the_paper_is_the_first_word_of_the_module() -> None:
    assert [one.id for one in find_experiments("noc", ["toy", "broken", "toy"])] == ["noc/toy", "noc/broken"]
    assert [one.paper for one in list_experiments()] == sorted(
        (one.paper for one in list_experiments()), key=list(room.PAPERS).index
    )


def test_an_experiment_comes_after_known_ones_of_its_paper_and_none_takes_over_a_quarter_of_an_hour() -> None:
    for paper in ("noc", "syn2nat", "msd"):
        minutes = {one.name: one.minutes for one in list_experiments(paper)}
        assert max(minutes.values()) <= 15
        for one in list_experiments(paper):
            assert {*one.after} <= {*minutes} - {one.name}


def test_two_of_one_name_are_a_mistake() -> None:
    def again(_: Setting) -> Outcome:
        return Outcome("")

    again.__module__ = "brittle.papers.noc"
    with pytest.raises(ValueError, match=naming("noc/toy")):
        experiment("toy", "", claim="", minutes=1)(again)


def test_a_finding_is_written_and_read(tmp_path: Path) -> None:
    [found] = reproduce("noc", "toy", tmp_path)
    assert found.tables["rows"] == [{"model": "a|b", "ours": 1.5, "published": 2, "none": None}]
    assert [one for one in read_findings(tmp_path) if one.name == "toy"] == [found]
    folder = tmp_path / "noc" / "toy"
    assert pl.read_csv(folder / "rows.csv")["ours"].to_list() == [1.5]
    assert found.figures == ["dark.png"]
    with Pil.open(folder / "dark.png") as picture:
        assert picture.size == (4, 4)
    page, text = (tmp_path / "index.html").read_text(), (tmp_path / "findings.md").read_text()
    for shown in (
        "One of 1 holds.",
        "It holds.",
        "data:image/png;base64,",
        "no images",
        "Spearman, all 0.5 [0.1, 0.8]",
    ):
        assert shown in page
    assert "| a\\|b | 1.5 | 2 | – |" in text


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    first = reproduce("noc", ["toy"], tmp_path)
    assert reproduce("noc", ["toy"], tmp_path) == first
    assert RUNS == ["small"]
    reproduce("noc", ["toy"], tmp_path, seed=1)
    reproduce("noc", ["toy"], tmp_path, seed=1, training={"epochs": 2})
    reproduce("noc", ["toy"], tmp_path, seed=1, training={"epochs": 2}, overwrite=True)
    assert len(RUNS) == 4


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reproduce("noc", ["toy", "broken"], tmp_path)
    assert [one.name for one in read_findings(tmp_path)] == ["toy"]
    assert "It holds." in (tmp_path / "index.html").read_text()
    reproduce("noc", ["toy", "broken"], tmp_path)
    assert RUNS == ["small", "broken", "broken"]
    assert {one.name for one in read_findings(tmp_path)} == {"toy", "broken"}


def test_changed_settings_of_trainings_have_their_own_folders_and_are_told(tmp_path: Path) -> None:
    settings = [Setting(tmp_path), Setting(tmp_path, seed=3), Setting(tmp_path, training={"epochs": 2})]
    assert len({setting.work("overlap") for setting in settings}) == 3
    assert settings[0].work("overlap") == tmp_path / "work" / "small" / "overlap"
    [found] = reproduce("noc", "toy", tmp_path, training={"epochs": 2})
    assert found.differs == ["no images", "epochs = 2 by request"]


def test_a_part_is_found_in_the_whole(tmp_path: Path) -> None:
    setting = Setting(tmp_path, "paper", {"imagenet": "/data"})
    [one] = find_experiments("noc", ["broken"])
    assert setting.path("imagenet-100") == "/data"
    assert one.missing(setting) == []
    assert one.missing(Setting(tmp_path, "paper")) == ["imagenet-100"]
    with pytest.raises(ValueError, match=naming("imagenet-r")):
        setting.path("imagenet-r")


@pytest.mark.parametrize(
    ("arguments", "options", "values"),
    [
        (["nok"], {}, ("'nok'", "noc", "syn2nat", "msd")),
        (["noc", "table9"], {}, ("noc", "'table9'", "table8", "all")),
        (["noc", "toy"], {"scale": "large"}, ("'large'", "small", "paper")),
        (["noc", "broken"], {"scale": "paper"}, ("noc/broken", "paper", "imagenet-100")),
        (["noc", "toy"], {"paths": {"imagenett": "."}}, ("'imagenett'", "imagenet")),
        (["noc", "toy"], {"training": {"epoch": 2}}, ("'epoch'", "epochs")),
        (["noc", "toy"], {"training": {"epochs": 0}}, ("epochs", 0)),
        (["noc", "toy"], {"seed": 0.5}, ("0.5",)),
    ],
)
def test_a_mistake_is_named_before_anything_is_done(
    tmp_path: Path, arguments: list[str], options: dict[str, Any], values: tuple
) -> None:
    paper, *names = arguments
    with pytest.raises((ValueError, TypeError), match=naming(*values)):
        reproduce(paper, names, tmp_path / "new", **options)
    assert RUNS == []
    assert not (tmp_path / "new").exists()


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("cifar10", "nowhere")):
        reproduce("noc", "toy", tmp_path, paths={"cifar10": "nowhere"})


def test_a_damaged_finding_is_named(tmp_path: Path) -> None:
    reproduce("noc", "toy", tmp_path)
    path = tmp_path / "noc" / "toy" / "finding.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(ValueError, match=naming("finding.json")):
        read_findings(tmp_path)
    path.write_text(json.dumps({"experiment": "noc/toy"}))
    with pytest.raises(ValueError, match=naming("finding.json")):
        read_findings(tmp_path)

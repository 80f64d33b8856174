"""How figures look and are saved: files that are complete and the same twice, and settings that stay as they were."""

import builtins
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image as Pil

from brittle import BrittleError
from brittle.plots import MODEL_COLOURS, check_figure, figure_style, plot_accuracy, save_figure, short_names
from tests.errors import naming
from tests.plots.figure_cases import CASES, NASTY, TWO, run_results

BEGINNINGS = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}


@pytest.mark.parametrize("name", CASES)
def test_every_figure_is_saved_in_every_format_and_the_same_twice(name: str, tmp_path: Path) -> None:
    first, again = CASES[name].draw(), CASES[name].draw()
    for kind, beginning in BEGINNINGS.items():
        assert save_figure(first, tmp_path / "new" / f"a.{kind}").read_bytes().startswith(beginning)
        save_figure(again, tmp_path / f"b.{kind.upper()}")
        assert (tmp_path / f"b.{kind.upper()}").read_bytes() == (tmp_path / "new" / f"a.{kind}").read_bytes()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a.pdf", "a.png", "a.svg"]


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from brittle.plots import save_figure; from tests.plots.figure_cases import CASES\n"
        "for name in ('accuracy', 'masked'):\n"
        "    for kind in ('pdf', 'png', 'svg'): save_figure(CASES[name].draw(), Path(sys.argv[1]) / f'{name}.{kind}')"
    )
    subprocess.run([sys.executable, "-c", f"import sys; {code}", str(tmp_path)], check=True)
    for path in sorted(tmp_path.iterdir()):
        assert save_figure(CASES[path.stem].draw(), tmp_path / f"mine{path.suffix}").read_bytes() == path.read_bytes()


def test_text_stays_text_and_no_date_is_kept(tmp_path: Path) -> None:
    drawn = plot_accuracy(run_results(), "fog", TWO)
    svg = save_figure(drawn, tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">severity</text>" in svg
    assert NASTY.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in svg
    assert "<dc:date>" not in svg
    pdf = save_figure(drawn, tmp_path / "a.pdf").read_bytes()
    assert b"/CreationDate" not in pdf
    assert b"/FontFile2" in pdf  # TrueType, which papers ask for
    assert b"/Type3" not in pdf


def test_a_figure_is_one_column_wide_and_white(tmp_path: Path) -> None:
    drawn = plot_accuracy(run_results(), "fog", TWO)
    assert drawn.figure.get_size_inches()[0] == 3.35
    with Pil.open(save_figure(drawn, tmp_path / "a.png")) as picture:
        assert picture.width == round(3.35 * 300)
        assert np.asarray(picture.convert("RGB"))[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("path", ["a.jpg", "a", "a.svgz", "dir.pdf/a"])
def test_other_endings_are_named(path: str) -> None:
    with pytest.raises(BrittleError, match=naming(path, ".pdf", ".png", ".svg")):
        check_figure(path)
    with pytest.raises(BrittleError, match=naming(path)):
        save_figure(Figure(), path)


def test_what_is_no_figure_is_named(tmp_path: Path) -> None:
    for wrong in ("text", np.array([], object)):
        with pytest.raises(BrittleError, match=naming(type(wrong).__name__)):
            save_figure(wrong, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_axes_of_a_part_and_figures_of_other_layouts_are_saved_whole(tmp_path: Path) -> None:
    part, _ = Figure(layout="constrained").subfigures(1, 2)
    assert save_figure(part.subplots(), tmp_path / "part.png").is_file()
    plain = Figure(figsize=(2, 2)).subplots()
    plain.set_xlabel("a very long label that leaves a paper of two inches")
    with Pil.open(save_figure(plain, tmp_path / "wide.png")) as picture:
        assert picture.width > 600


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_figure(CASES["rce"].draw(), tmp_path / "a.svg")
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk"):
        save_figure(CASES["rce"].draw(), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.svg"]


def test_the_style_lasts_as_long_as_its_block() -> None:
    before = dict(mpl.rcParams)
    with figure_style():
        assert mpl.rcParams["pdf.fonttype"] == 42
        assert mpl.rcParams["svg.fonttype"] == "none"
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(MODEL_COLOURS)
    assert dict(mpl.rcParams) == before


def test_given_axes_keep_the_style_of_their_owner() -> None:
    with mpl.rc_context({"font.size": 20, "legend.fontsize": 20}):
        ax = Figure(figsize=(9, 6)).subplots()
        plot_accuracy(run_results(), "fog", TWO, ax=ax)
    assert ax.get_legend().get_texts()[0].get_fontsize() == 20


def test_a_notebook_gets_a_figure_that_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot

    monkeypatch.setattr(builtins, "get_ipython", lambda: None, raising=False)
    before = pyplot.get_fignums()
    drawn = plot_accuracy(run_results(), "fog", TWO)
    assert drawn.figure.number not in before
    assert pyplot.get_fignums() == [*before, drawn.figure.number]
    pyplot.close(drawn.figure)


def test_the_room_and_its_modules_load_without_matplotlib() -> None:
    modules = "design, distance, evaluation, shifts, style"
    code = f"from brittle.plots import {modules}, plot_drop; import sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_lose_the_set_that_all_share() -> None:
    assert short_names(["noc/rain", "noc/blur"]) == ["rain", "blur"]
    assert short_names(["noc/rain", "imagenet-c/fog"]) == ["noc/rain", "imagenet-c/fog"]

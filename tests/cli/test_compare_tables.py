"""`brittle compare` as it writes tables for papers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import brittle
from brittle.cli import app
from brittle.cli.compare import compare_verb
from brittle.evaluation import By, Format, Measure, by_corruption_table, printed_table, score_table
from brittle.metrics import list_published_tables
from tests.cli.test_compare_verb import good
from tests.latex import tabulars
from tests.sliders.cns_folder import NETS, cns_folder

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real small run: both bundled models, three corruptions, two severities, and another small benchmark."""
    folder = tmp_path_factory.mktemp("compared") / "run"
    how = ["run", "-m", "demo:standard", "-m", "demo:augmix", "-d", "demo", "--limit", "20", "-o", str(folder)]
    for more in (["-b", "cifar10-c", "-c", "fog,contrast,snow", "-s", "1,5"], ["-b", "cifar10-c-bar", "-s", "4"]):
        result = CliRunner().invoke(app, [*how, *more])
        assert result.exit_code == 0, result.stderr
    return folder


ONE = ("-b", "cifar10-c-custom")


def test_the_options_are_those_of_the_library() -> None:
    hints = get_type_hints(compare_verb)
    for name, kind in {"format": Format, "measure": Measure, "rank_by": By}.items():
        [literal] = [arg for arg in get_args(hints[name]) if arg is not type(None)]
        assert get_args(literal) == get_args(kind)


def test_every_corruption_on_a_terminal(run: Run, finished: Path) -> None:
    text = good(run("compare", finished, *ONE, "--per-corruption"))
    assert "20 images of demo" in text
    for word in ("demo-standard", "demo-augmix", "contrast", "fog", "snow", "mean", "95 %"):
        assert word in text
    plain = good(run("compare", finished, *ONE, "--per-corruption", "--no-intervals"))
    assert "95 %" not in plain
    assert "[" not in plain
    assert "CE" in good(run("compare", finished, *ONE, "--per-corruption", "--reference", "demo-standard"))
    assert "robustness R" in good(run("compare", finished, *ONE, "--measure", "R"))


def test_csv_files_hold_every_digit(run: Run, finished: Path, tmp_path: Path) -> None:
    results = brittle.load_results(finished)
    [recipe] = [one for one in results.benchmarks() if one.name == ONE[1]]
    assert good(run("compare", finished, *ONE, "-o", tmp_path / "scores.csv")).split() == [str(tmp_path / "scores.csv")]
    expected = score_table(results, recipe).to_polars()
    assert pl.read_csv(tmp_path / "scores.csv", schema=expected.schema).equals(expected)
    printed = run("compare", finished, *ONE, "--per-corruption", "--format", "csv").stdout
    expected = by_corruption_table(results, recipe).to_polars()
    assert pl.read_csv(printed.encode(), schema=expected.schema).equals(expected)


def test_several_tables_are_one_csv_each_and_one_tex_together(run: Run, finished: Path, tmp_path: Path) -> None:
    files = good(run("compare", finished, "-o", tmp_path / "t.csv")).split()
    assert sorted(Path(file).name for file in files) == [
        "t-cifar10-c-bar-custom-scores.csv",
        "t-cifar10-c-custom-scores.csv",
    ]
    assert all(pl.read_csv(file)["model"].len() == 2 for file in files)
    good(run("compare", finished, "-o", tmp_path / "t.tex", "--ranks", "--per-corruption", "--table", "noc-table3"))
    text = (tmp_path / "t.tex").read_text()
    assert (
        text.count("\\begin{table}") == 6
    )  # corruptions and ranks of two benchmarks, their agreement, a published one
    assert len(tabulars(text)) >= 6
    assert run("compare", finished, "--format", "markdown").stdout.count("|:--|") == 2


def test_published_tables_need_no_run(run: Run) -> None:
    text = good(run("compare", "--table", "noc-table3", "--table", "imagenet-p-leaderboard"))
    assert "NOC Table 3 (2020)" in text
    assert "58.0" in text
    listed = good(run("compare", "--table", "list"))
    assert all(name[:20] in listed for name in list_published_tables())
    for name in list_published_tables():
        good(run("compare", "--table", name))
    found = json.loads(run("compare", "--table", "noc-table3", "--json").stdout)
    assert found["noc-table3"]["rows"] == printed_table("noc-table3").to_polars().to_dicts()


def test_two_tables_of_one_name_are_both_written(run: Run, tmp_path: Path) -> None:
    files = good(run("compare", "--table", "noc-table3", "--table", "noc-table3", "-o", tmp_path / "t.csv")).split()
    assert [Path(file).name for file in files] == ["t-noc-table3.csv", "t-noc-table3-2.csv"]
    assert len({Path(file).read_text() for file in files}) == 1


def test_published_tables_stand_beside_runs(run: Run, finished: Path) -> None:
    text = good(run("compare", finished, *ONE, "--table", "c-bar-table2"))
    assert text.index("demo-augmix") < text.index("ResNeSt-50d")
    found = json.loads(run("compare", finished, *ONE, "--table", "c-bar-table2", "--json").stdout)
    assert list(found) == [ONE[1], "c-bar-table2"]
    assert found[ONE[1]]["models"][0]["corruptions"][0]["robustness"]["value"] > 0


def test_mistakes_are_told(run: Run, finished: Path, tmp_path: Path) -> None:
    for words, named in (
        (["compare"], ["--table"]),
        (["compare", "--table", "noc-tabel3"], ["noc-table3"]),
        (["compare", finished, "-o", tmp_path / "t.doc"], ["t.doc", ".tex"]),
        (["compare", finished, "--format", "docx"], ["docx", "latex"]),
        (["compare", finished, "--json", "--format", "csv"], ["--json", "--format"]),
        (["compare", finished, "--measure", "CE"], ["CE", "--reference"]),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert all(name in result.stderr for name in named), result.stderr
    assert not (tmp_path / "t.doc").exists()


def test_why_published_numbers_are_missing_is_told_beside_the_table(run: Run, finished: Path) -> None:
    result = run("compare", finished, *ONE, "--format", "latex")
    assert "No mCE" in result.stderr
    assert "No mCE" not in result.stdout


def test_slides_become_tables(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(NETS)
    nets = [word for name in ("weak", "fair", "strong") for word in ("-m", f"nets.py:{name}")]
    good(run("run", *nets, "-d", f"cns-bench:{cns_folder(tmp_path / 'cns')}", "-o", "run"))
    good(run("compare", "run", "--reference", "weak", "-o", "slides.tex"))
    assert len(tabulars(Path("slides.tex").read_text())) >= 5
    text = good(run("compare", "run", "--reference", "weak", "--format", "table"))
    for words in ("rCE", "Accuracy drop", "fail first", "Kendall's τ", "Slope"):
        assert words in text
    without = run("compare", "run", "--format", "csv")
    assert "--reference" in without.stderr
    assert "rCE" not in without.stdout
    data = json.loads(run("compare", "run", "--reference", "weak", "--json", "--table", "cns-table1").stdout)
    assert {"accuracy", "slides-rce", "slides-drop", "slides-failure-points", "slides-slopes", "cns-table1"} <= set(
        data
    )
    assert {row["model"] for row in data["accuracy"]} == {"weak", "fair", "strong"}


def test_models_of_slides_are_chosen_and_grouped_by_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(NETS)
    nets = [word for name in ("weak", "fair", "strong") for word in ("-m", f"nets.py:{name}")]
    good(run("run", *nets, "-d", f"cns-bench:{cns_folder(tmp_path / 'cns')}", "-o", "run"))
    Path("axes.csv").write_text("model,size,kind\nweak,small,a\nfair,small,b\nstrong,large,b\n")
    markdown = ("--format", "markdown")
    words = run("compare", "run", "--model-axes", "axes.csv", "--figure", "drops.svg", *markdown).stdout
    assert "in percentage points by size" in words
    assert Path("drops-size.svg").is_file()
    assert Path("drops-kind.svg").is_file()
    Path("two.txt").write_text("weak\nfair\n")
    assert "Slope of" not in good(run("compare", "run", "--slope-models", "two.txt"))  # a line over two says nothing
    Path("three.txt").write_text("# supervised\nweak\nfair\nstrong\n")
    assert "over 3 models" in run("compare", "run", "--slope-models", "three.txt", *markdown).stdout
    Path("three.txt").write_text("weak\nalexnet\n")
    assert "alexnet" in run("compare", "run", "--slope-models", "three.txt").stderr
    counts = run("compare", "run", "--class-counts", "1,2,50", "--reference", "weak", *markdown).stdout
    assert "on random subsets of classes" in counts
    assert counts.count("| 1 classes |") == counts.count("| 3 classes |") == 2  # drops and rCE
    assert run("compare", "run", "--class-counts", "1.5").exit_code == 2
    assert run("compare", "run", "--class-counts", "0").exit_code == 2

"""Tables for papers: their numbers against independent ones, and what each format makes of them."""

import io
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, rankdata

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark
from brittle.evaluation import (
    MEASURES,
    Column,
    Results,
    ScoreTable,
    agreement_table,
    as_baseline,
    by_corruption_table,
    escape_latex,
    format_table,
    guess_format,
    per_corruption_table,
    printed_table,
    published_index,
    rank_table,
    score_table,
    scores,
    slide_tables,
)
from brittle.metrics import (
    Estimate,
    corruption_errors,
    list_published_tables,
    published_by_corruption,
    published_table,
    relative_corruption_errors,
)
from brittle.models import from_callable, load_model
from tests.cli.test_compare_verb import fill
from tests.errors import naming
from tests.latex import tabulars
from tests.sliders.test_cns_scores import results as slides

IMAGES, LEVELS = 30, (1, 3, 5)


def _tones(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The two bundled models and one that only sees brightness, on two small benchmarks."""
    data = brittle.load_dataset("demo").subset(range(IMAGES))
    folder = tmp_path_factory.mktemp("tables") / "run"
    models = [load_model("demo:standard"), load_model("demo:augmix"), from_callable(_tones, name="100% _tones_ & {co}")]
    for recipe in _recipes():
        evaluated = brittle.evaluate(models, data, recipe, folder, progress=None)
    return evaluated


def _recipes() -> list[Benchmark]:
    whole = brittle.load_benchmark("cifar10-c")
    names = (("one", ("gaussian_noise", "fog", "contrast")), ("two", ("snow", "fog")))
    return [
        replace(whole, name=name, entries=tuple(replace(whole.entry(c), levels=LEVELS) for c in corruptions))
        for name, corruptions in names
    ]


ONE, TWO = _recipes()


def accuracies(results: Results, recipe: Benchmark, model: str) -> np.ndarray:
    """Corruption × level, from the plain table of accuracies."""
    rows = {row[:3]: row[4] for row in results.accuracy().rows()}
    return np.array([[rows[model, entry.id, level] for level in entry.levels] for entry in recipe.entries])


def test_every_measure_of_every_corruption(results: Results) -> None:
    reference = as_baseline(results, ONE, "demo-standard")
    table = by_corruption_table(results, ONE, reference="demo-standard")
    frame = table.to_polars()
    ids = [entry.id for entry in ONE.entries]
    assert len(frame) == 3 * len(ids)
    for model in results.models:
        model_rows = frame.filter(pl.col("model") == model)
        error = 1 - accuracies(results, ONE, model).mean(1)
        clean = results.clean_accuracy(model)
        theirs = reference.of(ids)
        assert model_rows["corruption"].to_list() == ids
        np.testing.assert_allclose(model_rows["error"], error)
        np.testing.assert_allclose(model_rows["accuracy"], 1 - error)
        np.testing.assert_allclose(model_rows["R"], (1 - error) / clean)
        np.testing.assert_allclose(model_rows["CE"], corruption_errors(error, theirs))
        relative = relative_corruption_errors(error, 1 - clean, theirs, reference.clean_error)
        np.testing.assert_allclose(model_rows["relative CE"], relative, atol=1e-12)
        np.testing.assert_allclose(model_rows["error_low"], 1 - model_rows["accuracy_high"])
        for name in ("error", "CE", "relative CE", "accuracy", "R"):
            assert (
                (model_rows[f"{name}_low"] <= model_rows[name]) & (model_rows[name] <= model_rows[f"{name}_high"])
            ).all()
            assert (model_rows[f"{name}_low"] < model_rows[f"{name}_high"]).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_with_models_beside_each_other_and_the_score_over_all(results: Results, measure: str) -> None:
    by_model = scores(results, ONE, reference="demo-standard")
    table = per_corruption_table(results, ONE, measure, reference="demo-standard")  # type: ignore[arg-type]
    long = by_corruption_table(results, ONE, reference="demo-standard").to_polars()
    assert [column.name for column in table.columns] == ["corruption", *(row.model for row in by_model)]
    assert table["corruption"][:3] == ["gaussian_noise", "fog", "contrast"]
    for row in by_model:
        values = [float(value) for value in table[row.model]]  # type: ignore[arg-type]
        measured = long.filter(pl.col("model") == row.model)[measure.replace("-", " ")]
        np.testing.assert_array_equal(values[:3], measured)
        np.testing.assert_allclose(values[3], np.mean(values[:3]))  # the mean of ratios is the ratio of the benchmark
    assert ("errors of demo-standard" in " ".join(table.notes)) == (measure in ("CE", "relative-CE"))


def test_the_measure_is_the_error_without_a_reference(results: Results) -> None:
    assert per_corruption_table(results, ONE).name == "one-error"
    assert per_corruption_table(results, ONE, reference="demo-augmix").name == "one-CE"
    with pytest.raises(BrittleError, match=naming("CE", "reference", "one")):
        per_corruption_table(results, ONE, "CE")
    with pytest.raises(BrittleError, match=naming("mce", "accuracy")):
        per_corruption_table(results, ONE, "mce")  # type: ignore[arg-type]


def test_more_models_than_corruptions_become_rows(results: Results) -> None:
    recipe = replace(TWO, entries=TWO.entries[:1])
    table = per_corruption_table(results, recipe, "accuracy")
    assert [column.name for column in table.columns] == ["model", "snow", "mean"]
    assert len(table) == 3
    best = max(float(value) for value in table["mean"])  # type: ignore[arg-type]
    assert f"**{100 * best:.1f}**" in format_table(table, "markdown")


@pytest.mark.parametrize("by", ["severity", "corruption"])
def test_ranks_and_their_agreement(results: Results, by: str) -> None:
    table = rank_table(results, ONE, by=by)  # type: ignore[arg-type]
    models = [column.name for column in table.columns if not column.data_only][1:-1]
    assert sorted(models) == results.models
    values = np.array([accuracies(results, ONE, model) for model in models])  # model × corruption × level
    rows = values.mean(1).T if by == "severity" else values.mean(2).T
    first = rows[0] if by == "severity" else values.mean((1, 2))
    if by == "corruption":
        rows = np.vstack([rows, first])
    assert len(table) == len(rows)
    for line, row in zip(table.rows, rows, strict=True):
        ranks = [float(value) for value in line[1:4]]  # type: ignore[arg-type]
        np.testing.assert_array_equal(ranks, rankdata(-row.round(12), method="min"))
        tau = line[4]
        assert isinstance(tau, Estimate)
        np.testing.assert_allclose(tau.value, kendalltau(first.round(12), row.round(12)).statistic)


def test_ranks_want_shared_severities_and_three_models_for_tau(results: Results) -> None:
    mixed = replace(ONE, entries=(replace(ONE.entries[0], levels=(1, 3)), replace(ONE.entries[1], levels=(5,))))
    assert rank_table(results, mixed).name.endswith("by-corruption")
    with pytest.raises(BrittleError, match=naming("one", "corruption")):
        rank_table(results, mixed, by="severity")
    with pytest.raises(BrittleError, match=naming("model", "severity", "corruption")):
        rank_table(results, mixed, by="model")  # type: ignore[arg-type]
    two = rank_table(results, ONE, models=results.models[:2])
    assert two["Kendall's τ"] == [None] * len(LEVELS)


def test_benchmarks_agree_as_their_rankings_do(results: Results) -> None:
    table = agreement_table(results, [ONE, TWO])
    means = [[accuracies(results, recipe, m).mean() for m in results.models] for recipe in (ONE, TWO)]
    [(first, second, models, tau, p)] = table.rows
    assert (first, second, models) == ("one", "two", 3)
    expected = kendalltau(*means)
    np.testing.assert_allclose([float(tau), float(p)], [expected.statistic, expected.pvalue])  # type: ignore[arg-type]


def test_scores_are_those_of_scores(results: Results) -> None:
    by_model = scores(results, ONE, reference="demo-augmix")
    frame = score_table(results, ONE, reference="demo-augmix").to_polars()
    assert frame["model"].to_list() == [row.model for row in by_model]
    assert frame["rank"].to_list() == [1, 2, 3]
    assert frame["mCE"].to_list() == [row.mce.value for row in by_model if row.mce]
    assert frame["mCE_high"].to_list() == [row.mce.high for row in by_model if row.mce]
    assert frame["to the best"][0] is None
    assert frame["to the best"][1] == pytest.approx(by_model[1].mean_accuracy.value - by_model[0].mean_accuracy.value)


def all_tables(results: Results) -> list[ScoreTable]:
    return [
        score_table(results, ONE, reference="demo-standard"),
        by_corruption_table(results, ONE),
        per_corruption_table(results, ONE, reference="demo-standard"),
        rank_table(results, ONE),
        agreement_table(results, [ONE, TWO]),
        *slide_tables(slides(), baseline="alexnet"),
        *map(printed_table, list_published_tables()),
        published_index(),
    ]


def test_csv_reads_back_into_the_same_numbers(results: Results) -> None:
    for table in all_tables(results):
        for intervals in (True, False):
            frame = table.to_polars(intervals=intervals)
            read = pl.read_csv(io.StringIO(format_table(table, "csv", intervals=intervals)), schema=frame.schema)
            assert read.equals(frame), table.name
            assert [
                name for name in frame.columns if name.endswith("_low") and name != "severity_low"
            ] == [] or intervals


def test_latex_is_well_formed_and_complete(results: Results) -> None:
    for table in all_tables(results):
        tables = tabulars(format_table(table, "latex"))
        printed = [column for column in table.columns if not column.data_only]
        head = [cell for part in tables for cell in part[0]]
        assert {escape_latex(column.name) for column in printed} == {
            cell.replace("\\allowbreak{}", "") for cell in head
        }
        assert all(len(part) == 1 + len(table) for part in tables)
        text = format_table(table, "latex", intervals=False, bold_best=False)
        assert "\\scriptsize" not in text
        assert "\\textbf" not in text


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@needs_latex
def test_pdflatex_compiles_every_table(results: Results, tmp_path: Path) -> None:
    tables = "\n\\clearpage\n".join(format_table(table, "latex") for table in all_tables(results))
    document = (
        f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{tables}\n\\end{{document}}\n"
    )
    (tmp_path / "tables.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "tables.log").read_text(errors="replace")


HARD = ScoreTable(
    "Hard names!",
    "A title with 50 % & more_of #it",
    (Column("model"), Column("a_b|c", "lower"), Column("gain", "higher", signed=True), Column("where", data_only=True)),
    (
        ("[x] <y> $z$ ~^\\{}", Estimate("error", 0.1234567890123, 0.1, 0.2), Estimate("gain", -0.0004), "here"),
        ("*a--b*", Estimate("error", 0.12345), Estimate("gain", 0.25, -0.5, float("inf")), "there"),
        ('"q" | τ − – …', None, 0.5, None),
    ),
    "95 % intervals",
    ("A note: 3 < 4.",),
)


def test_hard_names_are_escaped() -> None:
    [rows] = tabulars(format_table(HARD, "latex"))
    assert rows[0] == ["model", r"a\_b\textbar{}c", "gain"]
    assert (
        rows[1][0]
        == r"{[}x{]} \textless{}y\textgreater{} \$z\$ \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}"
    )
    assert rows[2][0] == r"{*}a-{}-b{*}"
    assert rows[3] == [r"''q'' \textbar{} $\tau$ $-$ -- \ldots{}", "--", r"\textbf{0.5}"]
    markdown = format_table(HARD, "markdown").splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown[:5]}) == 1
    assert r"\[x\] \<y\> \$z\$ \~^\\{}" in markdown[2]
    assert "&lt;y&gt;" in HARD._repr_html_()
    assert "there" not in HARD._repr_html_() + repr(HARD) + format_table(HARD, "latex")
    assert HARD.to_polars()["where"].to_list() == ["here", "there", None]
    assert "% needs XeLaTeX" in format_table(replace(HARD, title="模型"), "latex")


def test_equal_as_printed_is_equally_best_and_a_sign_is_a_sign() -> None:
    [_, first, second, _] = tabulars(format_table(HARD, "latex"))[0]
    assert first[1] == r"\textbf{12.3} {\scriptsize {[}10.0, 20.0{]}}"
    assert second[1] == r"\textbf{12.3}"
    assert first[2] == "0.0"  # not −0.0
    assert second[2] == r"+25.0 {\scriptsize {[}$-$50.0, $\infty${]}}"
    assert re.search(r"<b>12\.3</b> <span[^>]*>\[10\.0, 20\.0\]</span>", HARD._repr_html_())


def test_captions_say_what_where_and_how(results: Results) -> None:
    text = format_table(per_corruption_table(results, ONE), "latex")
    for words in ("one on 30 images of demo", "error", r"95 \% intervals over images", "in bold", "tab:one-error"):
        assert words in text
    text = format_table(per_corruption_table(results, ONE), "latex", intervals=False, bold_best=False)
    assert "intervals" not in text
    assert "bold" not in text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_terminals_are_not_overrun(results: Results, width: int) -> None:
    for table in all_tables(results):
        text = format_table(table, "table", width=width)
        assert max(map(len, text.splitlines())) <= width, table.name
        assert len(text) > len(table)


def test_published_models_are_beside_where_they_are_comparable(tmp_path: Path) -> None:
    """All of the test set, whose predictions are made up; see test_references for what is comparable."""
    folder = fill(tmp_path / "run", "cifar10-c-bar", {"mine": 0.3})
    loaded = brittle.load_results(folder)
    [recipe] = loaded.benchmarks()
    table = per_corruption_table(loaded, recipe, "error")
    published = published_table("c-bar-table1-cifar10")
    for name in recipe.entries:
        short = name.id.rpartition("/")[2]
        row = table.rows[table["corruption"].index(short)]
        printed = [float(value) for value in row[2:]]  # type: ignore[arg-type]
        np.testing.assert_allclose(printed, published.numbers(short) / 100)
    assert table.columns[3].name == "AutoAugment, WideResNet-40-2 [1]"
    mean = [float(value) for value in table.rows[-1][2:]]  # type: ignore[arg-type]
    np.testing.assert_allclose(mean, published.numbers("cifar10_c_bar_error") / 100)
    assert any("[1] Mintun et al., Table 1 (2021)" in note for note in table.notes)
    assert len(per_corruption_table(loaded, recipe, "error", published=False).columns) == 2
    assert len(per_corruption_table(loaded, recipe, "accuracy").columns) == 2
    long = by_corruption_table(loaded, recipe).to_polars()
    augmix = long.filter(pl.col("model") == "AugMix, WideResNet-40-2")
    assert augmix["source"].unique().to_list() == ["Mintun et al., Table 1 (2021)"]
    assert augmix["error"].sum() == pytest.approx(
        sum(published.row("AugMix")[e.corruption.name] for e in recipe.entries) / 100
    )
    whole = score_table(loaded, recipe)
    assert whole["model"][1:] == [column.name for column in table.columns[2:]]
    assert whole["error"][1:] == list(table.rows[-1][2:])


def test_relative_errors_of_noc_are_read_by_corruption() -> None:
    ids = [entry.id for entry in brittle.load_benchmark("imagenet-c").entries]
    published = published_by_corruption("imagenet-c", ids)
    [resnet] = [score for score in published["imagenet-c/fog"] if score.who == "ResNet-50"]
    assert (resnet.metric, resnet.value, resnet.year) == ("relative corruption error", 0.79, 2020)
    assert published_by_corruption("imagenet-c-extra", ids) == {identity: [] for identity in ids}


def test_a_printed_table_has_every_number_and_its_source() -> None:
    for name in list_published_tables():
        table, source = printed_table(name), published_table(name)
        assert any(source.citation in note for note in table.notes)
        assert str(source.year) in source.citation
        for column, values in source.columns.items():
            expected = [None if isinstance(v, float) and np.isnan(v) else v for v in values]
            assert table[column] == expected
    text = format_table(printed_table("noc-table3"), "markdown")
    assert "| DenseNet-201 | **89** | **66** |" in text
    assert "0.680" in format_table(printed_table("syn2nat-table2"), "markdown")  # as printed, not 0.68


def test_slides_become_tables() -> None:
    tables = {table.name: table for table in slide_tables(slides(), baseline="alexnet")}
    names = [
        "slides-rce",
        "slides-drop",
        "slides-failure-points",
        "slides-ranks",
        "slides-slopes",
        "slides-ranks-by-drop",
    ]
    assert list(tables) == names
    rce = tables["slides-rce"].to_polars()
    assert rce["alexnet"].to_list() == [1, 1, 1]
    assert rce["shift"].to_list() == ["fog", "snow", "mean"]
    assert rce["deit"][2] == pytest.approx(rce["deit"][:2].mean())
    drop = tables["slides-drop"].to_polars()
    fog = drop.filter((pl.col("shift") == "fog") & (pl.col("model") == "alexnet"))
    assert fog["scale 0.5"].item() == pytest.approx(0.75 - 0.25)
    shares = tables["slides-failure-points"].to_polars(intervals=False)
    total = shares.select(pl.sum_horizontal(pl.exclude("shift", "model")))
    np.testing.assert_allclose(total.to_series(), 1)
    assert tables["slides-ranks"]["scale"] == ["scale 0", "scale 0.5", "scale 1"]
    assert "slides-rce" not in {table.name for table in slide_tables(slides())}


def test_mistakes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrittleError, match=naming("html", "latex")):
        format_table(HARD, "html")  # type: ignore[arg-type]
    with pytest.raises(BrittleError, match=naming("table.doc", ".tex")):
        guess_format("table.doc")
    assert [guess_format(f"a.{end}") for end in ("tex", "md", "csv", "TXT")] == ["latex", "markdown", "csv", "table"]
    with pytest.raises(BrittleError, match=naming("modle", "model")):
        HARD["modle"]
    with pytest.raises(BrittleError, match=naming("a", "twice")):
        ScoreTable("twice", "", (Column("a"), Column("a")), ())
    with pytest.raises(BrittleError, match=naming("row", 1)):
        ScoreTable("t", "", (Column("a"),), (("x", "y"),))
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    with pytest.raises(ModuleNotFoundError, match=naming("pip install pandas")):
        HARD.to_pandas()


def test_pandas_gets_the_same_numbers() -> None:
    pytest.importorskip("pandas")
    assert HARD.to_pandas()["a_b|c_low"][0] == 0.1

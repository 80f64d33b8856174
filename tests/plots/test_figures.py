"""Every figure: where it is drawn, what it leaves alone, and that its artists carry the numbers it was given."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

import brittle
from brittle import BrittleError, plots
from brittle.benchmarks import Benchmark, Entry
from brittle.design import categories, non_overlapping, scheme_correlations, sweep
from brittle.metrics import wilson
from brittle.plots import LIGHT, MODEL_COLOURS
from tests.errors import naming
from tests.plots import figure_cases as cases
from tests.plots.figure_cases import CASES, HIDDEN, NASTY, OVERLAP, SCALES, TWO

SHOWN = dict.fromkeys(("accuracy", "by corruption", "heat map of models", "drop", "rce", "distance"), NASTY)
SHOWN |= {"failure points": HIDDEN, "correlation": HIDDEN, "masked": HIDDEN, "balance": NASTY}
"""What is written somewhere on these figures, as it is."""


def axes_of(drawn: object) -> list[Axes]:
    return list(drawn.flat) if isinstance(drawn, np.ndarray) else [drawn]


def title_of(ax: Axes) -> str:
    return next(title for title in (ax.get_title(loc=place) for place in ("left", "center", "right")) if title)


def points(ax: Axes) -> list[tuple[list[float], list[float]]]:
    """The lines and marks on Axes, without reference lines."""
    lines = [line for line in ax.get_lines() if line.get_transform() == ax.transData]
    return [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in lines]


def bars(ax: Axes) -> dict[int, float]:
    """The length of the bar in each row."""
    return {round(box.get_y() + box.get_height() / 2): box.get_width() for box in ax.patches}


def rows(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def cells(ax: Axes) -> np.ma.MaskedArray:
    """The values of a heat map."""
    (mesh,) = (one for one in ax.collections if type(one).__name__ == "QuadMesh")
    shape = len(ax.get_yticks()), len(ax.get_xticks())
    return np.ma.asarray(mesh.get_array()).reshape(shape)


def intervals(ax: Axes, kind: str = "LineCollection") -> list[np.ndarray]:
    return [np.array(one.get_segments()) for one in ax.collections if type(one).__name__ == kind]


def raw(results: brittle.Results) -> pl.DataFrame:
    return results.rows.collect()


@pytest.mark.parametrize("name", CASES)
def test_it_draws_where_it_is_told_to_and_leaves_the_rest_alone(name: str) -> None:
    from matplotlib import pyplot

    case, before, open_figures = CASES[name], dict(mpl.rcParams), pyplot.get_fignums()
    figure = Figure(figsize=(7, 5), layout="constrained")
    target = figure if case.many else figure.subplots()
    drawn = case.draw(target)
    assert drawn is target or all(ax.figure is figure for ax in axes_of(drawn))
    assert all(isinstance(ax, Axes) and ax.has_data() for ax in axes_of(drawn))
    case.draw()
    assert dict(mpl.rcParams) == before
    assert pyplot.get_fignums() == open_figures


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.many])
def test_many_panels_fit_a_part_of_a_figure(name: str) -> None:
    left, right = Figure(figsize=(12, 6), layout="constrained").subfigures(1, 2)
    assert all(ax.figure is right for ax in axes_of(CASES[name].draw(right)))
    assert not left.axes


@pytest.mark.parametrize("name", CASES)
def test_no_word_leaves_the_paper_and_names_are_as_they_are(name: str) -> None:
    figure = axes_of(CASES[name].draw())[0].figure
    figure.draw_without_rendering()
    paper = figure.bbox.padded(1)
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    for text in texts:
        box = text.get_window_extent()
        ticks_outside = text.axes is None and box.width == 0
        inside = paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1
        assert inside or ticks_outside or not _is_drawn(text), text.get_text()
    if name in SHOWN:
        assert any(SHOWN[name] in text.get_text().replace(r"\$", "$") for text in texts)


def _is_drawn(text: Text) -> bool:
    """Ticks outside the limits of an axis keep their labels and are not drawn."""
    for ax in text.figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            labels = [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]
            if any(text is label for label in labels):
                low, high = sorted(axis.get_view_interval())
                place = text.get_position()[0 if axis is ax.xaxis else 1]
                return low <= place <= high
    return True


def test_accuracies_are_shares_of_images() -> None:
    table = raw(cases.run_results())
    for corruption, chosen in ((None, [entry.id for entry in TWO.entries]), ("fog", ["imagenet-c/fog"])):
        ax = plots.plot_accuracy(cases.run_results(), corruption, TWO)
        shown = [line.get_label() for line in ax.get_lines()]
        assert len(shown) == 2
        legend = [text.get_text().replace(r"\$", "$") for text in ax.get_legend().get_texts()]
        assert sorted(legend) == sorted([NASTY, HIDDEN])
        for model, (xs, ys) in zip(legend, points(ax), strict=True):
            assert xs == [0, 1, 2, 3, 4, 5]
            for x, y in zip(xs, ys, strict=True):
                where = pl.col("corruption").is_in(chosen if x else ["clean"]) & (pl.col("level") == x)
                assert y == pytest.approx(100 * table.filter((pl.col("model") == model) & where)["correct"].mean())
    (low, high), value = wilson([ys[3] / 100 * 40], 40), ys[3]
    (band,) = list(ax.collections)[1:]
    ends = [y for x, y in band.get_paths()[0].vertices if x == 3]
    assert min(ends) < value < max(ends)
    assert 0.7 < (max(ends) - min(ends)) / (100 * (high - low)[0]) < 1.6


def test_the_best_model_has_the_first_colour_and_more_than_six_share_grey() -> None:
    ax = CASES["eight models"].draw()
    means = [float(np.mean(ys[1:])) for _, ys in points(ax)]
    assert means == sorted(means, reverse=True)
    assert [to_hex(line.get_color()) for line in ax.get_lines()] == [*MODEL_COLOURS, LIGHT["rest"], LIGHT["rest"]]
    assert len({str(line._unscaled_dash_pattern) for line in ax.get_lines()[:6]}) == 6
    assert len({line.get_marker() for line in ax.get_lines()[:6]}) == 6
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "2 others"
    assert len(intervals(ax)) == 8


def test_levels_that_differ_are_averaged_in_their_order_and_numbers_of_levels_must_not() -> None:
    fog, contrast = TWO.entries
    uneven = Benchmark("uneven", (Entry(fog.id, (1, 3)), Entry(contrast.id, (2, 4))))
    ax = plots.plot_accuracy(cases.run_results(), benchmark=uneven, models=[NASTY])
    table = raw(cases.run_results()).filter(pl.col("model") == NASTY)
    known = {(c, s): part["correct"].mean() for (c, s), part in table.group_by("corruption", "level")}
    assert points(ax)[0][0] == [0, 1, 2]
    assert points(ax)[0][1][1:] == pytest.approx(
        [50 * (known[fog.id, a] + known[contrast.id, b]) for a, b in ((1, 2), (3, 4))]
    )
    assert ax.get_xlabel() == "level"
    odd = Benchmark("odd", (Entry(fog.id, (1, 3)), Entry(contrast.id, (2,))))
    with pytest.raises(BrittleError, match=naming("odd", 1, 2, "fog")):
        plots.plot_accuracy(cases.run_results(), benchmark=odd)


def test_corruptions_stand_in_rows_with_the_hardest_first() -> None:
    (ax,) = CASES["by corruption"].draw()
    table = raw(cases.run_results()).filter(pl.col("level") > 0)
    means = {
        (model, corruption.rpartition("/")[2]): 100 * part["correct"].mean()
        for (model, corruption), part in table.group_by("model", "corruption")
    }
    overall = [np.mean([means[model, row] for model in (NASTY, HIDDEN)]) for row in rows(ax)]
    assert overall == sorted(overall)
    for model, (xs, ys), ends in zip((NASTY, HIDDEN), points(ax), intervals(ax), strict=True):
        assert xs == pytest.approx([means[model, row] for row in rows(ax)])
        assert np.round(ys).tolist() == [0, 1]
        assert (ends[:, 0, 0] < xs).all()
        assert (ends[:, 1, 0] > xs).all()
    chosen = plots.plot_by_corruption(cases.run_results(), [TWO, TWO], models=[HIDDEN])
    assert [len(points(ax)) for ax in chosen] == [1, 1]


def test_heat_maps_hold_accuracies_in_percent() -> None:
    table = raw(cases.run_results()).filter((pl.col("model") == NASTY) & (pl.col("level") > 0))
    known = {(c, s): 100 * part["correct"].mean() for (c, s), part in table.group_by("corruption", "level")}
    wanted = [[known[entry.id, s] for s in (1, 2, 3, 4, 5)] for entry in TWO.entries]
    ax = CASES["heat map"].draw()
    assert rows(ax) == ["fog", "contrast"]
    np.testing.assert_allclose(cells(ax), wanted)
    assert [text.get_text() for text in ax.texts] == [f"{value:.0f}" for row in wanted for value in row]
    both = CASES["heat map of models"].draw()
    np.testing.assert_allclose(cells(both)[:, 0], np.mean(wanted, axis=1))


def test_failure_points_are_images_without_an_error_so_far() -> None:
    ax = CASES["failure points"].draw()
    table = raw(cases.run_results()).filter(pl.col("corruption").is_in(["clean", "imagenet-c/fog"]))
    for model, (xs, ys) in zip(sorted([NASTY, HIDDEN]), points(ax), strict=True):
        right = {(s, x): ok for s, x, ok in table.filter(pl.col("model") == model)["sample", "level", "correct"].rows()}
        alive = [np.mean([all(right[f"{i}", x] for x in range(top + 1)) for i in range(40)]) for top in range(6)]
        assert xs == [0, 1, 2, 3, 4, 5]
        assert ys == pytest.approx([100 * share for share in alive])


def shift_rows() -> dict[tuple[str, str, float], list[bool]]:
    """Right or wrong of every trajectory, by model, shift and scale."""
    known: dict[tuple[str, str, float], list[bool]] = {}
    for model, corruption, level, _, _, _, _, right in raw(cases.shift_results()).rows():
        known.setdefault((model, corruption.removeprefix("cns/"), level), []).append(right)
    return known


def test_drops_first_failures_and_ranks_are_counted() -> None:
    known, models = shift_rows(), ["alexnet", "vit", NASTY]
    drops, failures, ranks = (CASES[name].draw() for name in ("drop", "first failures", "ranks"))
    assert [title_of(ax) for ax in drops] == ["mean over shifts", "heavy fog", "heavy snow"]
    for place, model in enumerate(models):
        right = np.array([known[model, "heavy_fog", scale] for scale in SCALES])
        share = right.mean(1)
        assert points(drops[1])[place][1] == pytest.approx((100 * (share[0] - share)).tolist())
        first = [np.mean(right[:i].all(0) & ~right[i]) for i in range(1, len(SCALES))]
        heights = [box.get_height() for box in failures[1].containers[place]]
        assert heights == pytest.approx([100 * value for value in first])
        better = [1 + sum(np.mean(known[o, "heavy_fog", s]) > share[i] for o in models) for i, s in enumerate(SCALES)]
        assert points(ranks[1])[place][1] == better
    for ends, (xs, ys) in zip(intervals(failures[1]), points(failures[1]), strict=True):
        assert (ends[:, 0, 1] <= ys).all()
        assert (ends[:, 1, 1] >= ys).all()
        assert ends[:, 0, 0].tolist() == xs


def test_slopes_and_rce_are_those_of_the_scores() -> None:
    scores = cases.shift_scores()
    slopes = CASES["slopes"].draw()
    fog = scores.slopes.filter(pl.col("shift") == "heavy_fog").sort("scale")
    assert points(slopes[1])[0] == (fog["scale"].to_list(), fog["slope"].to_list())
    ax = CASES["rce"].draw()
    known = {row["model"]: row for row in scores.rce.filter(pl.col("shift") == "mean").iter_rows(named=True)}
    names = [row.replace(r"\$", "$") for row in rows(ax)]
    assert [known[name]["rce"] for name in names] == sorted(known[name]["rce"] for name in names)
    for (xs, ys), ends in zip(points(ax), intervals(ax), strict=True):
        row = known[names[ys[0]]]
        assert xs == [row["rce"]]
        assert ends[0, :, 0].tolist() == pytest.approx([row["low"], row["high"]])
    with pytest.raises(BrittleError, match=naming("heavy_rain")):
        plots.plot_rce(scores, "heavy_rain")
    with pytest.raises(BrittleError, match="nothing to draw"):
        plots.plot_slopes(brittle.evaluation.CnsScores(**{**vars(scores), "slopes": scores.slopes.clear()}))


def test_an_infinite_or_missing_end_is_drawn_as_far_as_the_others() -> None:
    scores = cases.shift_scores()
    ends = pl.when(pl.col("model") == "vit").then(float("inf")).otherwise(pl.col("high"))
    none = pl.when(pl.col("model") == NASTY).then(None).otherwise(pl.col("low"))
    rce = scores.rce.with_columns(high=ends, low=none)
    ax = plots.plot_rce(brittle.evaluation.CnsScores(**{**vars(scores), "rce": rce}))
    assert np.isfinite(ax.get_xlim()).all()
    ax.figure.draw_without_rendering()


def test_curves_filters_scores_and_losses_show_their_tables() -> None:
    fog = CASES["shift curves"].draw()[1]
    assert points(fog) == [
        (list(SCALES), [3 * scale for scale in SCALES]),
        (list(SCALES), [-scale for scale in SCALES]),
    ]
    quality = CASES["filter"].draw()
    assert [[xs[0] for xs, _ in points(ax)] for ax in quality] == [[90, 50], [10, 30], [88, 60]]
    assert intervals(quality[0])[1][0][:, 0].tolist() == [40, 60]
    scores = CASES["ooc scores"].draw()
    assert [title_of(ax) for ax in scores] == ["CLIP_class", "CLIP_ref"]
    for ax in scores:
        assert [patch.get_data().values.sum() for patch in ax.patches] == pytest.approx([100] * 4)
    roc = CASES["roc"].draw()
    assert points(roc)[0] == ([0, 25, 100], [0, 90, 100])
    assert len(points(roc)) == 2
    fog, other = CASES["loss"].draw()
    assert points(fog)[0] == ([1, 2, 3], [1.0, 0.5, 0.1])
    xs, ys = points(other)[1]
    window = round(0.08 * 300)
    assert ys[0] == pytest.approx(np.mean(cases.LOSSES[NASTY][:window]))
    assert xs[0] == pytest.approx(np.mean(range(1, window + 1)))


def test_overlaps_stand_in_their_order_and_masked_ones_are_empty() -> None:
    ax = CASES["overlap"].draw()
    order = OVERLAP.ordered()
    assert rows(ax) == [name.rpartition("/")[2] for name in order]
    values = cells(ax)
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            assert values.mask[i, j] if i == j else values[i, j] == pytest.approx(OVERLAP[a, b])
    wanted = [f"{OVERLAP[a, b]:.2f}" if OVERLAP[a, b] else "0" for a in order for b in order if a != b]
    assert [text.get_text() for text in ax.texts] == wanted
    masked = CASES["masked"].draw()
    assert cells(masked).mask.sum() == 3 + 4
    assert masked.patch.get_hatch()
    assert not CASES["forty"].draw().texts[6:]  # names of six categories; cells are too small for numbers


def test_categories_are_outlined_and_named() -> None:
    found = categories(OVERLAP)
    ax = CASES["categories"].draw()
    sizes = [len(group) for group in found.members.values()]
    assert [max(xs) - min(xs) for xs, _ in points(ax)] == sizes
    assert [min(ys) for _, ys in points(ax)] == np.cumsum([0, *sizes[:-1]]).tolist()
    assert "category 3" in [text.get_text() for text in ax.texts]


def test_sweeps_and_coverage_are_those_of_the_matrix() -> None:
    table = sweep(OVERLAP, [0.05, 0.1, 0.3])
    sizes, means = CASES["sweep"].draw()
    assert points(sizes)[0] == (table["threshold"].to_list(), table["size"].to_list())
    assert points(sizes)[0][1][-1] == non_overlapping(OVERLAP, 0.3).size
    assert points(means)[0][1] == pytest.approx(table["mean_overlap"].to_list())
    ax = CASES["coverage"].draw()
    best = {
        name.rpartition("/")[2]: max(OVERLAP[name, member] for member in ("imagenet-c/fog", "imagenet-c/snow"))
        for name in OVERLAP.names
    }
    assert [bars(ax)[i] for i in range(len(OVERLAP))] == pytest.approx([best[name] for name in rows(ax)])
    assert set(rows(ax)[-2:]) == {"fog", "snow"}
    assert "0.49 fog" in [text.get_text() for text in ax.texts]  # contrast, as NOC's text has it
    colours = {
        name: to_hex(box.get_facecolor()) for box in ax.patches for name in [rows(ax)[round(box.get_y() + 0.35)]]
    }
    assert {name for name, colour in colours.items() if colour == LIGHT["accent"]} == {
        name for name, score in best.items() if score > 0.3 and name not in ("fog", "snow")
    }


def test_balance_correlation_calibration_and_agreement_show_their_numbers() -> None:
    first, second = CASES["balance"].draw()
    assert points(first)[0][0] == [70, 80, 90]
    assert rows(first) == ["b", "c", "a"]
    assert intervals(first)[0][:, :, 0].tolist() == [[68, 73], [78, 83], [88, 93]]
    assert "range 20.0, standard deviation 10.0" in title_of(first)
    assert "100 = " in second.get_xlabel()
    table = cases.correlations()
    ax = CASES["correlation"].draw()
    np.testing.assert_allclose(cells(ax), table.select(table.columns[1:]).to_numpy())
    assert rows(ax)[-1] == "mean"
    panels = CASES["calibration"].draw()
    assert len(panels) == 23
    assert points(panels[0])[0] == ([0.0, 1.25, 2.5, 5.0], [1.0, 0.94, 0.7, 0.63])
    assert panels[0].patches[0].get_window_extent().width > 0
    same, other = CASES["agreement"].draw()
    xs, ys = points(same)[0]
    assert xs == ys
    assert len(xs) == 15 * 14 / 2
    assert np.isfinite(points(other)[0][1]).sum() == 14 * 13 / 2
    assert "Spearman 1.00" in title_of(same)


def test_distances_convergence_and_leaks_are_what_was_measured() -> None:
    ax = CASES["distance"].draw()
    tables = [
        dict(zip(one.by_corruption()["corruption"], one.by_corruption()["msd"], strict=True)) for one in cases.DISTANCES
    ]
    order = sorted(cases.NAMES, key=lambda name: np.mean([table[name] for table in tables]))
    assert rows(ax) == [name.rpartition("/")[2] for name in order]
    for (xs, ys), table in zip(points(ax), tables, strict=True):
        assert xs == pytest.approx([table[name] for name in order])
        assert np.round(ys).tolist() == list(range(len(order)))
    clean = dict(cases.DISTANCES[0].by_corruption()["corruption", "clean"].rows())
    assert intervals(ax)[0][:, 0, 0].tolist() == pytest.approx([clean[name] for name in order])
    curves = CASES["convergence"].draw()
    last = float(cases.CELLS.over_levels(cases.DISTANCES[0].msd).mean())
    assert points(curves)[0][0][-1] == 90
    assert points(curves)[0][1][-1] == pytest.approx(last)
    leak = CASES["leak"].draw()
    assert [bars(leak)[i] for i in range(15)] == pytest.approx(np.clip(1.1 - 0.1 * np.arange(15), 0, 1).tolist())
    reds = [box for box in leak.patches if to_hex(box.get_facecolor()) == LIGHT["bad"]]
    assert len(reds) == 3


def test_studies_mixtures_and_dissimilar_corruptions_are_what_was_found() -> None:
    panels, found = CASES["study"].draw(), scheme_correlations(cases.POINTS)
    for ax, row in zip(panels, found.iter_rows(named=True), strict=True):
        table = cases.POINTS.filter(pl.col("corruption") == row["corruption"])
        assert points(ax)[0] == (table["msd"].to_list(), (100 * table["error"]).to_list())
        assert f"ρ = {row['msd']:.2f}".replace("-", "−") in title_of(ax)
        (bold,) = (text.get_fontweight() == "bold" for text in ax.findobj(Text) if "ρ" in text.get_text())
        assert bold == (row["msd"] > 0.6)
    flat = cases.POINTS.with_columns(
        error=pl.when(pl.col("corruption") == cases.NAMES[0]).then(0.5).otherwise(pl.col("error"))
    )
    assert "no correlation" in title_of(plots.plot_study(flat, scheme_correlations(flat), distance="mmd")[0])
    distance, error = CASES["mixing"].draw()
    assert points(distance) == [([0, 1, 2], [0.1, 0.2, 3.0]), ([0, 1, 2], [0.1, 2.0, 3.0])]
    assert points(error)[0][1] == pytest.approx([20, 25, 40])
    assert [text.get_text() for text in error.get_xticklabels()] == ["100", "10", "0"]
    ax, table = CASES["dissimilar"].draw(), cases.far().table().drop_nulls("shift")
    assert rows(ax) == [name.rpartition("/")[2] for name in table["candidate"]]
    assert [bars(ax)[i] for i in range(len(table))] == pytest.approx(table["shift"].to_list())
    blue = [rows(ax)[round(box.get_y() + 0.35)] for box in ax.patches if to_hex(box.get_facecolor()) == LIGHT["accent"]]
    assert set(blue) == {name.rpartition("/")[2] for name in cases.far().picked} & set(rows(ax))
    (marked,) = [line for line in ax.get_lines() if line.get_marker() == "D"]
    assert [rows(ax)[y] for y in marked.get_ydata()] == ["lines"]
    assert intervals(ax)[0][0, :, 0].tolist() == pytest.approx(
        [table["shift"][0] - 2 * table["standard_error"][0], table["shift"][0] + 2 * table["standard_error"][0]]
    )


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: plots.plot_by_corruption(cases.run_results(), []), ["benchmark"]),
        (lambda: plots.plot_accuracy(cases.run_results(), benchmark=brittle.load_benchmark("imagenet-c-bar")), ["run"]),
        (lambda: plots.plot_failure_points({}), ["failure points"]),
        (lambda: plots.plot_sweep(sweep(OVERLAP, [0.1]).head(0)), ["threshold"]),
        (lambda: plots.plot_calibration([]), ["calibration"]),
        (lambda: plots.plot_correlation(pl.DataFrame({"natural": ["a"]})), ["natural"]),
        (lambda: plots.plot_balance({}), ["benchmark"]),
        (lambda: plots.plot_agreement(OVERLAP, {}), ["matrix"]),
        (lambda: plots.plot_distance([]), ["augmentation"]),
        (lambda: plots.plot_convergence([]), ["augmentation"]),
        (lambda: plots.plot_study(cases.POINTS, scheme_correlations(cases.POINTS), distance="mse"), ["mse", "mmd"]),
        (lambda: plots.plot_mixing(cases.MIXED.head(1)), [1]),
        (lambda: plots.plot_loss({}), ["slider"]),
    ],
)
def test_what_cannot_be_drawn_is_named(call, named: list) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        call()


@pytest.mark.parametrize("draw", [plots.plot_reliability, plots.plot_risk_coverage])
def test_predictions_without_confidences_are_not_drawn(draw) -> None:
    known = cases.run_results()
    unknown = brittle.Results(known.rows.with_columns(pl.lit(float("nan"), pl.Float32).alias("confidence")), known.runs)
    with pytest.raises(BrittleError, match="have no confidence"):
        draw(unknown, TWO)


@pytest.mark.parametrize("count", [40, 900])
def test_a_stream_is_drawn_from_its_first_image_to_its_last(count: int, tmp_path) -> None:
    data = brittle.load_dataset("demo").limited(count)
    recipe = brittle.load_benchmark("cifar10-c").cut(severities=[5]) if count == 900 else TWO
    stream = brittle.benchmarks.StreamBenchmark(recipe, batch_size=100)
    grey = brittle.models.from_callable(lambda batch: np.eye(10)[batch[:, 0, 0, 0] % 10], name="pixel", version="1")
    results = brittle.evaluate(grey, data, stream, tmp_path / "run", progress=None)
    ax = plots.plot_stream(results)
    shown = count * len(stream.segments())
    assert ax.get_xlim()[1] == (shown / 1000 if shown > 10_000 else shown)
    assert len(points(ax)[0][0]) == len(stream.segments())

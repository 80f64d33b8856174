"""Draw all figures of docs/how-to/sliders.md from a folder of `brittle slide demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import brittle
from brittle.datasets import cns_bench
from brittle.evaluation import cns_scores
from brittle.report import slide_sheet
from brittle.report.figures import (
    drop_figure,
    failure_figure,
    filter_figure,
    loss_figure,
    ooc_score_figure,
    ranking_figure,
    rce_figure,
    save_figure,
    shift_curve_figure,
    slope_figure,
)
from brittle.sliders import choose_thresholds, find_sliders, held_out_filters, load_slider
from brittle.sliders.filtering import labelled

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LABELLED = ROOT / "tests" / "sliders" / "tiny_world_filter.csv.gz"


def draw(demo: Path, images: Path) -> list[Path]:
    """Every figure; those the demo has nothing for are left out and named."""
    made, left_out = [], []
    losses = {Path(one.path).name: load_slider(one.path).losses for one in find_sliders(demo / "sliders")}
    made.append(save_figure(loss_figure(losses), images / "sliders-loss.svg"))
    results = brittle.load_results(demo / "run")
    classes = list(cns_bench(demo / "slides").classes)
    last = results.models[-1]
    rows = results.rows.filter(pl.col("model") == last).select("sample", "prediction", "correct").collect().rows()
    said = {sample: (classes[prediction], right) for sample, prediction, right in rows}
    sheet = slide_sheet(cns_bench(demo / "slides"), most=9, thumb=96, predictions=said)
    images.mkdir(parents=True, exist_ok=True)
    sheet.save(images / "sliders-slides.png", optimize=True)
    made.append(images / "sliders-slides.png")
    curves = pl.read_csv(demo / "measured" / "curves.csv")
    made.append(save_figure(shift_curve_figure(curves), images / "sliders-clip.svg"))
    made += draw_filter(images)
    found = cns_scores(results)
    start = found.accuracy.filter(pl.col("scale") == 0).group_by("model").agg(pl.col("accuracy").mean())
    models = start.sort("accuracy", descending=True)["model"].to_list()
    made += [
        save_figure(drop_figure(found.accuracy, models), images / "sliders-drop.svg"),
        save_figure(failure_figure(found.failure_points, models), images / "sliders-failure.svg"),
        save_figure(ranking_figure(found.rankings, found.agreement, models), images / "sliders-ranks.svg"),
    ]
    if found.slopes.is_empty():
        left_out.append("sliders-slopes.svg: there are fewer than three models, or all are alike")
    else:
        made.append(save_figure(slope_figure(found.slopes), images / "sliders-slopes.svg"))
    try:
        rce = cns_scores(results, baseline=models[-1]).rce
        made.append(save_figure(rce_figure(rce, models, models[-1]), images / "sliders-rce.svg"))
    except ValueError as error:
        left_out.append(f"sliders-rce.svg: {error}")
    for words in left_out:
        print(f"left out {words}")
    return made


def draw_filter(images: Path) -> list[Path]:
    """The filter on the labelled images that scripts/measure_tiny_world.py keeps."""
    scores = pl.read_csv(LABELLED)
    labels = dict(scores.select("sample", "said").rows())
    quality = held_out_filters(scores, labels)
    known, limits = labelled(scores, labels), choose_thresholds(scores, labels)
    return [
        save_figure(filter_figure(quality), images / "sliders-filter.svg"),
        save_figure(ooc_score_figure(known, limits), images / "sliders-scores.svg"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="a folder of `brittle slide demo`")
    parser.add_argument("-o", "--output", type=Path, default=IMAGES, help="where the figures go")
    options = parser.parse_args()
    for path in draw(options.demo, options.output):
        print(path)

"""Draw all figures of docs/how-to/sliders.md from a folder of `brittle slide demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl
from PIL import Image as Pil
from PIL import ImageDraw

import brittle
from brittle.datasets import cns_bench
from brittle.evaluation import cns_scores
from brittle.plots import (
    plot_drop,
    plot_filter,
    plot_first_failures,
    plot_loss,
    plot_ooc_scores,
    plot_ranks,
    plot_rce,
    plot_roc,
    plot_shift_curves,
    plot_slopes,
    save_figure,
)
from brittle.report import slide_sheet
from brittle.sliders import (
    choose_pipeline,
    choose_thresholds,
    filter_roc,
    find_sliders,
    held_out_filters,
    load_slider,
    pick_sliders,
    sample_sliders,
    sampling_settings,
    train_tokens,
)
from brittle.sliders.filtering import labelled

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LABELLED = ROOT / "tests" / "sliders" / "tiny_world_filter.csv.gz"


def draw(demo: Path, images: Path) -> list[Path]:
    """Every figure; those the demo has nothing for are left out and named."""
    made, left_out = [], []
    losses = {Path(one.path).name: load_slider(one.path).losses for one in find_sliders(demo / "sliders")}
    made.append(save_figure(plot_loss(losses), images / "sliders-loss.svg"))
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
    made.append(save_figure(plot_shift_curves(curves), images / "sliders-clip.svg"))
    made += draw_filter(images)
    found = cns_scores(results)
    start = found.accuracy.filter(pl.col("scale") == 0).group_by("model").agg(pl.col("accuracy").mean())
    models = start.sort("accuracy", descending=True)["model"].to_list()
    made += [
        save_figure(plot_drop(found), images / "sliders-drop.svg"),
        save_figure(plot_first_failures(found), images / "sliders-failure.svg"),
        save_figure(plot_ranks(found), images / "sliders-ranks.svg"),
    ]
    if found.slopes.is_empty():
        left_out.append("sliders-slopes.svg: there are fewer than three models, or all are alike")
    else:
        made.append(save_figure(plot_slopes(found), images / "sliders-slopes.svg"))
    try:
        compared = cns_scores(results, baseline=models[-1])
        made.append(save_figure(plot_rce(compared), images / "sliders-rce.svg"))
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
        save_figure(plot_filter(quality), images / "sliders-filter.svg"),
        save_figure(plot_ooc_scores(known, limits), images / "sliders-scores.svg"),
        save_figure(plot_roc(filter_roc(scores, labels)), images / "sliders-roc.svg"),
    ]


TOKEN_CLASSES = ("sneaker", "bag")


def draw_tokens(work: Path, images: Path, *, seeds: int = 6, steps: int = 200) -> Path:
    """Tokens trained on snowy images of two classes: these, what their names draw, and what the tokens draw."""
    base, chosen = choose_pipeline("tiny", device="cpu"), list(TOKEN_CLASSES)
    drawing = {"names": base.names, "sampling": sampling_settings("tiny"), "batch_size": 6, "file_format": "png"}
    snowy = pick_sliders(base, None, classes=chosen, shifts=["heavy_snow"], two_prompts=True)
    sample_sliders(base.base, snowy, work / "two", seeds=range(1, 13), **drawing)
    data = cns_bench(work / "two", scale=1.0)
    training = {"steps": steps, "batch_size": 4, "lr": 0.02}
    train_tokens(base.base, data, base.find_classes(chosen), work / "tokens", names=base.names, **training)
    trained = choose_pipeline("tiny", tokens=work / "tokens", device="cpu")
    for place, pipeline in (("name", base), ("token", trained)):
        picks = pick_sliders(pipeline, None, classes=chosen, unshifted=True)
        sample_sliders(pipeline.base, picks, work / place, seeds=range(1, seeds + 1), **drawing)
    side, left = 72, 150
    sheet = Pil.new("RGB", (left + len(chosen) * (seeds * side + 10), 3 * (side + 4) + 4), "white")
    rows = (("trained on", work / "two", 1.0), ("drawn with the name", work / "name", 0.0),
            ("drawn with the token", work / "token", 0.0))  # fmt: skip
    for row, (title, folder, scale) in enumerate(rows):
        top, shown = 4 + row * (side + 4), cns_bench(folder, scale=scale)
        ImageDraw.Draw(sheet).text((6, top + side // 2 - 8), title, fill="black", font_size=14)
        for column, one in enumerate(base.find_classes(chosen)):
            places = [i for i, label in enumerate(shown.labels) if label == one.number][:seeds]
            for number, i in enumerate(places):
                picture = Pil.fromarray(shown.image(i)).resize((side, side), Pil.Resampling.NEAREST)
                sheet.paste(picture, (left + column * (seeds * side + 10) + number * side, top))
    path = images / "sliders-tokens.png"
    sheet.save(path, optimize=True)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="a folder of `brittle slide demo`")
    parser.add_argument("-o", "--output", type=Path, default=IMAGES, help="where the figures go")
    options = parser.parse_args()
    for path in [*draw(options.demo, options.output), draw_tokens(options.demo / "token-figure", options.output)]:
        print(path)

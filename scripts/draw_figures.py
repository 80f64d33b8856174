"""Draw the figures of the docs that need only what comes with brittle, and the gallery of docs/how-to/figures.md."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from PIL import Image as Pil

import brittle
from brittle.design import categories, non_overlapping, published_overlap, published_single_scores, sweep
from brittle.plots import (
    figure_style,
    plot_accuracy,
    plot_balance,
    plot_by_corruption,
    plot_categories,
    plot_correlation,
    plot_coverage,
    plot_failure_points,
    plot_heat_map,
    plot_overlap,
    plot_sweep,
    save_figure,
)

IMAGES = Path(__file__).parent.parent / "docs" / "images"
WIDTH = 1400
THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
GROUPS = {f"n{n}_k{k}": f"({n},{k})" for n, k in ((2, 3), (3, 2), (6, 1), (4, 3), (6, 2), (6, 3))}


def draw_design(images: Path) -> list[Path]:
    """Everything about the published overlaps of ImageNet-C, and Syn2Nat's Table 2."""
    overlap = published_overlap("noc-table7")
    five = non_overlapping(overlap, 0.2).members
    published = {"ImageNet-C": "noc-table7", "ImageNet-NOC": "noc-table8"}
    balance = {name: published_single_scores(table) for name, table in published.items()}
    printed = brittle.published_table("syn2nat-table2")
    shifts, *groups = printed.columns
    columns = {GROUPS.get(name, name): printed.numbers(name) for name in groups}
    table = pl.DataFrame({shifts: printed.text(shifts), **columns})
    return [
        save_figure(plot_overlap(overlap), images / "overlap-imagenet-c.svg"),
        save_figure(plot_categories(overlap, categories(overlap)), images / "categories-imagenet-c.svg"),
        save_figure(plot_sweep(sweep(overlap, THRESHOLDS), chosen=0.1), images / "sweep-imagenet-c.svg"),
        save_figure(plot_coverage(overlap, five, of=overlap.names), images / "coverage-imagenet-c.svg"),
        save_figure(plot_balance(balance), images / "balance-imagenet.svg"),
        save_figure(plot_correlation(table), images / "correlations-syn2nat.svg"),
    ]


def draw_gallery(images: Path, limit: int) -> Path:
    """Some figures beside each other, on a page of a paper."""
    recipe = brittle.load_benchmark("cifar10-c")
    data = brittle.load_dataset("demo").limited(limit)
    results = brittle.evaluate(["demo:standard", "demo:augmix"], data, recipe, progress=None)
    overlap = published_overlap("noc-table7")
    with figure_style():
        page = Figure(figsize=(7, 8.6))
        top, middle, bottom = page.subfigures(3, 1, height_ratios=[2.3, 3, 3.4])
        first, second = top.subplots(1, 2)
        plot_accuracy(results, ax=first)
        plot_failure_points(results.failure_points("fog"), ax=second)
        left, right = middle.subfigures(1, 2)
        plot_by_corruption(results, figure=left)
        plot_heat_map(results, model="demo-standard", ax=right.subplots())
        left, right = bottom.subfigures(1, 2, width_ratios=[1.35, 1])
        plot_overlap(overlap, ax=left.subplots())
        plot_coverage(overlap, non_overlapping(overlap, 0.2).members, of=overlap.names, ax=right.subplots())
        path = save_figure(page, images / "figures.png")
    with Pil.open(path) as picture:  # smaller: it is for a web page
        size = WIDTH, round(WIDTH * picture.height / picture.width)
        small = picture.convert("RGB").resize(size, Pil.Resampling.LANCZOS)
    small.quantize(128, dither=Pil.Dither.NONE).save(path, optimize=True)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=IMAGES, help="where the figures go")
    parser.add_argument("--limit", type=int, default=200, help="the number of images of the gallery's run")
    options = parser.parse_args()
    for path in (*draw_design(options.output), draw_gallery(options.output, options.limit)):
        print(path)

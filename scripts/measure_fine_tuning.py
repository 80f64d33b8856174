"""Measure what fine-tuning on slides of the demo pipeline gains on real clothes in shifts.

    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist_*.deb clothes
    python scripts/measure_fine_tuning.py clothes/usr/share/datasets/fashion-mnist

All ten classes are slid into heavy snow and filtered. The classifier `tiny:standard` is fine-tuned on what is left,
mixed with as many training images, and tested on test images that nothing was trained on: without a shift, and in
each of the seven shifts, drawn at its full amount as `scripts/tiny_world` does. What was done is not done again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tiny_world"))

import numpy as np
import polars as pl
import torch
from make_data import EDGE, make_data

from brittle.datasets import Dataset, arrays, cns_bench, fashion_mnist
from brittle.sliders import (
    DEMO_CLASSES,
    DEMO_SAMPLING,
    DEMO_SHIFTS,
    DEMO_TRAINING,
    Base,
    Pick,
    find_classes,
    find_sliders,
    fine_tuning_gain,
    image_scores,
    kept_samples,
    load_demo_pipeline,
    ooc_filter,
    sample_sliders,
    train_sliders,
)
from brittle.training import training_config

SHIFTS = ("heavy_snow",)
START, REAL, SEEDS = "tiny:standard", 20_000, range(201, 217)
"""Real training images, and seeds of slides that nothing else of the demo pipeline uses."""


def progress(title: str, done: int, total: int | None) -> None:
    """Print every so often how far it is."""
    if total and (done % max(1, total // 10) == 0 or done == total):
        print(f"{title}: {done}/{total}", flush=True)


def make_slides(work: Path) -> Dataset:
    """The images of all classes in the shifts that the filter keeps."""
    demo = load_demo_pipeline()
    base = Base(str(demo.folder / "pipeline"), device="cpu")
    classes = find_classes(["all"], demo.classes)
    train_sliders(base, classes, SHIFTS, work / "sliders", progress=progress, **DEMO_TRAINING)
    sliders = find_sliders(work / "sliders", shifts=SHIFTS)
    sample_sliders(
        base,
        [Pick(classes[one.number], one.shift, one) for one in sliders],
        work / "slides",
        seeds=SEEDS,
        names=demo.classes,
        progress=progress,
        sampling=DEMO_SAMPLING,
        batch_size=16,
        file_format="png",
    )
    kept = work / "kept.csv"
    if not kept.is_file():
        scores = image_scores(cns_bench(work / "slides"), demo.clip(device="cpu"), demo.encoder(device="cpu"))
        limits, least = demo.thresholds()
        pl.DataFrame({"sample": kept_samples(ooc_filter(scores, limits, least=least))}).write_csv(kept)
    slides = cns_bench(work / "slides", keep=kept)
    print(f"{len(slides):,} of {len(cns_bench(work / 'slides')):,} images are kept")
    return slides


def real_images(folder: str) -> Dataset:
    """Training images of clothes with black edges."""
    data = fashion_mnist(folder, train=True).limited(REAL)
    edge = ((0, 0), (EDGE, EDGE), (EDGE, EDGE), (0, 0))
    assert data.labels is not None
    return arrays(np.pad(np.stack(list(data.images())), edge), data.labels, DEMO_CLASSES, name="clothes")


def test_images(folder: str, work: Path) -> dict[str, Dataset]:
    """Test images without a shift, and each in one of the seven."""
    clothes = make_data(folder, work, train=False)
    tests = {"clean": arrays(clothes.plain, clothes.labels, DEMO_CLASSES, name="clean")}
    for number, shift in enumerate(DEMO_SHIFTS):
        which = clothes.shift == number
        tests[shift] = arrays(clothes.shifted[which], clothes.labels[which], DEMO_CLASSES, name=shift)
    return tests


def main() -> None:
    """Measure with a few seeds of the training."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder of the four idx files of Fashion-MNIST")
    parser.add_argument("--work", type=Path, default=Path("fine-tuning"), help="where everything is kept")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--trainings", type=int, default=3, help="trainings with other seeds")
    how = parser.parse_args()
    torch.set_num_threads(1)
    slides, real, tests = make_slides(how.work), real_images(how.data), test_images(how.data, how.work)
    tables = []
    for seed in range(how.trainings):
        config = training_config(start=START, epochs=how.epochs, crop=2, seed=seed)
        table = fine_tuning_gain(START, slides, real, tests, how.work / "networks", config, progress=progress)
        tables.append(table.with_columns(pl.lit(seed).alias("seed")))
        pl.concat(tables).write_csv(how.work / "gain.csv")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=3):
        print(pl.concat(tables))


if __name__ == "__main__":
    main()

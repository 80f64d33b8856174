"""`brittle slide demo`: all steps of sliders once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

from brittle.cli.console import console, hint, resumable_progress, split_commas, tell_files
from brittle.cli.inputs import follow, save_table
from brittle.cli.options import option
from brittle.cli.slide.filter import filter_table, quality_table, roc_files, score_figure
from brittle.cli.slide.measure import print_curves
from brittle.cli.slide.train import print_sliders
from brittle.cli.styles import BOLD, DIM, END, YELLOW

if TYPE_CHECKING:
    from brittle.sliders import ImageScores
    from brittle.sliders.demo_pipeline import DemoPipeline

EXAMPLES = (
    ("brittle slide demo", "to slide-demo/report.html, in some minutes on two cores"),
    (
        "brittle slide demo --class trouser,sneaker,bag --shift all -o more",
        "three classes in all seven shifts, for half an hour",
    ),
)

CLASSES = ("sneaker", "bag")
SHIFTS = ("heavy_snow", "heavy_fog", "cartoon_style")
STEPS = 6


def demo_verb(
    output: Annotated[Path, option("--output", help="The folder; an existing one is resumed.")] = Path("slide-demo"),
    classes: Annotated[list[str] | None, option("--class", show_default=",".join(CLASSES))] = None,
    shifts: Annotated[list[str] | None, option("--shift", show_default=",".join(SHIFTS))] = None,
    steps: Annotated[int | None, option("--steps", show_default="that of the demo pipeline")] = None,
    seeds: Annotated[int, option("--seeds")] = 10,
    demo_pipeline: Annotated[Path | None, option("--demo-pipeline")] = None,
) -> None:
    """Train sliders on a bundled tiny diffusion model, draw, measure, filter, test classifiers and write the report.

    The model draws images like Fashion-MNIST, small enough for a laptop; nothing is downloaded. Each step is a verb of
    the same name, which does the same with a real model. The same command resumes where it stopped.
    """
    from brittle.plots import check_figure
    from brittle.sliders import DEMO_FOLDER, TINY, find_classes, find_shifts, load_demo_pipeline, training_settings

    check_figure(output / "curves.svg")
    pipeline = load_demo_pipeline(demo_pipeline or DEMO_FOLDER)
    targets = find_classes(split_commas(classes) or CLASSES, pipeline.classes)
    chosen = find_shifts(split_commas(shifts) or SHIFTS, TINY)
    began = monotonic()
    _train(pipeline, targets, chosen, output / "sliders", training_settings(TINY, steps=steps))
    _sample(pipeline, targets, output, seeds)
    scores = _measure(pipeline, output)
    kept = _filter(pipeline, scores, output)
    _evaluate(pipeline, output, kept)
    _report(output)
    hint(f"{(monotonic() - began) / 60:.1f} minutes; run again, it does nothing twice")


def _train(pipeline: DemoPipeline, classes: Any, shifts: list[str], folder: Path, training: dict[str, Any]) -> None:
    from brittle.sliders import Base, train_sliders

    _print_step(1, f"train {len(classes) * len(shifts)} sliders, a LoRA for each class and shift")
    with resumable_progress() as bar:
        progress = follow(bar)
        trained = train_sliders(
            Base(str(pipeline.folder / "pipeline"), device="cpu"),
            classes,
            shifts,
            folder,
            progress=progress,
            **training,
        )
    print_sliders(trained)


def _sample(pipeline: DemoPipeline, classes: Any, output: Path, seeds: int) -> None:
    from brittle.datasets import cns_bench, save_picture
    from brittle.report import slide_sheet
    from brittle.sliders import Base, Pick, find_sliders, sample_sliders
    from brittle.sliders.demo_pipeline import DEMO_SAMPLING

    targets = {target.number: target for target in classes}
    sliders = find_sliders(output / "sliders", numbers=list(targets))
    picks = [Pick(targets[slider.number], slider.shift, slider) for slider in sliders]
    _print_step(2, f"slide {seeds} images along each of them, at six scales from 0 to 2.5")
    with resumable_progress() as bar:
        progress = follow(bar)
        drawn = sample_sliders(
            Base(str(pipeline.folder / "pipeline"), device="cpu"),
            picks,
            output / "slides",
            seeds=range(1, seeds + 1),
            names=pipeline.classes,
            progress=progress,
            sampling=DEMO_SAMPLING,
            batch_size=12,
            file_format="png",
        )
    console().print(f"{drawn.drawn:,} images drawn, {drawn.existing:,} existed")
    sheet = output / "slides.png"
    save_picture(slide_sheet(cns_bench(output / "slides"), thumb=96), sheet)
    tell_files(sheet)


def _measure(pipeline: DemoPipeline, output: Path) -> ImageScores:
    from brittle.datasets import cns_bench
    from brittle.plots import plot_shift_curves, save_figure
    from brittle.sliders import image_scores, shift_curves

    _print_step(3, "measure with the pipeline's CLIP how far the images have moved")
    with resumable_progress() as bar:
        progress = follow(bar)
        scores = image_scores(
            cns_bench(output / "slides"),
            pipeline.clip(device="cpu"),
            pipeline.encoder(device="cpu"),
            progress=lambda done, total: progress("scoring", done, total),
        )
    curves = shift_curves(scores)
    print_curves(curves)
    folder = output / "measured"
    tell_files(
        save_table(scores.table, folder / "scores.csv"),
        save_table(curves, folder / "curves.csv"),
        save_figure(plot_shift_curves(curves), folder / "curves.svg"),
    )
    return scores


def _filter(pipeline: DemoPipeline, scores: ImageScores, output: Path) -> list[str] | None:
    """The samples that are kept; None, and a sentence why, if there are none."""
    from brittle.datasets import cns_bench
    from brittle.sliders import compare_filters, oracle_labels, write_labels
    from brittle.sliders.demo_pipeline import ORACLE

    _print_step(4, "filter out images that lost their class")
    limits, least = pipeline.thresholds()
    folder = output / "filtered"
    try:
        kept, files = filter_table(scores.table, limits, folder, least=least)
    except ValueError as error:
        console().print(f"{YELLOW}nothing is filtered:{END} {error}")
        return None
    console().print(
        f"{YELLOW}Real labels are made by hand{END} (`brittle slide label --page`). Here an oracle classifier labels "
        "the images: it was trained on clothes in shifts too, and is tested in no other step."
    )
    labels = oracle_labels(cns_bench(output / "slides"), pipeline.classifier(ORACLE, device="cpu"))
    write_labels(labels, folder / "labels.csv")
    try:
        quality = compare_filters(scores, labels, limits, least=least)
        method = "the thresholds were chosen on other images, for a TPR of 0.9 each"
        files += quality_table(quality, folder, method, labelled_by=", by the oracle classifier")
        files.append(score_figure(scores.table, labels, limits, folder))
        files += roc_files(scores.table, labels, folder, least=least)
    except ValueError as error:
        console().print(f"{DIM}the filter is not put to the test here: {error}{END}")
    tell_files(*files)
    return kept


def _evaluate(pipeline: DemoPipeline, output: Path, kept: list[str] | None) -> None:
    from brittle.evaluation import evaluate_stored
    from brittle.sliders import trajectory_dataset

    models = [pipeline.classifier(name, device="cpu") for name in pipeline.classifiers]
    _print_step(5, f"test {len(models)} classifiers on what is left")
    with resumable_progress() as bar:
        dataset = trajectory_dataset(output / "slides", keep=kept)
        evaluate_stored(models, dataset, output / "run", progress=follow(bar))


def _report(output: Path) -> None:
    import brittle
    from brittle.cli.slide.inputs import print_slides
    from brittle.report import write_report

    _print_step(6, "report")
    results = brittle.load_results(output / "run")
    print_slides(results)
    page = write_report(results, output / "report.html", title="Three classifiers of clothes along sliders")
    console().print(f"\n{page}  {DIM}open it in a browser{END}", soft_wrap=True)


def _print_step(number: int, step: str) -> None:
    console().print(f"\n{BOLD}{number}/{STEPS}{END} {step}")

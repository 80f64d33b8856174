"""`brittle slide demo`: the whole way of sliders once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

from brittle.cli.console import console, resumable_progress, save_picture, tell_files
from brittle.cli.inputs import follow
from brittle.cli.options import option
from brittle.cli.slide.filter import filter_table, quality_table, score_figure
from brittle.cli.slide.inputs import TINY, classes_of, shifts_of
from brittle.cli.slide.measure import print_curves, write_table
from brittle.cli.slide.train import print_sliders

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
    steps: Annotated[int | None, option("--steps", show_default="the world's own")] = None,
    seeds: Annotated[int, option("--seeds")] = 10,
    world: Annotated[Path | None, option("--demo-pipeline")] = None,
) -> None:
    """Train sliders on a bundled tiny diffusion model, draw, measure, filter, test classifiers and write the report.

    The world is Fashion-MNIST's, so small that a laptop can afford it; nothing is fetched. Each step is what the verb
    of its name does with a real model. The same command again resumes where it stopped.
    """
    from brittle.sliders.demo_pipeline import DEMO_FOLDER, DEMO_TRAINING, load_demo_pipeline

    place = load_demo_pipeline(world or DEMO_FOLDER)
    taught = classes_of(classes or CLASSES, place.classes, None)
    chosen = shifts_of(shifts or SHIFTS, TINY, False)
    began = monotonic()
    training: dict[str, Any] = {**DEMO_TRAINING, **({} if steps is None else {"steps": steps})}
    _train(place, taught, chosen, output / "sliders", training)
    _sample(place, taught, output, seeds)
    scores = _measure(place, output)
    kept = _filter(place, scores, output)
    _evaluate(place, output, kept)
    _report(output)
    console().print(f"[dim]{(monotonic() - began) / 60:.1f} minutes; run it again and nothing is done twice[/]")


def _train(world: DemoPipeline, classes: Any, shifts: list[str], folder: Path, training: dict[str, Any]) -> None:
    from brittle.sliders import Base, train_sliders

    _say(1, f"train {len(classes) * len(shifts)} sliders, a LoRA for each class and shift")
    with resumable_progress() as bar:
        report = follow(bar)
        done = train_sliders(
            Base(str(world.folder / "pipeline"), device="cpu"),
            classes,
            shifts,
            folder,
            progress=report,
            **training,
        )
    print_sliders(done)


def _sample(world: DemoPipeline, classes: Any, output: Path, seeds: int) -> None:
    from brittle.datasets import cns_bench
    from brittle.report import slide_sheet
    from brittle.sliders import Base, Pick, find_sliders, sample_sliders
    from brittle.sliders.demo_pipeline import DEMO_SAMPLING

    known = {one.number: one for one in classes}
    picks = [Pick(known[one.number], one.shift, one) for one in find_sliders(output / "sliders", numbers=list(known))]
    _say(2, f"slide {seeds} images along each of them, at six scales from 0 to 2.5")
    with resumable_progress() as bar:
        report = follow(bar)
        done = sample_sliders(
            Base(str(world.folder / "pipeline"), device="cpu"),
            picks,
            output / "slides",
            seeds=range(1, seeds + 1),
            names=world.classes,
            progress=report,
            sampling=DEMO_SAMPLING,
            batch_size=12,
            file_format="png",
        )
    console().print(f"{done.drawn:,} images drawn, {done.there:,} were there")
    sheet = output / "slides.png"
    save_picture(slide_sheet(cns_bench(output / "slides"), thumb=96), sheet)
    tell_files(sheet)


def _measure(world: DemoPipeline, output: Path) -> ImageScores:
    from brittle.datasets import cns_bench
    from brittle.report.figures import save_figure, shift_curve_figure
    from brittle.sliders import image_scores, shift_curves

    _say(3, "measure with the world's CLIP how far the images have gone")
    with resumable_progress() as bar:
        report = follow(bar)
        scores = image_scores(
            cns_bench(output / "slides"),
            world.clip(device="cpu"),
            world.encoder(device="cpu"),
            progress=lambda done, total: report("scoring", done, total),
        )
    curves = shift_curves(scores)
    print_curves(curves)
    folder = output / "measured"
    tell_files(
        write_table(scores.table, folder / "scores.csv"),
        write_table(curves, folder / "curves.csv"),
        save_figure(shift_curve_figure(curves), folder / "curves.svg"),
    )
    return scores


def _filter(world: DemoPipeline, scores: ImageScores, output: Path) -> list[str] | None:
    """The samples that are kept; None, and a sentence why, if there are none."""
    from brittle.datasets import cns_bench
    from brittle.sliders import compare_filters, oracle_labels, write_labels
    from brittle.sliders.demo_pipeline import ORACLE

    _say(4, "filter out images that lost their class")
    limits, least = world.thresholds()
    folder = output / "filtered"
    try:
        kept, files = filter_table(scores.table, limits, folder, least=least)
    except ValueError as error:
        console().print(f"[yellow]nothing is filtered:[/] {error}")
        return None
    console().print(
        "[yellow]Real labels are made by hand[/] (`brittle slide filter --page`). Here a judge says what images show: "
        "a classifier that saw clothes in shifts too, and is tested in no other step."
    )
    labels = oracle_labels(cns_bench(output / "slides"), world.classifier(ORACLE, device="cpu"))
    write_labels(labels, folder / "labels.csv")
    try:
        quality = compare_filters(scores, labels, limits, least=least)
        how = "the thresholds were chosen on other images, for a TPR of 0.9 each"
        files += quality_table(quality, folder, how, who=", by the judge")
        files.append(score_figure(scores.table, labels, limits, folder))
    except ValueError as error:
        console().print(f"[dim]the filter is not put to the test here: {error}[/]")
    tell_files(*files)
    return kept


def _evaluate(world: DemoPipeline, output: Path, kept: list[str] | None) -> None:
    from brittle.evaluation import evaluate_stored
    from brittle.sliders import trajectory_dataset

    models = [world.classifier(name, device="cpu") for name in world.classifiers]
    _say(5, f"test {len(models)} classifiers on what is left")
    with resumable_progress() as bar:
        report = follow(bar)
        evaluate_stored(models, trajectory_dataset(output / "slides", keep=kept), output / "run", progress=report)


def _report(output: Path) -> None:
    import brittle
    from brittle.cli.slide.inputs import print_slides
    from brittle.report import write_report

    _say(6, "report")
    results = brittle.load_results(output / "run")
    print_slides(results)
    page = write_report(results, output / "report.html", title="Three classifiers of clothes along sliders")
    console().print(f"\n{page}  [dim]open it in a browser[/]", soft_wrap=True)


def _say(number: int, what: str) -> None:
    console().print(f"\n[bold]{number}/{STEPS}[/] {what}")

"""`brittle slide sample`: images on their way from unshifted to shifted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, resumable_progress, say_next, split_commas, split_numbers
from brittle.cli.inputs import DEVICE, follow
from brittle.cli.options import ImageFormat, Scheduler, option
from brittle.cli.slide import inputs as shared
from brittle.cli.slide.inputs import ChosenPipeline, chosen_pipeline, sampling_settings

if TYPE_CHECKING:
    from brittle.sliders import Pick

EXAMPLES = (
    ("brittle slide sample sd2/ sliders/ --tokens tokens/ --batch-size 6 -o slides", "50 seeds at 6 scales each"),
    (
        "brittle slide sample sd2/ lora_adapters/ --tokens tokens/ --shift heavy_snow -o slides",
        "the published adapters",
    ),
    ("brittle slide sample tiny sliders/ --scale 0,1,2 --seeds 10 --denoising-steps 20 -o slides", "fewer of all"),
    ("brittle slide sample tiny --two-prompts --class bag --shift heavy_fog -o two", "the baseline without a slider"),
)


def sample_verb(
    pipeline: shared.PIPELINE,
    output: shared.OUTPUT,
    sliders: Annotated[
        Path | None, typer.Argument(metavar="SLIDERS", help="A folder of sliders: ours, or published .pt files.")
    ] = None,
    classes: Annotated[
        list[str] | None,
        option("--class", show_default="all sliders"),
    ] = None,
    shifts: Annotated[
        list[str] | None,
        option("--shift", show_default="all sliders"),
    ] = None,
    scales: Annotated[
        list[str] | None,
        option("--scale", show_default="0,0.5,1,1.5,2,2.5"),
    ] = None,
    seeds: Annotated[str, option("--seeds")] = "50",
    two_prompts: Annotated[bool, option("--two-prompts")] = False,
    tokens: shared.TOKENS = None,
    names: shared.NAMES = None,
    own_words: shared.OWN_WORDS = False,
    active: Annotated[float, option("--active")] = 0.75,
    guidance: Annotated[
        float | None,
        option("--guidance", show_default="7.5"),
    ] = None,
    steps: Annotated[int | None, option("--denoising-steps", show_default="50")] = None,
    scheduler: Annotated[
        Scheduler | None,
        option("--scheduler", show_default="the checkpoint's own"),
    ] = None,
    size: Annotated[
        int | None,
        option("--image-size", show_default="the checkpoint's own"),
    ] = None,
    side: Annotated[int | None, option("--output-size", show_default="256 at most")] = None,
    file_format: Annotated[ImageFormat, option("--image-format")] = "jpeg",
    batch_size: Annotated[int, option("--batch-size")] = 1,
    precision: shared.PRECISION = "auto",
    device: DEVICE = "auto",
    engine: shared.ENGINE = "local",
    address: shared.ADDRESS = None,
) -> None:
    """Draw images of each class at growing scales of its sliders, the same noise at every scale.

    The folder has the layout of CNS-Bench, SHIFT/NUMBER_NAME/seed_0001_scale_0500.jpg, with annotations_cns.json and
    the settings beside the images. The same command again draws only what is missing.
    """
    from brittle._parallel import check_engine
    from brittle.sliders import SCALES, sample_sliders

    check_engine(engine, address)
    sampling = sampling_settings(pipeline, guidance=guidance, steps=steps, scheduler=scheduler, size=size, side=side)
    if sliders is None and not two_prompts:
        raise BrittleError("say where the sliders are, as in `brittle slide sample PIPELINE SLIDERS`, or --two-prompts")
    if two_prompts and scales:
        raise BrittleError("--two-prompts is all or nothing, at scales 0 and 1; leave out --scale")
    chosen = chosen_pipeline(pipeline, tokens, names, device, precision)
    if sliders is None:
        picks = _two_prompt_picks(chosen, classes, shared.shifts_of(shifts, pipeline, own_words))
    else:
        picks = _slider_picks(chosen, classes, shifts, sliders, two_prompts)
    with resumable_progress() as bar:
        done = sample_sliders(
            chosen.base,
            picks,
            output,
            split_numbers(scales, "scales") or SCALES,
            shared.seeds_of(seeds),
            names=chosen.names if chosen.own_names else None,
            engine=engine,
            address=address,
            progress=follow(bar),
            active=active,
            sampling=sampling,
            batch_size=batch_size,
            file_format="jpg" if file_format == "jpeg" else file_format,
        )
    console().print(f"{done.drawn:,} images drawn, {done.existing:,} were there, of {len(picks)} classes in shifts")
    clip = "tiny" if pipeline == "tiny" else "clip-vit-base-patch16"
    say_next("slide", "measure", output, "--clip", clip, "-o", "measured", after=output)
    if clip != "tiny":
        console().print(f"[dim]{clip}: the folder of a CLIP of transformers[/]")


def _two_prompt_picks(chosen: ChosenPipeline, classes: Sequence[str] | None, shifts: list[str]) -> list[Pick]:
    """Each class in each shift, without sliders."""
    from brittle.sliders import Pick

    wanted = chosen.classes(classes)
    if not wanted or not shifts:
        raise BrittleError("two prompts without sliders need a --class and a --shift")
    return [Pick(one, shift) for shift in shifts for one in wanted]


def _slider_picks(
    chosen: ChosenPipeline,
    classes: Sequence[str] | None,
    shifts: Sequence[str] | None,
    sliders: Path,
    two_prompts: bool,
) -> list[Pick]:
    """The sliders of a folder, all or those of some classes and shifts; or two prompts in their place."""
    from brittle.sliders import Pick, find_class, find_sliders

    numbers = [one.number for one in chosen.classes(classes)]
    found = find_sliders(sliders, shifts=split_commas(shifts), numbers=numbers)
    tokens = chosen.tokens()
    return [
        Pick(find_class(str(one.number), chosen.names, tokens), one.shift, None if two_prompts else one)
        for one in found
    ]

"""`brittle slide sample`: trajectories of images from unshifted to shifted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, hint, resumable_progress, say_next, split_commas, split_numbers
from brittle.cli.inputs import DEVICE, follow
from brittle.cli.options import ImageFormat, Scheduler, option
from brittle.cli.slide import inputs as shared

EXAMPLES = (
    ("brittle slide sample sd2/ sliders/ --tokens tokens/ --batch-size 6 -o slides", "50 seeds at 6 scales each"),
    (
        "brittle slide sample sd2/ lora_adapters/ --tokens tokens/ --shift heavy_snow -o slides",
        "the published adapters",
    ),
    (
        "brittle slide sample tiny sliders/ --scales 0,1,2 --seeds 10 --denoising-steps 20 -o slides",
        "fewer of each",
    ),
    ("brittle slide sample tiny --two-prompts --class bag --shift heavy_fog -o two", "the baseline without a slider"),
    ("brittle slide sample sd2/ --class random:3 --scales 0 --seeds 4 -o base", "random classes, without any shift"),
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
        option("--scales", show_default="0,0.5,1,1.5,2,2.5"),
    ] = None,
    seeds: Annotated[str, option("--seeds")] = "50",
    two_prompts: Annotated[bool, option("--two-prompts")] = False,
    seed: Annotated[int, option("--seed")] = 0,
    tokens: shared.TOKENS = None,
    names: shared.CLASSES = None,
    any_shift: shared.ANY_SHIFT = False,
    active: Annotated[float, option("--active")] = 0.75,
    guidance: Annotated[
        float | None,
        option("--guidance", show_default="7.5"),
    ] = None,
    denoising_steps: Annotated[int | None, option("--denoising-steps", show_default="50")] = None,
    scheduler: Annotated[
        Scheduler | None,
        option("--scheduler", show_default="that of the checkpoint"),
    ] = None,
    image_size: Annotated[
        int | None,
        option("--image-size", show_default="that of the checkpoint"),
    ] = None,
    output_size: Annotated[int | None, option("--output-size", show_default="256 at most")] = None,
    image_format: Annotated[ImageFormat, option("--image-format")] = "jpeg",
    batch_size: Annotated[int, option("--batch-size")] = 1,
    dtype: shared.DTYPE = "auto",
    device: DEVICE = "auto",
    engine: shared.ENGINE = "local",
    address: shared.ADDRESS = None,
) -> None:
    """Draw images of each class at growing scales of its sliders, the same noise at every scale.

    The folder has the layout of CNS-Bench, SHIFT/NUMBER_NAME/seed_0001_scale_0500.jpg, with annotations_cns.json and
    the settings beside the images, and a data sheet, DATASHEET.md. `--scales 0` without sliders draws images of classes
    without any shift. The same command draws only missing images.
    """
    from brittle._parallel import check_engine
    from brittle.sliders import (
        SCALES,
        TINY,
        choose_pipeline,
        parse_seeds,
        pick_sliders,
        sample_sliders,
        sampling_settings,
    )

    check_engine(engine, address)
    settings = sampling_settings(
        pipeline,
        active=active,
        guidance=guidance,
        denoising_steps=denoising_steps,
        scheduler=scheduler,
        image_size=image_size,
        output_size=output_size,
        batch_size=batch_size,
        image_format=image_format,
    )
    if two_prompts and scales:
        raise BrittleError("--two-prompts is all or nothing, at scales 0 and 1; leave out --scales")
    wanted = split_numbers(scales, "scales")
    chosen = choose_pipeline(pipeline, tokens=tokens, classes=names, device=device, dtype=dtype)
    picks = pick_sliders(
        chosen,
        sliders,
        classes=split_commas(classes),
        shifts=split_commas(shifts),
        two_prompts=two_prompts,
        any_shift=any_shift,
        unshifted=sliders is None and not two_prompts and wanted == [0],
        seed=seed,
    )
    with resumable_progress() as bar:
        drawn = sample_sliders(
            chosen.base,
            picks,
            output,
            wanted or SCALES,
            parse_seeds(seeds),
            names=chosen.names if chosen.named else None,
            engine=engine,
            address=address,
            progress=follow(bar),
            **settings,
        )
    what = "classes without a shift" if wanted == [0] else "classes in shifts"
    console().print(f"{drawn.drawn:,} images drawn, {drawn.existing:,} existed, of {len(picks)} {what}")
    if wanted == [0]:
        say_next(
            "run",
            "-m",
            "tiny:standard" if pipeline == TINY else "timm:resnet50",
            "-d",
            f"cns-bench:{output}",
            "-o",
            "run",
        )
        return
    clip = TINY if pipeline == TINY else "clip-vit-base-patch16"
    say_next("slide", "measure", output, "--clip", clip, "-o", "measured", after=output)
    if clip != TINY:
        hint(f"{clip}: the folder of a CLIP of transformers")

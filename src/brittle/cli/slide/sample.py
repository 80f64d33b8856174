"""`brittle slide sample`: images on their way from unshifted to shifted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, interrupted, progress_bar
from brittle.cli.run import DEVICE, follow
from brittle.cli.several import several_numbers
from brittle.cli.slide.options import (
    ADDRESS,
    ENGINE,
    NAMES,
    OWN_WORDS,
    PIPELINE,
    TOKENS,
    base_of,
    classes_of,
    names_of,
    own_or_tiny,
    seeds_of,
    shifts_of,
)

if TYPE_CHECKING:
    from brittle.sliders import Base, Pick

EXAMPLES = (
    ("brittle slide sample sd2/ sliders/ --tokens tokens/ --batch-size 6 -o slides", "50 seeds at 6 scales each"),
    ("brittle slide sample sd2/ lora_adapters/ --tokens tokens/ -s heavy_snow -o slides", "the published adapters"),
    ("brittle slide sample tiny sliders/ --scale 0,1,2 --seeds 10 --steps 20 -o slides", "fewer of all"),
    ("brittle slide sample tiny --two-prompts -c bag -s heavy_fog -o two", "the baseline without a slider"),
)


def sample_verb(
    pipeline: PIPELINE,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder; one that is there goes on.")],
    sliders: Annotated[
        Path | None, typer.Argument(metavar="SLIDERS", help="A folder of sliders: ours, or published .pt files.")
    ] = None,
    classes: Annotated[
        list[str] | None, typer.Option("--class", "-c", help="Only these.", show_default="all sliders")
    ] = None,
    shifts: Annotated[
        list[str] | None, typer.Option("--shift", "-s", help="Only these.", show_default="all sliders")
    ] = None,
    scales: Annotated[
        list[str] | None, typer.Option("--scale", help="With commas; 0 is one.", show_default="0,0.5,1,1.5,2,2.5")
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="How many, from 1; or which: 3,7,10-12.")] = "50",
    two_prompts: Annotated[
        bool, typer.Option("--two-prompts", help="The baseline: the shift in the prompt, at scale 1 only.")
    ] = False,
    tokens: TOKENS = None,
    names: NAMES = None,
    own_words: OWN_WORDS = False,
    active: Annotated[float, typer.Option("--active", help="The slider is on in this last share of the noise.")] = 0.75,
    guidance: Annotated[float | None, typer.Option("--guidance", help="1 is none.", show_default="7.5")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Of denoising.", show_default="50")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="ddim, unipc, dpm++ or euler.", show_default="the checkpoint's own"),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", help="Of generated images.", show_default="the checkpoint's own")
    ] = None,
    side: Annotated[int | None, typer.Option("--side", help="Of written images.", show_default="256 at most")] = None,
    file_format: Annotated[str, typer.Option("--format", help="`jpg` as published, or `png`.")] = "jpg",
    batch_size: Annotated[int, typer.Option("--batch-size", help="Images at once.")] = 1,
    device: DEVICE = "auto",
    engine: ENGINE = "local",
    address: ADDRESS = None,
) -> None:
    """Draw images of each class at growing scales of its sliders, the same noise at every scale.

    The folder has the layout of CNS-Bench, SHIFT/NUMBER_NAME/seed_0001_scale_0500.jpg, with annotations_cns.json and
    the settings beside the images. The same command again draws only what is missing.
    """
    from brittle.evaluation.engines import check_engine
    from brittle.sliders import SCALES, Sampling, sample_sliders

    check_engine(engine, address)
    given = {"guidance": guidance, "steps": steps}
    sampling = Sampling(**own_or_tiny(pipeline, "sampling", given), scheduler=scheduler, size=size, side=side)
    if sliders is None and not two_prompts:
        raise ValueError("say where the sliders are, as in `brittle slide sample PIPELINE SLIDERS`, or --two-prompts")
    base = base_of(pipeline, tokens, device)
    called, other = names_of(pipeline, names)
    picks = _picks(base, sliders, classes, shifts, called, pipeline, own_words, two_prompts)
    with progress_bar() as bar:
        try:
            done = sample_sliders(
                base,
                picks,
                output,
                several_numbers(scales, "scales") or SCALES,
                seeds_of(seeds),
                names=called if other else None,
                engine=engine,
                address=address,
                progress=follow(bar),
                active=active,
                sampling=sampling,
                batch_size=batch_size,
                file_format=file_format,
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    console().print(f"{done.drawn:,} images drawn, {done.there:,} were there, of {len(picks)} classes in shifts")
    console().print(f"{output}  [dim]next: brittle slide measure {output} --clip CLIP -o measured[/]", soft_wrap=True)


def _picks(
    base: Base,
    sliders: Path | None,
    classes: Sequence[str] | None,
    shifts: Sequence[str] | None,
    names: Sequence[str],
    pipeline: str,
    own_words: bool,
    two_prompts: bool,
) -> list[Pick]:
    """What to draw: the chosen sliders, or for two prompts each class in each shift."""
    from brittle.cli.several import several
    from brittle.sliders import Pick, find_class, find_sliders

    tokens = None if base.tokens is None else base.token_names()
    chosen = classes_of(classes, names, tokens)
    if sliders is None:
        wanted = shifts_of(shifts, pipeline, own_words)
        if not chosen or not wanted:
            raise ValueError("two prompts without sliders need a --class and a --shift")
        return [Pick(one, shift) for shift in wanted for one in chosen]
    found = find_sliders(sliders, shifts=several(shifts), numbers=[one.number for one in chosen])
    return [Pick(find_class(str(one.number), names, tokens), one.shift, None if two_prompts else one) for one in found]

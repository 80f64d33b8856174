"""`brittle reproduce`: the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import OUTPUT_FOLDER, console, print_json, resumable_progress
from brittle.cli.inputs import follow
from brittle.cli.options import Engine, PaperScale, option
from brittle.cli.styles import BOLD, DIM, END, GREEN

if TYPE_CHECKING:
    from brittle.papers import Experiment, Finding

EXAMPLES = (
    ("brittle reproduce --list", "every table and figure, with what it needs and takes"),
    ("brittle reproduce noc table8", "one table, small enough for two cores"),
    ("brittle reproduce msd all -o papers", "all of a paper, into a folder of its own; resumable"),
    ("brittle reproduce cns fig3 filter", "sliders on the bundled diffusion pipeline, and the filter of their images"),
    (
        "brittle reproduce noc fig3 --scale paper --path imagenet-100=/data/imagenet --engine ray",
        "with the paper's data, network and schedule",
    ),
)


def reproduce_verb(
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help="`noc`, `syn2nat`, `msd` or `cns`; not needed with --list.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE|FIGURE…]", help="Tables and figures by name, such as `table7 fig3`, or `all`."),
    ] = None,
    output: Annotated[Path, option("--output", help="The folder of tables, figures and the page.")] = Path(
        "reproduced"
    ),
    list_them: Annotated[bool, option("--list")] = False,
    scale: Annotated[PaperScale, option("--scale")] = "small",
    path: Annotated[list[str] | None, option("--path")] = None,
    settings: Annotated[list[str] | None, option("--set")] = None,
    seed: Annotated[int, option("--seed")] = 0,
    device: Annotated[str, option("--device")] = "auto",
    engine: Annotated[Engine, option("--engine")] = "local",
    address: Annotated[str | None, option("--address")] = None,
    overwrite: Annotated[bool, option("--overwrite")] = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Repeat the tables and figures of a paper, and write them beside the published numbers.

    At small scale CIFAR-10, Fashion-MNIST and small networks take minutes on two cores; at the scale of the paper the
    same command trains the paper's networks on the paper's data. Without names the command runs the whole paper.
    Finished work is not repeated, and interrupted work resumes.
    """
    from brittle.papers import list_experiments, read_findings, reproduce

    if list_them:
        experiments = list_experiments(paper)
        done = {one.experiment: one for one in read_findings(output)} if output.is_dir() else {}
        if as_json:
            print_json([_as_data(one, done.get(one.id)) for one in experiments])
        else:
            _print_list(experiments, done)
        return
    if paper is None:
        raise BrittleError("no paper was named; give noc, syn2nat, msd or cns, or --list")
    OUTPUT_FOLDER.set(output)
    with resumable_progress() as bar:
        found = reproduce(
            paper,
            names or (),
            output,
            scale=scale,
            paths=_pairs(path, "--path takes NAME=PATH, such as imagenet=/data/imagenet"),
            training=_training(settings),
            seed=seed,
            device=device,
            engine=engine,
            address=address,
            overwrite=overwrite,
            progress=follow(bar),
        )
    if as_json:
        print_json(found)
    else:
        _print_found(found)
    console(stderr=True).print(f"{output / 'index.html'}  {DIM}all tables and figures of this folder{END}")


def _pairs(texts: list[str] | None, form: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise BrittleError(f"{form}; got {text!r}")
        pairs[name.strip()] = value.strip()
    return pairs


def _training(texts: list[str] | None) -> dict[str, Any]:
    pairs = _pairs(texts, "--set takes NAME=VALUE, such as epochs=2")
    if not pairs:
        return {}
    from brittle.training import read_settings

    return read_settings(pairs)


def _as_data(one: Experiment, done: Finding | None) -> dict[str, object]:
    return {
        "experiment": one.id,
        "title": one.title,
        "claim": one.claim,
        "minutes": one.minutes,
        "after": one.after,
        "needs": {"small": one.small_needs, "paper": one.needs, "optional": list(one.optional)},
        "cost": one.cost,
        "state": None if done is None else done.scale,
        "verdict": None if done is None else done.verdict,
    }


def _print_list(experiments: list[Experiment], done: dict[str, Finding]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.papers import PAPERS

    for paper, title in PAPERS.items():
        of_paper = [one for one in experiments if one.paper == paper]
        if not of_paper:
            continue
        table = Table(
            title=f"{BOLD}{paper}{END}  {title}", title_justify="left", title_style="", box=SIMPLE_HEAD, pad_edge=False
        )
        table.add_column("", no_wrap=True)
        table.add_column("shows", overflow="fold", ratio=5)
        table.add_column("small", justify="right", no_wrap=True)
        table.add_column("paper's scale", overflow="fold", style="dim", ratio=3)
        table.add_column("done", no_wrap=True)
        for one in of_paper:
            small = f"{60 * one.minutes:.0f} s" if one.minutes < 1 else f"{one.minutes:.0f} min"
            small += "\nafter " + "\nand ".join(one.after) if one.after else ""
            needs = "; ".join(part for part in (", ".join(one.needs), one.cost) if part) or "the same"
            state = f"{GREEN}{done[one.id].scale}{END}" if one.id in done else f"{DIM}–{END}"
            table.add_row(one.name, one.title, small, needs, state)
        console().print(table)
        total = sum(one.minutes for one in of_paper)
        console().print(
            f"{DIM}{len(of_paper)} experiments, about {total:.0f} min at small scale on two cores; the first to run "
            f"trains what others share, and takes the time of those that it comes after, too{END}\n"
        )


def _print_found(found: list[Finding]) -> None:
    from rich.text import Text

    screen = console()
    for one in found:
        screen.print(Text.assemble((f"{one.experiment} ", "bold"), one.title))
        screen.print(Text("  The paper: " + one.claim, "dim"))
        screen.print(Text("  Here: " + one.verdict))
    screen.print()

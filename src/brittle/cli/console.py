"""What the verbs share: where they write to, what they read, and how they say that something is wrong."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._user_code import load_module
from brittle.cli.options import option

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from rich.console import Console
    from rich.progress import Progress

    from brittle.benchmarks import Benchmark
    from brittle.corruptions import Corruption
    from brittle.design import OverlapMatrix


IMPORTED: ContextVar[tuple[str, ...]] = ContextVar("IMPORTED", default=())
"""The files of this call's --import, which the command that comes next needs too."""


def import_files(names: Sequence[str]) -> None:
    """Run the files of --import, in their order."""
    IMPORTED.set(tuple(names))
    for name in names:
        import_file(name)


def import_file(name: str) -> None:
    """Run a file as a module of its own; what it registers with `@corruption` is then known like any other."""
    if Path(name).suffix != ".py" or not Path(name).is_file():
        raise FileNotFoundError(f"--import takes a Python file, got {name!r}")
    load_module(name, Path(name).stem)


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal is now."""
    from rich.console import Console

    return Console(stderr=stderr or JSON.get(), highlight=False, emoji=False)


def print_json(value: Any) -> None:
    """Print a result for programs: dataclasses and tables as plain JSON, what is no number or infinite as null."""
    import json

    typer.echo(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if hasattr(value, "to_dicts"):  # a Polars table
        return _plain(value.to_dicts())
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)


def hint(text: str) -> None:
    """Print what helps to go on and is no result: not with --quiet."""
    if not QUIET.get():
        console().print(f"[dim]{text}[/]", soft_wrap=True)


def compile_first(corruptions: Iterable[Corruption] | None = None) -> None:
    """Compile what some corruptions need, in all processors, before their first use, and say so.

    Where it is not known which will be used, only say why the very first use of any takes its time.
    """
    screen = console(stderr=True)
    screen.quiet = QUIET.get()
    if corruptions is None:
        if _never_compiled():
            screen.print("[dim]First use: loops are compiled now and kept, which takes up to a minute, once.[/]")
        return
    from brittle.corruptions import compile_corruptions, uncompiled

    missing = uncompiled(corruptions)
    if not missing:
        return
    what = missing[0].id if len(missing) == 1 else f"{len(missing)} corruptions"
    screen.print(f"[dim]First use: compiling {what}; this is done once.[/]")
    if len(missing) == 1:  # it compiles itself, as soon elsewhere as here
        return
    with resumable_progress() as bar:
        task = bar.add_task(f"Compiling {what} for the first time", total=len(missing))
        compile_corruptions(missing, progress=lambda done, total: bar.update(task, completed=done, total=total))


def _never_compiled() -> bool:
    """Whether nothing was ever compiled and kept beside the package; numba is not loaded to find out."""
    from importlib.util import find_spec

    spec = find_spec("brittle.corruptions.kernels")
    kept = Path(spec.origin).parent / "__pycache__" if spec is not None and spec.origin else None
    return kept is not None and not any(kept.glob("*.nbi")) and not os.environ.get("NUMBA_CACHE_DIR")


def progress_bar() -> Progress:
    """What is done and the time that is left, on stderr: a bar in a terminal, else a plain line every so often."""
    from brittle.cli.progress import WorkProgress

    return WorkProgress(console(stderr=True), quiet=QUIET.get())


def interrupted() -> NoReturn:
    """Say that nothing is lost, and leave as programs do that were interrupted."""
    console(stderr=True).print("Interrupted. All files in place are complete; the same command resumes.")
    raise typer.Exit(130) from None


def say_next(*arguments: object, after: Path | str = "") -> None:
    """Print the command that comes next, ready to be typed: quoted, and with the --import of this call."""
    from rich.text import Text

    if QUIET.get():
        return

    words = ["brittle", *(word for file in IMPORTED.get() for word in ("--import", file)), *map(str, arguments)]
    line = Text(f"next: {shlex.join(words)}", style="dim")
    console().print(Text.assemble(str(after), "  ", line) if str(after) else line, soft_wrap=True)


JSON: ContextVar[bool] = ContextVar("JSON", default=False)
"""Whether this call prints JSON: then everything else goes to the standard error."""

QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
VERBOSE: ContextVar[bool] = ContextVar("VERBOSE", default=False)


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Whether progress and hints are printed, and whether settings, time and memory are."""
    if quiet and verbose:
        raise BrittleError("--quiet and --verbose contradict each other; give one of them")
    QUIET.set(quiet)
    VERBOSE.set(verbose)


@contextmanager
def resumable_progress() -> Iterator[Progress]:
    """A progress bar; Ctrl-C takes it away, says that nothing is lost, and leaves."""
    with progress_bar() as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            bar.stop()
            interrupted()


def split_commas(values: Sequence[str] | None) -> list[str]:
    """Every value, in the order given, each once."""
    words = (word.strip() for value in values or () for word in value.split(","))
    return list(dict.fromkeys(word for word in words if word))


def split_numbers(values: Sequence[str] | None, what: str) -> list[float]:
    """Every number, in the order given, each once."""
    numbers = []
    for word in split_commas(values):
        try:
            numbers.append(float(word))
        except ValueError:
            raise BrittleError(f"{what} must be numbers such as 1,2.5,5; got {word!r}") from None
    return list(dict.fromkeys(numbers))


SAVING: dict[str, dict[str, Any]] = {
    ".png": {"format": "PNG", "optimize": True},
    ".jpg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".jpeg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".webp": {"format": "WEBP", "quality": 90, "method": 4},
}


def check_picture(output: Path) -> None:
    """Raise unless a picture can be saved under this name."""
    if output.suffix.lower() not in SAVING:
        raise BrittleError(f"the output must end in {', '.join(SAVING)}; got {str(output)!r}")


def save_picture(picture: Picture, output: Path) -> None:
    """Save a picture, and make its folder if need be."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as part:
        picture.save(part, **SAVING[output.suffix.lower()])


TEXTURES = Annotated[
    Path | None,
    option("--textures", show_default="textures that come with brittle"),
]


def chosen_recipe(
    name: str | None,
    corruptions: list[str],
    severities: list[float],
    seed: int | None,
    default: str | None = None,
    textures: Path | None = None,
) -> Benchmark | None:
    """A recipe by its name, cut down to some corruptions or moved to other severities; None if nothing is asked for.

    Without a name, corruptions need not be part of any recipe; `default` stands in when none are named, and says which
    is meant where several have the same name. `textures` is a folder of pictures for corruptions that lay some over the
    image; the recipe keeps its name with them.
    """
    recipe = _without_textures(name, corruptions, severities, seed, default)
    if textures is None:
        return recipe
    if recipe is None:
        raise BrittleError("--textures needs a --benchmark or a --corruption with textures, such as frost")
    return recipe.with_textures(textures)


def _without_textures(
    name: str | None, corruptions: list[str], severities: list[float], seed: int | None, default: str | None
) -> Benchmark | None:
    import brittle
    from brittle.benchmarks import Benchmark, Entry

    if name is None and corruptions:
        entries = tuple(Entry(each, tuple(severities) or (1, 2, 3, 4, 5)) for each in corruptions)
        return Benchmark("custom", entries, seed=seed or 0)
    name = name or default
    if name is None:
        if severities or seed is not None:
            raise BrittleError("severities and a seed need a --benchmark or a --corruption to apply them to")
        return None
    return brittle.load_benchmark(name).cut(corruptions, severities=severities, seed=seed)


OVERLAP = Annotated[
    str,
    typer.Argument(
        metavar="OVERLAP",
        help="A folder of `brittle design overlap`, a .csv or .parquet matrix, or `noc-table7`, `noc-table8`.",
    ),
]
FIGURE = Annotated[
    Path | None,
    option("--figure", show_default="beside the output"),
]


def known_part(overlap: OverlapMatrix) -> OverlapMatrix:
    """The matrix without corruptions that no overlap is known of, which are named on the screen."""
    import numpy as np

    unknown = np.isnan(overlap.scores).sum(axis=1) == len(overlap) - 1
    left_out = [name for name, gone in zip(overlap.names, unknown, strict=True) if gone]
    if not left_out or len(overlap) - len(left_out) < 2:
        return overlap
    console().print(f"[yellow]left out, all their overlaps are masked:[/] {', '.join(left_out)}")
    return overlap.subset([name for name in overlap.names if name not in left_out])


def figure_path(figure: Path | None, output: Path) -> Path:
    """Where a figure goes: beside the output unless it was said."""
    from brittle.plots import check_figure

    return check_figure(figure or output.with_suffix(".svg"))


def check_ending(output: Path, what: str, *endings: str) -> None:
    """Raise unless the output has one of these endings."""
    if output.suffix not in endings:
        raise BrittleError(f"{what} is a {' or '.join(endings)} file, got {str(output)!r}; change the ending")


def tell_files(*paths: Path) -> None:
    """Say what was written."""
    for path in paths:
        console().print(str(path), soft_wrap=True)

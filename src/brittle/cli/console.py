"""What the verbs share: the console, progress, JSON, lists of values in one text, and pictures in files."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from brittle._errors import BrittleError
from brittle._optional import is_taken, run_file
from brittle.cli.options import option
from brittle.cli.styles import DIM, END, YELLOW

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from brittle.benchmarks import Benchmark
    from brittle.corruptions import Corruption
    from brittle.design import OverlapMatrix


IMPORTED: ContextVar[tuple[str, ...]] = ContextVar("IMPORTED", default=())
"""The files of this call's --import, which the command that is suggested next requires too."""


OUTPUT_FOLDER: ContextVar[Path | None] = ContextVar("OUTPUT_FOLDER", default=None)
"""The folder of this call's output where no --output named one."""


def import_files(names: Sequence[str]) -> None:
    """Run the files of --import, in their order."""
    IMPORTED.set(tuple(names))
    for name in names:
        import_file(name)


def import_file(name: str) -> None:
    """Run a file as a module of its own; what it registers with `@corruption` is then known like any other."""
    if Path(name).suffix != ".py" or not Path(name).is_file():
        raise FileNotFoundError(f"--import takes a Python file, got {name!r}")
    run_file(name, None if is_taken(Path(name)) else Path(name).stem)


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal is now."""
    from brittle.cli.progress import NameSafeConsole

    return NameSafeConsole(stderr=stderr or JSON.get(), highlight=False, emoji=False)


def print_json(value: Any) -> None:
    """Print a result for programs: dataclasses and tables as plain JSON, what is no number or infinite as null."""
    import json

    typer.echo(json.dumps(_json_value(value), indent=1, ensure_ascii=False, allow_nan=False))


def _json_value(value: Any) -> Any:
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return _json_value(asdict(value))
    if hasattr(value, "to_dicts"):  # a Polars table
        return _json_value(value.to_dicts())
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return _json_value(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_value(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)


def hint(text: str, *, wrap: bool = False) -> None:
    """Print a hint, unless --quiet; one to be copied is not wrapped."""
    if not QUIET.get():
        console().print(f"{DIM}{text}{END}", soft_wrap=not wrap)


def compile_first(corruptions: Iterable[Corruption] | None = None) -> None:
    """Compile the loops of some corruptions in all processors before their first use, and print that.

    Where it is not known which will be used, only print why the first use takes longer.
    """
    screen = console(stderr=True)
    screen.quiet = QUIET.get()
    if corruptions is None:
        if _never_compiled():
            screen.print(f"{DIM}First use: loops are compiled now and kept, which takes up to a minute, once.{END}")
        return
    from brittle.corruptions import compile_corruptions, uncompiled

    missing = uncompiled(corruptions)
    if not missing:
        return
    count = missing[0].id if len(missing) == 1 else f"{len(missing)} corruptions"
    screen.print(f"{DIM}First use: compiling {count}; this is done once.{END}")
    if len(missing) == 1:  # it compiles itself, as soon elsewhere as here
        return
    with resumable_progress() as bar:
        task = bar.add_task(f"Compiling {count} for the first time", total=len(missing))
        compile_corruptions(missing, progress=lambda done, total: bar.update(task, completed=done, total=total))


def _never_compiled() -> bool:
    """Whether no compiled loop is cached beside the package; numba is not loaded to find out."""
    from importlib.util import find_spec

    spec = find_spec("brittle.corruptions.kernels")
    cache = Path(spec.origin).parent / "__pycache__" if spec is not None and spec.origin else None
    return cache is not None and not any(cache.glob("*.nbi")) and not os.environ.get("NUMBA_CACHE_DIR")


def progress_bar() -> Progress:
    """Progress and remaining time on stderr: a bar in a terminal, else a plain line now and then."""
    from brittle.cli.progress import WorkProgress

    return WorkProgress(console(stderr=True), quiet=QUIET.get())


def interrupted() -> NoReturn:
    """Print that nothing is lost, and exit with the code of interrupted programs."""
    console(stderr=True).print("Interrupted. All files in place are complete; the same command resumes.")
    raise typer.Exit(130) from None


def say_next(*arguments: object, after: Path | str = "") -> None:
    """Print the command that comes next, ready to be typed: quoted, and with the --import of this call."""
    from rich.text import Text

    if QUIET.get():
        return

    imports = [argument for file in IMPORTED.get() for argument in ("--import", file)]
    line = Text(f"next: {shlex.join(['brittle', *imports, *map(str, arguments)])}", style="dim")
    console().print(Text.assemble(str(after), "  ", line) if str(after) else line, soft_wrap=True)


JSON: ContextVar[bool] = ContextVar("JSON", default=False)
"""Whether this call prints JSON: then everything else goes to the standard error."""

QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
VERBOSE: ContextVar[bool] = ContextVar("VERBOSE", default=False)


CALLED: ContextVar[Any] = ContextVar("CALLED", default=None)
"""The call of the verb that runs."""


def with_options(sentence: str) -> str:
    """A sentence of the library with the options of the verb that runs in the place of its keywords.

    So `train_limit=5` becomes --train-limit 5, `overwrite=True` --overwrite, and `corruptions` --corruption.
    """
    if CALLED.get() is None:
        return sentence
    flags: dict[str, str] = {}
    for part in CALLED.get().command.params:
        for flag in long_flags(part):
            name = flag.removeprefix("--").replace("-", "_")
            flags = {f"{name}s": flag, name: flag} | flags | {part.name: flag}

    def option(keyword: re.Match[str]) -> str:
        flag, value = flags.get(keyword["name"]), (keyword["value"] or "").strip("'")
        if flag is None:
            return keyword[0]
        return flag if value in ("", "True") else f"{flag} {value}"

    return re.sub(r"`(?P<name>[a-z_]+)(?:=(?P<value>[^`]*))?`", option, sentence)


def long_flags(part: Any) -> list[str]:
    """The long names of an option."""
    return [flag for flag in part.opts if flag.startswith("--")]


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Whether progress and hints are printed, and whether settings, time and memory are."""
    if quiet and verbose:
        raise BrittleError("--quiet and --verbose contradict each other; give one of them")
    QUIET.set(quiet)
    VERBOSE.set(verbose)


@contextmanager
def resumable_progress() -> Iterator[Progress]:
    """A progress bar; Ctrl-C removes it, prints that nothing is lost, and exits."""
    with progress_bar() as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            bar.stop()
            interrupted()


def split_commas(values: Sequence[str] | None, *, repeats: bool = False) -> list[str]:
    """Every value, in the order given, each once unless it may be repeated."""
    parts = [part.strip() for value in values or () for part in value.split(",") if part.strip()]
    return parts if repeats else list(dict.fromkeys(parts))


def split_numbers(values: Sequence[str] | None, what: str, *, repeats: bool = False) -> list[float]:
    """Every number, in the order given, each once unless it may be repeated."""
    numbers = []
    for part in split_commas(values, repeats=True):
        try:
            numbers.append(float(part))
        except ValueError:
            raise BrittleError(f"{what} must be numbers such as 1,2.5,5; got {part!r}") from None
    return numbers if repeats else list(dict.fromkeys(numbers))


TEXTURES = Annotated[
    Path | None,
    option("--textures", show_default="textures that come with brittle"),
]


def choose_benchmark(
    benchmark: str | None,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None = None,
    *,
    seed: int | None = None,
    textures: Path | None = None,
    default: str | None = None,
) -> Benchmark | None:
    """The benchmark of a command line, whose corruptions and severities are repeated or have commas."""
    from brittle import benchmarks

    return benchmarks.choose_benchmark(
        benchmark,
        corruptions=split_commas(corruptions),
        severities=split_numbers(severities, "severities"),
        seed=seed,
        textures=textures,
        default=default,
    )


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
    """The matrix without corruptions all of whose overlaps are masked, which are printed."""
    from brittle.design import without_masked

    known = without_masked(overlap)
    left_out = [name for name in overlap.names if name not in known.names]
    if left_out:
        console().print(f"{YELLOW}left out, all their overlaps are masked:{END} {', '.join(left_out)}")
    return known


def figure_path(figure: Path | None, output: Path) -> Path:
    """The path of a figure: beside the output unless another is given."""
    from brittle.plots import check_figure

    return check_figure(figure or output.with_suffix(".svg"))


def check_ending(output: Path, what: str, *endings: str) -> None:
    """Raise unless the output has one of these endings."""
    if output.suffix not in endings:
        raise BrittleError(f"{what} is a {' or '.join(endings)} file, got {str(output)!r}; change the ending")


def tell_files(*paths: Path) -> None:
    """Print the files that were written."""
    for path in paths:
        console().print(str(path), soft_wrap=True)

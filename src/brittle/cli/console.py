"""What the verbs share: where they write to, what they read, and how they say that something is wrong."""

from __future__ import annotations

import math
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice, pairwise
from pathlib import Path
from traceback import print_exc
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeGuard

import typer
from typer.core import TyperCommand, TyperGroup

from brittle._errors import BrittleError, CallbackFailed, ModelError, RunError
from brittle._io import DamagedFile, atomic_write
from brittle._user_code import load_module
from brittle.cli.options import option

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from rich.console import Console
    from rich.progress import Progress

    from brittle.benchmarks import Benchmark
    from brittle.corruptions import Corruption
    from brittle.design import OverlapMatrix

MISTAKES = (BrittleError, OSError, ImportError, MemoryError)
"""What is raised when something was asked for that cannot be, or cannot be here: exit code 2 and one sentence."""

USAGE_ERROR: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""A wrong option or argument, which Typer tells itself; it is not exported there."""

REPORT = (
    "This is a mistake in brittle, not in what you typed. What was finished is kept. Please report it with the lines "
    "above, the command and `brittle --version`."
)


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


def tell_damage() -> None:
    """From now on say in one yellow sentence, each once, that a file is damaged or that a callback failed."""
    from rich.text import Text

    python_says, said = warnings.showwarning, set()

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, (DamagedFile, CallbackFailed)):
            python_says(message, category, *where, **more)
        elif str(message) not in said:
            said.add(str(message))
            console(stderr=True).print(Text(f"Warning: {message}.", style="yellow"), soft_wrap=True)

    for category in (DamagedFile, CallbackFailed):
        warnings.simplefilter("always", category)
    warnings.showwarning = show


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


ANYWHERE = {"--import": 1, "--config": 1, "--traceback": 0, "--quiet": 0, "-q": 0, "--verbose": 0, "-v": 0}
"""Options of the whole command line that may also stand after the verb, and how many values they take."""


class Verbs(TyperGroup):
    """The group of all verbs: a user's mistake becomes one red sentence and exit code 2, ours keeps its traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let some options also stand after the verb, where one thinks of them, and add those of --config."""
        front: list[str] = []
        rest: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                rest += [word, *words]
            elif word.partition("=")[0] in ANYWHERE:
                values = 0 if "=" in word else ANYWHERE[word.partition("=")[0]]
                front += [word, *islice(words, values)]
            else:
                rest.append(word)
        path = _value_of("--config", front)
        if path is not None:
            from brittle.cli.config import with_config

            with self._one_sentence(ctx, "--traceback" in front):
                rest = with_config(self, rest, path)
        return super().parse_args(ctx, [*front, *rest])

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and keep its call in the folder that it writes to."""
        from time import monotonic

        began = monotonic()
        with self._one_sentence(ctx, bool(ctx.params.get("traceback"))), warnings.catch_warnings():
            tell_damage()
            refused = False
            try:
                result = super().invoke(ctx)
            except (USAGE_ERROR, *MISTAKES):
                refused = True
                raise
            finally:
                keep_command(refused)
        if VERBOSE.get():
            tell_cost(monotonic() - began)
        return result

    @contextmanager
    def _one_sentence(self, ctx: Any, traceback: bool) -> Iterator[None]:
        hint = ""
        try:
            yield
            return
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except USAGE_ERROR as error:
            context = getattr(error, "ctx", None) or ctx
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            code, sentence = 2, error.format_message().rstrip(".").replace("Value error, ", "")  # type: ignore[attr-defined]
            hint = f"`{context.command_path} --help` shows its options."
        except MISTAKES as error:
            if traceback or _is_our_own(error):
                raise
            code, sentence = 2, _missing(error) or str(error) or type(error).__name__
        except RunError as error:
            if traceback:
                raise
            code, sentence = 1, str(error)
            if isinstance(error, ModelError):
                hint = (
                    f"What was finished is kept. `brittle --traceback {ctx.invoked_subcommand} …` shows where it arose."
                )
        except Exception:
            print_exc()
            code, sentence, hint = 1, "", REPORT
        from rich.text import Text

        screen = console(stderr=True)
        if sentence:
            screen.print(Text(f"Error: {sentence}", style="red"), soft_wrap=True)
        if hint:
            screen.print(Text(hint, style="dim"), soft_wrap=True)
        raise typer.Exit(code)


class Verb(TyperCommand):
    """A verb that notes how it was called, for the folder that it writes to."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        CALLED.set(ctx)
        JSON.set(bool(ctx.params.get("as_json")))
        if VERBOSE.get():
            tell_settings(ctx)
        try:
            return super().invoke(ctx)
        finally:
            JSON.set(False)


CALLED: ContextVar[Any] = ContextVar("CALLED", default=None)
"""The call of the verb that runs."""


def keep_command(refused: bool) -> None:
    """Write command.toml into the folder that the verb's output is, if there is one now.

    A refused call keeps nothing: the folder may be none of brittle's, or hold the call that made it.
    """
    ctx = CALLED.get()
    CALLED.set(None)
    output = None if ctx is None else ctx.params.get("output")
    if refused or not _holds_files(output):
        return
    from brittle.cli.config import save_command

    with suppress(OSError):  # a full disk is told by what failed there first
        save_command(output, ctx.command_path.split()[1:], ctx.command, ctx, IMPORTED.get())


def _holds_files(output: object) -> TypeGuard[Path]:
    """Whether it is a folder with more in it than hidden files."""
    return isinstance(output, Path) and output.is_dir() and any(item.name[0] != "." for item in output.iterdir())


def tell_settings(ctx: Any) -> None:
    """Print every option of a call with its value."""
    from brittle.cli.config import all_settings

    screen = console(stderr=True)
    for name, value in all_settings(ctx).items():
        screen.print(f"[dim]{name} = {value}[/]", soft_wrap=True, markup=True)


def tell_cost(seconds: float) -> None:
    """Print the time and the largest memory of a call."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    console(stderr=True).print(f"[dim]{seconds:.1f} s, {peak:,.0f} MiB of memory at most[/]")


def _value_of(name: str, words: Sequence[str]) -> str | None:
    for word, after in pairwise([*words, ""]):
        if word == name:
            return after
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _missing(error: BaseException) -> str | None:
    """How to get a package that a whole room of the library needs, such as torch for training."""
    from brittle._optional import INSTALL, how_to_install

    if not isinstance(error, ModuleNotFoundError) or not str(error).startswith("No module named"):
        return None
    package = (error.name or "").partition(".")[0]
    if package not in INSTALL:
        return None
    return f"this needs {package}, which is not installed: {how_to_install(INSTALL[package])}"


def _is_our_own(error: BaseException) -> bool:
    """Whether an import failed inside brittle, which nobody can install."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "brittle"


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
    from brittle.report.figures import check_figure

    return check_figure(figure or output.with_suffix(".svg"))


def check_ending(output: Path, what: str, *endings: str) -> None:
    """Raise unless the output has one of these endings."""
    if output.suffix not in endings:
        raise BrittleError(f"{what} is a {' or '.join(endings)} file, got {str(output)!r}; change the ending")


def tell_files(*paths: Path) -> None:
    """Say what was written."""
    for path in paths:
        console().print(str(path), soft_wrap=True)

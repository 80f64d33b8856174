"""Where the command line writes to, and how it says that something is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

MISTAKES = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What the library raises when it was asked for something that cannot be: exit code 2."""


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal is now."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, emoji=False)


def say_if_compiling() -> None:
    """Say why the very first use of a corruption takes its time."""
    from importlib.util import find_spec

    spec = find_spec("brittle.corruptions.kernels")
    kept = Path(spec.origin).parent / "__pycache__" if spec is not None and spec.origin else None
    if kept is not None and not any(kept.glob("*.nbi")) and not os.environ.get("NUMBA_CACHE_DIR"):
        screen = console(stderr=True)
        screen.print("[dim]First use: loops are compiled now and kept, which takes up to a minute, once.[/]")


def progress_bar() -> Progress:
    """A bar on stderr with what is done and the time that is left; none where stderr is a file."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("·"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=screen,
        disable=not screen.is_terminal,
        transient=True,
        expand=True,
    )


def interrupted() -> NoReturn:
    """Say that nothing is lost, and leave as programs do that were interrupted."""
    console(stderr=True).print("Interrupted. All files in place are complete; the same command goes on.")
    raise typer.Exit(130) from None


class Verbs(TyperGroup):
    """The group of all verbs: a mistake becomes one red sentence and exit code 2, not a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        hint = ""
        try:
            return super().invoke(ctx)
        except MISTAKES as error:
            if ctx.params.get("traceback") or isinstance(error, BrokenPipeError):
                raise
            code = 2
            sentence = _missing(error) or str(error) or type(error).__name__
        except RuntimeError as error:
            if ctx.params.get("traceback") or not _is_ours(error):
                raise
            code, sentence = 1, str(error)
            if type(error) is not RuntimeError:
                hint = (
                    f"What was finished is kept. `brittle --traceback {ctx.invoked_subcommand} …` shows where it arose."
                )
        from rich.text import Text

        screen = console(stderr=True)
        screen.print(Text(f"Error: {sentence}", style="red"), soft_wrap=True)
        if hint:
            screen.print(Text(hint, style="dim"), soft_wrap=True)
        raise typer.Exit(code)


def _missing(error: BaseException) -> str | None:
    """How to get a package that a whole room of the library needs, such as torch for training."""
    from brittle.models.needs import INSTALL, how_to_install

    if not isinstance(error, ModuleNotFoundError) or not str(error).startswith("No module named"):
        return None
    package = (error.name or "").partition(".")[0]
    if package not in INSTALL:
        return None
    return f"this needs {package}, which is not installed: {how_to_install(INSTALL[package])}"


def _is_ours(error: RuntimeError) -> bool:
    """Whether it is told by us, as a failure of a model's own code is; typer.Exit is a RuntimeError too."""
    if isinstance(error, typer.Exit | typer.Abort):
        return False
    from brittle.models import ModelError

    return type(error) is RuntimeError or isinstance(error, ModelError)

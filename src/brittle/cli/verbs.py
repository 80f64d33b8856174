"""How a verb is called and how it ends: options anywhere, calls as files, and errors as one sentence."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice, pairwise
from pathlib import Path
from traceback import print_exc
from typing import Any, TypeGuard

import typer
from typer.core import TyperCommand, TyperGroup

from brittle._errors import BrittleError, CallbackFailed, ModelError, RunError, SkippedImages
from brittle._io import DamagedFile
from brittle.cli.console import IMPORTED, JSON, VERBOSE, console

MISTAKES = (BrittleError, OSError, ImportError, MemoryError)
"""What is raised when something was asked for that cannot be, or cannot be here: exit code 2 and one sentence."""


USAGE_ERROR: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""A wrong option or argument, which Typer tells itself; it is not exported there."""


REPORT = (
    "This is a mistake in brittle, not in what you typed. What was finished is kept. Please report it with the lines "
    "above, the command and `brittle --version`."
)


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


def tell_damage() -> None:
    """From now on say in one yellow sentence, each once, what is damaged, skipped or failed."""
    from rich.text import Text

    python_says, said = warnings.showwarning, set()

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, (DamagedFile, CallbackFailed, SkippedImages)):
            python_says(message, category, *where, **more)
        elif str(message) not in said:
            said.add(str(message))
            console(stderr=True).print(Text(f"Warning: {message}.", style="yellow"), soft_wrap=True)

    for category in (DamagedFile, CallbackFailed, SkippedImages):
        warnings.simplefilter("always", category)
    warnings.showwarning = show


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

"""How a verb is called and how it ends: options anywhere, calls as files, and errors as one sentence."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, pairwise
from pathlib import Path
from traceback import print_exc
from typing import Any, TypeGuard

import typer
from typer.core import TyperCommand, TyperGroup

from brittle._errors import BrittleError, CallbackFailed, ModelError, RunError, SkippedImages
from brittle._io import COMMAND, FULL, DamagedFile, atomic_write, make_way, toml_text
from brittle._parts import is_part
from brittle._types import printable
from brittle.cli.console import CALLED, IMPORTED, JSON, OUTPUT_FOLDER, VERBOSE, console, long_flags, with_options
from brittle.cli.styles import DIM, END

MISTAKES = (BrittleError, OSError, ImportError, MemoryError)
"""What is raised when something was asked for that cannot be, or cannot be here: exit code 2 and one sentence."""


USAGE_ERROR: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""A wrong option or argument, which Typer reports itself; it is not exported there."""


REPORT = (
    "This is a mistake in brittle, not in what you typed. What was finished is kept. Please report it with the lines "
    "above, the command and `brittle --version`."
)


ANYWHERE = {
    "--import": 1,
    "--config": 1,
    "--workers": 1,
    "-j": 1,
    "--traceback": 0,
    "--quiet": 0,
    "-q": 0,
    "--verbose": 0,
    "-v": 0,
}
"""Options of all verbs, which may stand before or after the verb, and the number of values they take."""


VALUES = {"bool": "", "int": "N", "float": "X", "str": "TEXT", "path": "PATH", "file": "FILE", "directory": "FOLDER"}
"""What stands for the value of an option in the help, by its type; a switch has none."""


class PlainHelp:
    """What a command shows of its options: `--limit N` and `--report`, not the types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, with a word for the value of each option that has none of its own."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "option" and param.metavar is None:
                kind = param.display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]")
                param.metavar = VALUES.get(kind.removesuffix(" range"))
        return params


class VerbGroup(PlainHelp, TyperGroup):
    """A verb that has verbs below it, such as `brittle design`."""


class Verbs(VerbGroup):
    """The group of all verbs: a user's mistake becomes one red sentence and exit code 2, ours keeps its traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let the options of all verbs also stand after the verb, and add those of --config."""
        shared: list[str] = []
        rest: list[str] = []
        arguments = iter(args)
        for argument in arguments:
            name = _option_name(argument)
            if argument == "--":
                rest += [argument, *arguments]
            elif name in ANYWHERE:
                attached = argument != name  # its value, as in --config=FILE or -j4
                shared += [argument, *islice(arguments, 0 if attached else ANYWHERE[name])]
            else:
                rest.append(argument)
        path = _value_of("--config", shared)
        if path is not None:
            from brittle.cli.config import with_config

            with self._one_sentence(ctx, "--traceback" in shared):
                rest = with_config(self, rest, path)
        return super().parse_args(ctx, _shared_last(shared, rest))

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and keep its call in the folder that it writes to."""
        from time import monotonic

        began = monotonic()
        CALLED.set(None)
        with self._one_sentence(ctx, bool(ctx.params.get("traceback"))), warnings.catch_warnings():
            show_warnings()
            refused = False
            try:
                result = super().invoke(ctx)
            except (USAGE_ERROR, *MISTAKES):
                refused = True
                raise
            finally:
                keep_command(refused)
        if VERBOSE.get():
            print_cost(monotonic() - began)
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
            if traceback or _is_internal(error):
                raise
            code, sentence = 2, _missing(error) or _of_disk(error) or str(error) or type(error).__name__
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
            screen.print(Text(f"Error: {with_options(sentence)}", style="red"), soft_wrap=True)
        if hint:
            screen.print(Text(hint, style="dim"), soft_wrap=True)
        raise typer.Exit(code)


class Verb(PlainHelp, TyperCommand):
    """A verb that notes how it was called, for the folder that it writes to."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        CALLED.set(ctx)
        JSON.set(bool(ctx.params.get("as_json")))
        if VERBOSE.get():
            print_settings(ctx)
        try:
            return super().invoke(ctx)
        finally:
            JSON.set(False)


def keep_command(refused: bool) -> None:
    """Write command.toml into the folder that the verb's output is, if there is one now.

    A refused call keeps nothing: the folder may be none of brittle's, or hold the call that made it.
    """
    ctx, default = CALLED.get(), OUTPUT_FOLDER.get()
    OUTPUT_FOLDER.set(None)
    output = None if ctx is None else ctx.params.get("output") or default
    if refused or not _holds_files(output):
        return
    with suppress(OSError):  # a full disk is told by what failed there first
        save_command(output, ctx.command_path.split()[1:], ctx.command, ctx, IMPORTED.get())


def save_command(folder: Path, verb: list[str], command: Any, context: Any, imports: Iterable[str]) -> None:
    """Write the arguments and options of a call into its output folder, as they were typed or read from a file."""
    from brittle import __version__

    arguments: list[str] = []
    options: dict[str, Any] = {}
    for part in command.params:
        source = context.get_parameter_source(part.name)
        value = context.params.get(part.name)
        if source is None or source.name not in ("COMMANDLINE", "ENVIRONMENT") or value is None:
            continue
        flags = long_flags(part) or list(part.opts)
        if not flags[0].startswith("-"):
            arguments += map(_toml_value, value) if isinstance(value, list | tuple) else [printable(str(value))]
        else:
            options[flags[0].lstrip("-")] = _toml_value(value)
    about: dict[str, Any] = {"command": " ".join(verb), "brittle": __version__}
    about |= {"import": list(map(printable, imports))} if tuple(imports) else {}
    workers = context.find_root().params.get("workers")
    about |= {} if workers is None else {"workers": workers}
    about |= {"arguments": arguments} if arguments else {}
    head = (
        "# The call that made this folder; paths are seen from where it was typed. Repeat it: brittle --config FILE\n"
    )
    text = head + toml_text({**about, "options": options})
    path = folder / COMMAND
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
        make_way(path)
        with atomic_write(path) as part_file:
            part_file.write_text(text, encoding="utf-8")


def _toml_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_toml_value(one) for one in value]
    return value if isinstance(value, bool | int | float) else printable(str(value))


def _holds_files(output: object) -> TypeGuard[Path]:
    """Whether it is a folder with more in it than hidden files."""
    return isinstance(output, Path) and output.is_dir() and any(item.name[0] != "." for item in output.iterdir())


def print_settings(ctx: Any) -> None:
    """Print every option of a call with its value."""
    from brittle.cli.config import all_settings

    screen = console(stderr=True)
    for name, value in all_settings(ctx).items():
        screen.print(f"{DIM}{name} = {value}{END}", soft_wrap=True)


def print_cost(seconds: float) -> None:
    """Print the time and the largest memory of a call."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    console(stderr=True).print(f"{DIM}{seconds:.1f} s, {peak:,.0f} MiB of memory at most{END}")


def show_warnings() -> None:
    """From now on print one yellow sentence, each once, if files are damaged, images left out or callbacks failed."""
    from rich.text import Text

    default, printed = warnings.showwarning, set()

    def show(message: Any, category: type[Warning], *position: Any, **options: Any) -> None:
        if not issubclass(category, (DamagedFile, CallbackFailed, SkippedImages)):
            default(message, category, *position, **options)
        elif str(message) not in printed:
            printed.add(str(message))
            console(stderr=True).print(Text(f"Warning: {with_options(str(message))}.", style="yellow"), soft_wrap=True)

    for category in (DamagedFile, CallbackFailed, SkippedImages):
        warnings.simplefilter("always", category)
    warnings.showwarning = show


def _option_name(argument: str) -> str:
    """The name of an option, without a value that is attached to it."""
    if argument.startswith("-j") and argument[2:].isdecimal():
        return "-j"
    return argument.partition("=")[0]


def _shared_last(shared: Sequence[str], rest: Sequence[str]) -> list[str]:
    """All arguments, those of all verbs before the verb: what was typed after what a file of --config adds, to win."""
    verb = 0
    while verb < len(rest) and _option_name(rest[verb]) in ANYWHERE:
        verb += 1 + ANYWHERE.get(rest[verb], 0)
    return [*rest[:verb], *shared, *rest[verb:]]


def _value_of(name: str, arguments: Sequence[str]) -> str | None:
    for argument, after in pairwise([*arguments, ""]):
        if argument == name:
            return after
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
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


def _of_disk(error: BaseException) -> str | None:
    """What to do if a disk is full, takes no file that is so large, or a folder takes none at all."""
    if not isinstance(error, OSError):
        return None
    path, reason = str(error.filename or ""), error.strerror
    place = f" ({path!r})" if path else ""
    if error.errno in FULL:
        return f"the disk is full: {reason}{place}; what was finished is kept: make room, and repeat the command"
    if error.errno == errno.EFBIG:
        return f"no file may be so large here: {reason}{place}; write to another disk, or see `ulimit -f`"
    if is_part(path):  # the file that was tried first says little
        folder = str(Path(path).parent)
        return f"nothing can be written to {folder!r}: {reason}; choose another folder, or let this user write to it"
    return None


def _is_internal(error: BaseException) -> bool:
    """Whether an import failed inside brittle, which nobody can install."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "brittle"

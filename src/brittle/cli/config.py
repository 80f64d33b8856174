"""A call of the command line read from a file, with `--config FILE`; `verbs.py` writes one to every output folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._texts import read_toml_file
from brittle.cli.console import long_flags

GLOBAL = ("import", "quiet", "verbose", "traceback", "workers")
KEYS = ("command", "arguments", "options", "brittle", *GLOBAL)
KINDS: dict[str, tuple[type, str]] = {
    "command": (str, 'command = "run"'),
    "arguments": (list, 'arguments = ["photo.jpg"]'),
    "options": (dict, "[options], with a line for each"),
}
"""What a key holds, and how it is written."""


def with_config(group: Any, arguments: list[str], path: str) -> list[str]:
    """The arguments of a call with those of a file; an option that was typed wins over the file's.

    The file has `command`, a verb such as "run" or "design overlap", which may be typed instead, `arguments`, which are
    what stands without an option's name, and `[options]` by their long names.
    """
    config = _read(Path(path))
    verb, command, rest = _verb(group, arguments)
    named = str(config.get("command", "")).split()
    if not verb:
        verb, command, left = _verb(group, named)
        if not verb or left or hasattr(command, "commands"):
            raise BrittleError(f'{path!r} has no command, and none was typed; write command = "run", for example')
    elif named and named != verb:
        raise BrittleError(
            f"{path!r} is a call of `brittle {' '.join(named)}`, and `brittle {' '.join(verb)}` was typed"
        )
    known = {flag.removeprefix("--"): part for part in command.params for flag in long_flags(part)}
    typed = {_option_name(argument) for argument in rest if argument.startswith("-")}
    added: list[str] = []
    for name, value in config.get("options", {}).items():
        if name not in known:
            raise BrittleError(
                f"{path!r} sets {name!r}, which `brittle {' '.join(verb)}` has no option for; "
                f"{did_you_mean(name, known)}"
            )
        if not typed & {*known[name].opts, *known[name].secondary_opts}:
            added += _typed(name, value, known[name], path)
    has_arguments = rest and not rest[0].startswith("-")
    positional = [] if has_arguments else [str(value) for value in config.get("arguments", ())]
    shared = [argument for name in GLOBAL if name in config for argument in _shared(name, config[name])]
    return [*shared, *verb, *positional, *added, *rest]


def _read(path: Path) -> dict[str, Any]:
    config = read_toml_file(path, "options")
    for key in config:
        if key not in KEYS:
            raise BrittleError(
                f"{str(path)!r} has an unknown key {key!r}; {did_you_mean(key, KEYS)} Options stand in [options]"
            )
    for key, (kind, example) in KINDS.items():
        if not isinstance(config.get(key, kind()), kind):
            raise BrittleError(f"{str(path)!r} has {key} = {config[key]!r}; write it as in {example}")
    return config


def _verb(group: Any, arguments: Iterable[str]) -> tuple[list[str], Any, list[str]]:
    """The verb that arguments begin with, its command, and the arguments after it."""
    path, command, rest = [], group, list(arguments)
    while rest and rest[0] in getattr(command, "commands", {}):
        path.append(rest.pop(0))
        command = command.commands[path[-1]]
    return path, command, rest


def _option_name(argument: str) -> str:
    return argument.partition("=")[0] if argument.startswith("--") else argument[:2]


def _typed(name: str, value: Any, part: Any, path: str) -> list[str]:
    """An option of a file as it would be typed."""
    if getattr(part, "is_flag", False):
        if not isinstance(value, bool):
            raise BrittleError(f"{path!r} sets {name} to {value!r}; it is true or false")
        off = part.secondary_opts[:1]
        return [f"--{name}"] if value else off
    values = value if isinstance(value, list) else [value]
    return [argument for each in values for argument in (f"--{name}", str(each))]


def _shared(name: str, value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if each is True:
            yield f"--{name}"
        elif each is not False:
            yield from (f"--{name}", str(each))


def all_settings(context: Any) -> Mapping[str, Any]:
    """Every option of a call with its value, typed or by default."""
    return {name: value for name, value in context.params.items() if value is not None}

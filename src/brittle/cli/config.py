"""A call of the command line read from a file, with `--config FILE`; `verbs.py` writes one to every output folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle.cli.verbs import long_flags

GLOBAL = ("import", "quiet", "verbose", "traceback", "workers")
KEYS = ("command", "arguments", "options", "brittle", *GLOBAL)


def with_config(group: Any, words: list[str], path: str) -> list[str]:
    """The words of a call with what a file adds to them; an option that was typed wins over the file's.

    The file has `command`, a verb such as "run" or "design overlap", which may be typed instead, `arguments`, which are
    what stands without an option's name, and `[options]` by their long names.
    """
    config = _read(Path(path))
    verb, command, rest = _verb(group, words)
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
    typed = {_base(word) for word in rest if word.startswith("-")}
    added: list[str] = []
    for name, value in config.get("options", {}).items():
        if name not in known:
            raise BrittleError(
                f"{path!r} sets {name!r}, which `brittle {' '.join(verb)}` has no option for; "
                f"{did_you_mean(name, known)}"
            )
        if not typed & {*known[name].opts, *known[name].secondary_opts}:
            added += _words(name, value, known[name], path)
    has_arguments = rest and not rest[0].startswith("-")
    arguments = [] if has_arguments else [str(value) for value in config.get("arguments", ())]
    shared = [word for name in GLOBAL if name in config for word in _shared(name, config[name])]
    return [*shared, *verb, *arguments, *added, *rest]


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r} of options")
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BrittleError(f"{str(path)!r} is not a TOML file: {error}") from error
    for key in config:
        if key not in KEYS:
            raise BrittleError(
                f"{str(path)!r} has an unknown key {key!r}; {did_you_mean(key, KEYS)} Options stand in [options]"
            )
    return config


def _verb(group: Any, words: Iterable[str]) -> tuple[list[str], Any, list[str]]:
    """The verb that words begin with, its command, and the words after it."""
    path, command, rest = [], group, list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        path.append(rest.pop(0))
        command = command.commands[path[-1]]
    return path, command, rest


def _base(word: str) -> str:
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _words(name: str, value: Any, part: Any, path: str) -> list[str]:
    """An option of a file as it would be typed."""
    if getattr(part, "is_flag", False):
        if not isinstance(value, bool):
            raise BrittleError(f"{path!r} sets {name} to {value!r}; it is true or false")
        off = part.secondary_opts[:1]
        return [f"--{name}"] if value else off
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (f"--{name}", str(one))]


def _shared(name: str, value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if one is True:
            yield f"--{name}"
        elif one is not False:
            yield from (f"--{name}", str(one))


def all_settings(context: Any) -> Mapping[str, Any]:
    """Every option of a call with its value, typed or by default."""
    return {name: value for name, value in context.params.items() if value is not None}

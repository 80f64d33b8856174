"""Python of the user's own, run before a verb so that it knows what is defined there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

IMPORTED: ContextVar[tuple[str, ...]] = ContextVar("IMPORTED", default=())
"""The files of this call's --import, which the command that comes next needs too."""


def run_files(names: Sequence[str]) -> None:
    """Run the files of --import, in their order."""
    IMPORTED.set(tuple(names))
    for name in names:
        run_file(name)


def run_file(name: str) -> None:
    """Run a file as a module of its own; what it registers with `@corruption` is then known like any other."""
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise FileNotFoundError(f"--import takes a Python file, got {name!r}")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[path.stem] = module = module_from_spec(spec)
    spec.loader.exec_module(module)

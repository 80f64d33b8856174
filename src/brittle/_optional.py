"""Code of others: optional packages, with how to install them, Python files of users, and errors of their models."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from brittle._errors import BrittleError, ModelError
from brittle._parallel import wait_passively

EXTRAS = {
    "torch": "torch safetensors",
    "timm": "torch safetensors timm",
    "transformers": "torch safetensors transformers",
    "onnx": "onnxruntime",
    "ray": "ray",
    "sliders": "torch safetensors transformers diffusers peft accelerate",
    "plots": "matplotlib",
    "explore": "starlette uvicorn",
}
"""The packages of each extra of brittle."""

INSTALL = {
    "torch": "torch",
    "safetensors": "torch",
    "timm": "timm",
    "transformers": "transformers",
    "onnxruntime": "onnx",
    "ai_edge_litert": "ai-edge-litert",
    "keras": "keras",
    "matplotlib": "plots",
    "torchvision": "torchvision",
    "albumentations": "albumentations",
    "starlette": "explore",
    "uvicorn": "explore",
    "autoattack": "git+https://github.com/fra31/auto-attack",
}
"""The extra that installs a package, or what pip installs if none does; RobustBench imports autoattack."""

IMPORT_TORCHVISION = ("torchvision", "timm", "robustbench", "transformers", "diffusers", "peft", "open_clip")
"""Packages that import torchvision if it is installed, and fail if it does not match torch."""

NEED_TORCHVISION = ("torchvision", "timm", "robustbench", "open_clip")
"""Those of them that cannot do without it; the others are told that it is not installed if it cannot be imported."""


def how_to_install(extra: str) -> str:
    """The pip command for an extra of brittle, or for another package.

    It names the extra's packages and not brittle, whose name may belong to another project on a package index.
    """
    if extra not in EXTRAS:
        return f"pip install {extra}"
    return f"pip install {EXTRAS[extra]} (or in a clone of brittle: pip install '.[{extra}]')"


def require(module: str, extra: str | None = None) -> Any:
    """Import an optional module, or raise with the pip command that installs it."""
    package = module.partition(".")[0]
    wait_passively()  # all of these packages compute with threads
    if package in IMPORT_TORCHVISION:
        patch_torchvision(needed=package in NEED_TORCHVISION)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            dependency = str(error.name).partition(".")[0]
            raise ModuleNotFoundError(
                f"{package} is installed, but not {dependency}, which it needs: "
                f"{how_to_install(INSTALL.get(dependency, dependency))}",
                name=error.name,
            ) from error
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: {how_to_install(extra or INSTALL[package])}",
            name=package,
        ) from error


MISSING_OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_libraries: list[Any] = []  # an operator lasts as long as the Library object that defines it


_unusable: list[ImportError] = []  # why torchvision is hidden, if it is


def patch_torchvision(*, needed: bool = True) -> None:
    """Import torchvision if it is installed, with a workaround for a CUDA build of it beside a CPU build of torch.

    Such a build lacks the operator `torchvision::nms`, which only detectors need. It is declared without a body and the
    import is retried: classifiers and diffusion pipelines then work. timm, transformers and diffusers import
    torchvision internally and hide the cause where that fails, so this runs first. Any other failing torchvision
    raises an ImportError that says what to do, or, where it is not `needed`, is hidden from the packages that would
    import it.
    """
    if "torchvision" not in sys.modules:
        try:
            _import_torchvision()
        except ImportError as error:
            _unusable.append(error)
            sys.modules["torchvision"] = None  # type: ignore[assignment]  # as if it were not installed
    if needed and _unusable:
        raise _unusable[-1]


def _import_torchvision() -> None:
    try:
        import_module("torchvision")
        return
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise _mismatch(error) from error
    except (ImportError, OSError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name in ("torchvision", "torch"):
            return  # not installed; a package that needs it says so
        raise _mismatch(error) from error
    library = import_module("torch").library.Library("torchvision", "FRAGMENT")
    for operator in MISSING_OPERATORS:
        library.define(f"{operator}{SIGNATURE}")
    _libraries.append(library)
    _unload_torchvision()
    try:
        import_module("torchvision")
    except Exception as error:
        raise _mismatch(error) from error


def _unload_torchvision() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


def _mismatch(error: Exception) -> ImportError:
    """The error for a torchvision that fails at its import."""
    _unload_torchvision()
    versions = []
    for package in ("torchvision", "torch"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(package)
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return ImportError(
        f"{versions[0]} does not match {versions[1]} and cannot be imported ({reason}); install both from one "
        "index, as pytorch.org pairs them, or if no model of torchvision or timm is used: pip uninstall torchvision",
        name="torchvision",
    )


def load_module(path: str | Path, name: str | None = None) -> ModuleType:
    """Run a Python file as the module `name`, which stands in sys.modules; the code must be code that you trust."""
    path = Path(path).expanduser()
    if path.suffix != ".py" or not path.is_file():
        raise FileNotFoundError(f"there is no Python file {str(path)!r}")
    name = name or f"brittle_file_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def run_file(path: str | Path, name: str | None = None) -> ModuleType:
    """As `load_module`; what the file raises becomes one sentence that names it."""
    try:
        return load_module(path, name)
    except (Exception, SystemExit) as error:
        if isinstance(error, FileNotFoundError) and not Path(path).expanduser().is_file():
            raise
        raise BrittleError(f"{str(path)!r} failed while it was run: {what_failed(error)}") from error


def is_taken(path: Path) -> bool:
    """Whether another module than this file has its name, such as random.py; it must not take that one's place."""
    loaded = sys.modules.get(path.stem)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return file is None or Path(file).resolve() != path.resolve()
    try:
        spec = find_spec(path.stem)
    except (ImportError, ValueError):
        return True
    return spec is not None and (spec.origin is None or Path(spec.origin).resolve() != path.resolve())


def what_failed(error: BaseException) -> str:
    """An error of others' code in one line: its kind and the first line of what it says."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    if isinstance(error, BrittleError):
        return str(error)
    first_line, *other_lines = str(error).strip().splitlines() or [""]
    reason = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return f"{reason}{' …' if other_lines else ''}"


def public_callables(module: ModuleType) -> list[str]:
    """The names that a user may have meant when a module does not have the one that was asked for."""
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


@contextmanager
def quiet_libraries(*packages: str) -> Iterator[None]:
    """Suppress progress bars and warnings of other libraries; by default of diffusers and transformers."""
    loggers = [require(f"{package}.utils.logging", "sliders") for package in packages or ("diffusers", "transformers")]
    states = [(logging.is_progress_bar_enabled(), logging.get_verbosity()) for logging in loggers]
    try:
        for logging in loggers:
            logging.disable_progress_bar()
            logging.set_verbosity_error()
        yield
    finally:
        for logging, (progress_bar, verbosity) in zip(loggers, states, strict=True):
            logging.set_verbosity(verbosity)
            if progress_bar:
                logging.enable_progress_bar()


class model_errors:  # noqa: N801 - a context manager; one made of a generator would lose StopIteration
    """Convert any exception of a user's model into a `ModelError`; `when` says where, such as "on fog 3"."""

    def __init__(self, model: str, when: str) -> None:
        self.model, self.when = model, when

    def __enter__(self) -> None:
        """Nothing is done."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Raise a ModelError in place of what the model raised; an interruption stays."""
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise ModelError(f"the model {self.model!r} failed {self.when}: {what_failed(error)}") from error

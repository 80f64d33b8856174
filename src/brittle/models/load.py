"""A model from a short text, as on the command line, or from a function in user code."""

from __future__ import annotations

import ast
import copy
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._optional import load_module, model_errors, public_callables
from brittle.models.keras import from_keras, is_keras
from brittle.models.model import SOURCES, Model, from_callable, model_source
from brittle.models.networks import load_into
from brittle.models.options import option_value
from brittle.models.preprocessing import Sides
from brittle.models.torch import from_torch
from brittle.models.torch_files import is_torchscript_file


@model_source("tiny")
def from_demo_pipeline(name: str, *, device: str = "auto") -> Model:
    """A classifier of the demo pipeline, or its diffusion model, from `brittle.sliders`, which is loaded only now."""
    model: Model = import_module("brittle.sliders.demo_pipeline").demo_model(name, device=device)
    return model


@model_source("torch")
def from_function(
    place: str,
    *,
    name: str | None = None,
    weights: str | Path | None = None,
    version: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> Model:
    """A model from "package.module:function" or "path/to/file.py:function".

    The function takes no arguments and returns a `torch.nn.Module`, a `keras.Model`, a model, or a function on batches
    of images. The code is run, so it must be code that you trust. Modules are also searched in the current folder.

    Args:
        place: the path of the function.
        name: the name in results; by default the name of the function.
        weights: a file of weights for a `torch.nn.Module`; `mean`, `std`, `size`, `crop`, `interpolation`, `device` and
            `bf16` are also for modules only, see `from_torch`.
        version: part of the key, for changes that neither weights nor code show, see `from_callable`.
    """
    file, _, function = place.rpartition(":")
    built, model_name = _call_function(place), name or function
    origin = file if model_name == function else place
    preprocessing = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    preprocessing = {option: value for option, value in preprocessing.items() if value is not None}
    if is_keras(built):  # before modules: on the backend torch it is one too
        _reject_options(place, "a network of Keras", weights=weights, bf16=bf16)
        return from_keras(built, name=model_name, version=version, **preprocessing)  # type: ignore[arg-type]
    if _is_module(built):
        if weights is not None:
            load_into(built, weights)
        network = from_torch(built, name=model_name, device=device, bf16=bf16, version=version, **preprocessing)  # type: ignore[arg-type]
        network.origin = origin
        return network
    if isinstance(built, Model):
        _reject_options(place, "a model", name=name, version=version, weights=weights, bf16=bf16, **preprocessing)
        return built
    if callable(built):
        _reject_options(place, "a function on batches", weights=weights, bf16=bf16, **preprocessing)
        return from_callable(built, name=model_name, version=version, origin=origin)
    raise BrittleTypeError(
        f"{place!r} returned {built!r}; it must return a torch.nn.Module, a model, or a function on batches of images"
    )


def _reject_options(place: str, kind: str, **options: Any) -> None:
    rejected = [option for option, value in options.items() if value]
    if rejected:
        raise BrittleTypeError(f"{place!r} returned {kind}, which takes no {', '.join(rejected)}")


def _is_module(built: Any) -> bool:
    torch = sys.modules.get("torch")  # a module exists only if torch was imported
    return torch is not None and isinstance(built, torch.nn.Module)


def _call_function(place: str) -> Any:
    where, _, function = place.rpartition(":")
    if not where or not function:
        raise BrittleError(f"write package.module:function or path/to/file.py:function, got {place!r}")
    path = Path(where).expanduser()
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    with _importable(path.resolve().parent if is_file else Path.cwd()), _module(path if is_file else where) as module:
        if not hasattr(module, function):
            raise BrittleError(f"{where!r} has no {function!r}; {did_you_mean(function, public_callables(module))}")
        built = getattr(module, function)
        is_instance = is_keras(built) or _is_module(built) or (isinstance(built, Model) and not isinstance(built, type))
        if is_instance:
            return built
        with model_errors(place, "while it was made"):
            return built()


@contextmanager
def _module(where: str | Path) -> Iterator[ModuleType]:
    """A module by name or from a file; a file's module leaves sys.modules again, so that Ray pickles it by value."""
    if isinstance(where, str):
        yield import_module(where)
        return
    with model_errors(str(where), "while its file was read"):
        module = load_module(where)
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def model_sources() -> dict[str, Callable[..., Model]]:
    """The builder of each scheme, of this package and of all imported modules."""
    for module in iter_modules(import_module("brittle.models").__path__):
        if module.name not in LATER:
            import_module(f"brittle.models.{module.name}")
    return SOURCES


LATER = ("clip_network", "exported_program", "small_resnet", "torchscript", "wide_resnet")
"""Modules that import torch at the top level."""

FORMS = (
    "demo:standard, demo:augmix, timm:NAME, torchvision:NAME, robustbench:NAME, transformers:FOLDER_OR_ID, "
    "clip:FOLDER_OR_ID, FILE.onnx, FILE.tflite, FILE.pt of TorchScript, FILE.pt2 of torch.export, FILE.keras, "
    "FILE.safetensors, FILE.py:FUNCTION, torch:MODULE:FUNCTION, "
    "diffusion:FOLDER:PROMPTS.txt, http://HOST:PORT, bn-adapt:MODEL"
)

ENDINGS = {
    ".onnx": "onnx",
    ".tflite": "tflite",
    ".safetensors": "weights",
    ".torchscript": "torchscript",
    ".pt2": "torch-export",
    ".keras": "keras",
}
"""The scheme of files that are models without one, by their suffix."""

OPTION = re.compile(r"\s*([A-Za-z_]\w*)=")
"""The start of an option in the text of a model."""


def load_model(spec: str | Path | Model, *, device: str = "auto", bf16: bool = False, **options: Any) -> Model:
    """A model by a text: "demo:standard", "timm:resnet50", "net.onnx", "nets.py:make", and more.

    Options may be part of the text, each after a comma: "timm:resnet50,checkpoint=net.pt" is the same as
    load_model("timm:resnet50", checkpoint="net.pt"), "nets.py:make,size=256,crop=224,mean=0.5,0.5,0.5" sets three.

    >>> import brittle
    >>> model = brittle.load_model("demo:augmix", device="cpu")
    >>> model.scores(brittle.load_dataset("demo").image(0)[None]).shape
    (1, 10)

    Args:
        spec: demo:NAME, timm:NAME, torchvision:NAME, transformers:FOLDER_OR_ID, onnx:FILE or just FILE.onnx,
            FILE.tflite, FILE.pt or FILE.torchscript of TorchScript, FILE.pt2 of torch.export, FILE.keras,
            clip:FOLDER_OR_ID or clip:FOLDER_OR_ID:PROMPTS.txt, http://HOST:PORT,
            weights:FILE or just FILE.safetensors for a network that brittle trained, FILE.py:FUNCTION or
            torch:MODULE:FUNCTION, diffusion:FOLDER:PROMPTS.txt. A model is returned as it is.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast; an ONNX file has its own precision.
        options: those of the function that builds the model, such as checkpoint="net.safetensors" or size=224.
    """
    if not isinstance(spec, str | Path):
        if not isinstance(spec, Model):
            raise BrittleTypeError(
                f"a model is a text such as timm:resnet50, or has name, key and scores; got {spec!r}"
            )
        if options:
            raise BrittleTypeError(f"a loaded model takes no options, got {', '.join(options)}")
        return spec
    text, text_options = model_options(str(spec))
    scheme, location = _parts(text)
    builder = model_sources()[scheme]
    allowed = options_of(str(spec))
    for option in (*text_options, *options):
        if option not in allowed:
            raise BrittleTypeError(f"{scheme} has no option {option!r}; it has: {', '.join(allowed)}")
    for option in text_options:
        if option in options:
            raise BrittleTypeError(
                f"{option} is given twice, as {text_options[option]!r} in the text and as {options[option]!r}"
            )
    options = {option: option_value(option, value, builder) for option, value in text_options.items()} | options
    device, bf16 = options.pop("device", device), options.pop("bf16", bf16)
    if bf16 and "bf16" not in allowed:
        raise BrittleError(f"{str(spec)!r} has its own precision; leave bf16 out")
    shared = {"device": device, "bf16": bf16}  # not every source has a use for them
    return builder(location, **{name: value for name, value in shared.items() if name in allowed}, **options)


def wrap_model(model: Any, *, name: str | None = None, **options: Any) -> Model:
    """A model from a `torch.nn.Module`, a `keras.Model`, a function on batches of images, a text, or a model.

    A module sees images normalised with ImageNet's mean and standard deviation unless `mean` and `std` say otherwise, a
    `keras.Model` pixels from 0 to 255; a function is given uint8 batches N×H×W×3 and gives N×classes.

    >>> import brittle
    >>> def brightness(images):
    ...     light = images.mean(axis=(1, 2, 3))[:, None] / 255
    ...     return light * [[1, 0]] + (1 - light) * [[0, 1]]
    >>> model = brittle.wrap_model(brightness, name="bright or dark")
    >>> model.name, model.scores(brittle.load_dataset("demo").image(0)[None]).shape
    ('bright or dark', (1, 2))

    Args:
        model: what is wrapped.
        name: what results call it; by default the name of the class, of the function, or its own.
        options: those of `from_torch` (mean, std, size, crop, device, …), of `from_keras`, of `from_callable`
            (version), or of the source that a text names.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise BrittleTypeError(f"a model is called by a text, got {name!r} ({type(name).__name__})")
    if isinstance(model, str | Path):
        return _renamed(load_model(model, **options), name)
    if is_keras(model):  # before modules: on the backend torch it is one too
        _check_wrap_options(model, from_keras, options)
        return from_keras(model, name=name, **options)
    if _is_module(model):
        _check_wrap_options(model, from_torch, options)
        return from_torch(model, name=name or type(model).__name__, **options)
    if isinstance(model, type):
        raise BrittleTypeError(f"{model.__name__} is a class; give an object of it, such as {model.__name__}()")
    if isinstance(model, Model):
        return _renamed(load_model(model, **options), name)
    if callable(model):
        _check_wrap_options(model, from_callable, options)
        return from_callable(model, name=name or _name_of(model), **options)
    raise BrittleTypeError(
        "a model is a name such as 'demo:standard', a torch.nn.Module, a function on batches of images, or has name, "
        f"key and scores; got {model!r} ({type(model).__name__})"
    )


def _check_wrap_options(model: Any, maker: Callable[..., Model], options: dict[str, Any]) -> None:
    known = [key for key, part in inspect.signature(maker).parameters.items() if part.kind == part.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise BrittleTypeError(f"{type(model).__name__} takes no option {option!r}; it takes: {', '.join(known)}")


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name


def _renamed(model: Model, name: str | None) -> Model:
    if name is None or model.name == name:
        return model
    twin = copy.copy(model)
    try:
        object.__setattr__(twin, "name", name)
    except AttributeError as error:
        raise BrittleError(f"the model {model.name!r} has a name that cannot be changed to {name!r}; use it") from error
    return twin


def model_options(text: str) -> tuple[str, dict[str, str]]:
    """The text of a model without its options, and the options as strings.

    An option begins with a comma, a name and `=`; other commas belong to the value or name that contains them, so
    "nets.py:make,mean=0.5,0.5,0.5,weights=a.pt" has two options. An existing path has no options, whatever its name.
    """
    if _is_path(text):
        return text, {}
    first, *pieces = text.split(",")
    options: dict[str, str] = {}
    option = ""
    for piece in pieces:
        match = OPTION.match(piece)
        if match and not (not option and _is_path(f"{first},{piece}")):
            option = match[1]
            if option in options:
                raise BrittleError(f"{text!r} gives {option} twice")
            options[option] = piece[match.end() :]
        elif option:
            options[option] += f",{piece}"
        else:
            first += f",{piece}"
    return first, {name: value.strip() for name, value in options.items()}


def options_of(text: str) -> list[str]:
    """The options of the model of a text."""
    builder = model_sources()[_parts(model_options(text)[0])[0]]
    return [key for key, part in inspect.signature(builder).parameters.items() if part.kind == part.KEYWORD_ONLY]


def model_texts(text: str) -> list[str]:
    """Split a text of several models at commas: "demo:standard,demo:augmix", each with its own options.

    A comma before `name=` begins an option of the model before it. Inside the value of an option, only an unambiguous
    model (a scheme with a colon, or a file of code, ONNX or safetensors) begins the next one.
    """
    texts: list[str] = []
    in_option = False
    for piece in text.split(","):
        if not texts:
            texts.append(piece)
        elif OPTION.match(piece):
            texts[-1] += f",{piece}"
            in_option = True
        elif _is_path(f"{texts[-1]},{piece}".rpartition("=")[2] if in_option else f"{texts[-1]},{piece}") or (
            in_option and not _is_model(piece.strip())
        ):
            texts[-1] += f",{piece}"
        else:
            texts.append(piece)
            in_option = False
    return [model.strip() for model in texts if model.strip()]


def _is_model(text: str) -> bool:
    """Whether a text is unambiguously a model."""
    scheme, colon, _ = text.partition(":")
    return (bool(colon) and (scheme in model_sources() or ".py:" in text)) or text.endswith(tuple(ENDINGS))


def _is_path(text: str) -> bool:
    """Whether a text, without a function at its end, is an existing path."""
    candidates = [text]
    code, _, function = text.rpartition(":")
    if code.endswith(".py") and function.isidentifier():
        candidates.append(code)
    if text.partition(":")[0] in model_sources():
        candidates += [candidate.partition(":")[2] for candidate in candidates]
    try:
        return any(candidate and Path(candidate).expanduser().exists() for candidate in candidates)
    except OSError:  # a name that is too long or not allowed
        return False


def _parts(spec: str | Path) -> tuple[str, str]:
    text = str(spec)
    scheme, colon, location = text.partition(":")
    if Path(text).suffix in ENDINGS and scheme not in model_sources():
        return ENDINGS[Path(text).suffix], text
    if Path(text).suffix == ".pt" and scheme not in model_sources() and is_torchscript_file(Path(text).expanduser()):
        return "torchscript", text
    if ".py:" in text and scheme not in model_sources():
        return "torch", text
    if not colon or len(scheme) == 1 or Path(text).is_file():  # one letter is a drive
        hint = f"did you mean {text}:…?" if text in model_sources() else _hint(text)
        raise BrittleError(f"{text!r} has no model scheme; {hint}")
    if scheme not in model_sources():
        raise BrittleError(f"there is no model scheme {scheme!r}; {did_you_mean(scheme, model_sources())}")
    if not location:
        raise BrittleError(f"{text!r} has no name; write one of {FORMS}")
    return scheme, location


def _hint(text: str) -> str:
    path = Path(text).expanduser()
    if path.is_dir():
        return f"for a Hugging Face folder write transformers:{text}"
    if path.suffix == ".py" and path.is_file():
        functions = _functions(path)
        names = " or ".join(f"{text}:{name}" for name in functions)
        return (
            f"name the function that builds it: {names}" if functions else "the file has no function without arguments"
        )
    if path.is_file():
        return (
            "weights alone are not a network: name the function that builds it and give it the weights, "
            f"FILE.py:FUNCTION,weights={text}, or a known network, timm:NAME,checkpoint={text}"
        )
    return f"write one of {FORMS}"


def _functions(path: Path) -> list[str]:
    """The functions and classes of a file that can be called without arguments; the file is parsed, not run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return []
    names = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            init = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            required = 0 if init is None else len(init.args.args) - 1 - len(init.args.defaults)
        elif isinstance(node, ast.FunctionDef):
            required = len(node.args.args) - len(node.args.defaults)
        else:
            continue
        if required <= 0 and not node.name.startswith("_"):
            names.append(node.name)
    return names


def load_models(
    models: Sequence[str],
    *,
    device: str = "auto",
    bf16: bool = False,
    mean: str | None = None,
    std: str | None = None,
    size: str | None = None,
    crop: str | None = None,
) -> list[Model]:
    """Models by their texts, in that order and each once; see `load_model`.

    Mean, std, size and crop, as texts such as "0.5,0.5,0.5", are for those models that have such options.
    """
    given = {"mean": mean, "std": std, "size": size, "crop": crop}
    preparation = {name: option_value(name, text) for name, text in given.items() if text is not None}
    texts = list(dict.fromkeys(text for spec in models for text in model_texts(spec)))
    options = {text: {name: preparation[name] for name in preparation if name in options_of(text)} for text in texts}
    for name in preparation:
        if not any(name in each for each in options.values()):
            raise BrittleError(f"--{name} does not apply: {', '.join(texts)} prepare images in a way of their own")
    return [load_model(text, device=device, bf16=bf16, **options[text]) for text in texts]

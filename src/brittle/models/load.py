"""A model from a short text, as on the command line, or from a function of somebody's own code."""

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

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean, model_errors
from brittle._user_code import load_module, public_callables
from brittle.models.model import SOURCES, Model, from_callable, model_source
from brittle.models.networks import load_into
from brittle.models.preprocessing import Sides
from brittle.models.torch import from_torch


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

    The function takes no arguments and gives a `torch.nn.Module`, a model, or a function on batches of images. The code
    is run, so it must be code that you trust. Modules are looked for in the current folder too.

    Args:
        place: where the function is.
        name: what results call the model; by default the function's name.
        weights: a file for a `torch.nn.Module`; `mean`, `std`, `size`, `crop`, `interpolation`, `device` and `bf16` are
            for one too, see `from_torch`.
        version: give another one when something changed that neither weights nor code show, see `from_callable`.
    """
    file, _, function = place.rpartition(":")
    made, title = _made(place), name or function
    origin = file if title == function else place
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    shown = {option: value for option, value in shown.items() if value is not None}
    if _is_module(made):
        if weights is not None:
            load_into(made, weights)
        network = from_torch(made, name=title, device=device, bf16=bf16, version=version, **shown)  # type: ignore[arg-type]
        network.origin = origin
        return network
    if isinstance(made, Model):
        _refuse(place, "a model", name=name, version=version, weights=weights, bf16=bf16, **shown)
        return made
    if callable(made):
        _refuse(place, "a function on batches", weights=weights, bf16=bf16, **shown)
        return from_callable(made, name=title, version=version, origin=origin)
    raise BrittleTypeError(
        f"{place!r} gave {made!r}; it must give a torch.nn.Module, a model, or a function on batches of images"
    )


def _refuse(place: str, kind: str, **options: Any) -> None:
    given = [option for option, value in options.items() if value]
    if given:
        raise BrittleTypeError(f"{place!r} gave {kind}, which takes no {', '.join(given)}")


def _is_module(made: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever made a module has imported it
    return torch is not None and isinstance(made, torch.nn.Module)


def _made(place: str) -> Any:
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
        made = getattr(module, function)
        there = _is_module(made) or (isinstance(made, Model) and not isinstance(made, type))
        if there:
            return made
        with model_errors(place, "while it was made"):
            return made()


@contextmanager
def _module(where: str | Path) -> Iterator[ModuleType]:
    """A module by name or of a file; that of a file is known by name only here, so that Ray sends its code along."""
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
    """What makes the model of each scheme, of all modules of this package and of those that were imported."""
    for module in iter_modules(import_module("brittle.models").__path__):
        if module.name not in LATER:
            import_module(f"brittle.models.{module.name}")
    return SOURCES


LATER = ("small_resnet",)
"""Modules that need torch when they are imported."""

FORMS = (
    "demo:standard, demo:augmix, timm:NAME, torchvision:NAME, transformers:FOLDER_OR_ID, FILE.onnx, "
    "FILE.safetensors, FILE.py:FUNCTION, torch:MODULE:FUNCTION, diffusion:FOLDER:PROMPTS.txt"
)

ENDINGS = (".onnx", ".safetensors")
"""Of files that are models without a scheme."""

OPTION = re.compile(r"\s*([A-Za-z_]\w*)=")
"""How an option begins in a model's text."""


def load_model(spec: str | Path | Model, *, device: str = "auto", bf16: bool = False, **options: Any) -> Model:
    """A model by a text: "demo:standard", "timm:resnet50", "net.onnx", "nets.py:make", and more.

    Options may stand in the text, each after a comma: "timm:resnet50,checkpoint=net.pt" is the same as
    load_model("timm:resnet50", checkpoint="net.pt"), "nets.py:make,size=256,crop=224,mean=0.5,0.5,0.5" sets three.

    >>> import brittle
    >>> model = brittle.load_model("demo:augmix", device="cpu")
    >>> model.scores(brittle.load_dataset("demo").image(0)[None]).shape
    (1, 10)

    Args:
        spec: demo:NAME, timm:NAME, torchvision:NAME, transformers:FOLDER_OR_ID, onnx:FILE or just FILE.onnx,
            weights:FILE or just FILE.safetensors for a network that brittle trained, FILE.py:FUNCTION or
            torch:MODULE:FUNCTION, diffusion:FOLDER:PROMPTS.txt. A model is given back as it is.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe; an ONNX file has its own precision.
        options: those of the function that makes the model, such as checkpoint="net.safetensors" or size=224.
    """
    if not isinstance(spec, str | Path):
        if not isinstance(spec, Model):
            raise BrittleTypeError(
                f"a model is a text such as timm:resnet50, or has name, key and scores; got {spec!r}"
            )
        if options:
            raise BrittleTypeError(f"a model that is there already takes no options, got {', '.join(options)}")
        return spec
    text, given = model_options(str(spec))
    scheme, rest = _parts(text)
    maker = model_sources()[scheme]
    known = options_of(str(spec))
    for option in (*given, *options):
        if option not in known:
            raise BrittleTypeError(f"{scheme} has no option {option!r}; it has: {', '.join(known)}")
    for option in given:
        if option in options:
            raise BrittleTypeError(
                f"{option} is given twice, as {given[option]!r} in the text and as {options[option]!r}"
            )
    options = {option: option_value(option, value) for option, value in given.items()} | options
    device, bf16 = options.pop("device", device), options.pop("bf16", bf16)
    if bf16 and "bf16" not in known:
        raise BrittleError(f"{str(spec)!r} has its own precision; leave bf16 out")
    how = {"device": device, **({"bf16": bf16} if "bf16" in known else {})}
    return maker(rest, **how, **options)


def wrap_model(model: Any, *, name: str | None = None, **options: Any) -> Model:
    """A model from a `torch.nn.Module`, a function on batches of images, a text as for `load_model`, or a model.

    A module sees images normalised with ImageNet's mean and standard deviation unless `mean` and `std` say otherwise;
    a function is given uint8 batches N×H×W×3 and gives N×classes.

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
        options: those of `from_torch` (mean, std, size, crop, device, …), of `from_callable` (version), or of the
            source that a text names.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise BrittleTypeError(f"a model is called by a text, got {name!r} ({type(name).__name__})")
    if isinstance(model, str | Path):
        return _renamed(load_model(model, **options), name)
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
    """A model's text without its options, and the options as they are written.

    An option begins with a comma, a name and `=`; other commas belong to what they stand in, so that
    "nets.py:make,mean=0.5,0.5,0.5,weights=a.pt" has two. A path that is there has no options, whatever it is called.
    """
    if _is_path(text):
        return text, {}
    first, *pieces = text.split(",")
    options: dict[str, str] = {}
    option = ""
    for piece in pieces:
        begins = OPTION.match(piece)
        if begins and not (not option and _is_path(f"{first},{piece}")):
            option = begins[1]
            if option in options:
                raise BrittleError(f"{text!r} gives {option} twice")
            options[option] = piece[begins.end() :]
        elif option:
            options[option] += f",{piece}"
        else:
            first += f",{piece}"
    return first, {name: value.strip() for name, value in options.items()}


def options_of(text: str) -> list[str]:
    """The options that the model of a text takes."""
    maker = model_sources()[_parts(model_options(text)[0])[0]]
    return [key for key, part in inspect.signature(maker).parameters.items() if part.kind == part.KEYWORD_ONLY]


def model_texts(text: str) -> list[str]:
    """The texts of several models with commas between them: "demo:standard,demo:augmix", each with its own options.

    A comma before `name=` begins an option of the model before it. In an option's value only what is clearly a model,
    a scheme with a colon or a file of code, ONNX or safetensors, begins the next one.
    """
    found: list[str] = []
    in_option = False
    for piece in text.split(","):
        if not found:
            found.append(piece)
        elif OPTION.match(piece):
            found[-1] += f",{piece}"
            in_option = True
        elif _is_path(f"{found[-1]},{piece}".rpartition("=")[2] if in_option else f"{found[-1]},{piece}") or (
            in_option and not _is_model(piece.strip())
        ):
            found[-1] += f",{piece}"
        else:
            found.append(piece)
            in_option = False
    return [one.strip() for one in found if one.strip()]


def option_value(option: str, text: str) -> Any:
    """The value of an option as it is written in a model's text: numbers, sides, yes or no, or the text itself."""
    if option in ("mean", "std"):
        return _numbers(option, text)
    if option in ("size", "crop"):
        return _sides(option, text)
    if option in ("classes", "timesteps", "samples", "seed", "batch_size"):
        return _whole(option, text)
    if option in ("pretrained", "bf16"):
        return _yes_or_no(option, text)
    if option == "providers":
        return [word.strip() for word in text.split(",")]
    return None if option == "weights" and text.lower() == "none" else text


def _numbers(option: str, text: str) -> tuple[float, ...]:
    """Three numbers, with commas, semicolons or blanks between them; one stands for all three."""
    try:
        numbers = tuple(float(word) for word in re.split(r"[,;\s]+", text.strip()))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3):
        raise BrittleError(f"{option} is one number or three, such as {option}=0.5,0.5,0.5; got {text!r}")
    return numbers * 3 if len(numbers) == 1 else numbers


def _sides(option: str, text: str) -> int | tuple[int, int]:
    """A side, or height and width."""
    words = re.split(r"[,;x×\s]+", text.strip())
    if len(words) > 2 or not all(word.isdecimal() for word in words):
        raise BrittleError(
            f"{option} is a side such as {option}=224, or height and width such as 256x224; got {text!r}"
        )
    return int(words[0]) if len(words) == 1 else (int(words[0]), int(words[1]))


def _whole(option: str, text: str) -> int:
    if not text.lstrip("-").isdecimal():
        raise BrittleError(f"{option} is a whole number, got {text!r}")
    return int(text)


def _yes_or_no(option: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
        raise BrittleError(f"{option} is true or false, got {text!r}")
    return text.lower() in ("true", "yes", "1")


def _is_model(text: str) -> bool:
    """Whether a text can only be a model of its own."""
    scheme, colon, _ = text.partition(":")
    return (bool(colon) and (scheme in model_sources() or ".py:" in text)) or text.endswith(ENDINGS)


def _is_path(text: str) -> bool:
    """Whether a text, without the function that it may end in, is a path that exists."""
    places = [text]
    code, _, function = text.rpartition(":")
    if code.endswith(".py") and function.isidentifier():
        places.append(code)
    if text.partition(":")[0] in model_sources():
        places += [place.partition(":")[2] for place in places]
    try:
        return any(place and Path(place).expanduser().exists() for place in places)
    except OSError:  # a name that is too long, or that no file may have
        return False


def _parts(spec: str | Path) -> tuple[str, str]:
    text = str(spec)
    scheme, colon, rest = text.partition(":")
    if Path(text).suffix == ".onnx" and scheme not in model_sources():
        return "onnx", text
    if Path(text).suffix == ".safetensors" and scheme not in model_sources():
        return "weights", text
    if ".py:" in text and scheme not in model_sources():
        return "torch", text
    if not colon or len(scheme) == 1 or Path(text).is_file():  # one letter is a drive
        hint = f"did you mean {text}:…?" if text in model_sources() else _hint(text)
        raise BrittleError(f"{text!r} does not say what kind of model it is; {hint}")
    if scheme not in model_sources():
        raise BrittleError(f"there is no kind of model {scheme!r}; {did_you_mean(scheme, model_sources())}")
    if not rest:
        raise BrittleError(f"{text!r} has no name; write one of {FORMS}")
    return scheme, rest


def _hint(text: str) -> str:
    path = Path(text).expanduser()
    if path.is_dir():
        return f"a folder of Hugging Face is transformers:{text}"
    if path.suffix == ".py" and path.is_file():
        known = _functions(path)
        names = " or ".join(f"{text}:{name}" for name in known)
        return f"name the function that makes it: {names}" if known else "the file has no function that makes one"
    if path.is_file():
        return (
            "weights alone are no network: name the function that makes it and give it the weights, "
            f"FILE.py:FUNCTION,weights={text}, or a known network, timm:NAME,checkpoint={text}"
        )
    return f"write one of {FORMS}"


def _functions(path: Path) -> list[str]:
    """The functions and classes of a file that can be called without arguments; the file is read and not run."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return []
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            made = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            wanted = 0 if made is None else len(made.args.args) - 1 - len(made.args.defaults)
        elif isinstance(node, ast.FunctionDef):
            wanted = len(node.args.args) - len(node.args.defaults)
        else:
            continue
        if wanted <= 0 and not node.name.startswith("_"):
            found.append(node.name)
    return found

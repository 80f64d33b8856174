"""A diffusion pipeline, the classes it draws, the shifts, and the words for both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._io import atomic_write
from brittle._optional import require
from brittle.datasets.classes import imagenet_names
from brittle.metrics import published_table
from brittle.models.diffusion import load_pipeline, quiet
from brittle.models.networks import load_weights

FOLDER = ("tokenizer", "text_encoder", "tokens.pt")


@dataclass(frozen=True, eq=False)
class ClassToken:
    """A learnt word such as "<bald eagle-22>": its embedding, and the words it started from."""

    text: str
    embedding: Any
    initializer: str

    def save(self, path: str | Path) -> None:
        """Write it as a .safetensors file, which `pipeline.load_textual_inversion` of diffusers reads too."""
        file = Path(path)
        if file.suffix != ".safetensors":
            raise BrittleError(f"a token is written to a .safetensors file, got {str(path)!r}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as part:
            metadata = {"format": "pt", "initializer": self.initializer}
            tensors = {self.text: self.embedding.detach().cpu().float().contiguous()[None]}
            require("safetensors.torch").save_file(tensors, part, metadata=metadata)


def token_text(name: str, number: int) -> str:
    """The published spelling: <class name-index>."""
    return f"<{name}-{number}>"


def load_token(path: str | Path) -> ClassToken:
    """A token that `ClassToken.save` wrote."""
    state = load_weights(path)
    if len(state) != 1:
        raise BrittleError(f"{str(path)!r} holds {len(state)} tensors; a token's file holds one")
    [(text, value)] = state.items()
    with require("safetensors").safe_open(path, framework="pt") as file:
        initializer = (file.metadata() or {}).get("initializer", "")
    return ClassToken(text, value.reshape(-1), initializer)


def add_token(pipeline: Any, token: ClassToken) -> int:
    """Teach a pipeline's tokenizer and text encoder a token; one of the same name is replaced. Gives its number."""
    torch = require("torch")
    tokenizer, encoder = pipeline.tokenizer, pipeline.text_encoder
    wide = encoder.get_input_embeddings().weight.shape[1]
    if token.embedding.shape != (wide,):
        raise BrittleError(
            f"the token {token.text!r} has {tuple(token.embedding.shape)} numbers and this text encoder {wide}; it was "
            "trained for another checkpoint"
        )
    if token.text not in tokenizer.get_vocab():
        tokenizer.add_tokens(token.text)
        if len(tokenizer) > encoder.get_input_embeddings().weight.shape[0]:
            encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    number = int(tokenizer.convert_tokens_to_ids(token.text))
    with torch.no_grad():
        table = encoder.get_input_embeddings().weight
        table[number] = token.embedding.to(table)
    return number


def load_tokens(pipeline: Any, folder: str | Path) -> tuple[str, ...]:
    """Give a pipeline the published class tokens, and their names by class index.

    `folder` is an encoder folder of dataset-interfaces, such as `encoder_root_imagenet`: `tokenizer/`,
    `text_encoder/` with safetensors weights, and `tokens.pt`, of which only plain texts are read.
    """
    place = Path(folder)
    lacking = [name for name in FOLDER if not (place / name).exists()]
    if lacking:
        raise FileNotFoundError(f"{str(folder)!r} is no folder of class tokens: it has no {', '.join(lacking)}")
    torch, transformers = require("torch"), require("transformers", "sliders")
    try:
        read = torch.load(place / "tokens.pt", map_location="cpu", weights_only=True)
        tokens = tuple(str(token) for token in read["tokens"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(f"{str(place / 'tokens.pt')!r} is no list of tokens: {reason}") from error
    tokenizer = _read(transformers.CLIPTokenizer, place / "tokenizer")
    unknown = [token for token in tokens if token not in tokenizer.get_vocab()]
    if unknown:
        raise BrittleError(f"{len(unknown)} tokens of {str(folder)!r} are not in its tokenizer, such as {unknown[0]!r}")
    before = pipeline.text_encoder
    encoder = _read(transformers.CLIPTextModel, place / "text_encoder", use_safetensors=True)
    if encoder.config.hidden_size != before.config.hidden_size:
        raise BrittleError(
            f"the tokens of {str(folder)!r} are for an encoder of width {encoder.config.hidden_size}, and this "
            f"pipeline's has {before.config.hidden_size}; load the checkpoint they were trained for"
        )
    pipeline.register_modules(tokenizer=tokenizer, text_encoder=encoder.to(before.device, before.dtype).eval())
    return tokens


def _read(kind: Any, folder: Path, **options: Any) -> Any:
    try:
        with quiet("transformers"):
            return kind.from_pretrained(str(folder), local_files_only=True, **options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"the folder {str(folder)!r} cannot be read by {kind.__name__}: {reason}") from error


def save_tokens(pipeline: Any, folder: str | Path, tokens: Sequence[ClassToken]) -> Path:
    """Write a pipeline's tokenizer and text encoder, with the tokens it was taught, in the published format."""
    place = Path(folder)
    for token in tokens:
        add_token(pipeline, token)
    pipeline.tokenizer.save_pretrained(str(place / "tokenizer"))
    pipeline.text_encoder.save_pretrained(str(place / "text_encoder"))
    lists = {"tokens": [token.text for token in tokens], "initializer_words": [token.initializer for token in tokens]}
    with atomic_write(place / "tokens.pt") as part:
        require("torch").save(lists, part)
    return place


SOME = 30
"""More names than these are not listed."""


@dataclass(frozen=True)
class TargetClass:
    """A class of a slider; `prompt` is its name, or a learnt token such as "<bald eagle-22>"."""

    number: int
    name: str
    prompt: str


def class_names(file: str | Path | None = None) -> tuple[str, ...]:
    """The names of all classes by number: the lines of a file, or the 1000 of ImageNet."""
    if file is None:
        return tuple(name.replace("_", " ") for name in imagenet_names())
    path = Path(file).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(file)!r}; it has one name a line, class 0 first")
    names = tuple(" ".join(line.replace("_", " ").split()) for line in path.read_text(encoding="utf-8").splitlines())
    if not names or not all(names):
        raise BrittleError(f"{str(file)!r} has one class name a line, class 0 first, and no empty lines")
    return names


def find_class(given: str, names: Sequence[str], tokens: Sequence[str] | None = None) -> TargetClass:
    """A class by its number or its name; the prompt is its token, if there are tokens."""
    text = " ".join(str(given).replace("_", " ").split())
    if text.isdecimal():
        number = int(text)
        if number >= len(names):
            raise BrittleError(f"there is no class {number}; classes are numbered 0 to {len(names) - 1}")
    else:
        called = [i for i, name in enumerate(names) if name.casefold() == text.casefold()]
        if len(called) > 1:
            raise BrittleError(
                f"{len(called)} classes are called {given!r}; give a number: {', '.join(map(str, called))}"
            )
        if not called:
            hint = did_you_mean(text, names) if len(names) <= SOME else _few(text, names)
            raise BrittleError(f"there is no class {given!r}; {hint}")
        [number] = called
    if tokens is not None and number >= len(tokens):
        raise BrittleError(f"there is no token of class {number}; there are {len(tokens)}")
    return TargetClass(number, names[number], names[number] if tokens is None else tokens[number])


def _few(text: str, names: Sequence[str]) -> str:
    hint = did_you_mean(text, names)
    return hint if hint.startswith("did") else f"there are {len(names)}, such as {', '.join(names[:3])}"


@dataclass(frozen=True)
class Base:
    """Where a pipeline lies, with which class tokens, and on what it runs; on a cluster every node needs the folders.

    Args:
        folder: what diffusers' `save_pretrained` wrote.
        tokens: an encoder folder with learnt class tokens, such as `encoder_root_imagenet`.
        device: "cpu", "cuda", … or "auto".
        dtype: "float32", "bfloat16" or "auto".
    """

    folder: str
    tokens: str | None = None
    device: str = "auto"
    dtype: str = "auto"

    def pipeline(self) -> Any:
        """The loaded pipeline."""
        return _opened(self)[0]

    def token_names(self) -> tuple[str, ...] | None:
        """The tokens by class number, if there are any."""
        return _opened(self)[1]


@lru_cache(maxsize=1)
def _opened(base: Base) -> tuple[Any, tuple[str, ...] | None]:
    pipeline = load_pipeline(base.folder, device=base.device, dtype=base.dtype)
    return pipeline, None if base.tokens is None else load_tokens(pipeline, Path(base.tokens).expanduser())


def wants_gpu(ray: Any, device: str) -> bool:
    """Whether work on a cluster takes a GPU: if it was asked for, or if there are any."""
    return device.startswith("cuda") or (device == "auto" and ray.cluster_resources().get("GPU", 0) > 0)


SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
"""The published scales; 0 is the image without a shift."""

LONGEST = 100
"""Bytes of a shift's folder name, which is part of longer names."""

NEGATIVE_PROMPT = "blurry,text,caption,lowquality,lowresolution,low res,grainy,ugly"
"""What the published images must not be."""


def published_shifts() -> tuple[str, ...]:
    """The folder names of the 14 published shifts; four of them are guesses, see the table `cns-shifts`."""
    return tuple(map(str, published_table("cns-shifts")["folder_name"]))


def published_shift(shift: str) -> str:
    """The folder name of a published shift, given as that or in words; another one raises."""
    folder = shift_folder(shift)
    known = published_shifts()
    if folder not in known:
        raise BrittleError(f"there is no published shift {shift!r}; {did_you_mean(folder, known)}")
    return folder


def shift_words(shift: str) -> str:
    """ "heavy_snow" as "heavy snow", for prompts. Any words may be a shift."""
    words = " ".join(str(shift).replace("_", " ").split())
    if not words:
        raise BrittleError(f"a shift is words such as 'heavy snow', got {shift!r}")
    return words


def shift_folder(shift: str) -> str:
    """ "heavy snow" as "heavy_snow", for folders."""
    folder = shift_words(shift).replace(" ", "_")
    if re.search(r'[/\\:*?"<>|\x00-\x1f]', folder) or folder.startswith(".") or len(folder.encode()) > LONGEST:
        raise BrittleError(
            f"the shift {shift[:LONGEST]!r} cannot be a folder's name; use letters, digits and _, {LONGEST} at most"
        )
    return folder


def positive_prompt(prompt: str, shift: str) -> str:
    """The prompt a slider is trained towards, as published: the class, a comma, and the shift."""
    return f"{prompt}, in {shift_words(shift)}"


TOKEN = re.compile(r"<[^<>|]+-\d+>")


def encode_prompt(pipeline: Any, prompt: str) -> Any:
    """A prompt as 1×words×features; one that is too long, or has an unknown class token, raises."""
    check_prompt(pipeline, prompt)
    with require("torch").no_grad():
        return pipeline.encode_prompt(prompt, pipeline.device, 1, False)[0]


def check_prompt(pipeline: Any, prompt: str) -> None:
    """Raise if words of a prompt would be cut off, or read as something else, without anybody noticing."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise BrittleError(f"a prompt is words such as 'sneaker' or a token such as '<sneaker-7>', got {prompt!r}")
    tokenizer = pipeline.tokenizer
    known = tokenizer.get_added_vocab()
    for token in TOKEN.findall(prompt):
        if token not in known:
            raise BrittleError(
                f"the pipeline does not know the class token {token!r}; load it with load_tokens or add_token, "
                "or train it with train_token"
            )
    words = len(tokenizer(prompt, truncation=False, verbose=False).input_ids)
    if words > tokenizer.model_max_length:
        raise BrittleError(
            f"the prompt {prompt!r} has {words} tokens and {tokenizer.model_max_length} are read; shorten it"
        )


def pipeline_key(pipeline: Any, prompt: str) -> str:
    """A digest of a pipeline's networks and of the embeddings of a prompt's words, learnt tokens among them.

    Of the networks all biases and norms are read, which every training changes and which are few. They are rounded to
    bfloat16, so the key is the same on every device and in every precision.
    """
    seen = sha256()
    for part in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        for parameter in part.parameters():
            if parameter.ndim == 1:
                seen.update(_bytes(parameter))
    words = pipeline.tokenizer(prompt, add_special_tokens=False).input_ids
    seen.update(_bytes(pipeline.text_encoder.get_input_embeddings().weight[words]))
    return seen.hexdigest()[:16]


def _bytes(values: Any) -> bytes:
    torch = require("torch")
    rounded: bytes = values.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes()
    return rounded


PRECISIONS = ("auto", "float32", "bfloat16")


def find_precision(precision: str, pipeline: Any) -> str:
    """ "auto" is bfloat16 on GPUs that compute in it, and for pipelines that were loaded so; else float32."""
    torch = require("torch")
    check_precision(precision)
    held = precision_of(pipeline)
    if precision == "float32" and held != "float32":
        raise BrittleError(f"precision is float32, and the pipeline was loaded in {held}; load it with dtype='float32'")
    if precision != "auto":
        return precision
    able = torch.device(pipeline.device).type == "cuda" and torch.cuda.is_bf16_supported()
    return "bfloat16" if able or held != "float32" else "float32"


def check_precision(precision: str) -> None:
    """Raise unless it is one of the three words."""
    if precision not in PRECISIONS:
        raise BrittleError(f"precision must be auto, float32 or bfloat16, got {precision!r}")


def precision_of(pipeline: Any) -> str:
    """What the numbers of a pipeline's UNet are."""
    return str(pipeline.unet.dtype).removeprefix("torch.")


def in_precision(precision: str, device: Any) -> Callable[[], AbstractContextManager[Any]]:
    """Autocast to bfloat16, or nothing; for forward passes, since backward ones follow what these did."""
    torch = require("torch")
    return lambda: torch.autocast(
        torch.device(device).type, dtype=torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False
    )

"""Diffusion pipelines: class tokens, class names, shifts, prompts and precision."""

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
from brittle._optional import quiet_libraries, require
from brittle._texts import read_lines
from brittle.datasets import class_words, imagenet_names
from brittle.metrics import published_table
from brittle.models.diffusion import load_pipeline
from brittle.models.networks import load_weights

TOKEN_FILES = ("tokenizer", "text_encoder", "tokens.pt")


@dataclass(frozen=True, eq=False)
class ClassToken:
    """A trained token such as "<bald eagle-22>": its embedding, and the name it was initialised from."""

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
    """Add a token to a pipeline's tokenizer and text encoder, or replace it; returns its token id."""
    torch = require("torch")
    tokenizer, encoder = pipeline.tokenizer, pipeline.text_encoder
    width = encoder.get_input_embeddings().weight.shape[1]
    if token.embedding.shape != (width,):
        raise BrittleError(
            f"the token {token.text!r} has {tuple(token.embedding.shape)} numbers and this text encoder {width}; it "
            "was trained for another checkpoint"
        )
    if token.text not in tokenizer.get_vocab():
        tokenizer.add_tokens(token.text)
        if len(tokenizer) > encoder.get_input_embeddings().weight.shape[0]:
            encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    token_id = int(tokenizer.convert_tokens_to_ids(token.text))
    with torch.no_grad():
        table = encoder.get_input_embeddings().weight
        table[token_id] = token.embedding.to(table)
    return token_id


def load_tokens(pipeline: Any, folder: str | Path) -> tuple[str, ...]:
    """Load published class tokens into a pipeline; returns their texts by class index.

    `folder` is an encoder folder of dataset-interfaces, such as `encoder_root_imagenet`: `tokenizer/`,
    `text_encoder/` with safetensors weights, and `tokens.pt`, of which only plain strings are read.
    """
    root = Path(folder)
    missing = [name for name in TOKEN_FILES if not (root / name).exists()]
    if missing:
        raise FileNotFoundError(f"{str(folder)!r} is not a folder of class tokens: it has no {', '.join(missing)}")
    torch, transformers = require("torch"), require("transformers", "sliders")
    try:
        saved = torch.load(root / "tokens.pt", map_location="cpu", weights_only=True)
        tokens = tuple(str(token) for token in saved["tokens"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(f"{str(root / 'tokens.pt')!r} is not a list of tokens: {reason}") from error
    tokenizer = _load_pretrained(transformers.CLIPTokenizer, root / "tokenizer")
    vocabulary = tokenizer.get_vocab()
    unknown = [token for token in tokens if token and token not in vocabulary]
    if unknown:
        raise BrittleError(f"{len(unknown)} tokens of {str(folder)!r} are not in its tokenizer, such as {unknown[0]!r}")
    replaced = pipeline.text_encoder
    encoder = _load_pretrained(transformers.CLIPTextModel, root / "text_encoder", use_safetensors=True)
    if encoder.config.hidden_size != replaced.config.hidden_size:
        raise BrittleError(
            f"the tokens of {str(folder)!r} are for an encoder of width {encoder.config.hidden_size}, and this "
            f"pipeline's has {replaced.config.hidden_size}; load the checkpoint they were trained for"
        )
    if not _same_encoder(encoder, replaced):
        raise BrittleError(
            f"the tokens of {str(folder)!r} are for another text encoder than this pipeline's: it has the same width, "
            f"{encoder.config.hidden_size}, and other weights; load the checkpoint they were trained for"
        )
    pipeline.register_modules(tokenizer=tokenizer, text_encoder=encoder.to(replaced.device, replaced.dtype).eval())
    return tokens


def _same_encoder(encoder: Any, other: Any) -> bool:
    """Whether text encoders have the same biases and norms, up to the rounding of half precision.

    Their tables of embeddings differ in length, and all else changes together with these in every training.
    """
    torch = require("torch")
    mine, theirs = (
        {name: value for name, value in one.named_parameters() if value.ndim == 1} for one in (encoder, other)
    )
    return mine.keys() == theirs.keys() and all(
        value.shape == theirs[name].shape
        and torch.allclose(value.float().cpu(), theirs[name].float().cpu(), rtol=2e-2, atol=2e-3)
        for name, value in mine.items()
    )


def _load_pretrained(loader: Any, folder: Path, **options: Any) -> Any:
    try:
        with quiet_libraries("transformers"):
            return loader.from_pretrained(str(folder), local_files_only=True, **options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"the folder {str(folder)!r} cannot be read by {loader.__name__}: {reason}") from error


def save_tokens(pipeline: Any, folder: str | Path, tokens: Sequence[ClassToken]) -> Path:
    """Add tokens to a pipeline, and write its tokenizer and text encoder in the published format.

    Tokens are found by their place, the number of their class; one without a text stands for a class that has none.
    """
    root = Path(folder)
    for token in tokens:
        if token.text:
            add_token(pipeline, token)
    with quiet_libraries("transformers"):
        pipeline.tokenizer.save_pretrained(str(root / "tokenizer"))
        pipeline.text_encoder.save_pretrained(str(root / "text_encoder"))
    contents = {
        "tokens": [token.text for token in tokens],
        "initializer_words": [token.initializer for token in tokens],
    }
    with atomic_write(root / "tokens.pt") as part:
        require("torch").save(contents, part)
    return root


MAX_LISTED = 30
"""Error messages list at most this many class names."""


@dataclass(frozen=True)
class TargetClass:
    """The class of a slider; `prompt` is its name, or a trained token such as "<bald eagle-22>"."""

    number: int
    name: str
    prompt: str


def class_names(file: str | Path | None = None) -> tuple[str, ...]:
    """Class names by number: the lines of a file, or by default the 1000 of ImageNet."""
    if file is None:
        return tuple(class_words(imagenet_names()))
    path = Path(file).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(file)!r}; it has one name a line, class 0 first")
    names = tuple(class_words(read_lines(path, "class names")))
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
        matches = [i for i, name in enumerate(names) if name.casefold() == text.casefold()]
        if len(matches) > 1:
            raise BrittleError(
                f"{len(matches)} classes are called {given!r}; give a number: {', '.join(map(str, matches))}"
            )
        if not matches:
            hint = did_you_mean(text, names) if len(names) <= MAX_LISTED else _closest_or_some(text, names)
            raise BrittleError(f"there is no class {given!r}; {hint}")
        [number] = matches
    if tokens is not None and (number >= len(tokens) or not tokens[number]):
        raise BrittleError(
            f"there is no token of class {number}; there are {sum(map(bool, tokens))}, and `brittle slide token` "
            "trains more"
        )
    return TargetClass(number, names[number], names[number] if tokens is None else tokens[number])


def _closest_or_some(text: str, names: Sequence[str]) -> str:
    hint = did_you_mean(text, names)
    return hint if hint.startswith("did") else f"there are {len(names)}, such as {', '.join(names[:3])}"


@dataclass(frozen=True)
class Base:
    """A pipeline's folder, class tokens, device and precision; on a cluster every node needs the folders.

    Args:
        folder: written by diffusers' `save_pretrained`.
        tokens: an encoder folder with trained class tokens, such as `encoder_root_imagenet`.
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
        """The tokens by class number; None without class tokens."""
        return _opened(self)[1]


@lru_cache(maxsize=1)
def _opened(base: Base) -> tuple[Any, tuple[str, ...] | None]:
    pipeline = load_pipeline(base.folder, device=base.device, dtype=base.dtype)
    return pipeline, None if base.tokens is None else load_tokens(pipeline, Path(base.tokens).expanduser())


def wants_gpu(ray: Any, device: str) -> bool:
    """Whether tasks on a cluster request a GPU: for device "cuda", or "auto" if the cluster has GPUs."""
    return device.startswith("cuda") or (device == "auto" and ray.cluster_resources().get("GPU", 0) > 0)


SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
"""The published scales; 0 is the image without a shift."""

MAX_SHIFT_BYTES = 100
"""The most bytes of a shift's folder name, which is part of longer names."""

NEGATIVE_PROMPT = "blurry,text,caption,lowquality,lowresolution,low res,grainy,ugly"
"""The negative prompt of the published images."""


def published_shifts() -> tuple[str, ...]:
    """The folder names of the 14 published shifts; four of them are guesses, see the table `cns-shifts`."""
    return tuple(map(str, published_table("cns-shifts")["folder_name"]))


def published_shift(shift: str) -> str:
    """The folder name of a published shift, given as "heavy_snow" or "heavy snow"; raise for any other shift."""
    folder = shift_folder(shift)
    published = published_shifts()
    if folder not in published:
        raise BrittleError(f"there is no published shift {shift!r}; {did_you_mean(folder, published)}")
    return folder


def shift_text(shift: str) -> str:
    """A shift as in prompts: "heavy_snow" as "heavy snow". Any text may be a shift."""
    text = " ".join(str(shift).replace("_", " ").split())
    if not text:
        raise BrittleError(f"a shift is a text such as 'heavy snow', got {shift!r}")
    return text


def shift_folder(shift: str) -> str:
    """A shift as a folder name: "heavy snow" as "heavy_snow"."""
    folder = shift_text(shift).replace(" ", "_")
    if re.search(r'[/\\:*?"<>|\x00-\x1f]', folder) or folder.startswith(".") or len(folder.encode()) > MAX_SHIFT_BYTES:
        raise BrittleError(
            f"the shift {shift[:MAX_SHIFT_BYTES]!r} cannot be a folder name; use letters, digits and _, "
            f"{MAX_SHIFT_BYTES} at most"
        )
    return folder


def positive_prompt(prompt: str, shift: str) -> str:
    """The positive prompt of slider training, as published: class, comma, shift."""
    return f"{prompt}, in {shift_text(shift)}"


TOKEN = re.compile(r"<[^<>|]+-\d+>")


def encode_prompt(pipeline: Any, prompt: str) -> Any:
    """A prompt's embedding, 1×tokens×features; raise if it is too long or has an unknown class token."""
    check_prompt(pipeline, prompt)
    with require("torch").no_grad():
        return pipeline.encode_prompt(prompt, pipeline.device, 1, False)[0]


def check_prompt(pipeline: Any, prompt: str) -> None:
    """Raise if a prompt is empty, would be truncated silently, or has a class token that is not loaded."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise BrittleError(f"a prompt is a text such as 'sneaker' or a token such as '<sneaker-7>', got {prompt!r}")
    tokenizer = pipeline.tokenizer
    vocabulary = tokenizer.get_added_vocab()
    for token in TOKEN.findall(prompt):
        if token not in vocabulary:
            raise BrittleError(
                f"the pipeline has no class token {token!r}; load it with load_tokens or add_token, "
                "or train it with train_token"
            )
    length = len(tokenizer(prompt, truncation=False, verbose=False).input_ids)
    if length > tokenizer.model_max_length:
        raise BrittleError(
            f"the prompt {prompt!r} has {length} tokens and at most {tokenizer.model_max_length} are read; shorten it"
        )


def pipeline_key(pipeline: Any, prompt: str) -> str:
    """A digest of a pipeline's networks and of the embeddings of a prompt's tokens, trained ones included.

    Of the networks only biases and norms are hashed, which are few and change in every training. They are rounded to
    bfloat16, so the key is the same on every device and in every precision.
    """
    hasher = sha256()
    for network in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        for parameter in network.parameters():
            if parameter.ndim == 1:
                hasher.update(_bytes(parameter))
    token_ids = pipeline.tokenizer(prompt, add_special_tokens=False).input_ids
    hasher.update(_bytes(pipeline.text_encoder.get_input_embeddings().weight[token_ids]))
    return hasher.hexdigest()[:16]


def _bytes(values: Any) -> bytes:
    torch = require("torch")
    rounded: bytes = values.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes()
    return rounded


PRECISIONS = ("auto", "float32", "bfloat16")


def find_precision(precision: str, pipeline: Any) -> str:
    """The precision for "auto": bfloat16 on GPUs that support it and for pipelines loaded in it, else float32."""
    torch = require("torch")
    check_precision(precision)
    loaded = precision_of(pipeline)
    if precision == "float32" and loaded != "float32":
        raise BrittleError(
            f"precision is float32, and the pipeline was loaded in {loaded}; load it with dtype='float32'"
        )
    if precision != "auto":
        return precision
    supported = torch.device(pipeline.device).type == "cuda" and torch.cuda.is_bf16_supported()
    return "bfloat16" if supported or loaded != "float32" else "float32"


def check_precision(precision: str) -> None:
    """Raise unless it is auto, float32 or bfloat16."""
    if precision not in PRECISIONS:
        raise BrittleError(f"precision must be auto, float32 or bfloat16, got {precision!r}")


def precision_of(pipeline: Any) -> str:
    """The dtype of a pipeline's UNet, such as "float32"."""
    return str(pipeline.unet.dtype).removeprefix("torch.")


def in_precision(precision: str, device: Any) -> Callable[[], AbstractContextManager[Any]]:
    """A context that autocasts to bfloat16 if that is the precision; for forward passes only, as backward follows."""
    torch = require("torch")
    return lambda: torch.autocast(
        torch.device(device).type, dtype=torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False
    )

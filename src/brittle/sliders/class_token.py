"""Words for classes that a text encoder learns: textual inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._io import replacing
from brittle.models.load_pipeline import EXTRA, quiet
from brittle.models.load_weights import load_weights
from brittle.models.needs import needs

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
            raise ValueError(f"a token is written to a .safetensors file, got {str(path)!r}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as part:
            metadata = {"format": "pt", "initializer": self.initializer}
            tensors = {self.text: self.embedding.detach().cpu().float().contiguous()[None]}
            needs("safetensors.torch").save_file(tensors, part, metadata=metadata)


def token_text(name: str, number: int) -> str:
    """The published spelling: <class name-index>."""
    return f"<{name}-{number}>"


def load_token(path: str | Path) -> ClassToken:
    """A token that `ClassToken.save` wrote."""
    state = load_weights(path)
    if len(state) != 1:
        raise ValueError(f"{str(path)!r} holds {len(state)} tensors; a token's file holds one")
    [(text, value)] = state.items()
    with needs("safetensors").safe_open(path, framework="pt") as file:
        initializer = (file.metadata() or {}).get("initializer", "")
    return ClassToken(text, value.reshape(-1), initializer)


def add_token(pipeline: Any, token: ClassToken) -> int:
    """Teach a pipeline's tokenizer and text encoder a token; one of the same name is replaced. Gives its number."""
    torch = needs("torch")
    tokenizer, encoder = pipeline.tokenizer, pipeline.text_encoder
    wide = encoder.get_input_embeddings().weight.shape[1]
    if token.embedding.shape != (wide,):
        raise ValueError(
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
    torch, transformers = needs("torch"), needs("transformers", EXTRA)
    try:
        read = torch.load(place / "tokens.pt", map_location="cpu", weights_only=True)
        tokens = tuple(str(token) for token in read["tokens"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{str(place / 'tokens.pt')!r} is no list of tokens: {reason}") from error
    tokenizer = _read(transformers.CLIPTokenizer, place / "tokenizer")
    unknown = [token for token in tokens if token not in tokenizer.get_vocab()]
    if unknown:
        raise ValueError(f"{len(unknown)} tokens of {str(folder)!r} are not in its tokenizer, such as {unknown[0]!r}")
    before = pipeline.text_encoder
    encoder = _read(transformers.CLIPTextModel, place / "text_encoder", use_safetensors=True)
    if encoder.config.hidden_size != before.config.hidden_size:
        raise ValueError(
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
        raise ValueError(f"the folder {str(folder)!r} cannot be read by {kind.__name__}: {reason}") from error


def save_tokens(pipeline: Any, folder: str | Path, tokens: Sequence[ClassToken]) -> Path:
    """Write a pipeline's tokenizer and text encoder, with the tokens it was taught, in the published format."""
    place = Path(folder)
    for token in tokens:
        add_token(pipeline, token)
    pipeline.tokenizer.save_pretrained(str(place / "tokenizer"))
    pipeline.text_encoder.save_pretrained(str(place / "text_encoder"))
    lists = {"tokens": [token.text for token in tokens], "initializer_words": [token.initializer for token in tokens]}
    with replacing(place / "tokens.pt") as part:
        needs("torch").save(lists, part)
    return place

"""Prompts as the text encoder gives them."""

from __future__ import annotations

import re
from typing import Any

from brittle.models.needs import needs

TOKEN = re.compile(r"<[^<>|]+-\d+>")


def encode_prompt(pipeline: Any, prompt: str) -> Any:
    """A prompt as 1×words×features; one that is too long, or has an unknown class token, raises."""
    check_prompt(pipeline, prompt)
    with needs("torch").no_grad():
        return pipeline.encode_prompt(prompt, pipeline.device, 1, False)[0]


def check_prompt(pipeline: Any, prompt: str) -> None:
    """Raise if words of a prompt would be cut off, or read as something else, without anybody noticing."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError(f"a prompt is words such as 'sneaker' or a token such as '<sneaker-7>', got {prompt!r}")
    tokenizer = pipeline.tokenizer
    known = tokenizer.get_added_vocab()
    for token in TOKEN.findall(prompt):
        if token not in known:
            raise ValueError(
                f"the pipeline does not know the class token {token!r}; load it with load_tokens or add_token, "
                "or train it with train_token"
            )
    words = len(tokenizer(prompt, truncation=False, verbose=False).input_ids)
    if words > tokenizer.model_max_length:
        raise ValueError(
            f"the prompt {prompt!r} has {words} tokens and {tokenizer.model_max_length} are read; shorten it"
        )

"""What a pipeline is known by, so that work begun with one does not go on with another."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from brittle.models.needs import needs


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
    torch = needs("torch")
    rounded: bytes = values.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes()
    return rounded

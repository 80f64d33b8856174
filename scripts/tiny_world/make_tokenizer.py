"""A tokenizer of CLIP's kind whose vocabulary is the captions' words; other words fall into letters."""

from __future__ import annotations

import json

import transformers
from captions import corpus
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

LENGTH = 32
"""Tokens of a prompt, with those for its start and its end."""

START, END = "<|startoftext|>", "<|endoftext|>"
SPLIT = r"""'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""


def make_tokenizer() -> transformers.CLIPTokenizer:
    """Byte-pair merges counted on the captions."""
    learnt = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token=END))
    learnt.normalizer = normalizers.Lowercase()
    words = pre_tokenizers.Split(_regex(SPLIT), "removed", invert=True)
    learnt.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=1024, initial_alphabet=letters, end_of_word_suffix="</w>", show_progress=False
    )
    learnt.train_from_iterator(sorted(set(corpus())), trainer)
    merges = [tuple(pair) for pair in json.loads(learnt.to_str())["model"]["merges"]]
    pieces = [*letters, *(letter + "</w>" for letter in letters), *("".join(pair) for pair in merges), START, END]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=LENGTH)


def text_settings(tokenizer: transformers.CLIPTokenizer, **more: int) -> dict[str, int]:
    """What a text encoder has to know about it."""
    marks = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    return {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": LENGTH,
        **marks,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def _regex(pattern: str) -> object:
    from tokenizers import Regex

    return Regex(pattern)

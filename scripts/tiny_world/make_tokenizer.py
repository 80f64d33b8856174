"""A tokenizer of CLIP's kind whose vocabulary is the captions' words; other words fall into letters."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import transformers
from captions import corpus
from tokenizers import Regex, pre_tokenizers

LENGTH = 32
"""Tokens of a prompt, with those for its start and its end."""

START, END, LAST = "<|startoftext|>", "<|endoftext|>", "</w>"
SPLIT = r"""'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""


def make_tokenizer() -> transformers.CLIPTokenizer:
    """Byte-pair merges counted on the captions, the same at every call."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = learn_merges(sorted(set(corpus())))
    pieces = [*letters, *(letter + LAST for letter in letters), *("".join(pair) for pair in merges), START, END]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=LENGTH)


def learn_merges(texts: list[str]) -> list[tuple[str, str]]:
    """The most frequent pair of neighbours becomes one piece, until every word is one; ties go by the alphabet.

    The trainer of tokenizers breaks ties as it likes, and two runs would not agree on the numbers of tokens.
    """
    split = pre_tokenizers.Split(Regex(SPLIT), "removed", invert=True)
    found = Counter(word for text in texts for word, _ in split.pre_tokenize_str(text.lower()))
    words = {word: [*word[:-1], word[-1] + LAST] for word in found}
    merges: list[tuple[str, str]] = []
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in words.items():
            for pair in pairwise(pieces):
                pairs[pair] += found[word]
        if not pairs:
            return merges
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, pieces in words.items():
            words[word] = _merged(pieces, best)


def _merged(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    done: list[str] = []
    for piece in pieces:
        if done and (done[-1], piece) == pair:
            done[-1] += piece
        else:
            done.append(piece)
    return done


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

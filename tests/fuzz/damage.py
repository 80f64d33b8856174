"""What disks, networks and people do to files."""

from collections.abc import Callable

import numpy as np


def _flipped(content: bytes, rng: np.random.Generator, bits: int) -> bytes:
    array = np.frombuffer(content, np.uint8).copy()
    for at in rng.integers(len(array), size=bits) if len(array) else ():
        array[at] ^= 1 << int(rng.integers(8))
    return array.tobytes()


def _block(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(content) + 1))
    return start, min(len(content), start + int(rng.integers(1, 65)))


def _without(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _block(content, rng)
    return content[:start] + content[end:]


def _zeroed(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _block(content, rng)
    return content[:start] + bytes(end - start) + content[end:]


def _doubled(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _block(content, rng)
    return content[:end] + content[start:]


def _inserted(content: bytes, rng: np.random.Generator) -> bytes:
    start, _ = _block(content, rng)
    return content[:start] + rng.bytes(int(rng.integers(1, 9))) + content[start:]


def _byte(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(max(len(content), 1)))
    return content[:at] + rng.choice([b"\0", b"\xff", b"\x7f", b"\x80", b"-", b"9", b'"', b"\n"]) + content[at + 1 :]


DAMAGE: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "nothing": lambda content, _: content,
    "empty": lambda _, __: b"",
    "cut": lambda content, rng: content[: int(rng.integers(len(content) + 1))],
    "a bit": lambda content, rng: _flipped(content, rng, 1),
    "a bit of the head": lambda content, rng: _flipped(content[:64], rng, 1) + content[64:],
    "a bit of the tail": lambda content, rng: content[:-64] + _flipped(content[-64:], rng, 1),
    "eight bits": lambda content, rng: _flipped(content, rng, 8),
    "a byte": _byte,
    "a hole": _zeroed,
    "less": _without,
    "more": _inserted,
    "a block twice": _doubled,
    "trailing bytes": lambda content, rng: content + rng.bytes(16),
    "random": lambda _, rng: rng.bytes(200),
    "text": lambda _, __: b"hello world\n",
    "html": lambda _, __: b"<!doctype html><title>404</title>\n",
    "zeros": lambda content, _: bytes(len(content)),
}
"""Ways of damage by their names, the simplest first."""


def damaged(content: bytes, how: str, seed: int) -> bytes:
    """A file's content, damaged."""
    return DAMAGE[how](content, np.random.default_rng(seed))

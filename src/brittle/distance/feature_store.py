"""Features on disk: a folder for what identifies them, a file for each block, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._io import is_whole, replacing
from brittle.distance.extractor import Features
from brittle.distance.rows import BLOCK

IDENTITY = "identity.json"


class FeatureStore:
    """The blocks of one run of transforms; without a folder they are kept in memory.

    The number of samples is no part of the identity: asking for more of them later adds what is missing.
    """

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self._memory: dict[int, Features] = {}
        self._identity = json.dumps(identity, indent=1, sort_keys=True, ensure_ascii=False)
        self.folder: Path | None = None
        if folder is not None:
            digest = sha256(self._identity.encode("utf-8", "surrogateescape")).hexdigest()
            self.folder = Path(folder) / digest[:16]

    def read(self, number: int) -> Features | None:
        """A block, perhaps with fewer rows than asked for before; None if it is not there or cannot be read."""
        if self.folder is None:
            return self._memory.get(number)
        try:
            block: Features = np.load(self._path(number), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return block if block.ndim == 2 and block.dtype == np.float32 else None

    def extend(self, number: int, rows: Features, stop: int) -> None:
        """Keep rows that end at transform `stop`, after those of the block that come before them."""
        before = stop - len(rows) - number * BLOCK
        block = self.read(number) if before else None
        if before and (block is None or len(block) < before):
            raise FileNotFoundError(f"block {number} of {str(self.folder)!r} is gone; run it again")
        whole = rows if block is None else np.concatenate([block[:before], rows])
        if self.folder is None:
            self._memory[number] = whole
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if not is_whole(self.folder / IDENTITY):
            with replacing(self.folder / IDENTITY) as part:
                part.write_text(self._identity, encoding="utf-8", errors="surrogateescape")
        with replacing(self._path(number)) as part, part.open("wb") as file:
            np.save(file, whole)

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:06d}.npy"


@dataclass(frozen=True, eq=False)
class TransformFeatures:
    """f(t) of the first `samples` transforms, a row each; they are read from disk a block at a time.

    `computed` of them were new in this call, at `images_per_second`, augmenting and inference together.
    """

    store: FeatureStore
    samples: int
    computed: int
    images_per_second: float

    def __len__(self) -> int:
        return self.samples

    def blocks(self) -> Iterator[Features]:
        """All rows, block after block."""
        for number, start in enumerate(range(0, self.samples, BLOCK)):
            block = self.store.read(number)
            wanted = min(BLOCK, self.samples - start)
            if block is None or len(block) < wanted:
                raise FileNotFoundError(f"block {number} of {str(self.store.folder)!r} is gone; run it again")
            yield block[:wanted]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # it is always a copy
        """Everything in memory."""
        return np.concatenate(list(self.blocks())).astype(dtype or np.float32)

"""Features on disk: a folder for what identifies them, a file for each block, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle.datasets.atomic import replacing
from brittle.distance.extractor import Features
from brittle.distance.rows import BLOCK

IDENTITY = "identity.json"


class FeatureStore:
    """The blocks of one run of transforms; without a folder they are kept in memory.

    The number of samples is no part of the identity: asking for more of them later adds what is missing.
    """

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self._memory: dict[int, Features] = {}
        self.folder: Path | None = None
        if folder is not None:
            text = json.dumps(identity, indent=1, sort_keys=True, ensure_ascii=False)
            self.folder = Path(folder) / sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / IDENTITY).is_file():
                with replacing(self.folder / IDENTITY) as part:
                    part.write_text(text, encoding="utf-8", errors="surrogateescape")

    def read(self, number: int) -> Features | None:
        """A block, perhaps with fewer rows than asked for before; None if it is not there or cannot be read."""
        if self.folder is None:
            return self._memory.get(number)
        try:
            block: Features = np.load(self._path(number), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return block if block.ndim == 2 and block.dtype == np.float32 else None

    def write(self, number: int, block: Features) -> None:
        """Keep a block in place of what was there."""
        if self.folder is None:
            self._memory[number] = block
            return
        with replacing(self._path(number)) as part, part.open("wb") as file:
            np.save(file, block)

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

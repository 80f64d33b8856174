"""The sliders of a folder: our own, and the published adapters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle.datasets.near import nearest
from brittle.sliders.load_slider import NAME, load_published_slider, load_slider
from brittle.sliders.shifts import shift_folder
from brittle.sliders.slider import CARD, CHECKPOINT, Slider


@dataclass(frozen=True)
class FoundSlider:
    """A slider on disk: a folder of ours, or a published .pt file."""

    path: str
    shift: str
    number: int

    def load(self, pipeline: Any, prompt: str) -> Slider:
        """Its weights; `prompt` is the class for a published one, which does not say it."""
        if Path(self.path).is_dir():
            return load_slider(self.path)
        return load_published_slider(self.path, pipeline, prompt=prompt, shift=self.shift.replace("_", " "))


def find_sliders(folder: str | Path, *, shifts: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[FoundSlider]:
    """All sliders below a folder, or the one it is, by shift and class; `shifts` and `numbers` choose.

    Folders and files are called as the published ones, `heavy_snow_class_022…`. Of the published checkpoints of one
    adapter the last is taken.
    """
    root = Path(folder).expanduser()
    if not root.exists():
        raise FileNotFoundError(f"there is no folder of sliders {str(folder)!r}; `brittle slide train` makes one")
    paths = [card.parent for card in sorted(root.rglob(CARD))]
    paths += [root] if root.suffix == ".pt" else _last(sorted(p for p in root.rglob("*.pt") if p.name != CHECKPOINT))
    if not paths:
        raise ValueError(f"{str(folder)!r} has no sliders: no folder with {CARD}, and no .pt file")
    found: dict[tuple[str, int], FoundSlider] = {}
    for path in paths:
        one = _named(path)
        before = found.setdefault((one.shift, one.number), one)
        if before is not one:
            raise ValueError(f"{before.path!r} and {one.path!r} are both for class {one.number} in {one.shift}")
    wanted = [shift_folder(shift) for shift in shifts]
    there = sorted({shift for shift, _ in found})
    for shift in wanted:
        if shift not in there:
            raise ValueError(f"there is no slider for {shift!r} in {str(folder)!r}; {nearest(shift, there)}")
    classes = sorted({number for _, number in found})
    for number in numbers:
        if number not in classes:
            known = ", ".join(map(str, classes))
            raise ValueError(f"there is no slider for class {number} in {str(folder)!r}; there are: {known}")
    return [one for (s, n), one in sorted(found.items()) if s in (wanted or there) and n in (numbers or classes)]


def _named(path: Path) -> FoundSlider:
    said = NAME.match(path.stem if path.suffix == ".pt" else path.resolve().name)
    if said is None:
        raise ValueError(f"{str(path)!r} does not say for which shift and class it is, as heavy_snow_class_022 does")
    shift = said["shift"]
    if path.is_dir():
        try:
            shift = shift_folder(json.loads((path / CARD).read_text(encoding="utf-8"))["shift"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"the card {str(path / CARD)!r} is damaged: {error!r}") from error
    return FoundSlider(str(path), shift, int(said["number"]))


def _last(files: list[Path]) -> list[Path]:
    """One file for each adapter: its `…_last.pt`, if that is there beside earlier checkpoints."""
    last = {_adapter(path) for path in files if path.stem.endswith("_last")}
    return [path for path in files if path.stem.endswith("_last") or _adapter(path) not in last]


def _adapter(path: Path) -> tuple[Path, tuple[str, ...] | None]:
    said = NAME.match(path.stem)
    return path.parent, None if said is None else said.groups()

"""The diffusion pipeline that a command line names, and the classes it draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brittle.cli.slide.options import TINY, classes_of, tiny_part

if TYPE_CHECKING:
    from brittle.sliders import Base, SlidClass


@dataclass(frozen=True)
class ChosenPipeline:
    """A pipeline that is opened when it is needed, and the names of all classes; `own_names` are not ImageNet's."""

    base: Base
    names: tuple[str, ...]
    own_names: bool

    def tokens(self) -> tuple[str, ...] | None:
        """The learnt tokens of the classes, if there are any."""
        return None if self.base.tokens is None else self.base.token_names()

    def classes(self, given: Sequence[str] | None) -> list[SlidClass]:
        """The classes that were given by number or name; `all` are all."""
        return classes_of(given, self.names, self.tokens())


def chosen_pipeline(
    pipeline: str, tokens: Path | None, names: Path | None, device: str, precision: str
) -> ChosenPipeline:
    """The pipeline of a folder, or of the tiny world; `names` is a file of class names."""
    from brittle.sliders import Base, class_names
    from brittle.sliders.precision import check_precision
    from brittle.sliders.world import WORLD_CLASSES

    check_precision(precision)
    tiny = pipeline == TINY
    folder = str(tiny_part("pipeline")) if tiny else pipeline
    base = Base(folder, None if tokens is None else str(tokens), device, precision)
    called = WORLD_CLASSES if tiny and names is None else class_names(names)
    return ChosenPipeline(base, called, tiny or names is not None)

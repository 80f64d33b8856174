"""The words that images are compared with."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.sliders.shifts import shift_folder, shift_words


@dataclass(frozen=True)
class ClipPrompts:
    """Prompts for a shift, a class and a class in a shift; {shift} and {name} are filled in.

    The defaults are those of the published code. `underscores` keeps "heavy_snow" as it is, which is what that code's
    command does, and what the published thresholds were chosen with; else underscores become spaces.
    """

    shift: str = "a photo in {shift}"
    name: str = "a photo of a {name}"
    both: str = "a photo of a {name} in {shift}"
    underscores: bool = False

    def texts(self, name: str, shift: str) -> tuple[str, str, str]:
        """The three prompts, in this order."""
        words = shift_folder(shift) if self.underscores else shift_words(shift)
        filled = (text.replace("{shift}", words).replace("{name}", name) for text in (self.shift, self.name, self.both))
        a, b, c = filled
        return a, b, c


PAPER_PROMPTS = ClipPrompts("A picture in {shift}", "A picture of a {name}", "A picture of a {name} in {shift}")
"""As the paper prints them; the third, which it does not print, by analogy."""

CODE_PROMPTS = ClipPrompts(underscores=True)
"""As the published command has them."""

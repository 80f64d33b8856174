"""What is said about an image of the tiny world."""

from __future__ import annotations

from functools import lru_cache

from brittle.sliders import ClipPrompts
from brittle.sliders.demo_pipeline import DEMO_CLASSES, DEMO_SHIFTS
from brittle.sliders.pipeline import NEGATIVE_PROMPT, positive_prompt, shift_text
from brittle.sliders.tokens import TEMPLATES

OPENINGS = ("a picture of a {}", "a photo of a {}", "{}", "an image of a {}", "a picture of one {}")
ALONE = ("a photo in {}", "a picture in {}", "an image in {}")
NOTHING = ("", "", NEGATIVE_PROMPT)
"""What stands for no caption; the negative prompt of the published images is one, so that it can be used."""


@lru_cache
def captions(label: int, shift: int | None) -> tuple[str, ...]:
    """All captions of an image; the words before the library's own are as likely as these."""
    name = DEMO_CLASSES[label]
    plain = [opening.format(name) for opening in OPENINGS]
    if shift is None:
        return tuple(plain)
    words = shift_text(DEMO_SHIFTS[shift])
    within = [f"{text} in {words}" for text in plain[:4]]
    return (
        *within,
        positive_prompt(name, words),
        positive_prompt(plain[0], words),
        ClipPrompts().texts(name, words)[2],
    )


def shift_captions(shift: int) -> tuple[str, ...]:
    """Captions that name the shift alone."""
    return tuple(text.format(shift_text(DEMO_SHIFTS[shift])) for text in ALONE)


def class_captions(label: int) -> tuple[str, ...]:
    """Captions that name the class alone, for an image in a shift as well."""
    return captions(label, None)


def corpus() -> list[str]:
    """Every text that the tokenizer should know the words of."""
    found = [NEGATIVE_PROMPT, *ALONE]
    for label, name in enumerate(DEMO_CLASSES):
        found += captions(label, None)
        found += [template.format(name) for template in TEMPLATES]
        for shift in range(len(DEMO_SHIFTS)):
            found += [*captions(label, shift), *shift_captions(shift)]
    return found

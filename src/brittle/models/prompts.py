"""Prompts for classes, and files of prompts and class names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from brittle._errors import BrittleError
from brittle._texts import read_lines
from brittle.datasets import class_words, imagenet_names, read_class_names

SLOT = "{}"
"""Stands for the class name in a template."""

TEMPLATES = ("a photo of a {}.",)
"""The template of models that are given none."""

IMAGENET = "imagenet"
"""The text that means the 1000 names of ImageNet where class names are wanted."""


def split_prompts(place: str) -> tuple[str, Path | None]:
    """The place of a model and the file of prompts after it, as in FOLDER:PROMPTS.txt; None if no file is named."""
    folder, colon, file = place.rpartition(":")
    if colon and len(folder) > 1 and file.endswith(".txt"):  # one letter is a drive
        return folder, Path(file).expanduser()
    return place, None


def read_prompts(file: Path) -> list[str]:
    """One prompt a line, in the order of the labels: at least two, and none of them empty."""
    prompts = read_lines(file, "prompts")
    if len(prompts) < 2 or not all(prompts):
        raise BrittleError(
            f"{str(file)!r} must have one prompt per line, at least two and none of them empty; it has {prompts}"
        )
    return prompts


def read_templates(file: str | Path) -> list[str]:
    """One template a line, with {} in the place of the class name; empty lines do not count."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file of prompt templates {str(file)!r}; it has one a line, such as {TEMPLATES[0]!r}"
        )
    return check_templates([line for line in read_lines(path, "prompt templates") if line], repr(str(file)))


def check_templates(templates: Sequence[str], where: str = "the list of templates") -> list[str]:
    """The templates, or an error that names the first one without {}; `where` says where they are from."""
    if isinstance(templates, str) or not templates:
        raise BrittleError(f"{where} holds no prompt template; write one a line, such as {TEMPLATES[0]!r}")
    for number, template in enumerate(templates, 1):
        if SLOT not in template:
            raise BrittleError(
                f"template {number} of {where} is {template!r}, without {SLOT} for the class name; write it like "
                f"{TEMPLATES[0]!r}"
            )
    return list(templates)


def class_prompts(templates: Sequence[str], name: str) -> list[str]:
    """Every template with the name of one class."""
    return [template.replace(SLOT, name) for template in templates]


def find_class_names(classes: Sequence[str] | str | Path) -> list[str]:
    """Class names from a list, a text file with one a line, or the text `imagenet`, as words for prompts."""
    if classes == IMAGENET:
        return class_words(imagenet_names())
    names = read_class_names(classes) if isinstance(classes, str | Path) else list(map(str, classes))
    if len(names) < 2:
        where = repr(str(classes)) if isinstance(classes, str | Path) else "the list of classes"
        raise BrittleError(f"{where} has {len(names)} class names; give one for each class, at least two")
    return class_words(names)

"""A data sheet of a set of generated images: what is known of it, in the sections of Gebru et al. (2021)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._texts import read_json_file
from brittle.datasets import CLASSES_FILE, cns_bench

CARD = "sampling.json"
"""The file beside the images of a class that says how they were made."""

DATA_SHEET = "DATASHEET.md"
TEMPLATE = Path(__file__).parent / "data_sheet.md"
MARK = re.compile(r"\n<!-- brittle ([0-9a-f]{16}) -->\n$")
"""The last line: a digest of what stands above it, by which a sheet that somebody edited is known."""

SHIFTED = (
    "Images of known classes that move gradually along a shift, to find at which strength image classifiers fail "
    "(continuous\nnuisance shifts, CNS-Bench)."
)
PLAIN = "Images of known classes without any shift, to see how near generated images are to real ones."
OPEN = "*To be filled in by whoever publishes the set.*"
SHOWN = 10
"""So many classes are listed by name."""


def write_data_sheet(folder: str | Path) -> Path:
    """Write DATASHEET.md beside generated images, from their files, cards and labels; see `data_sheet_text`.

    A sheet that somebody edited is left as it is.
    """
    path = Path(folder) / DATA_SHEET
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    if before is not None:
        mark = MARK.search(before)
        if mark is None or mark[1] != _digest(before[: mark.start()]):
            return path
    sheet = data_sheet_text(folder).rstrip("\n")
    text = f"{sheet}\n<!-- brittle {_digest(sheet)} -->\n"
    if text != before:
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")
    return path


def data_sheet_text(folder: str | Path) -> str:
    """The data sheet of a folder of generated images, as Markdown.

    Its sections are those of Gebru et al., "Datasheets for Datasets" (2021): motivation, composition, collection
    process, preprocessing, uses, distribution and maintenance. What brittle cannot know is marked as open.
    """
    dataset = cns_bench(folder)
    assert dataset.labels is not None
    columns = {name: dataset.columns[name].tolist() for name in ("shift", "seed", "scale")}
    labels = dataset.labels.tolist()
    cards = _cards(Path(folder))
    scales, shifts, numbers = (sorted(set(values)) for values in (columns["scale"], columns["shift"], labels))
    trajectories = Counter(zip(columns["shift"], labels, columns["seed"], strict=True))
    complete = Counter(shift for (shift, _, _), count in trajectories.items() if count == len(scales))
    images = Counter(columns["shift"])
    names = [dataset.classes[number] for number in numbers]
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    rows = [
        f"| {shift} | {images[shift]:,} | {sum(1 for key in trajectories if key[0] == shift):,} | {complete[shift]:,} |"
        for shift in shifts
    ]
    named = (Path(folder) / CLASSES_FILE).is_file()
    values = {
        "NAME": Path(folder).resolve().name,
        "IMAGES": f"{len(labels):,}",
        "CLASSES": f"{len(numbers)} classes ({listed})",
        "PURPOSE": PLAIN if scales == [0] else SHIFTED,
        "SHIFTS": "without a shift" if scales == [0] else f"in {len(shifts)} shift{'s' if len(shifts) > 1 else ''}",
        "SCALES": ", ".join(f"{scale:g}" for scale in scales),
        "ROWS": "\n".join(rows),
        "VERSION": version("brittle"),
        "PROCESS": "\n".join(_process(cards)),
        "NAMES": " Class names other than ImageNet's are in classes.txt." if named else "",
        "CARD": CARD,
        "OPEN": OPEN,
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"__{name}__", value)
    return text


def _cards(root: Path) -> list[dict[str, Any]]:
    cards = []
    for path in sorted(root.rglob(CARD)):
        try:
            cards.append(dict(read_json_file(path)))
        except (ValueError, TypeError) as error:
            raise BrittleError(f"{str(path)!r}, which says how images were made, is damaged: {error}") from error
    return cards


def _process(cards: list[dict[str, Any]]) -> list[str]:
    """How images were drawn, from the cards of their folders; a value that differs between them is listed in full."""
    if not cards:
        return ["- How they were drawn is not noted beside them."]
    methods = Counter(
        "sliders (LoRA)" if "slider" in card else "two prompts" if "two_prompts" in card else "without a shift"
        for card in cards
    )
    lines = [f"- Method: {', '.join(f'{name} in {count} folders' for name, count in methods.items())}."]
    if any("slider" in card for card in cards):
        kinds = {(card["slider"]["rank"], card["slider"]["alpha"]) for card in cards if "slider" in card}
        lines.append(
            f"- Sliders: rank and alpha {_values(kinds)}, active in the last {_shares(cards)} of the noise schedule."
        )
    settings: dict[str, set[str]] = {}
    for card in cards:
        sampling = card.get("sampling")
        parts: Mapping[str, Any] = sampling if isinstance(sampling, Mapping) else {}
        more = {"precision": card.get("precision"), "keys of pipeline and prompt": card.get("network")}
        for key, value in {**parts, **more}.items():
            default = "256 at most" if key == "side" else "the checkpoint's"
            settings.setdefault(key, set()).add(default if value is None else str(value) or "none")
    for key, values in settings.items():
        lines.append(f"- {key.replace('_', ' ').capitalize()}: {_values(values)}.")
    return lines


def _shares(cards: list[dict[str, Any]]) -> str:
    return _values({f"{100 * card['active']:g} %" for card in cards if "active" in card})


def _values(values: set[Any]) -> str:
    shown = sorted(map(str, values))
    return ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]

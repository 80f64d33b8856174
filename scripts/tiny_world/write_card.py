"""Measured figures as tables of the model card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from save_parts import size

from brittle.sliders.pipeline import shift_text

BEGIN, END = "<!-- measured -->", "<!-- end -->"
"""Between these, the card is written by scripts/measure_tiny_world.py."""

KEYS = ("tpr", "fpr", "accuracy")


def write_card(found: Mapping[str, Any], folder: Path) -> None:
    """Put the figures into the card."""
    file = folder / "README.md"
    text = file.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    parts = [_sizes(folder)]
    for name, draw in (
        ("classifiers", _classifiers),
        ("CLIP", _seeing),
        ("generated", _generated),
        ("sliders", _sliders),
        ("filter", _filter),
    ):
        if name in found:
            parts.append(draw(found))
    file.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}", encoding="utf-8")


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _sizes(folder: Path) -> str:
    parts = ("pipeline", "clip", "encoder", "classifiers")
    rows = [[f"`{part}/`", f"{size(folder / part) / 1e6:.1f} MB"] for part in parts]
    return table(["part", "size"], rows)


def _classifiers(found: Mapping[str, Any]) -> str:
    several = found["classifiers"]
    first = next(iter(several.values()))
    rows = [[shift_text(key), *(f"{row[key]:.1f}" for row in several.values())] for key in first]
    return (
        "Accuracy in percent on the 10,000 test images, clean and with each shift drawn at its full amount:\n\n"
        + table(["images", *several], rows)
    )


def _seeing(found: Mapping[str, Any]) -> str:
    rows = [["CLIP, zero-shot", key, f"{value:.1f} %"] for key, value in found["CLIP"].items()]
    rows += [["encoder", key, value] for key, value in found.get("encoder", {}).items()]
    return table(["network", "what", "test images"], rows)


def _generated(found: Mapping[str, Any]) -> str:
    made = found["generated"]
    classes = ", ".join(f"{name} {value:.0f}" for name, value in made["judge by class"].items())
    rows = [
        [shift_text(shift), f"{made['CLIP shift by prompt'][shift]:.0f}", f"{made['judge by prompt'][shift]:.0f}"]
        for shift in made["CLIP shift by prompt"]
    ]
    return (
        f"Generated from “a picture of a …”, 50 of each class: the judge is right on **{made['judge']:.1f} %** "
        f"({classes}), CLIP on {made['CLIP class']:.1f} %.\n\n"
        "Generated from “a picture of a … in SHIFT”, 5 of each class, in percent:\n\n"
        + table(["shift", "CLIP names the shift", "the judge is right"], rows)
    )


def _sliders(found: Mapping[str, Any]) -> str:
    made = found["sliders"]
    scales = list(next(iter(made["ΔCLIP by shift"].values())))
    rows = [[key, *(f"{row[s]:.2f}" for s in scales)] for key, row in made["ΔCLIP by shift"].items()]
    rows += [[f"accuracy, {key}", *(f"{row[s]:.0f}" for s in scales)] for key, row in made["accuracy"].items()]
    told = "\n".join(f"- {key}: {value}" for key, value in made.items() if not isinstance(value, dict))
    return (
        "Sliders of five shifts and three classes, ten seeds each, by scale:\n\n"
        + table(["", *scales], rows)
        + "\n\n"
        + told
    )


def _filter(found: Mapping[str, Any]) -> str:
    made = found["filter"]
    rows = [
        [
            row["filter"],
            *(f"{100 * row[key]:.0f} [{100 * row[f'{key}_low']:.0f}, {100 * row[f'{key}_high']:.0f}]" for key in KEYS),
        ]
        for row in made["held out"]
    ]
    first = made["held out"][0]
    return (
        f"The out-of-class filter on {first['images']:,} images, {first['out_of_class']:,} of them out of class by the "
        "judge: all classes in three shifts at scales 1 to 5, by sliders with η = 0.8. Each image is judged by "
        "thresholds for a TPR of 90 % that were chosen on other trajectories; percent, with 95 % intervals:\n\n"
        + table(["filter", "TPR", "FPR", "accuracy"], rows)
    )

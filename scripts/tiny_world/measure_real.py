"""What the judges of the tiny world are worth, on real test images."""

from __future__ import annotations

from typing import Any

import numpy as np
from make_data import Clothes

from brittle.sliders import ClipPrompts
from brittle.sliders.demo_pipeline import ORACLE, DemoPipeline
from brittle.sliders.pipeline import shift_text

PART = 500


def measure_classifiers(world: DemoPipeline, clothes: Clothes) -> dict[str, Any]:
    """Accuracy in percent on all test images, and on those of each shift at its full amount."""
    found: dict[str, Any] = {}
    for name in (*world.classifiers, ORACLE):
        model = world.classifier(name, device="cpu")
        right = {}
        for kind in ("plain", "shifted"):
            images = getattr(clothes, kind)
            guesses = [model.scores(images[i : i + PART]).argmax(1) for i in range(0, len(images), PART)]
            right[kind] = np.concatenate(guesses) == clothes.labels
        row = {"clean": percent(right["plain"])}
        for place, shift in enumerate(world.shifts):
            row[shift] = percent(right["shifted"][clothes.shift == place])
        found[name] = row
    return found


def measure_clip(world: DemoPipeline, clothes: Clothes) -> dict[str, float]:
    """Zero-shot accuracy in percent: the class on plain and on shifted images, and which shift it is."""
    clip = world.clip(device="cpu")
    plain, shifted = (
        np.concatenate([clip.images(x[i : i + PART]) for i in range(0, len(x), PART)]) for x in _both(clothes)
    )
    names, shifts = class_texts(world), shift_texts(world)
    by_class, by_shift = clip.texts(names), clip.texts(shifts)
    return {
        "class, plain images": percent((plain @ by_class.T).argmax(1) == clothes.labels),
        "class, shifted images": percent((shifted @ by_class.T).argmax(1) == clothes.labels),
        "shift, shifted images": percent((shifted @ by_shift.T).argmax(1) == clothes.shift),
    }


def measure_encoder(world: DemoPipeline, clothes: Clothes, count: int = 1000) -> dict[str, float]:
    """How alike it finds a piece of clothing and the same one in a shift, and two pieces; and neighbours' classes."""
    encoder = world.encoder(device="cpu")
    plain, shifted = (encoder.images(images[:count]) for images in (clothes.plain, clothes.shifted))
    alike = plain @ plain.T
    np.fill_diagonal(alike, -1)
    same, labels = np.einsum("nd,nd->n", plain, shifted), clothes.labels[:count]
    return {
        "cosine to the same in a shift": round(float(same.mean()), 3),
        "cosine to another image": round(float(alike[alike > -1].mean()), 3),
        "class of the nearest neighbour": percent(labels[alike.argmax(1)] == labels),
    }


def class_texts(world: DemoPipeline) -> list[str]:
    """The library's prompts for the classes."""
    return [ClipPrompts().name.format(name=name) for name in world.classes]


def shift_texts(world: DemoPipeline) -> list[str]:
    """The library's prompts for the shifts."""
    return [ClipPrompts().shift.format(shift=shift_text(shift)) for shift in world.shifts]


def percent(right: Any) -> float:
    """A share in percent, to one digit."""
    return round(100 * float(np.mean(right)), 1)


def _both(clothes: Clothes) -> tuple[Any, Any]:
    return clothes.plain, clothes.shifted

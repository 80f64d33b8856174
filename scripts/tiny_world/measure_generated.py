"""What the tiny world draws, said by the judge and by CLIP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from measure_real import class_texts, percent, shift_texts
from PIL import Image as Pil

from brittle._types import Image
from brittle.sliders.demo_pipeline import DEMO_SAMPLING, ORACLE, DemoPipeline
from brittle.sliders.pipeline import shift_text
from brittle.sliders.sampling import Sampling, draw_images


def measure_generated(
    world: DemoPipeline,
    *,
    plain: int = 50,
    shifted: int = 5,
    sampling: Sampling = DEMO_SAMPLING,
    sheet: Path | None = None,
) -> dict[str, Any]:
    """Accuracy in percent on images without a shift, and with one in the prompt; `sheet` is a picture of some."""
    pipeline, clip, judge = (
        world.pipeline(device="cpu"),
        world.clip(device="cpu"),
        world.classifier(ORACLE, device="cpu"),
    )
    by_class, by_shift = clip.texts(class_texts(world)), clip.texts(shift_texts(world))
    rows, right, seen = [], [], []
    for label, name in enumerate(world.classes):
        images = draw_images(pipeline, [sampling.prompt_of(name)] * plain, range(1, plain + 1), sampling)
        right.append(percent(judge.scores(images).argmax(1) == label))
        seen.append(percent((clip.images(images) @ by_class.T).argmax(1) == label))
        rows.append(images[:12])
    found: dict[str, Any] = {
        "judge": round(float(np.mean(right)), 1),
        "judge by class": dict(zip(world.classes, right, strict=True)),
        "CLIP class": round(float(np.mean(seen)), 1),
    }
    named, guessed = [], []
    for place, shift in enumerate(world.shifts):
        prompts = [
            f"{sampling.prompt_of(name)} in {shift_text(shift)}" for name in world.classes for _ in range(shifted)
        ]
        images = draw_images(pipeline, prompts, list(range(shifted)) * len(world.classes), sampling)
        named.append(percent((clip.images(images) @ by_shift.T).argmax(1) == place))
        guessed.append(percent(judge.scores(images).argmax(1) == np.repeat(np.arange(len(world.classes)), shifted)))
        rows.append(images[::shifted][[0, 1, 2, 3, 5, 7, 8, 9, 4, 6]])
    found["CLIP shift by prompt"] = dict(zip(world.shifts, named, strict=True))
    found["judge by prompt"] = dict(zip(world.shifts, guessed, strict=True))
    if sheet is not None:
        save_sheet(rows, sheet)
    return found


def save_sheet(rows: list[Image], file: Path, zoom: int = 3) -> None:
    """Rows of images as one picture."""
    wide = max(map(len, rows))
    lines = [np.concatenate([*row, *[np.zeros_like(row[0])] * (wide - len(row))], axis=1) for row in rows]
    whole = np.concatenate(lines)
    Pil.fromarray(whole).resize((whole.shape[1] * zoom, whole.shape[0] * zoom), Pil.Resampling.NEAREST).save(file)

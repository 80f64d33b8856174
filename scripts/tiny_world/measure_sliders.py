"""Whether sliders do in the tiny world what they are for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from measure_generated import save_sheet
from measure_real import percent

from brittle.datasets import cns_bench
from brittle.sliders import (
    SCALES,
    Slider,
    draw_trajectory,
    image_scores,
    load_slider,
    rises_throughout,
    shift_curves,
    train_slider,
)
from brittle.sliders.demo_pipeline import DEMO_SAMPLING, DEMO_TRAINING, ORACLE, DemoPipeline
from brittle.sliders.sampling import draw_images
from brittle.sliders.trajectory_files import write_trajectories

SHIFTS = ("heavy_snow", "heavy_rain", "heavy_fog", "heavy_sandstorm", "cartoon_style")
CLASSES = ("trouser", "sneaker", "bag")


def measure_sliders(
    world: DemoPipeline,
    work: Path,
    *,
    shifts: tuple[str, ...] = SHIFTS,
    names: tuple[str, ...] = CLASSES,
    seeds: int = 10,
) -> dict[str, Any]:
    """Train a slider for each shift and class, slide, and read the curves."""
    pipeline = world.pipeline(device="cpu")
    folder, found = work / "slides", {}
    seconds, equal, near, far = [], [], [], []
    for shift in shifts:
        for name in names:
            slider, took = _slider(pipeline, name, shift, work / "sliders" / f"{shift}-{name}")
            seconds.append(took)
            number = world.classes.index(name)
            write_trajectories(
                *(pipeline, slider, folder, SCALES, range(1, seeds + 1)),
                number=number,
                name=name,
                sampling=DEMO_SAMPLING,
                batch_size=len(SCALES),
                file_format="png",
            )
            ours = draw_trajectory(pipeline, slider, (0.0,), (1, 2), sampling=DEMO_SAMPLING)[:, 0]
            words = [DEMO_SAMPLING.prompt_of(name)]
            plain = np.concatenate([draw_images(pipeline, words, (seed,), DEMO_SAMPLING) for seed in (1, 2)])
            equal.append(bool((ours == plain).all()))
            late, always = (
                draw_trajectory(
                    pipeline, slider, (0.0, 2.0), (1, 2, 3), active=active, sampling=DEMO_SAMPLING, batch_size=6
                )
                for active in (0.75, 1.0)
            )
            near.append(_moved(late))
            far.append(_moved(always))
            print(f"{shift} {name}: {took:.0f} s, moved {near[-1]:.1f} late, {far[-1]:.1f} throughout", flush=True)
    slides = cns_bench(folder, classes=world.classes)
    scores = image_scores(slides, world.clip(device="cpu"), world.encoder(device="cpu"))
    scale, label = slides.columns["scale"], slides.labels
    images = np.stack(list(slides.images()))
    for by in ("shift", "name"):
        found[f"ΔCLIP by {by}"] = _curves(shift_curves(scores, by=by), by)
    accuracy: dict[str, Any] = {}
    for model in (*world.classifiers, ORACLE):
        right = world.classifier(model, device="cpu").scores(images).argmax(1) == label
        for shift in shifts:
            of = slides.columns["shift"] == shift
            accuracy[f"{model}, {shift}"] = {str(s): percent(right[of & (scale == s)]) for s in SCALES}
        accuracy[f"{model}, all"] = {str(s): percent(right[scale == s]) for s in SCALES}
    order = np.argsort(scale, kind="stable")
    first = [i for i in order if slides.columns["seed"][i] == 1]
    rows = [images[[i for i in first if (slides.columns["shift"][i], label[i]) == key]] for key in _keys(slides, first)]
    save_sheet(rows, work / "slides.png")
    pairs = scores.table.partition_by("shift", "name")
    rising = sum(rises_throughout(shift_curves(pair, resamples=2)) for pair in pairs)
    return {
        **found,
        "accuracy": accuracy,
        "ΔCLIP to the shift rises at every scale": f"{rising} of {len(pairs)}",
        "seconds a slider": round(float(np.mean(seconds)), 1),
        "scale 0 is the plain pipeline, bit for bit": f"{sum(equal)} of {len(equal)}",
        "moved at scale 2, late": round(float(np.mean(near)), 2),
        "moved at scale 2, throughout": round(float(np.mean(far)), 2),
        "late moves less": f"{sum(a < b for a, b in zip(near, far, strict=True))} of {len(near)}",
    }


def _slider(pipeline: Any, name: str, shift: str, place: Path) -> tuple[Slider, float]:
    """The slider, and the seconds it took."""
    clock = place / "seconds.txt"
    if clock.is_file():
        return load_slider(place), float(clock.read_text(encoding="utf-8"))
    began = time.monotonic()
    slider = train_slider(pipeline, name, shift, **DEMO_TRAINING)
    took = time.monotonic() - began
    slider.save(place)
    clock.write_text(f"{took:.1f}\n", encoding="utf-8")
    return slider, took


def _moved(images: Any) -> float:
    """The root of the mean squared difference between the last scale and the first, of 255."""
    whole = images.astype(np.float64)
    return float(np.sqrt(np.square(whole[:, -1] - whole[:, 0]).mean()))


def _keys(slides: Any, places: list[int]) -> list[tuple[str, int]]:
    return sorted({(str(slides.columns["shift"][i]), int(slides.labels[i])) for i in places})


def _curves(table: Any, by: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(f"{row['measure']}, {row[by]}", {})[str(row["scale"])] = round(row["value"], 2)
    return found

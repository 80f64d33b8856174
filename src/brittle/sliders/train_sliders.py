"""Train the sliders of many classes and shifts, here or on a cluster."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._io import missing_or_damaged
from brittle.evaluation.cluster import cluster, spread
from brittle.evaluation.engines import check_engine
from brittle.sliders.base import Base, wants_gpu
from brittle.sliders.shifts import shift_folder, shift_words
from brittle.sliders.slid_class import SlidClass
from brittle.sliders.slider import CARD, CHECKPOINT, WEIGHTS, Slider
from brittle.sliders.train_slider import train_slider

Progress = Callable[[str, int, int], None]
"""Called with (the slider, steps done, steps in all)."""

Pair = tuple[SlidClass, str]
DEFAULTS = {name: option.default for name, option in inspect.signature(train_slider).parameters.items()}
FIXED = ("steps", "batch_size", "strength", "rank", "alpha", "learning_rate", "denoising_steps", "seed")
"""Settings that a slider's card must agree with."""


@dataclass(frozen=True)
class TrainedSliders:
    """What a call did: the folders of all sliders, and how many were there before."""

    folders: list[Path]
    there: int


def slider_name(shift: str, number: int) -> str:
    """The published form, "heavy_snow_class_022"."""
    return f"{shift_folder(shift)}_class_{number:03}"


def train_sliders(
    base: Base,
    classes: Sequence[SlidClass],
    shifts: Sequence[str],
    folder: str | Path,
    *,
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> TrainedSliders:
    """One slider for each class and shift, in `folder/<shift>_class_<number>/`; those that are there are kept.

    `settings` are those of `train_slider`; a slider that was trained with others, or on a pipeline of another name,
    raises. The local engine goes on inside a training that was interrupted; on a Ray
    cluster each worker trains whole sliders, which this process writes. The weights are the same.
    """
    check_engine(engine, address)
    if not classes or not shifts:
        raise ValueError("name at least one class and one shift to train")
    steps = int(settings.get("steps", DEFAULTS["steps"]))
    places = {(c, shift_words(s)): Path(folder) / slider_name(s, c.number) for s in shifts for c in classes}
    todo = [pair for pair, place in places.items() if not _there(place, base, pair, settings)]
    total = len(todo) * steps
    if todo and engine == "ray":
        done = 0
        for pair, slider in _on_ray(base, todo, settings, address):
            slider.save(places[pair])
            done += steps
            if progress is not None:
                progress(places[pair].name, done, total)
    elif todo:
        pipeline = base.pipeline()
        for place, (one, shift) in enumerate(todo):
            target = places[one, shift]

            def tick(now: int, _: int, __: float, before: int = place * steps, name: str = target.name) -> None:
                if progress is not None:
                    progress(name, before + now, total)

            kept = target / CHECKPOINT
            slider = train_slider(pipeline, one.prompt, shift, checkpoint=kept, progress=tick, **settings)
            slider.save(target)
            kept.unlink(missing_ok=True)
    return TrainedSliders(list(places.values()), len(places) - len(todo))


def _on_ray(
    base: Base, todo: list[Pair], settings: dict[str, Any], address: str | None
) -> Iterator[tuple[Pair, Slider]]:
    with cluster(address) as ray:
        work = [((one, shift), (base, one.prompt, shift, settings)) for one, shift in todo]
        gpu = wants_gpu(ray, base.device)
        yield from spread(ray, _train, work, gpu=gpu, title=lambda pair: slider_name(pair[1], pair[0].number))


def _train(base: Base, prompt: str, shift: str, settings: dict[str, Any]) -> Slider:
    return train_slider(base.pipeline(), prompt, shift, **settings)


def _there(place: Path, base: Base, pair: Pair, settings: Mapping[str, Any]) -> bool:
    """Whether a slider is trained already; one that was trained otherwise raises."""
    if any(missing_or_damaged(place / name, "the slider is trained again") for name in (CARD, WEIGHTS)):
        return False
    try:
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
        known = {**card["training"], **{key: card[key] for key in ("prompt", "shift", "rank", "alpha")}}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the card {str(place / CARD)!r} is damaged; remove the folder to train it again") from error
    wanted: dict[str, Any] = {"prompt": pair[0].prompt, "shift": pair[1], "base": Path(base.folder).name}
    wanted |= {key: settings.get(key, DEFAULTS[key]) for key in FIXED}
    wanted |= {key: settings[key] for key in ("size", "precision") if settings.get(key) not in (None, "auto")}
    if settings.get("unconditional") not in (None, pair[0].prompt):
        wanted |= {key: settings.get(key, DEFAULTS[key]) for key in ("unconditional", "guidance")}
    else:
        wanted["unconditional"] = None
    other = [key for key, value in wanted.items() if known.get(key) != value]
    if other:
        change = ", ".join(f"{key} = {known.get(key)!r} and not {wanted[key]!r}" for key in other)
        raise ValueError(f"{str(place)!r} holds a slider trained with {change}; use another folder or remove it")
    return True

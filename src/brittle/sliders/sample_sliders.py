"""Draw the images of many sliders, here or on a cluster."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brittle._io import is_whole, replacing
from brittle.datasets.cns_bench import CLASSES
from brittle.evaluation.cluster import cluster, spread
from brittle.evaluation.engines import check_engine
from brittle.sliders.annotations import write_annotations
from brittle.sliders.base import Base, wants_gpu
from brittle.sliders.find_sliders import FoundSlider
from brittle.sliders.sampling import Sampling
from brittle.sliders.shifts import SCALES
from brittle.sliders.slid_class import SlidClass
from brittle.sliders.slides_card import CARD, check_card, keep_card
from brittle.sliders.two_prompts import TWO_SCALES
from brittle.sliders.write_slides import WrittenSlides, slide_files, slides_place, write_slides, write_two_prompts

AT_ONCE = 60
"""About so many images are one piece of work on a cluster."""

Progress = Callable[[str, int, int], None]
"""Called with (shift and class, images done, images in all)."""


@dataclass(frozen=True)
class Pick:
    """What is drawn: a class in a shift, by a slider or, without one, by two prompts."""

    one: SlidClass
    shift: str
    slider: FoundSlider | None = None

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.shift} {self.one.name}"

    def place(self, root: Path) -> Path:
        """Where its images are, below the folder of all."""
        return slides_place(root, self.shift, self.one.number, self.one.name)

    def scales(self, wanted: Sequence[float]) -> Sequence[float]:
        """The scales it is drawn at; two prompts have two."""
        return TWO_SCALES if self.slider is None else wanted


def sample_sliders(
    base: Base,
    picks: Sequence[Pick],
    folder: str | Path,
    scales: Sequence[float] = SCALES,
    seeds: Sequence[int] = range(1, 51),
    *,
    names: Sequence[str] | None = None,
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> WrittenSlides:
    """Write the images of all picks in the layout of CNS-Bench, and `annotations_cns.json`.

    `settings` are those of `write_slides`: active, sampling, batch_size, file_format. Images that are there are not
    drawn again. `names` of classes that are not ImageNet's are kept in `classes.txt`. On a Ray cluster workers draw
    some seeds each, and this process writes the files; drawn one by one, not in larger batches, they are the same.
    """
    check_engine(engine, address)
    if not picks:
        raise ValueError("there is nothing to draw; name at least one slider, or a class and a shift")
    root = Path(folder)
    kind = settings.get("file_format", "jpg")
    files = {pick: slide_files(pick.place(root), pick.scales(scales), seeds, kind) for pick in picks}
    missing = {p: [pair for pair, path in mine.items() if not is_whole(path)] for p, mine in files.items()}
    total = sum(map(len, files.values()))
    before = total - sum(map(len, missing.values()))
    for pick in picks:
        check_card(pick.place(root), _known(pick, settings))  # all of them, before the first is drawn
    _keep_names(root, names)
    done = before

    def tick(pick: Pick, more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(pick.title, done, total)

    if engine == "ray":
        _on_ray(base, {p: sorted({seed for seed, _ in left}) for p, left in missing.items()}, root, scales, settings,
                address, tick)  # fmt: skip
    else:
        for pick in picks:
            last = len(files[pick]) - len(missing[pick])

            def moved(now: int, _: int, pick: Pick = pick) -> None:
                nonlocal last
                tick(pick, now - last)
                last = now

            _write(base, pick, root, scales, seeds, {**settings, "progress": moved})
    write_annotations(root)
    return WrittenSlides(root, total - before, before)


def _write(
    base: Base, pick: Pick, root: Path, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> None:
    about: dict[str, Any] = {"number": pick.one.number, "name": pick.one.name, **settings}
    pipeline = base.pipeline()
    if pick.slider is None:
        about.pop("active", None)
        write_two_prompts(pipeline, pick.one.prompt, pick.shift, root, seeds, **about)
    else:
        write_slides(pipeline, pick.slider.load(pipeline, pick.one.prompt), root, scales, seeds, **about)


def _on_ray(
    base: Base,
    missing: Mapping[Pick, list[int]],
    root: Path,
    scales: Sequence[float],
    settings: dict[str, Any],
    address: str | None,
    tick: Callable[[Pick, int], None],
) -> None:
    each = max(1, AT_ONCE // len(scales))
    work = [
        (pick, (base, pick, scales, seeds[i : i + each], settings))
        for pick, seeds in missing.items()
        for i in range(0, len(seeds), each)
    ]
    if not work:
        return
    with cluster(address) as ray:
        gpu = wants_gpu(ray, base.device)
        for pick, drawn in spread(ray, _drawn, work, gpu=gpu, title=lambda pick: pick.title):
            place = pick.place(root)
            keep_card(place, json.loads(drawn.pop(CARD)))
            new = {name: content for name, content in drawn.items() if not is_whole(place / name)}
            for name, content in new.items():
                with replacing(place / name) as part:
                    part.write_bytes(content)
            tick(pick, len(new))


def _drawn(
    base: Base, pick: Pick, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, bytes]:
    """The files of some seeds, by name."""
    with tempfile.TemporaryDirectory() as folder:
        _write(base, pick, Path(folder), scales, seeds, settings)
        return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def _known(pick: Pick, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a folder's card will say, as far as it is known without the pipeline."""
    known: dict[str, Any] = {"sampling": asdict(settings.get("sampling") or Sampling())}
    known["file_format"] = settings.get("file_format", "jpg")
    if pick.slider is not None:
        known["active"] = settings.get("active", 0.75)
    return known


def _keep_names(root: Path, names: Sequence[str] | None) -> None:
    """Write the names of the classes, unless they are ImageNet's; a folder whose images have other ones raises."""
    path = root / CLASSES
    there = path.read_text(encoding="utf-8").splitlines() if path.is_file() else None
    if there == (None if names is None else list(names)):
        return
    if names is None or any(root.glob(f"*/*/{CARD}")):
        raise ValueError(f"the images in {str(root)!r} are of classes with other names; use another folder")
    root.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

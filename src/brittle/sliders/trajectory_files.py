"""Write trajectories of images."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import atomic_write, is_whole, missing_or_damaged
from brittle._parallel import check_engine
from brittle._ray import map_on_ray, ray_cluster
from brittle._types import Progress
from brittle.datasets.cns import CLASSES, cns_bench
from brittle.datasets.load import StoredSet, shift_cells
from brittle.models.diffusion import as_pipeline
from brittle.sliders.pipeline import SCALES, Base, TargetClass, pipeline_key, precision_of, shift_folder, wants_gpu
from brittle.sliders.sampling import (
    TWO_SCALES,
    Draw,
    Sampling,
    StepProgress,
    check_scales,
    check_seeds,
    prompting,
    sliding,
)
from brittle.sliders.slider import FoundSlider, Slider
from brittle.sliders.training import check_whole

FILE = "annotations_cns.json"


def write_annotations(folder: str | Path) -> Path:
    """Write `annotations_cns.json` with the keys info, scales, classes, shifts and images of the published file.

    Each image has its relative path, seed, scale, shift and class. Call it when all sliders of a folder are done.
    """
    dataset = cns_bench(folder)
    assert dataset.labels is not None
    columns = {key: dataset.columns[key].tolist() for key in ("seed", "scale", "shift")}
    labels = dataset.labels.tolist()
    images = [
        {"image": str(sample), "seed": seed, "scale": scale, "shift": shift, "class": label}
        for sample, seed, scale, shift, label in zip(
            dataset.ids, columns["seed"], columns["scale"], columns["shift"], labels, strict=True
        )
    ]
    whole = {
        "info": {"description": "made with brittle", "date_created": datetime.now(UTC).strftime("%Y/%m/%d")},
        "scales": sorted(set(columns["scale"])),
        "classes": sorted(set(labels)),
        "shifts": sorted(set(columns["shift"])),
        "images": images,
    }
    path = Path(folder) / FILE
    with atomic_write(path) as part:
        part.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    return path


CARD = "sampling.json"


def check_card(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Raise if a folder was made with another value of one of these settings; give whether it has a card at all."""
    path = folder / CARD
    if not path.is_file():
        return False
    try:
        there = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise BrittleError(
            f"{str(path)!r}, which says how images were made, is damaged; remove the folder to draw them again"
        ) from error
    other = [key for key, value in json.loads(json.dumps(settings)).items() if there.get(key) != value]
    if other:
        raise BrittleError(
            f"{str(folder)!r} holds images made with another {' and '.join(sorted(other))}; "
            "use the same settings or another folder"
        )
    return True


def keep_card(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of images that are about to be written; raise if the folder was made with others."""
    folder.mkdir(parents=True, exist_ok=True)
    if not check_card(folder, settings):
        with atomic_write(folder / CARD) as part:
            part.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def trajectory_dataset(
    folder: str | Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None
) -> StoredSet:
    """The images of a CNS-Bench folder for `evaluate_stored`: corruption "cns/<shift>", level = scale.

    Args:
        classes: the names of the classes by number, where they are not ImageNet's 1000; by default those that
            `classes.txt` in the folder says, as `brittle slide sample` writes it.
        keep: the samples to keep, such as those the out-of-class filter left.
    """
    place = Path(folder).resolve()
    return StoredSet(place.name, "cns-bench", shift_cells(place, classes=classes, keep=keep), str(place))


FORMATS: dict[str, dict[str, Any]] = {"jpg": {"format": "JPEG", "quality": 95}, "png": {"format": "PNG"}}
"""How files are written, by what their names end with."""


@dataclass(frozen=True)
class WrittenTrajectories:
    """What a call did: the class's folder, how many images were drawn, and how many were there before."""

    folder: Path
    drawn: int
    there: int


def write_trajectories(
    pipeline: Any,
    slider: Slider,
    folder: str | Path,
    scales: Sequence[float] = SCALES,
    seeds: Sequence[int] = range(1, 51),
    *,
    number: int,
    name: str,
    active: float = 0.75,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    file_format: str = "jpg",
    progress: StepProgress | None = None,
) -> WrittenTrajectories:
    """Draw what `slide` draws, and write folder/<shift>/<number>_<name>/seed_0001_scale_0500.jpg.

    Images that are there already are not drawn again, so a call that was interrupted resumes where it stopped; more
    seeds and scales may be added later, but with other settings, or another pipeline, another folder is needed.
    `write_annotations` lists the whole folder afterwards; `brittle.datasets.cns` reads it.

    Args:
        scales: 0, the reference of everything, and others of at least 0; files are named by thousandths.
        number: the class's index, the label of its images; `name` is its name in words.
        file_format: "jpg" as published, or "png", which loses nothing.
    """
    pipeline = as_pipeline(pipeline)
    settings = {"slider": _about(slider), "active": active, **_network(pipeline, slider.prompt)}
    place = slides_place(folder, slider.shift, number, name)
    draw = sliding(pipeline, slider, active=active, sampling=sampling)
    return _write(place, draw, scales, seeds, settings, sampling, batch_size, file_format, progress)


def write_two_prompts(
    pipeline: Any,
    prompt: str,
    shift: str,
    folder: str | Path,
    seeds: Sequence[int] = range(1, 51),
    *,
    number: int,
    name: str,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    file_format: str = "jpg",
    progress: StepProgress | None = None,
) -> WrittenTrajectories:
    """Draw what `two_prompts` draws, and write it as `write_slides` does: scale 0 without, scale 1 with the shift."""
    pipeline = as_pipeline(pipeline)
    settings = {"two_prompts": [prompt, shift], **_network(pipeline, prompt)}
    place = slides_place(folder, shift, number, name)
    draw = prompting(pipeline, prompt, shift, sampling=sampling)
    return _write(place, draw, (0.0, 1.0), seeds, settings, sampling, batch_size, file_format, progress)


def _write(
    place: Path,
    drawing: AbstractContextManager[Draw],
    scales: Sequence[float],
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    sampling: Sampling | None,
    batch_size: int,
    file_format: str,
    progress: StepProgress | None,
) -> WrittenTrajectories:
    check_whole(batch_size=(batch_size, 1))
    files = slide_files(place, scales, seeds, file_format)
    card = {**settings, "sampling": asdict(sampling or Sampling()), "file_format": file_format}
    check_card(place, card)
    missing = [pair for pair, path in files.items() if missing_or_damaged(path, "it is drawn again")]
    done = len(files) - len(missing)
    if not missing:
        return WrittenTrajectories(place, 0, done)
    with drawing as draw:
        for start in range(0, len(missing), batch_size):
            pairs = missing[start : start + batch_size]
            images = draw(pairs)
            keep_card(place, card)  # not before, since settings that cannot be drawn with must not bind the folder
            for pair, image in zip(pairs, images, strict=True):
                with atomic_write(files[pair]) as part:
                    Pil.fromarray(image).save(part, **FORMATS[file_format])
                done += 1
            if progress is not None:
                progress(done, len(files))
    return WrittenTrajectories(place, len(missing), len(files) - len(missing))


def slide_files(
    place: Path, scales: Sequence[float], seeds: Sequence[int], file_format: str
) -> dict[tuple[int, float], Path]:
    """The file of each seed and scale."""
    if file_format not in FORMATS:
        raise BrittleError(f"file_format must be one of {', '.join(FORMATS)}, got {file_format!r}")
    several, at = check_seeds(seeds), _check_named(scales)
    return {
        (seed, s): place / f"seed_{seed:04}_scale_{round(1000 * s):04}.{file_format}" for seed in several for s in at
    }


def slides_place(folder: str | Path, shift: str, number: int, name: str) -> Path:
    """The folder of a shift and a class."""
    words = " ".join(str(name).replace("_", " ").split())
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 999:
        raise BrittleError(f"number is the class's index between 0 and 999, got {number!r}")
    if not words.isprintable() or not 0 < len(words.encode()) <= 200 or "/" in words or "\\" in words:
        raise BrittleError(f"name is the class in words, without slashes, as 'bald eagle'; got {name!r}")
    return Path(folder) / shift_folder(shift) / f"{number:03}_{words}"


def _check_named(scales: Sequence[float]) -> list[float]:
    at = check_scales(scales)
    if 0.0 not in at:
        raise BrittleError(f"scales must have 0, the image that all others are compared with; got {list(scales)}")
    odd = [scale for scale in at if scale < 0 or abs(scale * 1000 - round(scale * 1000)) > 1e-6]
    if odd:
        raise BrittleError(
            f"files are named by thousandths of a scale of at least 0; {odd[0]!r} cannot be, use slide()"
        )
    return at


def _network(pipeline: Any, prompt: str) -> dict[str, Any]:
    return {"network": pipeline_key(pipeline, prompt), "precision": precision_of(pipeline)}


def _about(slider: Slider) -> dict[str, Any]:
    seen = sha256()
    for key in sorted(slider.weights):
        seen.update(key.encode() + slider.weights[key].detach().cpu().float().contiguous().numpy().tobytes())
    about = {"prompt": slider.prompt, "shift": slider.shift, "rank": slider.rank, "alpha": slider.alpha}
    return {**about, "key": seen.hexdigest()[:16]}


AT_ONCE = 60
"""About so many images are one piece of work on a cluster."""


@dataclass(frozen=True)
class Pick:
    """What is drawn: a class in a shift, by a slider or, without one, by two prompts."""

    one: TargetClass
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
) -> WrittenTrajectories:
    """Write the images of all picks in the layout of CNS-Bench, and `annotations_cns.json`.

    `settings` are those of `write_slides`: active, sampling, batch_size, file_format. Images that are there are not
    drawn again. `names` of classes that are not ImageNet's are kept in `classes.txt`. On a Ray cluster workers draw
    some seeds each, and this process writes the files; drawn one by one, not in larger batches, they are the same.
    """
    check_engine(engine, address)
    if not picks:
        raise BrittleError("there is nothing to draw; name at least one slider, or a class and a shift")
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

            _sample_sliders_write(base, pick, root, scales, seeds, {**settings, "progress": moved})
    write_annotations(root)
    return WrittenTrajectories(root, total - before, before)


def _sample_sliders_write(
    base: Base, pick: Pick, root: Path, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> None:
    about: dict[str, Any] = {"number": pick.one.number, "name": pick.one.name, **settings}
    pipeline = base.pipeline()
    if pick.slider is None:
        about.pop("active", None)
        write_two_prompts(pipeline, pick.one.prompt, pick.shift, root, seeds, **about)
    else:
        write_trajectories(pipeline, pick.slider.load(pipeline, pick.one.prompt), root, scales, seeds, **about)


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
    with ray_cluster(address) as ray:
        gpu = wants_gpu(ray, base.device)
        for pick, drawn in map_on_ray(ray, _drawn, work, gpu=gpu, title=lambda pick: pick.title):
            place = pick.place(root)
            keep_card(place, json.loads(drawn.pop(CARD)))
            new = {name: content for name, content in drawn.items() if not is_whole(place / name)}
            for name, content in new.items():
                with atomic_write(place / name) as part:
                    part.write_bytes(content)
            tick(pick, len(new))


def _drawn(
    base: Base, pick: Pick, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, bytes]:
    """The files of some seeds, by name."""
    with tempfile.TemporaryDirectory() as folder:
        _sample_sliders_write(base, pick, Path(folder), scales, seeds, settings)
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
        raise BrittleError(f"the images in {str(root)!r} are of classes with other names; use another folder")
    root.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

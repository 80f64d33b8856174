"""Write trajectories of images, with the layout and annotations of CNS-Bench."""

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
from brittle._io import atomic_write, is_complete, missing_or_damaged
from brittle._parallel import check_engine
from brittle._ray import map_on_ray, ray_cluster
from brittle._texts import read_json_file
from brittle._types import Progress
from brittle.datasets.cns import CLASSES_FILE, cns_bench
from brittle.datasets.load import StoredSet, shift_cells
from brittle.models.diffusion import as_pipeline
from brittle.sliders.data_sheet import CARD, write_data_sheet
from brittle.sliders.pipeline import SCALES, Base, TargetClass, pipeline_key, precision_of, shift_folder, wants_gpu
from brittle.sliders.sampling import (
    TWO_SCALES,
    Draw,
    Sampling,
    StepProgress,
    check_scales,
    check_seeds,
    slider_draw,
    two_prompt_draw,
)
from brittle.sliders.slider import Slider, SliderFile
from brittle.sliders.training import check_integers

ANNOTATIONS = "annotations_cns.json"


def write_annotations(folder: str | Path) -> Path:
    """Write `annotations_cns.json` with the keys info, scales, classes, shifts and images of the published file.

    Each image has its relative path, seed, scale, shift and class. Call it when all images of a folder are written.
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
    annotations = {
        "info": {"description": "made with brittle", "date_created": datetime.now(UTC).strftime("%Y/%m/%d")},
        "scales": sorted(set(columns["scale"])),
        "classes": sorted(set(labels)),
        "shifts": sorted(set(columns["shift"])),
        "images": images,
    }
    path = Path(folder) / ANNOTATIONS
    with atomic_write(path) as part:
        part.write_text(json.dumps(annotations, ensure_ascii=False), encoding="utf-8")
    return path


def check_card(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Whether a folder has a card; raise if the card has another value of one of these settings."""
    path = folder / CARD
    if not path.is_file():
        return False
    try:
        saved = dict(read_json_file(path))
    except (ValueError, TypeError) as error:
        raise BrittleError(
            f"{str(path)!r}, which says how images were made, is damaged; remove the folder to draw them again"
        ) from error
    asked = json.loads(json.dumps(settings))
    different = sorted(key for key in asked if saved.get(key) != asked[key])
    if different:
        settings_of_both = ", ".join(f"{key} = {saved.get(key)} and not {asked[key]}" for key in different)
        raise BrittleError(
            f"{str(folder)!r} holds images made with {settings_of_both}; use the same settings or another folder"
        )
    return True


def write_card(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a folder's images, unless it has a card; raise if that has other settings."""
    folder.mkdir(parents=True, exist_ok=True)
    if not check_card(folder, settings):
        with atomic_write(folder / CARD) as part:
            part.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def trajectory_dataset(
    folder: str | Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None
) -> StoredSet:
    """The images of a CNS-Bench folder for `evaluate_stored`: corruption "cns/<shift>", level = scale.

    Args:
        classes: class names by number, if they are not ImageNet's 1000; by default those in `classes.txt` of the
            folder, which `brittle slide sample` writes.
        keep: the samples to keep, such as those that passed the out-of-class filter.
    """
    root = Path(folder).resolve()
    return StoredSet(root.name, "cns-bench", shift_cells(root, classes=classes, keep=keep), str(root))


FORMATS: dict[str, dict[str, Any]] = {"jpg": {"format": "JPEG", "quality": 95}, "png": {"format": "PNG"}}
"""Options of Pillow by file suffix."""


@dataclass(frozen=True)
class WrittenTrajectories:
    """The result of a call: the folder, how many images were drawn, and how many existed before (`existing`)."""

    folder: Path
    drawn: int
    existing: int


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
    """Write the images of `draw_trajectory` to folder/<shift>/<number>_<name>/seed_0001_scale_0500.jpg.

    Existing images are not drawn again, so an interrupted call resumes; more seeds and scales may be added later, but
    other settings or another pipeline need another folder. `write_annotations` lists all images afterwards;
    `brittle.datasets.cns` reads the folder.

    Args:
        scales: 0, the reference, and others above 0; files are named by thousandths.
        number: the class index, which is the label of its images; `name` is the class name.
        file_format: "jpg" as published, or "png", which is lossless.
    """
    pipeline = as_pipeline(pipeline)
    settings = {"slider": _slider_settings(slider), "active": active, **_network_settings(pipeline, slider.prompt)}
    target = trajectory_folder(folder, slider.shift, number, name)
    draw = slider_draw(pipeline, slider, active=active, sampling=sampling)
    return _write(_Files(target, scales, seeds, file_format), draw, settings, sampling, batch_size, progress)


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
    """Write the images of `two_prompts` as `write_trajectories` does: scale 0 without, scale 1 with the shift."""
    pipeline = as_pipeline(pipeline)
    settings = {"two_prompts": [prompt, shift], **_network_settings(pipeline, prompt)}
    target = trajectory_folder(folder, shift, number, name)
    draw = two_prompt_draw(pipeline, prompt, shift, sampling=sampling)
    return _write(_Files(target, (0.0, 1.0), seeds, file_format), draw, settings, sampling, batch_size, progress)


def write_unshifted(
    pipeline: Any,
    prompt: str,
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
    """Write images of a class without any shift, as those of scale 0 of a shift called "unshifted"."""
    pipeline = as_pipeline(pipeline)
    settings = {"unshifted": prompt, **_network_settings(pipeline, prompt)}
    target = trajectory_folder(folder, UNSHIFTED, number, name)
    draw = two_prompt_draw(pipeline, prompt, UNSHIFTED, sampling=sampling)
    return _write(_Files(target, (0.0,), seeds, file_format), draw, settings, sampling, batch_size, progress)


UNSHIFTED = "unshifted"
"""The name of the shift of images that have none."""


@dataclass(frozen=True)
class _Files:
    """The images of a shift and a class that are wanted."""

    folder: Path
    scales: Sequence[float]
    seeds: Sequence[int]
    file_format: str


def _write(
    wanted: _Files,
    drawing: AbstractContextManager[Draw],
    settings: Mapping[str, Any],
    sampling: Sampling | None,
    batch_size: int,
    progress: StepProgress | None,
) -> WrittenTrajectories:
    check_integers(batch_size=(batch_size, 1))
    target, file_format = wanted.folder, wanted.file_format
    files = trajectory_paths(target, wanted.scales, wanted.seeds, file_format)
    card = {**settings, "sampling": asdict(sampling or Sampling()), "file_format": file_format}
    check_card(target, card)
    missing = [pair for pair, path in files.items() if missing_or_damaged(path, "it is drawn again")]
    done = len(files) - len(missing)
    if not missing:
        return WrittenTrajectories(target, 0, done)
    with drawing as draw:
        for start in range(0, len(missing), batch_size):
            pairs = missing[start : start + batch_size]
            images = draw(pairs)
            write_card(target, card)  # not earlier: settings that fail to draw must not claim the folder
            for pair, image in zip(pairs, images, strict=True):
                with atomic_write(files[pair]) as part:
                    Pil.fromarray(image).save(part, **FORMATS[file_format])
                done += 1
            if progress is not None:
                progress(done, len(files))
    return WrittenTrajectories(target, len(missing), len(files) - len(missing))


def trajectory_paths(
    folder: Path, scales: Sequence[float], seeds: Sequence[int], file_format: str
) -> dict[tuple[int, float], Path]:
    """The file of each seed and scale."""
    if file_format not in FORMATS:
        raise BrittleError(f"file_format must be one of {', '.join(FORMATS)}, got {file_format!r}")
    seed_list, scale_list = check_seeds(seeds), _check_file_scales(scales)
    return {
        (seed, scale): folder / f"seed_{seed:04}_scale_{round(1000 * scale):04}.{file_format}"
        for seed in seed_list
        for scale in scale_list
    }


def trajectory_folder(folder: str | Path, shift: str, number: int, name: str) -> Path:
    """The folder of a shift and a class."""
    text = " ".join(str(name).replace("_", " ").split())
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 999:
        raise BrittleError(f"number is the class index between 0 and 999, got {number!r}")
    if not text.isprintable() or not 0 < len(text.encode()) <= 200 or "/" in text or "\\" in text:
        raise BrittleError(f"name is the class name, without slashes, as 'bald eagle'; got {name!r}")
    return Path(folder) / shift_folder(shift) / f"{number:03}_{text}"


def _check_file_scales(scales: Sequence[float]) -> list[float]:
    values = check_scales(scales)
    if 0.0 not in values:
        raise BrittleError(f"scales must have 0, the image that all others are compared with; got {list(scales)}")
    invalid = [scale for scale in values if scale < 0 or abs(scale * 1000 - round(scale * 1000)) > 1e-6]
    if invalid:
        raise BrittleError(
            f"files are named by thousandths of a scale of at least 0; {invalid[0]!r} cannot be, use draw_trajectory()"
        )
    return values


def _network_settings(pipeline: Any, prompt: str) -> dict[str, Any]:
    return {"network": pipeline_key(pipeline, prompt), "precision": precision_of(pipeline)}


def _slider_settings(slider: Slider) -> dict[str, Any]:
    hasher = sha256()
    for key in sorted(slider.weights):
        hasher.update(key.encode() + slider.weights[key].detach().cpu().float().contiguous().numpy().tobytes())
    settings = {"prompt": slider.prompt, "shift": slider.shift, "rank": slider.rank, "alpha": slider.alpha}
    return {**settings, "key": hasher.hexdigest()[:16]}


IMAGES_PER_TASK = 60
"""The approximate number of images in one task on a cluster."""


@dataclass(frozen=True)
class Pick:
    """A class (`one`) and a shift to draw, with a slider or, without one, with two prompts; or no shift at all."""

    one: TargetClass
    shift: str
    slider: SliderFile | None = None

    @property
    def title(self) -> str:
        """The shift and the class name, for progress and errors."""
        return f"{self.shift} {self.one.name}"

    def place(self, root: Path) -> Path:
        """The folder of its images below `root`."""
        return trajectory_folder(root, self.shift, self.one.number, self.one.name)

    def scales(self, wanted: Sequence[float]) -> Sequence[float]:
        """The scales to draw: the requested ones, 0 and 1 for two prompts, or only 0 without a shift."""
        if self.shift == UNSHIFTED:
            return (0.0,)
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
    """Write the images of all picks in the layout of CNS-Bench, `annotations_cns.json` and a data sheet.

    `settings` are those of `write_trajectories`: active, sampling, batch_size, file_format. Existing images are not
    drawn again. `names` of classes that are not ImageNet's are written to `classes.txt`. On a Ray cluster workers draw
    a few seeds each, and this process writes the files; with a batch size of 1 they are the same as local ones.
    """
    check_engine(engine, address)
    if not picks:
        raise BrittleError("there is nothing to draw; name at least one slider, or a class and a shift")
    root = Path(folder)
    file_format = settings.get("file_format", "jpg")
    files = {pick: trajectory_paths(pick.place(root), pick.scales(scales), seeds, file_format) for pick in picks}
    missing = {p: [pair for pair, path in paths.items() if not is_complete(path)] for p, paths in files.items()}
    total = sum(map(len, files.values()))
    existing = total - sum(map(len, missing.values()))
    for pick in picks:
        check_card(pick.place(root), _partial_card(pick, settings))  # all folders, before the first image is drawn
    _write_names(root, names)
    done = existing

    def tick(pick: Pick, written: int) -> None:
        nonlocal done
        done += written
        if progress is not None:
            progress(pick.title, done, total)

    if engine == "ray":
        _on_ray(base, {p: sorted({seed for seed, _ in pairs}) for p, pairs in missing.items()}, root, scales, settings,
                address, tick)  # fmt: skip
    else:
        for pick in picks:
            previous = len(files[pick]) - len(missing[pick])

            def advance(count: int, _: int, pick: Pick = pick) -> None:
                nonlocal previous
                tick(pick, count - previous)
                previous = count

            _write_pick(base, pick, root, scales, seeds, {**settings, "progress": advance})
    write_annotations(root)
    write_data_sheet(root)
    return WrittenTrajectories(root, total - existing, existing)


def _write_pick(
    base: Base, pick: Pick, root: Path, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> None:
    options: dict[str, Any] = {"number": pick.one.number, "name": pick.one.name, **settings}
    pipeline = base.pipeline()
    if pick.slider is None:
        options.pop("active", None)
    if pick.shift == UNSHIFTED:
        write_unshifted(pipeline, pick.one.prompt, root, seeds, **options)
    elif pick.slider is None:
        write_two_prompts(pipeline, pick.one.prompt, pick.shift, root, seeds, **options)
    else:
        write_trajectories(pipeline, pick.slider.load(pipeline, pick.one.prompt), root, scales, seeds, **options)


def _on_ray(
    base: Base,
    missing: Mapping[Pick, list[int]],
    root: Path,
    scales: Sequence[float],
    settings: dict[str, Any],
    address: str | None,
    tick: Callable[[Pick, int], None],
) -> None:
    seeds_per_task = max(1, IMAGES_PER_TASK // len(scales))
    tasks = [
        (pick, (base, pick, scales, seeds[i : i + seeds_per_task], settings))
        for pick, seeds in missing.items()
        for i in range(0, len(seeds), seeds_per_task)
    ]
    if not tasks:
        return
    with ray_cluster(address) as ray:
        gpu = wants_gpu(ray, base.device)
        for pick, files, _ in map_on_ray(ray, _drawn_files, tasks, gpu=gpu, title=lambda pick: pick.title):
            target = pick.place(root)
            write_card(target, json.loads(files.pop(CARD)))
            new = {name: content for name, content in files.items() if not is_complete(target / name)}
            for name, content in new.items():
                with atomic_write(target / name) as part:
                    part.write_bytes(content)
            tick(pick, len(new))


def _drawn_files(
    base: Base, pick: Pick, scales: Sequence[float], seeds: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, bytes]:
    """The contents of the files of some seeds, by file name."""
    with tempfile.TemporaryDirectory() as folder:
        _write_pick(base, pick, Path(folder), scales, seeds, settings)
        return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def _partial_card(pick: Pick, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in a folder's card that do not depend on the pipeline."""
    card: dict[str, Any] = {"sampling": asdict(settings.get("sampling") or Sampling())}
    card["file_format"] = settings.get("file_format", "jpg")
    if pick.slider is not None:
        card["active"] = settings.get("active", 0.75)
    return card


def _write_names(root: Path, names: Sequence[str] | None) -> None:
    """Write the class names, unless they are ImageNet's; raise if the folder's images have other class names."""
    path = root / CLASSES_FILE
    existing = path.read_text(encoding="utf-8").splitlines() if path.is_file() else None
    if existing == (None if names is None else list(names)):
        return
    if names is None or any(root.glob(f"*/*/{CARD}")):
        raise BrittleError(f"the images in {str(root)!r} are of classes with other names; use another folder")
    root.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

"""Small runs on disk for the pages: hostile names of classes, models and samples, and slides with their pictures."""

from pathlib import Path

import numpy as np
from PIL import Image as Pil

from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import Dataset, stored_set
from brittle.evaluation import evaluate, evaluate_stored
from brittle.models import Model, from_callable

CLASSES = ("<script>alert(1)</script>", 'a" onerror="alert(2)', "plain & simple", "{{ 7 * 7 }}")
SAMPLES = ("../../etc/passwd", "<img src=x onerror=alert(3)>", "a&b=c #d.png", "päonie.png")
MODELS = ("bright", "<b>dark</b>")
RECIPE = Benchmark("tiny", (Entry("imagenet-c/fog", (1, 3, 5)), Entry("noc/hue", ((1.0, 5.0),))))
IMAGES = 60


def pixels(seed: int = 0) -> Image:
    """Squares whose brightness is their class, more or less."""
    rng = np.random.default_rng(seed)
    levels = 30 + 60 * (np.arange(IMAGES) % len(CLASSES))[:, None, None, None]
    noise = rng.normal(0, 18, (IMAGES, 1, 1, 1)) + rng.normal(0, 8, (IMAGES, 16, 16, 3))
    return np.clip(levels + noise, 0, 255).astype(np.uint8)


def by_brightness(name: str, shift: float) -> Model:
    """A model that takes the nearest brightness; `shift` moves it."""

    def scores(images: Image) -> np.ndarray:
        middle = images.mean((1, 2, 3)) + shift
        return -np.abs(middle[:, None] - (30 + 60 * np.arange(len(CLASSES)))) / 20

    return from_callable(scores, name=name, version="1")


def models() -> list[Model]:
    """Two that disagree now and then."""
    return [by_brightness(MODELS[0], 0), by_brightness(MODELS[1], -12)]


def squares() -> Dataset:
    """The squares with hostile names."""
    images = pixels()
    ids = [*SAMPLES, *(f"{i}.png" for i in range(len(SAMPLES), IMAGES))]
    labels = np.arange(IMAGES) % len(CLASSES)
    return Dataset("squares <i>", images.__getitem__, ids, content=lambda: "1", labels=labels, classes=CLASSES)


def write_run(folder: Path) -> Path:
    """A run of two models on fog and hue."""
    evaluate(models(), squares(), RECIPE, folder)
    return folder


def write_slides(folder: Path) -> Path:
    """A run on slides: squares that get darker with the scale; their pictures are beside it."""
    pictures = folder.parent / f"{folder.name}-pictures"
    for number, image in enumerate(pixels(1)[:8]):
        label = number % len(CLASSES)
        place = pictures / "dusk" / f"{label:03d}_square"
        place.mkdir(parents=True, exist_ok=True)
        for scale in (0, 500, 1000):
            Pil.fromarray((image * (1 - scale / 2000)).astype(np.uint8)).save(
                place / f"seed_{number:04d}_scale_{scale}.png"
            )
    (pictures / "classes.txt").write_text("\n".join(CLASSES))
    stored = stored_set(f"cns-bench:{pictures}")
    assert stored is not None
    evaluate_stored(models(), stored, folder)
    return folder

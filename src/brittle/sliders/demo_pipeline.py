"""A demo pipeline for a laptop: a small diffusion pipeline, CLIP, image encoder and classifiers of clothes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._types import Image
from brittle.corruptions import corrupt
from brittle.models import Clip
from brittle.models.diffusion import from_diffusion, load_pipeline
from brittle.models.model import Model
from brittle.models.networks import from_weights
from brittle.models.torch import TorchModel
from brittle.sliders.clip import ImageEncoder
from brittle.sliders.filtering import read_thresholds
from brittle.sliders.sampling import Sampling

DEMO_FOLDER = Path(__file__).parent / "tiny_world"

DEMO_CLASSES = (
    *("t-shirt", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
"""The classes of Fashion-MNIST in their order, named as in prompts."""

SHIFT_CORRUPTIONS: dict[str, tuple[tuple[str, float, float], ...]] = {
    "heavy_snow": (("imagenet-c/frost", 1.0, 3.0), ("imagenet-c/snow", 2.0, 5.0), ("imagenet-c/snow", 2.0, 5.0)),
    "heavy_rain": (
        ("imagenet-c/spatter", 2.0, 3.0),
        ("syn2nat/random_rain", 3.0, 5.0),
        ("imagenet-c/motion_blur", 0.5, 2.0),
    ),
    "heavy_fog": (("imagenet-c/fog", 2.0, 5.0), ("imagenet-c/fog", 2.0, 5.0)),
    "heavy_sandstorm": (
        ("imagenet-c/fog", 2.0, 5.0),
        ("imagenet-c/fog", 1.0, 4.0),
        ("syn2nat/to_sepia", 5.0, 5.0),
        ("imagenet-c/speckle_noise", 1.0, 4.0),
    ),
    "cartoon_style": (("c-bar/pseudocolor", 6.0, 10.0), ("syn2nat/posterize", 3.0, 5.0)),
    "pencil_sketch_style": (("syn2nat/emboss", 1.0, 5.0), ("syn2nat/invert_img", 1.0, 1.0)),
    "graffiti_style": (("c-bar/brownish_noise", 3.0, 10.0),),
}
"""How images of clothes were brought into each shift before the demo pipeline was trained on them: by corruptions one
after the other, each between two severities."""

DEMO_SHIFTS = tuple(SHIFT_CORRUPTIONS)
"""The shifts that the demo pipeline was trained on, by their published names."""


def draw_demo_shift(image: Image, shift: str, amount: float, sample: str | int) -> Image:
    """An image in a shift of the demo pipeline's training images; amount 0 is the least of it, 1 the most."""
    if shift not in SHIFT_CORRUPTIONS:
        raise BrittleError(f"the demo pipeline has no shift {shift!r}; {did_you_mean(shift, DEMO_SHIFTS)}")
    for name, least, most in SHIFT_CORRUPTIONS[shift]:
        image = corrupt(image, name, least + amount * (most - least), sample=sample)
    return image


CLASSIFIERS = ("small", "standard", "augmix")
"""From weak to strong."""

ORACLE = "judge"
"""The oracle classifier: trained on shifted images too, and used only to label generated images."""

DEMO_SAMPLING = Sampling(guidance=2.0, steps=20, negative_prompt="")
"""Sampling settings of the demo pipeline; the published 50 steps and guidance of 7.5 are for far larger networks."""

DEMO_TRAINING = {"steps": 80, "batch_size": 8, "strength": 0.7, "learning_rate": 2e-3, "denoising_steps": 8}
"""Options of `train_slider` that train a slider of the demo pipeline in half a minute on one core.

The strength is below the published 4, so that the shift still grows at scale 2.5.
"""


@dataclass(frozen=True)
class DemoPipeline:
    """The networks of the demo pipeline, by their folders, and methods that load them; needs the extra `sliders`."""

    folder: Path = DEMO_FOLDER
    classes: tuple[str, ...] = DEMO_CLASSES
    shifts: tuple[str, ...] = DEMO_SHIFTS
    classifiers: tuple[str, ...] = CLASSIFIERS

    def pipeline(self, *, device: str = "auto") -> Any:
        """The Stable Diffusion pipeline, for images of 32×32 px."""
        return load_pipeline(self.folder / "pipeline", device=device)

    def clip(self, *, device: str = "auto") -> Clip:
        """The CLIP, trained on the captions of the demo pipeline."""
        return Clip(self.folder / "clip", device=device)

    def encoder(self, *, device: str = "auto") -> ImageEncoder:
        """The self-supervised image encoder, in DINOv2's role."""
        return ImageEncoder(self.folder / "encoder", device=device)

    def thresholds(self) -> tuple[dict[str, float], int]:
        """Thresholds of the out-of-class filter for this CLIP and encoder, and how many of them an image must pass."""
        return read_thresholds(self.folder / "thresholds.json")

    def weights(self, name: str) -> Path:
        """The weights file of a classifier, which `load_model` and the command line accept too."""
        names = (*self.classifiers, ORACLE)
        if name not in names:
            raise BrittleError(f"the demo pipeline has no classifier {name!r}; {did_you_mean(name, names)}")
        return self.folder / "classifiers" / f"{name}.safetensors"

    def classifier(self, name: str, *, device: str = "auto") -> TorchModel:
        """One of the classifiers, or the oracle."""
        return from_weights(self.weights(name), name=f"world-{name}", device=device)


def load_demo_pipeline(folder: str | Path = DEMO_FOLDER) -> DemoPipeline:
    """The bundled demo pipeline, or one trained by `scripts/train_tiny_world.py`."""
    root = Path(folder)
    missing = [part for part in ("pipeline", "clip", "encoder", "classifiers") if not (root / part).is_dir()]
    if missing:
        raise FileNotFoundError(
            f"{str(root)!r} has no folder {missing[0]!r}; is the package installed completely? "
            "scripts/train_tiny_world.py trains the demo pipeline again"
        )
    return DemoPipeline(root)


DIFFUSION = "diffusion"


def demo_model(name: str, *, device: str = "auto") -> Model:
    """The model of "tiny:NAME": a classifier of the demo pipeline, its oracle, or its diffusion model."""
    known = (*CLASSIFIERS, ORACLE, DIFFUSION)
    if name not in known:
        raise BrittleError(f"the demo pipeline has no classifier {name!r}; {did_you_mean(name, known)}")
    demo = load_demo_pipeline()
    if name != DIFFUSION:
        return demo.classifier(name, device=device)
    prompts = [DEMO_SAMPLING.prompt_of(each) for each in demo.classes]
    return from_diffusion(demo.folder / "pipeline", prompts, name="world-diffusion", device=device)

"""Models that are given the names of the classes: CLIP and its kin as zero-shot classifiers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import digest
from brittle._optional import require
from brittle._types import Image
from brittle.datasets import class_words
from brittle.models.clip import Clip, Embeddings, OpenClip, load_clip, unit_vectors
from brittle.models.model import Model, Scores, model_source
from brittle.models.prompts import (
    TEMPLATES,
    check_templates,
    class_prompts,
    find_class_names,
    read_templates,
    split_prompts,
)
from brittle.models.torch import TorchModel


@runtime_checkable
class ZeroShotModel(Model, Protocol):
    """A model that takes the names of the classes; `evaluate` gives it those of the data unless it has its own.

    `classes` are the names that it has, in the order of its scores; as long as it has none it gives no scores.
    """

    classes: tuple[str, ...]

    def for_classes(self, names: Sequence[str]) -> Model:
        """The model of these classes, in the order of the labels. The name stays; the key covers the names."""
        ...


def wants_classes(model: Any) -> bool:
    """Whether a model still has to be given the names of the classes."""
    return isinstance(model, ZeroShotModel) and not model.classes


class ClipModel(TorchModel):
    """A CLIP or SigLIP that scores images by the cosine to prompts for each class, times the scale it was trained with.

    Each class is the mean of the unit embeddings of all its prompts, made a unit vector. The key covers the weights,
    the templates and the class names.
    """

    def __init__(
        self, clip: Clip | OpenClip, name: str, templates: Sequence[str], *, device: str = "auto", bf16: bool = False
    ) -> None:
        from brittle.models.clip_network import ClipNetwork

        self.clip, self.templates = clip, tuple(check_templates(templates))
        super().__init__(ClipNetwork(clip.network), name, clip.prepare, device=device, bf16=bf16)
        self.key = digest({"model": self.key, "templates": self.templates})
        self._key_without_classes = self.key

    @property
    def preprocessing_text(self) -> str:
        """Size, crop, mean and std in one line, and the prompts."""
        others = len(self.templates) - 1
        more = f" and {others} more template{'s' * (others > 1)}" if others else ""
        return f"{self.prepare.description}; {self.templates[0]!r}{more}"  # type: ignore[attr-defined]

    def for_classes(self, names: Sequence[str]) -> ClipModel:
        """The model of these classes, in the order of the labels; see `ZeroShotModel`.

        A WordNet id of ImageNet stands in prompts as the name of its class, an underscore as a blank.
        """
        from brittle.models.clip_network import ClipNetwork

        torch = require("torch")
        twin = copy.copy(self)
        twin.classes = tuple(find_class_names(names))
        embeddings = torch.from_numpy(self.embed_classes(twin.classes)).to(self.device)
        twin.module = ClipNetwork(self.module.network, embeddings).eval()
        twin.key = digest({"model": self._key_without_classes, "classes": twin.classes})
        return twin

    def embed_classes(self, names: Sequence[str]) -> Embeddings:
        """A unit vector for each class."""
        torch = require("torch")
        prompts = [prompt for name in names for prompt in class_prompts(self.templates, name)]
        embeddings = self.clip.texts(prompts).reshape(len(names), len(self.templates), -1)
        return unit_vectors(torch.from_numpy(embeddings.astype(np.float64).mean(axis=1)))

    def scores(self, images: Image) -> Scores:
        """Logits of a batch."""
        if not self.classes:
            raise BrittleError(
                f"the model {self.name!r} knows no class names; give a file with one a line in the order of the "
                "labels, classes=FILE.txt, classes=imagenet, or run it on data that have class names"
            )
        return super().scores(images)

    def features(self, images: Image) -> NDArray[np.float32]:
        """The unit embeddings of images, which need no class names."""
        torch = require("torch")
        device_type = self.device.partition(":")[0]
        with torch.inference_mode(), torch.autocast(device_type, dtype=torch.bfloat16, enabled=self.bf16):
            features = self.module.embed(self.prepare.tensor(images, self.device))
        embeddings: NDArray[np.float32] = features.float().cpu().numpy()
        return embeddings

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["clip"] = copy.copy(self.clip)
        state["clip"].network = None  # it is the same as that of the module
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.clip.network, self.clip.device = self.module.network, self.device


@model_source("clip")
def from_clip(
    place: str | Path,
    *,
    templates: Sequence[str] | str | Path | None = None,
    classes: Sequence[str] | str | Path | None = None,
    name: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> ClipModel:
    """A zero-shot classifier from a CLIP or SigLIP, of transformers or of open_clip.

    It takes the names of the classes from the data that it is tested on, or from `classes`.

    Args:
        place: a folder that transformers or open_clip wrote, a name of the Hugging Face hub such as
            "openai/clip-vit-base-patch32", or one of open_clip, "hf-hub:NAME"; a file of templates may follow, as in
            "FOLDER:PROMPTS.txt".
        templates: prompts with {} for the name of the class, or a file with one a line; by default "a photo of a {}."
            alone. The published accuracies of CLIP are means over 80 templates.
        classes: the names of the classes in the order of the labels, a file with one a line, or "imagenet".
        name: the name in results; by default the last part of the folder or name.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    folder, file = split_prompts(str(place))
    if file is not None and templates is not None:
        raise BrittleError(f"templates are given twice, as {str(file)!r} and as {templates!r}")
    wording = templates if templates is not None else file or TEMPLATES
    chosen = read_templates(wording) if isinstance(wording, str | Path) else check_templates(wording)
    names = None if classes is None else find_class_names(classes)
    require("torch")
    clip = load_clip(folder, device=device, download=True)
    if not hasattr(clip.network, "logit_scale"):
        raise BrittleError(
            f"{folder!r} holds a {type(clip.network).__name__}, which has no scale of logits as CLIP has"
        )
    model = ClipModel(clip, name or Path(folder).resolve().name, chosen, device=device, bf16=bf16)
    return model if names is None else model.for_classes(names)


def with_class_names(model: Model, names: Sequence[str], data: str) -> Model:
    """The model with the class names of the data, if it takes names; `data` is the name of the data in errors.

    A model that has names of its own keeps them, but not if they are those of the data in another order.
    """
    if not isinstance(model, ZeroShotModel):
        return model
    if not model.classes:
        if not names:
            raise BrittleError(
                f"the data {data!r} has no class names, and {model.name!r} needs them for its prompts; give a file "
                "with one a line in the order of the labels: classes=FILE.txt"
            )
        return model.for_classes(names)
    own, given = ([word.casefold() for word in class_words(each)] for each in (model.classes, names))
    if own != given and sorted(own) == sorted(given):
        raise BrittleError(
            f"{model.name!r} has the classes of {data!r} in another order, {', '.join(model.classes[:3])} …; leave "
            "its classes out, or put the data in its order by --classes FILE.txt"
        )
    return model

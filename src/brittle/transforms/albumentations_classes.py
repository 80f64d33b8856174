"""The corruption of images as classes of albumentations; importing this module registers them for `A.from_dict`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from brittle._errors import BrittleError
from brittle._optional import require
from brittle.corruptions import Transform, corrupt
from brittle.transforms.samples import SampleIds

_installed = find_spec("albumentations") is not None
_ImageOnly: Any = require("albumentations").ImageOnlyTransform if _installed else object
_Dual: Any = require("albumentations").DualTransform if _installed else object


IMAGES = ("image", "images", "volume", "volumes")
"""What albumentations corrupts as images; all images of one call get the same draws."""


def _first_image(data: dict[str, Any]) -> Any:
    """The image of a call, or the first of several."""
    if "image" in data:
        return data["image"]
    if "volumes" in data:
        return data["volumes"][0][0]
    return data["images" if "images" in data else "volume"][0]


class _Corrupt:
    """What both classes have; it stands before albumentations' own class."""

    transform: Transform

    def __init__(
        self,
        corruptions: Any,
        severity: Any = (1, 5),
        seed: int = 0,
        p: float = 1.0,
        table: int | None = None,
        sample_key: str = "sample",
        options: dict[str, Any] | None = None,
    ) -> None:
        bounds = tuple(severity) if isinstance(severity, list | tuple) else severity
        self.transform = Transform(corruptions, bounds, seed=seed, p=p, table=table, **(options or {}))
        super().__init__(p=p)  # type: ignore[call-arg]
        self.sample_key = sample_key
        self.ids = SampleIds()
        self._available_keys.add(sample_key)  # type: ignore[attr-defined]  # a strict Compose takes it then
        self._forced = False

    def set_epoch(self, epoch: int) -> None:
        """Draw anew for every sample; workers see it too, unless an `Indexed` dataset has an epoch of its own."""
        self.ids.epoch.set(epoch)

    def should_apply(self, force_apply: bool = False) -> bool:
        """True: whether an image is corrupted is drawn by its sample id."""
        self._forced = force_apply
        return True

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """What the sample id gets; a replay repeats it on any image."""
        image = _first_image(data)
        kinds = {key: self._additional_targets.get(key, key) for key in data}  # type: ignore[attr-defined]
        labels = {key: data[key] for key, kind in kinds.items() if kind not in IMAGES and key != self.sample_key}
        self.transform.check_labels(image, labels)
        sample = self.ids.of(data.get(self.sample_key))
        sample = sample(image) if callable(sample) else sample
        corruption, severity = self.transform.draw(sample, always=self._forced) or (None, 0.0)
        return {"corruption": corruption, "severity": severity, "sample": sample}

    def apply(self, img: Any, corruption: str | None = None, severity: float = 0, sample: Any = 0, **_: Any) -> Any:
        """Corrupt an image as drawn."""
        if corruption is None:
            return img
        return corrupt(img, corruption, severity, seed=self.transform.seed, sample=sample, **self.transform.options)

    def get_transform_init_args_names(self) -> tuple[str, ...]:
        """Names of what `get_transform_init_args` gives."""
        return tuple(self.get_transform_init_args())

    def get_transform_init_args(self) -> dict[str, Any]:
        """All arguments but p, as plain data."""
        options = {name: value for name, value in self.transform.options.items() if name != "table"}
        return {
            "corruptions": list(self.transform.names),
            "severity": list(self.transform.severity),
            "seed": self.transform.seed,
            "table": self.transform.options["table"],
            "sample_key": self.sample_key,
            "options": options,
        }


class CorruptImage(_Corrupt, _ImageOnly):  # type: ignore[misc]
    """Corruptions that leave every pixel in its place, so that masks, boxes and keypoints still fit."""


class CorruptGeometry(_Corrupt, _Dual):  # type: ignore[misc]
    """Corruptions of which one moves pixels: refuses masks, boxes and keypoints, which would no longer fit."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise BrittleError(f"{', '.join(self.transform.names)} moves pixels, so masks, boxes and keypoints do not fit")

    apply_to_mask = apply_to_masks = apply_to_bboxes = apply_to_keypoints = _refuse

"""A scheme from a short text, as on the command line."""

from __future__ import annotations

from collections.abc import Callable

from brittle.benchmarks import benchmark
from brittle.datasets.near import nearest
from brittle.training.augmentation.augmix import AugMix
from brittle.training.augmentation.autoaugment import AutoAugment
from brittle.training.augmentation.base import BASES, COLOUR, GEOMETRIC
from brittle.training.augmentation.fixed import Scheme
from brittle.training.augmentation.flip_crop import FlipCrop
from brittle.training.augmentation.from_file import scheme_from_file
from brittle.training.augmentation.patch_gaussian import PatchGaussian
from brittle.training.augmentation.random_affine import RandomAffine
from brittle.training.corrupted import Corrupted

PLAIN: dict[str, Callable[[], Scheme]] = {
    "none": lambda: AugMix(()),
    "flip-crop": FlipCrop,
    "affine": RandomAffine,
    "augmix": AugMix,
    "augmix-geometric": lambda: AugMix(tuple(GEOMETRIC)),
    "augmix-colour": lambda: AugMix(tuple(COLOUR)),
    "autoaugment-cifar10": lambda: AutoAugment("cifar10"),
    "autoaugment-imagenet": lambda: AutoAugment("imagenet"),
    "patch-gaussian": PatchGaussian.cifar,
    "patch-gaussian-imagenet": PatchGaussian.imagenet,
}
"""What each name stands for."""

NAMES = (*PLAIN, "FILE.py:FUNCTION", "augmix:BASE+BASE", "corruptions:BENCHMARK", "corruptions:BENCHMARK:NAME+NAME")


def scheme_by_name(spec: str) -> Scheme:
    """An augmentation scheme: "none", "flip-crop", "augmix", "autoaugment-cifar10", "patch-gaussian", …

    "augmix:rotate+shear_x" has only these bases. "corruptions:cifar10-c" corrupts half of the images by that benchmark
    (a bundled name or a .toml file), and "corruptions:cifar10-c:fog+snow" by these corruptions of it.
    "my.py:augment" is a function of your own, see `scheme_from_file`.
    """
    if spec in PLAIN:
        return PLAIN[spec]()
    if ".py:" in spec:
        return scheme_from_file(spec)
    kind, colon, rest = spec.partition(":")
    if colon and not rest:
        raise ValueError(f"{spec!r} names nothing after the colon; write one of {', '.join(NAMES[-3:])}")
    if kind == "augmix" and colon:
        names = rest.split("+")
        for name in names:
            if name not in BASES:
                raise ValueError(f"AugMix has no base {name!r}; {nearest(name, BASES)}")
        return AugMix(tuple(base for base in BASES if base in names))
    if kind == "corruptions" and colon:
        recipe, _, chosen = rest.rpartition(":") if ":" in rest and not rest.endswith(".toml") else (rest, "", "")
        return Corrupted(benchmark(recipe), chosen.split("+") if chosen else None)
    close = nearest(kind if colon else spec, PLAIN)
    hint = f"{close} " if close.startswith("did") else ""
    raise ValueError(f"there is no augmentation {spec!r}; {hint}An augmentation is one of {', '.join(NAMES)}")

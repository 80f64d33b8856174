"""Augmentations by the names of a command line."""

import pytest

from brittle import BrittleError
from brittle.training import Corrupted
from brittle.training.augmentation import AugMix, AutoAugment, FlipCrop, PatchGaussian, scheme_by_name
from tests.errors import naming


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("none", AugMix(())),
        ("flip-crop", FlipCrop()),
        ("augmix", AugMix()),
        ("augmix:rotate+shear_x", AugMix(("shear_x", "rotate"))),
        ("autoaugment-cifar10", AutoAugment("cifar10")),
        ("autoaugment-imagenet", AutoAugment("imagenet")),
        ("patch-gaussian", PatchGaussian(25, 1.0)),
    ],
)
def test_schemes_by_name(spec: str, expected: object) -> None:
    assert scheme_by_name(spec) == expected


def test_corruptions_by_name() -> None:
    scheme = scheme_by_name("corruptions:cifar10-c:fog+snow")
    assert isinstance(scheme, Corrupted)
    assert [entry.id for entry in scheme.entries] == ["imagenet-c/fog", "imagenet-c/snow"]
    assert len(scheme_by_name("corruptions:cifar10-c").entries) == 15  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("augmx", ("'augmx'", "'augmix'")),
        ("augmix:rotat", ("AugMix", "'rotat'", "'rotate'")),
        ("augmix:", ("'augmix:'", "augmix:BASE+BASE")),
        ("corruptions:cifar10", ("'cifar10'", "'cifar10-c'")),
        ("something else", ("'something else'", "none", "flip-crop", "augmix")),
    ],
)
def test_a_wrong_name_gets_a_hint(spec: str, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        scheme_by_name(spec)

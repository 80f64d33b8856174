"""AutoAugment: the printed policies, and how often they are applied."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.corruptions import Draws
from brittle.training.augmentation import AutoAugment
from tests.errors import naming

PRINTED = {
    ("cifar10", 32): {
        1: (("invert", 0.1, None, 0), ("contrast", 0.2, 1, 0.54)),
        2: (("rotate", 0.7, 0, 6), ("translate_x", 0.3, 0, 13.0514)),
        6: (("shear_y", 0.2, 0, 0.21), ("posterize", 0.3, None, 6)),
        11: (("colour", 0.7, 1, 0.63), ("translate_x", 0.5, 0, 11.6012)),
        13: (("translate_y", 0.4, 0, 4.3505), ("sharpness", 0.2, 1, 0.54)),
        15: (("solarize", 0.5, None, 204.8), ("invert", 0, None, 0)),
        22: (("translate_y", 0.9, None, 13.0514), ("translate_y", 0.7, 0, 13.0514)),  # the slip: no sign
        25: (("translate_y", 0.7, 0, 13.0514), ("autocontrast", 0.9, None, 0)),
    },
    ("imagenet", 224): {
        1: (("posterize", 0.4, None, 7), ("rotate", 0.6, 0, 27)),
        9: (("rotate", 0.2, 0, 9), ("solarize", 0.6, None, 51.2)),
        15: (("colour", 0.6, 1, 0.36), ("contrast", 1, 1, 0.72)),
        18: (("sharpness", 0.4, 1, 0.63), ("invert", 0.6, None, 0)),
        19: (("shear_x", 0.6, 1, 0.45), ("equalize", 1, None, 0)),  # the slip: 1 ± 0.45
        25: (("equalize", 0.8, None, 0), ("equalize", 0.6, None, 0)),
    },
}


@pytest.mark.parametrize(("policy", "side"), PRINTED)
def test_autoaugment_has_the_printed_policies(policy: str, side: int) -> None:
    policies = AutoAugment(policy).sub_policies
    assert len(policies) == 25
    assert all(len(pair) == 2 for pair in policies)
    for number, printed in PRINTED[policy, side].items():
        for operation, (name, probability, base, value) in zip(policies[number - 1], printed, strict=True):
            assert (operation.name, operation.probability, operation.base) == (name, probability, base)
            scale = side if name.startswith("translate") else 1
            assert operation.value * scale == pytest.approx(value, abs=5e-5)
    with pytest.raises(BrittleError, match=naming("imagnet", "imagenet")):
        AutoAugment("imagnet")


def test_autoaugment_applies_each_operation_as_often_as_it_says() -> None:
    grey = np.tile(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3)
    inverted = sum(
        np.array_equal(AutoAugment("imagenet")(grey, Draws(0, "augmentation", i)), 255 - grey) for i in range(4000)
    )
    # sub-policies 14 and 23 (invert 0.6, then equalize) and 18 (sharpness 0.4, invert 0.6); equalize keeps this ramp
    assert abs(inverted / 4000 - (0.6 + 0.6 + 0.6 * 0.6) / 25) < 0.015

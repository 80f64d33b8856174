"""Operations on stacks of images, pixel for pixel as Pillow has them."""

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image as Pil
from PIL import ImageEnhance, ImageOps
from PIL.Image import Resampling
from PIL.Image import Transform as Kind

from brittle.training.augmentation import BASES, pillow_operations
from tests.training.augmented_images import PHOTOS, STACK, WIDE


def affine(*matrix: float) -> tuple[Callable, Callable]:
    return (
        lambda images: pillow_operations.affine(images, matrix),
        lambda p: p.transform(p.size, Kind.AFFINE, matrix, resample=Resampling.BILINEAR),
    )


def enhanced(ours: Callable, theirs: type, factor: float) -> tuple[Callable, Callable]:
    return lambda images: ours(images, factor), lambda picture: theirs(picture).enhance(factor)


OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "autocontrast": (pillow_operations.autocontrast, ImageOps.autocontrast),
    "equalize": (pillow_operations.equalize, ImageOps.equalize),
    "invert": (pillow_operations.invert, ImageOps.invert),
    "posterize": (lambda images: pillow_operations.posterize(images, 3), lambda p: ImageOps.posterize(p, 3)),
    "solarize": (lambda images: pillow_operations.solarize(images, 204.8), lambda p: ImageOps.solarize(p, 204.8)),
    "shear x": affine(1, 0.07, 0, 0, 1, 0),
    "shear y": affine(1, 0, 0, -0.05, 1, 0),
    "translate x": affine(1, 0, 2.3, 0, 1, 0),
    "translate y": affine(1, 0, 0, 0, 1, -2.9),
    **{
        f"rotate {angle}": (
            lambda images, angle=angle: pillow_operations.rotate(images, angle),
            lambda p, angle=angle: p.rotate(angle, resample=Resampling.BILINEAR),
        )
        for angle in (0.3, -9.0, 27.0)
    },
    **{
        f"{ours.__name__} {factor}": enhanced(ours, theirs, factor)
        for factor in (0.19, 0.73, 1.0, 1.81)
        for ours, theirs in (
            (pillow_operations.brightness, ImageEnhance.Brightness),
            (pillow_operations.contrast, ImageEnhance.Contrast),
            (pillow_operations.colour, ImageEnhance.Color),
            (pillow_operations.sharpness, ImageEnhance.Sharpness),
        )
    },
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_on_a_stack_is_pillows_on_each_image(name: str) -> None:
    ours, theirs = OPERATIONS[name]
    for stack in (STACK, WIDE):
        expected = np.stack([np.asarray(theirs(Pil.fromarray(image))) for image in stack])
        np.testing.assert_array_equal(ours(stack), expected)
        np.testing.assert_array_equal(ours(stack[0]), expected[0])


def test_the_nine_bases_follow_their_table() -> None:
    level, side = 2.7, 32
    for name, matrix in {
        "shear_x": (1, 0.03 * level, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, -0.03 * level, 1, 0),
        "translate_x": (1, 0, level * side / 30, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, -level * side / 30),
    }.items():
        _, pillow = affine(*matrix)
        sign = -1.0 if min(matrix) < 0 else 1.0
        np.testing.assert_array_equal(BASES[name](PHOTOS[0], level, sign), np.asarray(pillow(Pil.fromarray(PHOTOS[0]))))
    turned = Pil.fromarray(PHOTOS[0]).rotate(3 * level, resample=Resampling.BILINEAR)
    np.testing.assert_array_equal(BASES["rotate"](PHOTOS[0], level, 1.0), np.asarray(turned))

"""The pictures of augmentations that are nearest to corruptions."""

import cv2
import numpy as np

from brittle.distance import measure_distances
from brittle.report import nearest_sheet
from brittle.report.grid import resized
from brittle.training.augmentation import FlipCrop, RandomAffine, fixed
from tests.distance.extractors import THREE, Linear, few_images


def test_pictures_stand_beside_each_other() -> None:
    schemes = {"flip": FlipCrop(), "affine": RandomAffine(degrees=90)}
    measured = measure_distances(Linear(), few_images(), schemes, THREE, samples=6, corruption_samples=3, seed=4)
    found = {name: one.distances for name, one in measured.items()}
    image = few_images().pixels[0]
    sheet = np.asarray(nearest_sheet(image, THREE, schemes, found, seed=4, thumb=64))

    def shown(picture: np.ndarray) -> bool:
        inner = resized(picture, 64)[8:-8, 8:-8]  # corners are rounded
        return float(cv2.matchTemplate(sheet, inner, cv2.TM_SQDIFF).min()) < inner.size

    assert shown(image)
    for place, entry in zip((0, 2, 4), THREE.entries, strict=True):  # the middle one of two levels is the first
        assert shown(THREE.apply(image, entry.id, entry.levels[0], 0)), entry.id
        for name, scheme in schemes.items():
            nearest = fixed(scheme, 4, int(found[name].nearest[place]))(image[np.newaxis])[0]
            assert shown(np.clip(np.rint(nearest), 0, 255).astype(np.uint8)), (entry.id, name)
    assert not shown(fixed(FlipCrop(), 4, 999)(image[np.newaxis])[0][::-1].copy())

"""Sampling until it is enough, and augmentations from files."""

from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.distance import corruption_features, distances, distances_until, transform_features
from brittle.distance.measures import relative_width
from brittle.training.augmentation import AugMix, scheme_by_name
from tests.distance.extractors import THREE, few_images, network
from tests.errors import naming

MINE = """
import numpy as np

def darker(image):
    return (image * np.random.uniform(0.5, 1)).astype(np.uint8)

def shifted(image, draws):
    return np.roll(image, draws.integer("by", 5), axis=1)

def smaller(image):
    return image[::2, ::2]

NUMBER = 3
"""


def test_it_stops_when_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    images, schemes = few_images(), {"augmix": AugMix()}
    cells = corruption_features(network(), images, THREE, samples=8)
    how = {"samples": 500, "folder": tmp_path}
    loose = distances_until(network(), images, schemes, cells, tolerance=0.9, **how)["augmix"]
    assert loose.distances.samples == loose.computed == 200
    assert relative_width(loose.distances) <= 0.9
    strict = distances_until(network(), images, schemes, cells, tolerance=1e-6, **how)["augmix"]
    assert strict.distances.samples == 500
    assert strict.computed == 300  # the first 200 were kept
    assert strict.images_per_second > 0
    plain = distances(transform_features(network(), images, AugMix(), samples=500, folder=tmp_path), cells)
    np.testing.assert_array_equal(strict.distances.msd, plain.msd)
    whole = distances_until(network(), images, schemes, cells, **how)["augmix"]
    assert (whole.distances.samples, whole.computed) == (500, 0)
    with pytest.raises(BrittleError, match=naming("tolerance", 0, 1, 2)):
        distances_until(network(), images, schemes, cells, tolerance=2, **how)
    with pytest.raises(BrittleError, match=naming("augmentation", "none")):
        distances_until(network(), images, {}, cells, **how)


def test_schemes_are_compared_at_equal_numbers_and_nothing_is_looked_at_twice() -> None:
    images, schemes = few_images(), {"none": AugMix(()), "augmix": AugMix()}
    cells = corruption_features(network(), images, THREE, samples=8)
    first = distances_until(network(), images, schemes, cells, samples=200)
    narrow, wide = (relative_width(one.distances) for one in first.values())
    assert narrow < 0.9 * wide  # no randomness but that of the corruptions
    how = {"samples": 400, "tolerance": 0.95 * wide}
    alone = distances_until(network(), images, {"none": AugMix(())}, cells, **how)
    assert alone["none"].distances.samples == 200
    told = []
    both = distances_until(network(), images, schemes, cells, progress=lambda *what: told.append(what), **how)
    assert [one.distances.samples for one in both.values()] == [400, 400]
    assert [one.computed for one in both.values()] == [400, 400]  # without a folder too
    assert told[-1][:3] == ("augmix", 400, 400)


def test_an_augmentation_from_a_file_is_known_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    images = few_images()
    dark, moved = scheme_by_name(f"{file}:darker"), scheme_by_name(f"{file}:shifted")
    kept = tmp_path / "features"
    rows = transform_features(network(), images, dark, samples=4, folder=kept)
    again = transform_features(network(), images, scheme_by_name(f"{file}:darker"), samples=4, folder=kept)
    assert (rows.computed, again.computed) == (4, 0)
    assert transform_features(network(), images, moved, samples=3, folder=kept).computed == 3
    file.write_text(MINE.replace("0.5, 1", "0.1, 0.2"))
    other = transform_features(network(), images, scheme_by_name(f"{file}:darker"), samples=4, folder=kept)
    assert other.computed == 4
    assert (np.asarray(other) != np.asarray(rows)).any()
    with pytest.raises(BrittleError, match=naming("mine.py:smaller", "(16, 16, 3)", "(32, 32, 3)")):
        transform_features(network(), images, scheme_by_name(f"{file}:smaller"), samples=1)
    with pytest.raises(BrittleError, match=naming("darkr", "darker")):
        scheme_by_name(f"{file}:darkr")
    with pytest.raises(TypeError, match=naming("mine.py:NUMBER", "Draws")):
        scheme_by_name(f"{file}:NUMBER")
    with pytest.raises(FileNotFoundError, match=naming("nowhere.py")):
        scheme_by_name("nowhere.py:augment")

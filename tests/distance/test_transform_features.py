"""Transform features: what they are, that nothing but their address matters, and that a killed run goes on."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.corruptions import Draws
from brittle.datasets import arrays, load_dataset
from brittle.distance import FeatureImages, corruption_features, feature_images, transform_features
from brittle.distance.features import BLOCK
from brittle.models import from_callable
from brittle.training import Corrupted
from brittle.training.augmentation import AugMix, FlipCrop, FromCallable, PatchGaussian, fixed
from tests.distance.extractors import THREE, Linear, few_images, network
from tests.errors import naming


def test_a_feature_is_the_mean_difference_that_the_model_sees() -> None:
    model, images = Linear(), few_images()
    found = np.asarray(transform_features(model, images, AugMix(), samples=5, seed=3))
    for i, row in enumerate(found):
        changed = np.rint(fixed(AugMix(), 3, i)(images.pixels)).astype(np.uint8)
        expected = (model.features(changed) - model.features(images.pixels)).mean(0)
        np.testing.assert_allclose(row, expected, atol=1e-4)
    assert found.dtype == np.float32
    assert len(np.unique(found[:, 0])) == 5


@pytest.mark.parametrize("model", [Linear(), network()], ids=["linear", "network"])
def test_the_identity_has_feature_zero(model: Linear) -> None:
    rows = np.asarray(transform_features(model, few_images(), AugMix(()), samples=3))
    np.testing.assert_allclose(rows, 0, atol=1e-6 * np.abs(model.features(few_images().pixels)).max())


def test_batch_size_and_threads_do_not_matter() -> None:
    images = few_images()
    scheme = Corrupted(THREE)
    first = np.asarray(transform_features(network(), images, scheme, samples=20))
    for how in ({"batch_size": 1}, {"batch_size": 4}, {"batch_size": 1000}, {"threads": 1}, {"threads": 5}):
        again = np.asarray(transform_features(network(), images, scheme, samples=20, **how))
        np.testing.assert_allclose(again, first, atol=1e-5 * np.abs(first).max())
    np.testing.assert_array_equal(again, first)  # other threads give the very same bits


def test_several_transforms_share_a_batch() -> None:
    model = Linear()
    transform_features(model, few_images(), FlipCrop(), samples=10, batch_size=48)
    assert sorted(set(model.seen)) == [12, 24, 48]  # the clean images; four transforms at a time, and the last two


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    model, images, scheme = Linear(), few_images(), PatchGaussian.cifar()
    more = BLOCK + 30
    whole = transform_features(model, images, scheme, samples=more)
    assert whole.computed == more
    assert whole.images_per_second > 0
    told: list[tuple[int, int]] = []
    for samples, computed in ((20, 20), (20, 0), (more, more - 20), (7, 0)):
        found = transform_features(
            model,
            images,
            scheme,
            samples=samples,
            folder=tmp_path,
            progress=lambda done, total, _: told.append((done, total)),
        )
        assert (len(found), found.computed) == (samples, computed)
        np.testing.assert_allclose(np.asarray(found), np.asarray(whole)[:samples], atol=1e-4)
    assert told[-1] == (more, more)
    for other in ({"seed": 1}, {"scheme": PatchGaussian.imagenet()}):
        kept = {"scheme": scheme, "samples": 5, "folder": tmp_path, **other}
        assert transform_features(model, images, **kept).computed == 5  # type: ignore[arg-type]
    identities = [json.loads(path.read_text()) for path in tmp_path.glob("*/identity.json")]
    assert len(identities) == 3
    assert identities[0]["model"] == model.key
    assert identities[0]["image ids"] == [str(i) for i in images.ids]


def test_a_block_that_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    first = np.asarray(transform_features(Linear(), few_images(), FlipCrop(), samples=5, folder=tmp_path))
    [block] = tmp_path.glob("*/*.npy")
    block.write_bytes(block.read_bytes()[:90])
    again = transform_features(Linear(), few_images(), FlipCrop(), samples=5, folder=tmp_path)
    assert again.computed == 5
    np.testing.assert_array_equal(np.asarray(again), first)


def test_two_runs_at_once_do_not_shift_each_others_rows(tmp_path: Path) -> None:
    how = {"scheme": FlipCrop(), "folder": tmp_path, "batch_size": 12}
    transform_features(Linear(), few_images(), samples=5, **how)

    def meanwhile(done: int, _total: int, _speed: float) -> None:
        if done == 8:
            transform_features(Linear(), few_images(), samples=15, **how)

    found = transform_features(Linear(), few_images(), samples=20, progress=meanwhile, **how)
    expected = transform_features(Linear(), few_images(), FlipCrop(), samples=20)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-4)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from tests.distance.extractors import Linear, few_images
from brittle.distance import transform_features
from brittle.training.augmentation import AugMix
def stop(done, total, speed):
    if done > {stop}:
        os.kill(os.getpid(), signal.SIGKILL)
transform_features(Linear(), few_images(), AugMix(), samples={samples}, folder={folder!r}, progress=stop)
"""


def test_a_killed_run_goes_on_to_the_same_features(tmp_path: Path) -> None:
    samples, stop = 2 * BLOCK + 50, BLOCK + 40
    code = KILLED.format(tests=str(Path(__file__).parents[2]), stop=stop, samples=samples, folder=str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    found = transform_features(Linear(), few_images(), AugMix(), samples=samples, folder=tmp_path)
    assert found.computed == samples - BLOCK  # the first block was whole
    np.testing.assert_array_equal(
        np.asarray(found), np.asarray(transform_features(Linear(), few_images(), AugMix(), samples=samples))
    )


def test_corruption_features_are_fixed_samples_of_every_cell(tmp_path: Path) -> None:
    model, images = Linear(), few_images()
    found = corruption_features(model, images, THREE, samples=4, folder=tmp_path)
    assert found.values.shape == (5, 4, 12)
    assert found.corruptions == [entry.id for entry in THREE.entries]
    corrupted = THREE.apply(images.pixels, "imagenet-c/impulse_noise", 5.0, [2] * 12)
    expected = (model.features(corrupted) - model.features(images.pixels)).mean(0)
    cell = [cell.place for cell in found.cells].index(("imagenet-c/impulse_noise", 5.0))
    np.testing.assert_allclose(found.values[cell, 2], expected, atol=1e-4)
    np.testing.assert_allclose(found.means[cell], found.values[cell].mean(0), atol=1e-6)
    model.seen.clear()
    corruption_features(model, images, THREE, samples=4, folder=tmp_path)
    assert not model.seen


def test_feature_images_are_a_seeded_subset() -> None:
    demo = load_dataset("demo")
    few, many, other = feature_images(demo, 20), feature_images(demo, 200), feature_images(demo, 20, seed=1)
    assert few.ids == many.ids[:20]
    assert len(set(many.ids)) == 200
    assert few.ids != other.ids
    np.testing.assert_array_equal(few.pixels[3], demo.image(demo.ids.index(few.ids[3])))
    assert len(set(feature_images(demo, len(demo)).ids)) == len(demo)
    assert few.key != other.key


@pytest.mark.parametrize(
    ("call", "error", "values"),
    [
        (lambda: feature_images(load_dataset("demo"), 1001), ValueError, ("demo", 1000, "count=1001")),
        (lambda: feature_images(load_dataset("demo"), 0), ValueError, ("count", 1, 0)),
        (
            lambda: transform_features(
                from_callable(lambda x: x, name="f"),
                few_images(),
                AugMix(),
                samples=3,  # type: ignore[arg-type]
            ),
            TypeError,
            ("'f'", "CallableModel", "features"),
        ),
        (
            lambda: transform_features(
                Linear(), few_images(), FromCallable(lambda x: x[1:], name="smaller"), samples=3
            ),
            ValueError,
            ("FromCallable('smaller', version='1')", "(31, 32, 3)", "(32, 32, 3)"),
        ),
        (
            lambda: transform_features(Linear(), few_images(), AugMix(), samples=0),
            ValueError,
            ("samples", 1, 0),
        ),
        (lambda: FeatureImages(np.zeros((2, 8, 8), np.uint8)), ValueError, ("N×H×W×3", "uint8", "(2, 8, 8)")),
        (
            lambda: transform_features(
                type("Bare", (), {"name": "bare", "features": Linear().features})(), few_images(), AugMix(), samples=1
            ),
            TypeError,
            ("Bare", "key", "features"),
        ),
        (
            lambda: transform_features(Linear(), few_images(), lambda x, _: x * np.nan, samples=1),
            ValueError,
            ("not numbers", "[0, 1]"),
        ),
    ],
)
def test_bad_input_is_named(call, error: type, values: tuple) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=naming(*values)):
        call()


def test_a_scheme_without_a_name_cannot_be_kept(tmp_path: Path) -> None:
    def flipped(image: np.ndarray, _draws: Draws) -> np.ndarray:
        return image[:, ::-1]

    assert transform_features(Linear(), few_images(), flipped, samples=1).computed == 1
    with pytest.raises(BrittleError, match=naming("flipped", "to_dict()")):
        transform_features(Linear(), few_images(), flipped, samples=1, folder=tmp_path)


def test_images_of_several_sizes_and_features_of_a_wrong_shape() -> None:
    class Mixed:
        name, ids = "mixed", (0, 1)

        def __len__(self) -> int:
            return 2

        def image(self, i: int) -> np.ndarray:
            return np.zeros((8, 8 + i, 3), np.uint8)

    with pytest.raises(BrittleError, match=naming("mixed", "(8, 8, 3)", "(8, 9, 3)")):
        feature_images(Mixed(), 2)  # type: ignore[arg-type]
    images = feature_images(arrays(np.zeros((4, 8, 8, 3), np.uint8)), 4)

    class Wrong(Linear):
        def features(self, images: np.ndarray) -> np.ndarray:
            return images[:, 0]

    with pytest.raises(BrittleError, match=naming(4, 8, 3)):
        transform_features(Wrong(), images, AugMix(), samples=1)

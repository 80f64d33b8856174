"""Training images that stream: the same weights as from memory, by any number of threads, after any interruption."""

import errno
import json
import math
import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image as Pil
from scipy import stats

from brittle import BrittleError
from brittle._errors import SkippedImages
from brittle.corruptions import Draws
from brittle.datasets import Dataset, image_folder
from brittle.models.small_resnet import SmallResNet
from brittle.training import TrainingConfig, adapt_batchnorm, data, decode_once, train, training_images
from brittle.training.augmentation import AugMix
from brittle.training.data import DatasetImages, StoredImages, channel_statistics
from brittle.training.loading import batches, crop_box, resized_crop
from tests.errors import naming

CONFIG = TrainingConfig(epochs=2, batch_size=16, learning_rate=0.05, crop=2)
COLOURS = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])


def write_photos(folder: Path, count: int = 48, sizes: tuple[tuple[int, int], ...] = ((32, 32),)) -> Path:
    """Three classes of noisy colours as PNG files, whose pixels are exact."""
    rng = np.random.default_rng(0)
    for index in range(count):
        label, (height, width) = index % 3, sizes[index % len(sizes)]
        pixels = np.clip(COLOURS[label] + rng.normal(0, 40, (height, width, 3)), 0, 255).astype(np.uint8)
        (folder / "abc"[label]).mkdir(parents=True, exist_ok=True)
        Pil.fromarray(pixels).save(folder / "abc"[label] / f"{index:03}.png")
    return folder


@pytest.fixture
def photos(tmp_path: Path) -> Dataset:
    return image_folder(write_photos(tmp_path / "photos"))


def weights_after(images: object, labels: object, config: TrainingConfig = CONFIG, **how: object) -> np.ndarray:
    torch.manual_seed(0)
    network = SmallResNet(classes=3, width=4)
    train(network, images, labels, config, **how)  # type: ignore[arg-type]
    return np.concatenate([value.numpy().ravel() for value in network.state_dict().values()])


def in_file(dataset: Dataset, folder: Path) -> StoredImages:
    stored = decode_once(dataset, folder)
    assert stored.file is not None
    return stored


@pytest.mark.parametrize("kind", ["memory", "file", "each epoch", "part"])
@pytest.mark.parametrize("jsd", [0.0, 12.0])
def test_streaming_trains_the_same_weights_as_one_array(photos: Dataset, tmp_path: Path, kind: str, jsd: float) -> None:
    config, labels = replace(CONFIG, jsd=jsd), photos.labels
    array = np.stack(list(photos.images()))
    source = {
        "memory": lambda: training_images(photos, config),
        "file": lambda: in_file(photos, tmp_path),
        "each epoch": lambda: DatasetImages(photos),
        "part": lambda: DatasetImages(photos).take(np.arange(len(photos))),
    }[kind]()
    assert not isinstance(source, np.ndarray)
    expected = weights_after(array, labels, config, augment=AugMix())
    np.testing.assert_array_equal(weights_after(source, labels, config, augment=AugMix()), expected)


@pytest.mark.parametrize("crop_kind", ["padding", "resized", "none"])
def test_the_number_of_workers_changes_nothing(photos: Dataset, crop_kind: str) -> None:
    config = replace(CONFIG, crop_kind=crop_kind, side=24)
    source = DatasetImages(photos)
    one, two, four = (weights_after(source, photos.labels, config, workers=workers) for workers in (1, 2, 4))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)
    epochs = [dict(_drawn(source, config, epoch)) for epoch in (0, 1)]
    assert any((epochs[0][sample] != epochs[1][sample]).any() for sample in range(len(photos)))  # each epoch draws anew


def _drawn(source: DatasetImages, config: TrainingConfig, epoch: int) -> list[tuple[int, np.ndarray]]:
    return [
        pair for chosen, pixels in batches(source, config, None, epoch) for pair in zip(chosen, pixels, strict=True)
    ]


def test_files_of_many_sizes_need_one_or_random_resized_crops(tmp_path: Path) -> None:
    dataset = image_folder(write_photos(tmp_path / "photos", sizes=((40, 30), (25, 50), (64, 64))))
    with pytest.raises(BrittleError, match=naming("(40, 30, 3)", "prepare")):
        training_images(dataset, CONFIG)
    squares = training_images(dataset.prepared("20x20"), CONFIG)
    chosen, pixels = next(iter(batches(squares, CONFIG, None, 0)))
    assert (chosen.shape, pixels.shape) == ((16,), (16, 20, 20, 3))
    crops = training_images(dataset.prepared("20x20"), replace(CONFIG, crop_kind="resized", side=24))
    assert isinstance(crops, DatasetImages)
    assert {crops.read(index).shape for index in range(48)} == {(40, 30, 3), (25, 50, 3), (64, 64, 3)}
    _, pixels = next(iter(batches(crops, replace(CONFIG, crop_kind="resized", side=24), None, 0)))
    assert pixels.shape == (16, 24, 24, 3)


def test_unreadable_images_are_counted_named_and_left_out_of_batches(tmp_path: Path) -> None:
    folder = write_photos(tmp_path / "photos")
    (folder / "a" / "000.png").write_bytes(b"")
    (folder / "b" / "001.png").write_bytes((folder / "b" / "004.png").read_bytes()[:300])
    dataset = image_folder(folder)
    for source in (DatasetImages(dataset), training_images(dataset, CONFIG), in_file(dataset, tmp_path)):
        with pytest.warns(SkippedImages, match=naming("2 of 48", "a/000.png", "b/001.png")):
            losses = train(SmallResNet(classes=3, width=4), source, dataset.labels, CONFIG)
        assert len(losses) == 2
        assert len(source.unreadable) == 2
        seen = np.concatenate([chosen for chosen, _ in batches(source, CONFIG, None, 0)])
        assert len(seen) == 46
        assert set(dataset.ids) - {dataset.ids[index] for index in seen} == {"a/000.png", "b/001.png"}
    with pytest.warns(SkippedImages):
        cached = weights_after(in_file(dataset, tmp_path), dataset.labels)
    with pytest.warns(SkippedImages):
        np.testing.assert_array_equal(weights_after(DatasetImages(dataset), dataset.labels, workers=4), cached)
    with pytest.warns(SkippedImages):
        adapt_batchnorm(SmallResNet(classes=3, width=4), DatasetImages(dataset), CONFIG)
    for path in folder.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(BrittleError, match="48"):
        train(SmallResNet(classes=3, width=4), DatasetImages(image_folder(folder)), dataset.labels, CONFIG)


def test_a_cache_is_made_once_for_each_data_and_preparation(
    photos: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "IN_MEMORY", 1000)
    cache, read = tmp_path / "cache", []
    original = Dataset.image
    monkeypatch.setattr(Dataset, "image", lambda self, index: read.append(index) or original(self, index))
    first = training_images(photos, CONFIG, cache)
    assert isinstance(first, StoredImages)
    made = len(read)
    again = training_images(photos, CONFIG, cache)
    assert len(read) - made <= 2  # the size of the first image alone
    np.testing.assert_array_equal(again.read(7), original(photos, 7))
    assert len(list(cache.iterdir())) == 1
    training_images(photos.prepared("16x16"), CONFIG, cache)
    assert len(list(cache.iterdir())) == 2
    assert isinstance(training_images(photos, CONFIG, None), DatasetImages)  # no folder: decoded in every epoch
    copied = pickle.loads(pickle.dumps(first))  # as Ray sends it: the path, not the pixels
    assert len(pickle.dumps(first)) < 5000
    np.testing.assert_array_equal(copied.read(7), original(photos, 7))


KILLED = """
import sys, time
from pathlib import Path
from brittle.datasets import image_folder
from brittle.training import data
data.BLOCK = 8

def slow(what, done, total):
    time.sleep(0.02)

data.decode_once(image_folder(sys.argv[1]), sys.argv[2], progress=slow)
"""


def test_a_killed_process_is_resumed(photos: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path / "photos", cache], env=environment)
    manifest = cache / photos.key / "manifest.json"
    deadline = time.monotonic() + 120
    while not (manifest.is_file() and json.loads(manifest.read_text())["done"] >= 16):
        assert process.poll() is None, "it was to be killed before its end"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
    done = json.loads(manifest.read_text())["done"]
    assert 16 <= done < 48
    assert not (cache / photos.key / "images.npy").exists()
    monkeypatch.setattr(data, "BLOCK", 8)
    steps: list[int] = []
    stored = decode_once(photos, cache, progress=lambda _what, step, _total: steps.append(step))
    assert steps == list(range(done + 1, 49))
    for index in range(48):
        np.testing.assert_array_equal(stored.read(index), photos.image(index))
    assert np.load(cache / photos.key / "images.npy").shape == (48, 32, 32, 3)


def test_blocks_that_a_crash_lost_are_decoded_again(
    photos: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "BLOCK", 8)

    def stop(_what: str, done: int, _total: int | None) -> None:
        if done == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode_once(photos, tmp_path, progress=stop)
    unfinished = tmp_path / photos.key / "unfinished.npy"
    os.truncate(unfinished, 10 * 32 * 32 * 3)  # the manifest says 24, and less than ten are left
    steps: list[int] = []
    stored = decode_once(photos, tmp_path, progress=lambda _what, step, _total: steps.append(step))
    assert steps[0] == 9
    assert all((stored.read(index) == photos.image(index)).all() for index in range(48))


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_full_disk_is_told_with_what_is_needed(
    photos: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    if when == "before":
        monkeypatch.setattr(data.shutil, "disk_usage", lambda _path: type("Usage", (), {"free": 1000})())
    else:

        def full(_descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(data.os, "fsync", full)
    with pytest.raises(BrittleError, match=naming(48, "cache='none'", str(tmp_path))):
        decode_once(photos, tmp_path)


SIZES = [(300, 400), (500, 100), (64, 64)]


def independent_boxes(rows: int, columns: int, count: int, seed: int) -> np.ndarray:
    """Torchvision's definition of RandomResizedCrop, written anew with NumPy: (top, left, height, width) of each."""
    rng, boxes = np.random.default_rng(seed), []
    for _ in range(count):
        for _ in range(10):
            area = rng.uniform(0.08, 1.0) * rows * columns
            ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
            width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < width <= columns and 0 < height <= rows:
                boxes.append((rng.integers(0, rows - height + 1), rng.integers(0, columns - width + 1), height, width))
                break
        else:
            ratio = columns / rows
            width = columns if ratio <= 4 / 3 else round(rows * 4 / 3)
            height = rows if ratio >= 3 / 4 else round(columns / (3 / 4))
            boxes.append(((rows - height) // 2, (columns - width) // 2, height, width))
    return np.array(boxes)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_random_resized_crops_have_the_areas_aspects_and_places_of_their_definition(rows: int, columns: int) -> None:
    drawn = np.array([crop_box(rows, columns, Draws(0, "epoch 0", i), (0.08, 1.0)) for i in range(3000)])
    expected = independent_boxes(rows, columns, 3000, seed=1)
    for statistic in (
        lambda box: box[:, 2] * box[:, 3] / (rows * columns),
        lambda box: box[:, 3] / box[:, 2],
        lambda box: box[:, 0] + box[:, 2] / 2,
        lambda box: box[:, 1] + box[:, 3] / 2,
    ):
        assert stats.ks_2samp(statistic(drawn), statistic(expected)).pvalue > 0.001
    top, left, height, width = drawn.T
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + height <= rows).all()
    assert (left + width <= columns).all()


def test_a_resized_crop_is_that_part_of_the_image() -> None:
    image = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
    draws = Draws(3, "epoch 1", 5)
    top, left, height, width = crop_box(90, 120, draws, (0.08, 1.0))
    part = Pil.fromarray(image).crop((left, top, left + width, top + height))
    expected = np.asarray(part.resize((32, 32), Pil.Resampling.BILINEAR))
    np.testing.assert_array_equal(resized_crop(image, draws, 32), expected)


def test_the_statistics_of_channels_are_those_of_all_pixels(photos: Dataset) -> None:
    pixels = np.stack(list(photos.images())).reshape(-1, 3) / 255
    mean, std = channel_statistics(DatasetImages(photos))
    np.testing.assert_allclose(mean, pixels.mean(0), atol=1e-6)
    np.testing.assert_allclose(std, pixels.std(0), atol=1e-6)
    with pytest.raises(BrittleError, match="mean and std"):
        channel_statistics(np.zeros((4, 8, 8, 3), np.uint8))
    _, pixels = next(iter(batches(photos_array(photos), replace(CONFIG, mean=mean, std=std, crop=0), None, 0)))
    np.testing.assert_allclose(pixels.reshape(-1, 3).mean(0), 0, atol=0.1)
    np.testing.assert_allclose(pixels.reshape(-1, 3).std(0), 1, atol=0.1)


def photos_array(dataset: Dataset) -> np.ndarray:
    return np.stack(list(dataset.images()))

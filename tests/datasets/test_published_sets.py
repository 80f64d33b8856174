"""The published corrupted sets as they are on disk."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from brittle import Benchmark, BrittleError
from brittle.datasets import (
    array_corruptions,
    arrays,
    cifar_c,
    cns_bench,
    folder_corruptions,
    imagenet_c,
    tiny_imagenet_c,
    write_arrays,
    write_folders,
)
from brittle.datasets.cifar import CIFAR10, CIFAR100
from tests.datasets.fake_layouts import WNIDS, class_folders, picture, pixels
from tests.errors import naming

LABELS = np.arange(20) % 10


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    np.save(tmp_path / "fog.npy", pixels(100, 32, 32, 3))
    np.save(tmp_path / "labels.npy", np.tile(LABELS, 5))
    return tmp_path


def test_a_severity_of_cifar_c_is_a_block_of_rows(cifar: Path) -> None:
    stacked = np.load(cifar / "fog.npy")
    for severity in range(1, 6):
        data = cifar_c(cifar, "fog", severity)
        assert data.ids == tuple(range(20))
        assert data.labels is not None
        assert data.labels.tolist() == LABELS.tolist()
        assert np.array_equal(np.stack(list(data.images())), stacked[20 * (severity - 1) : 20 * severity])
    assert data.classes == CIFAR10
    assert data.name.endswith("/fog/5")
    assert data.key == arrays(stacked[80:], LABELS, CIFAR10).key
    assert len(pickle.dumps(data)) < 5000
    assert array_corruptions(cifar) == ["fog"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (("fgo", 1), ("fgo.npy", "'fog'")),
        (("saturate", 1), ("saturate.npy", "fog")),
        (("fog", 0), ("severity", 1, 5, 0)),
        (("fog", 6), ("severity", 1, 5, 6)),
        (("fog", 2.5), ("severity", 1, 5, "2.5")),
    ],
)
def test_what_cifar_c_does_not_have_is_told(cifar: Path, arguments: tuple[str, int], values: tuple) -> None:
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        cifar_c(cifar, *arguments)


def test_labels_that_do_not_fit_are_told(cifar: Path) -> None:
    with pytest.raises(BrittleError, match=naming(4)):
        cifar_c(cifar, "fog", 1, levels=4)
    with pytest.raises(BrittleError, match=naming("fog.npy", 100, 3)):
        cifar_c(cifar, "fog", 1, levels=3)
    np.save(cifar / "labels.npy", LABELS)  # once is as good as five times
    assert cifar_c(cifar, "fog", 2).labels is not None
    np.save(cifar / "labels.npy", LABELS[:7])
    with pytest.raises(BrittleError, match=naming(100, "(7,)")):
        cifar_c(cifar, "fog", 2)
    (cifar / "labels.npy").unlink()
    with pytest.raises(FileNotFoundError, match=naming("labels.npy")):
        cifar_c(cifar, "fog", 2)


def test_a_hundred_classes_are_cifar100(tmp_path: Path) -> None:
    np.save(tmp_path / "fog.npy", pixels(500, 2, 2, 3))
    np.save(tmp_path / "labels.npy", np.tile(np.arange(100), 5))
    assert cifar_c(tmp_path, "fog", 3).classes == CIFAR100


def test_what_brittle_writes_it_reads_again(tmp_path: Path) -> None:
    recipe = Benchmark.from_dict({"name": "small", "corruption": [{"id": "imagenet-c/contrast", "levels": [1, 3, 5]}]})
    clean = pixels(4, 32, 32, 3)
    write_arrays(clean, tmp_path / "arrays", recipe, labels=np.arange(4), workers=1)
    data = cifar_c(tmp_path / "arrays", "contrast", 2, levels=3)
    assert np.array_equal(data.image(3), recipe.apply(clean[3], "imagenet-c/contrast", 3, 3))
    for wnid in WNIDS[:2]:
        picture(tmp_path / "clean" / wnid / "x.png", size=(32, 32))
    write_folders(tmp_path / "clean", tmp_path / "folders", recipe, image_format="png", workers=1)
    data = imagenet_c(tmp_path / "folders", "contrast", "3", partial=True)
    assert data.ids == tuple(f"{wnid}/x.png" for wnid in WNIDS[:2])


@pytest.mark.parametrize("family", ["", "weather/"])
def test_imagenet_c_folders(tmp_path: Path, family: str) -> None:
    root = tmp_path / "ImageNet-C"
    for severity in "12345":
        class_folders(root / f"{family}fog" / severity, WNIDS[int(severity) :][:2], "ILSVRC2012_val_00000001.JPEG")
    data = imagenet_c(root, "fog", 3, partial=True)
    assert data.labels is not None
    assert data.labels.tolist() == [3, 4]
    assert data.ids[0] == f"{WNIDS[3]}/ILSVRC2012_val_00000001.JPEG"
    assert data.name == "ImageNet-C/fog/3"
    assert list(folder_corruptions(root)) == ["fog"]
    with pytest.raises(BrittleError, match=naming(2, 1000)):
        imagenet_c(root, "fog", 3)
    with pytest.raises(FileNotFoundError, match=naming("fog")):
        imagenet_c(root, "frog", 3)
    with pytest.raises(BrittleError, match=naming(1, 5)):
        imagenet_c(root, "fog", 6)
    with pytest.raises(BrittleError, match=naming("2.50", 1, 2, 3, 4, 5)):
        imagenet_c(root, "fog", "2.50")


def test_all_thousand_classes_pass_the_check(tmp_path: Path) -> None:
    class_folders(tmp_path / "c" / "fog" / "1", WNIDS)
    data = imagenet_c(tmp_path / "c", "fog", 1)
    assert data.labels is not None
    assert data.labels.tolist() == list(range(1000))


def test_c_bar_folders_may_be_named_by_magnitude(tmp_path: Path) -> None:
    magnitudes = ["1.00", "2.00", "4.00", "9.00", "10.00"]  # of inverse_sparkles: "10.00" is the strongest
    for number, name in enumerate(magnitudes):
        class_folders(tmp_path / "bar" / "inverse_sparkles" / name, [WNIDS[number]])
    read = [imagenet_c(tmp_path / "bar", "inverse_sparkles", severity, partial=True) for severity in range(1, 6)]
    assert [data.labels.tolist() for data in read if data.labels is not None] == [[0], [1], [2], [3], [4]]
    named = imagenet_c(tmp_path / "bar", "inverse_sparkles", "4.00", partial=True)
    assert named.labels is not None
    assert named.labels.tolist() == [2]
    class_folders(tmp_path / "bar" / "inverse_sparkles" / "5.00", WNIDS[:1])
    with pytest.raises(BrittleError, match=naming(4, "1.00", "2.00", "4.00", "5.00", "9.00", "10.00")):
        imagenet_c(tmp_path / "bar", "inverse_sparkles", 4, partial=True)


def test_severities_between_the_published_ones_are_not_counted(tmp_path: Path) -> None:
    for number, name in enumerate(["1", "2", "2.5", "3", "5"]):
        class_folders(tmp_path / "c" / "fog" / name, [WNIDS[number]])
    data = imagenet_c(tmp_path / "c", "fog", 3, partial=True)
    assert data.labels is not None
    assert data.labels.tolist() == [3]
    with pytest.raises(BrittleError, match=naming(4, 1, 2, "2.5", 3, 5)):
        imagenet_c(tmp_path / "c", "fog", 4, partial=True)


def test_tiny_imagenet_c_numbers_its_own_200_classes(tmp_path: Path) -> None:
    class_folders(tmp_path / "t" / "fog" / "2", WNIDS[::5])
    data = tiny_imagenet_c(tmp_path / "t", "fog", 2)
    assert data.labels is not None
    assert (data.labels.max(), data.outputs) == (199, 200)
    class_folders(tmp_path / "t" / "fog" / "3", WNIDS[:7])
    with pytest.raises(BrittleError, match=naming(7, 200)):
        tiny_imagenet_c(tmp_path / "t", "fog", 3)


def test_cns_bench(tmp_path: Path) -> None:
    for scale in ("0000", "1000", "2500"):
        picture(tmp_path / f"painting_style/022_bald eagle/seed_0034_scale_{scale}.jpg")
    picture(tmp_path / "heavy_snow/007_cock/seed_0001_startnoise_0750_scale_0500m.png")
    picture(tmp_path / "heavy_snow/008_rooster/preview.png")
    data = cns_bench(tmp_path)
    assert data.labels is not None
    assert data.labels.tolist() == [7, 22, 22, 22]
    assert data.columns["scale"].tolist() == [0.5, 0, 1, 2.5]
    assert data.columns["seed"].tolist() == [1, 34, 34, 34]
    assert data.columns["shift"].tolist() == ["heavy_snow"] + ["painting_style"] * 3
    assert data.notes == ("1 images have other file names and were skipped: 'heavy_snow/008_rooster/preview.png'",)
    assert data.subset([3]).columns["scale"].tolist() == [2.5]
    one = cns_bench(tmp_path, shift="painting_style", scale=2.5)
    assert one.ids == ("painting_style/022_bald eagle/seed_0034_scale_2500.jpg",)
    alone = cns_bench(tmp_path / "painting_style")
    assert alone.columns["shift"].tolist() == ["painting_style"] * 3
    with pytest.raises(BrittleError, match=naming("fog", "heavy_snow", "painting_style")):
        cns_bench(tmp_path, shift="fog")
    with pytest.raises(BrittleError, match=naming(3, "0.0", "0.5", "1.0", "2.5")):
        cns_bench(tmp_path, scale=3)


def test_cns_classes_that_do_not_fit_are_noted_or_refused(tmp_path: Path) -> None:
    picture(tmp_path / "fog/023_bald eagle/seed_1_scale_0000.jpg")
    assert cns_bench(tmp_path).notes == (
        "1 of 1 class folders are not named as in ImageNet's class table: '023_bald eagle'",
    )
    picture(tmp_path / "other/x.jpg")
    with pytest.raises(BrittleError, match=naming("other", "CNS-Bench", "'x.jpg'")):
        cns_bench(tmp_path / "other")

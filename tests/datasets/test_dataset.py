"""What every dataset does: ids, labels, subsets, keys, and a plain word for whatever is wrong."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.datasets import Dataset, UnreadableImage, array_file, arrays, image_folder
from tests.datasets.fake_layouts import WNIDS, class_folders, picture, pixels
from tests.errors import naming

IMAGES = pixels(4, 5, 6, 3)


def test_arrays_are_a_dataset() -> None:
    data = arrays(IMAGES, [1, 0, 2, 1], ["a", "b", "c"], name="mine")
    assert (len(data), data.ids, data.classes, data.outputs) == (4, (0, 1, 2, 3), ("a", "b", "c"), 3)
    assert data.labels is not None
    assert data.labels.dtype == np.int64
    assert np.array_equal(np.stack(list(data.images())), IMAGES)
    assert repr(data) == "<Dataset 'mine': 4 images, 3 classes>"
    with pytest.raises(IndexError, match=naming("mine", 0, 3, 4)):
        data.image(4)


@pytest.mark.parametrize("shape", [(2, 5, 6), (2, 5, 6, 1)])
def test_grey_arrays_become_rgb(shape: tuple[int, ...]) -> None:
    image = arrays(pixels(*shape)).image(1)
    assert image.shape == (5, 6, 3)
    assert (image == image[..., :1]).all()


def test_a_subset_keeps_ids_labels_and_order_and_has_a_key_of_its_own() -> None:
    data = arrays(IMAGES, [1, 0, 2, 1], ["a", "b", "c"])
    some = data.subset([3, 0]).subset([1, 0])
    assert some.ids == (0, 3)
    assert some.labels is not None
    assert some.labels.tolist() == [1, 1]
    assert np.array_equal(some.image(1), IMAGES[3])
    assert len({data.key, some.key, data.subset([3, 0]).key}) == 3
    with pytest.raises(IndexError, match=naming(0, 3, 1, 9)):
        data.subset([1, 9])
    with pytest.raises(TypeError, match=naming("float64", "(1,)")):
        data.subset([0.5])
    with pytest.raises(BrittleError, match=naming("'arrays'")):
        data.subset([])


def test_the_key_of_arrays_is_their_content() -> None:
    key = arrays(IMAGES, [0, 1, 2, 1]).key
    assert arrays(IMAGES.copy(), np.array([0, 1, 2, 1], np.uint8), name="other").key == key
    changed = IMAGES.copy()
    changed[2, 0, 0, 0] += 1
    others = [arrays(changed, [0, 1, 2, 1]), arrays(IMAGES, [0, 1, 1, 1]), arrays(IMAGES), arrays(IMAGES[:, ::-1])]
    assert key not in {other.key for other in others}


@pytest.mark.parametrize(
    ("labels", "classes", "values"),
    [
        ([0, 1, 2, 3], "abc", ("arrays", 1, 3, 0, 2)),
        ([0, -1, -1, 0], "", ("arrays", 2, -1, 1, 0)),
        ([0, 1], "", ("arrays", 4, "(2,)")),
        ([0.0, 1.0, 2.0, 3.0], "", ("arrays", 0, "float64")),
        (["a", "b", "c", "d"], "", ("arrays", 0, "<U1")),
    ],
)
def test_bad_labels_are_told(labels: list[float], classes: str, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        arrays(IMAGES, labels, tuple(classes))


def test_array_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", images=IMAGES, labels=[0, 1, 1, 0], classes=["cat", "dög"])
    np.save(tmp_path / "images.npy", IMAGES)
    np.save(tmp_path / "labels.npy", [0, 1, 1, 0])
    whole = array_file(tmp_path / "all.npz")
    apart = array_file(tmp_path / "images.npy", labels=tmp_path / "labels.npy", classes=["cat", "dög"])
    assert whole.classes == ("cat", "dög")
    assert whole.key == apart.key
    assert array_file(tmp_path / "images.npy").labels is None
    assert len(pickle.dumps(apart)) < len(pickle.dumps(whole))  # the file is named, not copied
    assert np.array_equal(pickle.loads(pickle.dumps(apart)).image(2), IMAGES[2])


def test_class_folders_are_sorted_and_ids_are_relative_paths(tmp_path: Path) -> None:
    for seed, name in enumerate(["dog/b.png", "dog/a.png", "Äpfel/ö 1.png", "cat/deep/x.png"]):
        picture(tmp_path / name, seed=seed)
    (tmp_path / "notes.txt").write_text("hello")
    data = image_folder(tmp_path)
    assert data.classes == ("cat", "dog", "Äpfel")
    assert data.ids == ("cat/deep/x.png", "dog/a.png", "dog/b.png", "Äpfel/ö 1.png")
    assert data.labels is not None
    assert data.labels.tolist() == [0, 1, 1, 2]
    assert np.array_equal(data.image(3), pixels(6, 5, 3, seed=2))
    assert data.notes == ()
    assert pickle.loads(pickle.dumps(data)).key == data.key


def test_a_flat_folder_has_no_labels(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "empty").mkdir()
    data = image_folder(tmp_path)
    assert (data.ids, data.labels, data.classes, data.outputs) == (("a.png",), None, (), None)
    assert "unlabelled" in repr(data)


def test_an_empty_class_keeps_its_number_and_is_noted(tmp_path: Path) -> None:
    class_folders(tmp_path / "x", "ac")
    (tmp_path / "x" / "b").mkdir()
    data = image_folder(tmp_path / "x")
    assert data.classes == ("a", "b", "c")
    assert data.labels is not None
    assert data.labels.tolist() == [0, 2]
    assert data.notes == ("1 class folder has no images: 'b'",)


def test_images_beside_class_folders_are_a_mistake(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "a.png")
    picture(tmp_path / "stray.png")
    with pytest.raises(BrittleError, match=naming(1, "stray.png")):
        image_folder(tmp_path)


def test_folders_named_by_wordnet_id_are_imagenet(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "val", [WNIDS[7], WNIDS[999], WNIDS[0]])
    data = image_folder(root)
    assert data.labels is not None
    assert data.labels.tolist() == [0, 7, 999]
    assert (len(data.classes), data.classes[0]) == (1000, "tench")
    own = image_folder(root, imagenet=False)
    assert own.labels is not None
    assert (own.labels.tolist(), own.classes) == ([0, 1, 2], (WNIDS[0], WNIDS[7], WNIDS[999]))
    class_folders(tmp_path / "val", ["n99999999"])
    with pytest.raises(BrittleError, match=naming(3, 1, "n99999999")):
        image_folder(root)


def test_the_key_of_a_folder_changes_with_its_files(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "x.png")
    picture(tmp_path / "b" / "y.png")
    keys = [image_folder(tmp_path).key, image_folder(tmp_path).key]
    picture(tmp_path / "b" / "y.png", seed=1)
    keys.append(image_folder(tmp_path).key)
    (tmp_path / "b" / "y.png").rename(tmp_path / "b" / "z.png")
    keys.append(image_folder(tmp_path).key)
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_broken_files_are_counted_each_with_its_reason(tmp_path: Path) -> None:
    good = picture(tmp_path / "a" / "good.png", size=(40, 40)).read_bytes()
    bad = {"cut.png": good[:900], "empty.jpg": b"", "text.jpg": b"I am no image"}
    for name, data in bad.items():
        (tmp_path / "a" / name).write_bytes(data)
    data = image_folder(tmp_path)
    picture(tmp_path / "a" / "late.png")
    reasons = data.unreadable()
    assert sorted(reasons) == [f"a/{name}" for name in bad]
    assert reasons["a/empty.jpg"] == "the file is empty"
    assert "not an image" in reasons["a/text.jpg"]
    assert "truncated" in reasons["a/cut.png"]
    (tmp_path / "a" / "good.png").unlink()
    with pytest.raises(UnreadableImage):
        data.image(2)


@pytest.mark.parametrize("case", ["CMYK", "16-bit", "GIF", "EXIF"])
def test_unusual_files_are_read_as_seen(tmp_path: Path, case: str) -> None:
    from PIL import Image as Pil

    (tmp_path / "a").mkdir()
    grey = np.linspace(0, 255, 64 * 48).astype(np.uint8).reshape(48, 64)
    seen = Pil.fromarray(grey)
    exif = Pil.Exif()
    exif[0x0112] = 3  # the camera was upside down
    path = tmp_path / "a" / "x"
    if case == "CMYK":
        seen.convert("RGB").convert("CMYK").save(path.with_suffix(".jpg"), quality=98)
    elif case == "16-bit":
        Pil.fromarray(grey.astype(np.uint16) * 257).save(path.with_suffix(".png"))
    elif case == "GIF":
        seen.save(path.with_suffix(".gif"), save_all=True, append_images=[seen.rotate(180)])
    else:
        seen.rotate(180).save(path.with_suffix(".jpg"), quality=98, exif=exif)
    data: Dataset = image_folder(tmp_path)
    assert data.unreadable() == {}
    assert np.abs(data.image(0).astype(int) - grey[..., None]).mean() < 4

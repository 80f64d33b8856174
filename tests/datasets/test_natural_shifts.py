"""Natural shifts of ImageNet: which class a folder is, and that a wrong set of folders is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.datasets import Dataset, imagenet, imagenet_a, imagenet_r, imagenet_sketch, imagenet_v2, objectnet
from brittle.datasets.classes import imagenet_classes, imagenet_names, objectnet_folders
from tests.datasets.fake_layouts import WNIDS, class_folders, picture, pixels
from tests.errors import naming

IN_A = [row.wnid for row in imagenet_classes() if row.in_a]
IN_R = [row.wnid for row in imagenet_classes() if row.in_r]
SETS: dict[str, tuple[Callable[..., Dataset], list[str]]] = {
    "ImageNet": (imagenet, WNIDS),
    "ImageNet-Sketch": (imagenet_sketch, WNIDS),
    "ImageNet-A": (imagenet_a, IN_A),
    "ImageNet-R": (imagenet_r, IN_R),
}


def test_the_class_table() -> None:
    assert sorted(WNIDS) == WNIDS  # sorted folders are the order of a model's outputs
    assert len(set(WNIDS)) == 1000
    assert (len(IN_A), len(IN_R), len(set(IN_A) & set(IN_R))) == (200, 200, 86)


@pytest.mark.parametrize("name", SETS)
def test_wordnet_folders_get_imagenet_numbers(tmp_path: Path, name: str) -> None:
    reader, wnids = SETS[name]
    data = reader(class_folders(tmp_path / "set", wnids))
    assert data.labels is not None
    assert data.labels.tolist() == [WNIDS.index(wnid) for wnid in wnids]
    assert (data.classes, data.outputs) == (imagenet_names(), 1000)
    if len(wnids) == 200:
        assert data.class_subset is not None
        assert data.class_subset.tolist() == data.labels.tolist()
    else:
        assert data.class_subset is None


@pytest.mark.parametrize("name", SETS)
def test_a_wrong_set_of_folders_is_refused(tmp_path: Path, name: str) -> None:
    reader, wnids = SETS[name]
    root = class_folders(tmp_path / "set", wnids[:-1])
    with pytest.raises(BrittleError, match=naming(repr(wnids[-1]), name, len(wnids), len(wnids) - 1)):
        reader(root)
    part = reader(root, partial=True)
    assert len(part) == len(wnids) - 1
    if len(wnids) == 200:
        assert part.class_subset is not None
        assert len(part.class_subset) == 200  # the mask is the set's, however little of it is there
    class_folders(root, ["n00000000"])
    with pytest.raises(BrittleError, match=naming(1, "n00000000")):
        reader(root, partial=True)


def test_a_set_is_not_taken_for_another(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "set", IN_A)
    with pytest.raises(BrittleError, match=naming(114, 200)):
        imagenet_r(root)
    with pytest.raises(BrittleError, match=naming("flat", "ImageNet-A", 200)):
        imagenet_a(picture(tmp_path / "flat" / "x.png").parent)


@pytest.mark.parametrize("form", ["{}", "{:04}"])
def test_folders_of_imagenet_v2_are_numbers(tmp_path: Path, form: str) -> None:
    data = imagenet_v2(class_folders(tmp_path / "v2", map(form.format, range(1000))))
    assert data.labels is not None
    assert [int(str(name).split("/")[0]) for name in data.ids] == data.labels.tolist()
    assert sorted(data.labels.tolist()) == list(range(1000))


@pytest.mark.parametrize(
    ("folders", "values"),
    [
        (["0", "1", "2"], ("v2", 3, "ImageNet-V2", 1000, "partial=True")),
        (["0", "1000"], ("v2", "'1000'", 0, 999)),
        (["1", "01"], ("v2", "'1'", "'01'")),
        (["0", "n01440764"], ("v2", "'n01440764'", "ImageNet-V2", 0, 999)),
    ],
)
def test_wrong_folders_of_imagenet_v2_are_refused(tmp_path: Path, folders: list[str], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        imagenet_v2(class_folders(tmp_path / "v2", folders))


def test_the_objectnet_table() -> None:
    table = objectnet_folders()
    mapped = {folder: same for folder, same in table.items() if same}
    indices = [index for same in mapped.values() for index in same]
    assert (len(table), len(mapped), len(indices), len(set(indices))) == (313, 113, 125, 125)
    names = imagenet_names()
    meant = {
        "full_sized_towel": {"bath_towel"},
        "tv": {"television"},
        "drill": {"power_drill"},
        "hand_towel_or_rag": {"dishrag"},
        "chair": {"barber_chair", "folding_chair", "rocking_chair"},
        "tie": {"bow_tie", "Windsor_tie"},
        "wok": {"wok"},
    }
    assert {folder: {names[index] for index in table[folder]} for folder in meant} == meant
    same_word = [folder for folder, same in mapped.items() if folder in {names[index] for index in same}]
    assert len(same_word) >= 45  # the umbrella is the umbrella


def test_objectnet_is_mapped_cropped_and_counted(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "objectnet-1.0" / "images", objectnet_folders())
    framed = picture(tmp_path / "framed.png", size=(20, 24))
    (root / "chair" / "two.png").write_bytes(framed.read_bytes())
    data = objectnet(tmp_path / "objectnet-1.0")
    assert data.key == objectnet(root).key
    assert data.labels is not None
    assert data.class_map is not None
    assert (len(data), len(data.classes), data.outputs) == (114, 113, 1000)
    assert data.notes == ("200 images in 200 folders have no ImageNet class and were left out",)
    for index, identity in enumerate(data.ids):
        assert data.classes[data.labels[index]] == str(identity).split("/")[0]
    chair = data.classes.index("chair")
    assert np.flatnonzero(data.class_map == chair).tolist() == [423, 559, 765]
    assert (data.class_map >= 0).sum() == 125
    assert np.array_equal(data.image(data.ids.index("chair/two.png")), pixels(20, 24, 3)[2:-2, 2:-2])


def test_objectnet_in_part(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "o", ["wok", "umbrella"])
    with pytest.raises(BrittleError, match=naming(313)):
        objectnet(root)
    data = objectnet(root, partial=True)
    assert data.labels is not None
    assert [data.classes[label] for label in data.labels] == ["umbrella", "wok"]
    assert data.notes == ()
    tiny = class_folders(tmp_path / "p", ["wok"])
    (tiny / "wok" / "one.png").unlink()
    picture(tiny / "wok" / "one.png", size=(4, 9))
    assert objectnet(tiny, partial=True).unreadable() == {"wok/one.png": "9×4 px is too small for a frame of 2 px"}
    with pytest.raises(BrittleError, match=naming(113)):
        objectnet(class_folders(tmp_path / "q", ["air_freshener"]), partial=True)

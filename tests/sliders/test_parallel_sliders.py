"""Many sliders at once: their classes, their names, and how they are found."""

from pathlib import Path

import pytest

from brittle import BrittleError
from brittle.sliders import class_names, find_class, find_sliders, slider_name
from tests.errors import naming


def test_classes_by_number_and_name() -> None:
    names = class_names()
    assert find_class("22", names).name == find_class("bald_eagle", names).name == "bald eagle"
    assert (
        find_class("Bald Eagle", names, [f"<{name}-{i}>" for i, name in enumerate(names)]).prompt == "<bald eagle-22>"
    )
    with pytest.raises(BrittleError, match=naming(2, "crane", 134, 517)):
        find_class("crane", names)
    with pytest.raises(BrittleError, match=naming("xyz", 1000)):
        find_class("xyz", names)
    with pytest.raises(BrittleError, match=naming(22, 2)):
        find_class("22", names, ["<a-0>", "<b-1>"])


def test_class_names_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("ankle_boot\nbag\n")
    assert class_names(file) == ("ankle boot", "bag")
    file.write_text("a\n\nb\n")
    with pytest.raises(BrittleError, match=naming("names.txt", "class 0")):
        class_names(file)
    with pytest.raises(FileNotFoundError, match=naming("nowhere.txt", "class 0")):
        class_names(tmp_path / "nowhere.txt")


def test_sliders_are_found_and_chosen(slider, tmp_path: Path) -> None:
    assert slider_name("heavy snow", 7) == "heavy_snow_class_007"
    for number in (7, 22):
        slider.save(tmp_path / "s" / slider_name("heavy snow", number))
    sliders = find_sliders(tmp_path / "s")
    assert [(one.shift, one.number) for one in sliders] == [("heavy_snow", 7), ("heavy_snow", 22)]
    assert [one.number for one in find_sliders(tmp_path / "s", numbers=[22])] == [22]
    with pytest.raises(BrittleError, match=naming(8, 7, 22)):
        find_sliders(tmp_path / "s", numbers=[8])
    slider.save(tmp_path / "s" / "mine")
    with pytest.raises(BrittleError, match=naming("s/mine", "heavy_snow_class_022")):
        find_sliders(tmp_path / "s")

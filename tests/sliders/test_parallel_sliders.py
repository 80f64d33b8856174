"""Many sliders at once: the Ray engine trains and draws what the local one does, and single parts are as promised."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.sliders import (
    Base,
    Pick,
    Sampling,
    class_names,
    find_class,
    find_sliders,
    load_slider,
    sample_sliders,
    slider_name,
    train_sliders,
)
from tests.errors import naming

NAMES = ("bag", "sneaker", "sneaker")
FEW = {"steps": 2, "batch_size": 1, "denoising_steps": 2}
CLASSES = [find_class(name, NAMES[:2]) for name in ("0", "sneaker")]


def _keep(seen: list, *at) -> None:
    seen.append(at)


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # of Ray's own
@pytest.mark.usefixtures("cluster")
def test_a_cluster_gives_the_same_sliders_and_images(pipeline_folder: Path, tmp_path: Path) -> None:
    base = Base(str(pipeline_folder), device="cpu")
    how = {"sampling": Sampling(steps=2), "file_format": "png"}
    seen: dict[str, list] = {"local": [], "ray": []}
    for engine in ("local", "ray"):
        place = tmp_path / engine
        tick = partial(_keep, seen[engine])
        done = train_sliders(base, CLASSES, ["heavy snow"], place / "s", engine=engine, progress=tick, **FEW)
        assert (len(done.folders), done.existing) == (2, 0)
        picks = [Pick(CLASSES[one.number], one.shift, one) for one in find_sliders(place / "s")]
        drawn = sample_sliders(base, picks, place / "i", (0, 1), (1, 2), engine=engine, names=NAMES[:2], **how)
        assert (drawn.drawn, drawn.existing) == (8, 0)
        again = sample_sliders(base, picks, place / "i", (0, 1), (1, 2), engine=engine, names=NAMES[:2], **how)
        assert (again.drawn, again.existing) == (0, 8)
        with pytest.raises(BrittleError, match=naming("heavy_snow/000_bag", "active")):
            sample_sliders(base, picks, place / "i", (0, 1), (1,), engine=engine, names=NAMES[:2], **how, active=0.5)
    assert [at[1:] for at in seen["local"]] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(at[1:] for at in seen["ray"]) == [(2, 4), (4, 4)]
    for name in ("heavy_snow_class_000", "heavy_snow_class_001"):
        one, other = (load_slider(tmp_path / engine / "s" / name).weights for engine in ("local", "ray"))
        assert all(torch.equal(one[key], other[key]) for key in one)
    local, ray = (cns_bench(tmp_path / engine / "i") for engine in ("local", "ray"))
    assert local.ids == ray.ids
    np.testing.assert_array_equal(np.stack(list(local.images())), np.stack(list(ray.images())))
    cards = [json.loads(next((tmp_path / e / "i").rglob("sampling.json")).read_text()) for e in ("local", "ray")]
    assert cards[0] == cards[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("cluster")
def test_an_error_on_the_cluster_is_raised_here(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("nowhere")):
        train_sliders(Base("nowhere"), CLASSES, ["fog"], tmp_path, engine="ray", **FEW)


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

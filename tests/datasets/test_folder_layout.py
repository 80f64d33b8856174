"""The ImageNet-C layout: what is in the files, and that runs can be stopped, resumed and spread."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle._io import DamagedFile
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import photo, write_folders
from brittle.datasets.export import output_names
from tests.errors import naming

RECIPE = Benchmark("two", (Entry("fog", (1, 2.5)), Entry("saturate", (5,))), seed=3)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, size in (("katze/cat.png", 48), ("Getränke/kaffee ü.png", 40), ("flat.png", 33)):
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Pil.fromarray(photo("cat" if "cat" in name else "coffee", size)).save(path)
    return tmp_path / "src"


def _files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_png_files_are_what_corrupt_gives_for_the_relative_path(source: Path, tmp_path: Path) -> None:
    account = write_folders(source, tmp_path / "out", RECIPE, image_format="png", workers=1)
    assert (account.written, account.kept, account.skipped) == (9, 0, {})
    for name in ("katze/cat.png", "Getränke/kaffee ü.png", "flat.png"):
        for corruption, level, folder in (("fog", 1, "1"), ("fog", 2.5, "2.5"), ("saturate", 5, "5")):
            clean = np.asarray(Pil.open(source / name))
            written = np.asarray(Pil.open(tmp_path / "out" / corruption / folder / name))
            assert (written == brittle.corrupt(clean, corruption, level, seed=3, sample=name)).all()
    assert Benchmark.load(tmp_path / "out" / "recipe.toml") == RECIPE


def test_jpeg_files_are_stored_as_the_released_ones(source: Path, tmp_path: Path) -> None:
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    clean = np.asarray(Pil.open(source / "katze/cat.png"))
    released = io.BytesIO()
    fog = brittle.corrupt(clean, "fog", 1, seed=3, sample="katze/cat.png")
    Pil.fromarray(fog).save(released, "JPEG", quality=85, optimize=True)
    assert (tmp_path / "out/fog/1/katze/cat.JPEG").read_bytes() == released.getvalue()


def test_images_of_extreme_shape_are_written(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name, size in (("thin.png", (30000, 3)), ("dot.png", (1, 1))):
        Pil.new("RGB", size, "red").save(tmp_path / "src" / name)
    noise = Benchmark("noise", (Entry("impulse_noise", (5,)),))
    account = write_folders(tmp_path / "src", tmp_path / "out", noise, workers=1)
    assert (account.written, account.skipped) == (2, {})
    with Pil.open(tmp_path / "out/impulse_noise/5/thin.JPEG") as picture:
        assert picture.size == (30000, 3)


def test_a_run_that_stops_leaves_whole_files_and_goes_on_to_the_same_end(source: Path, tmp_path: Path) -> None:
    write_folders(source, tmp_path / "at_once", RECIPE, workers=1)

    def stop(done: int, total: int) -> None:
        assert total == 9
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folders(source, tmp_path / "twice", RECIPE, workers=1, progress=stop)
    assert len(_files(tmp_path / "twice")) == 2 + 6
    missing = tmp_path / "twice/fog/1/flat.JPEG"
    missing.unlink(missing_ok=True)
    account = write_folders(source, tmp_path / "twice", RECIPE, workers=1)
    assert account.written + account.kept == 9
    assert account.written in (3, 4)
    assert _files(tmp_path / "twice") == _files(tmp_path / "at_once")


@pytest.mark.parametrize(
    ("images", "outputs"),
    [
        (["a.jpg", "b/a.png"], ["a.JPEG", "b/a.JPEG"]),
        (["a.jpg", "a.png", "c.png"], ["a.jpg.JPEG", "a.png.JPEG", "c.JPEG"]),
        (["a.jpg", "a.jpg.png", "a.png"], ["a.jpg.JPEG", "a.jpg.png.JPEG", "a.png.JPEG"]),
        (["v1.0.jpg"], ["v1.0.JPEG"]),
    ],
)
def test_two_images_never_share_a_file(images: list[str], outputs: list[str]) -> None:
    assert output_names(images, ".JPEG") == outputs


@pytest.mark.parametrize(
    ("change", "values"),
    [
        (
            {"benchmark": Benchmark("other", RECIPE.entries, seed=4)},
            ("'two'", "seed 3", "'other'", "seed 4", "overwrite=True"),
        ),
        ({"image_format": "png"}, ("format", "'jpeg'", "'png'", "overwrite=True")),
        ({"prepare": "imagenet"}, ("prepare", "'none'", "'imagenet'", "overwrite=True")),
        ({"image_format": "bmp"}, ("image_format", "jpeg", "png", "bmp")),
        ({"prepare": "resize"}, ("prepare", "imagenet", "none", "resize")),
        ({"workers": 0}, ("workers", 1, 0)),
        ({"inside": True}, ("src/out",)),
        ({"foreign": True}, ("out", "recipe.toml")),
    ],
)
def test_a_folder_never_mixes_two_runs(source: Path, tmp_path: Path, change: dict[str, object], values: tuple) -> None:
    out = tmp_path / "out"
    if change.pop("foreign", False):
        (out / "fog").mkdir(parents=True)
    else:
        write_folders(source, out, RECIPE, workers=1)
    before = _files(out)
    destination = source / "out" if change.pop("inside", False) else out
    arguments = {"benchmark": RECIPE, "workers": 1, **change}
    with pytest.raises(BrittleError, match=naming(*values)):
        write_folders(source, destination, **arguments)
    assert _files(out) == before


def test_overwrite_removes_what_the_earlier_recipe_wrote_and_nothing_else(source: Path, tmp_path: Path) -> None:
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    (tmp_path / "out" / "notes.md").write_text("mine")
    one = Benchmark("one", (Entry("zoom_blur", (1,)),))
    write_folders(source, tmp_path / "out", one, workers=1, overwrite=True)
    assert {name.split("/")[0] for name in _files(tmp_path / "out")} == {
        *("zoom_blur", "notes.md", "recipe.toml", "layout.toml")
    }


def test_corruptions_of_one_name_get_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.corruptions import registry
    from brittle.corruptions.registry import Corruption
    from brittle.datasets.export import names

    fog = brittle.get_corruption("fog")
    twin = Corruption("other/fog", fog.family, "other", fog.function, fog.levels, fog.options)
    monkeypatch.setitem(registry._by_id, "other/fog", twin)
    recipe = Benchmark("twins", (Entry("imagenet-c/fog", (1,)), Entry("other/fog", (1,)), Entry("snow", (1,))))
    assert list(names(recipe).values()) == ["imagenet-c-fog", "other-fog", "snow"]


@pytest.mark.parametrize("form", ["jpeg", "png"])
def test_pictures_that_a_crash_left_empty_or_cut_are_written_again(source: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    write_folders(source, out, RECIPE, image_format=form, workers=1)
    whole = _files(out)
    pictures = sorted(path for path in out.rglob("*") if path.suffix.lower() in (".jpeg", ".png"))
    for path, size in zip(pictures, (0, 1, 100, -1, -2, -8), strict=False):
        path.write_bytes(path.read_bytes()[:size])
    account = write_folders(source, out, RECIPE, image_format=form, workers=1)
    assert (account.written, account.kept, account.damaged) == (6, 3, 6)
    assert _files(out) == whole


def test_a_damaged_picture_whose_source_is_gone_is_removed(source: Path, tmp_path: Path) -> None:
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    (tmp_path / "out/fog/1/flat.JPEG").write_bytes(b"")
    (source / "flat.png").write_bytes(b"no picture any more")
    account = write_folders(source, tmp_path / "out", RECIPE, workers=1)
    assert list(account.skipped) == ["flat.png"]
    assert not (tmp_path / "out/fog/1/flat.JPEG").exists()
    assert all(len(content) for content in _files(tmp_path / "out").values())


@pytest.mark.parametrize("name", ["recipe.toml", "layout.toml"])
@pytest.mark.parametrize("kept", [0, 20])
def test_one_damaged_note_is_named_and_written_again(source: Path, tmp_path: Path, name: str, kept: int) -> None:
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    whole = _files(tmp_path / "out")
    (tmp_path / "out" / name).write_bytes(whole[name][:kept])
    with pytest.warns(DamagedFile, match=name):
        account = write_folders(source, tmp_path / "out", RECIPE, workers=1)
    assert (account.written, account.kept) == (0, 9)
    assert _files(tmp_path / "out") == whole
    (tmp_path / "out" / "recipe.toml").write_bytes(b"")
    other = Benchmark("two", RECIPE.entries, seed=4)
    with (
        pytest.warns(DamagedFile, match=r"recipe\.toml"),
        pytest.raises(BrittleError, match=naming("out", "overwrite=True")),
    ):
        write_folders(source, tmp_path / "out", other, workers=1)


def test_pictures_of_an_unknown_recipe_are_not_kept(source: Path, tmp_path: Path) -> None:
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    for name in ("recipe.toml", "layout.toml"):
        (tmp_path / "out" / name).write_bytes(b"")
    with pytest.warns(DamagedFile), pytest.raises(BrittleError, match=naming("recipe.toml", "overwrite=True")):
        write_folders(source, tmp_path / "out", RECIPE, workers=1)
    assert write_folders(source, tmp_path / "out", RECIPE, workers=1, overwrite=True).written == 9


def test_all_pictures_are_on_disk_before_a_call_ends(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr("os.sync", lambda: seen.append(len(list((tmp_path / "out").rglob("*.JPEG")))))
    write_folders(source, tmp_path / "out", RECIPE, workers=1)
    assert seen == [9]

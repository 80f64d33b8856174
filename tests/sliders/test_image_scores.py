"""Scores of images are what the networks say about them, and curves are their means."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from PIL import Image

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.sliders import (
    CODE_PROMPTS,
    PAPER_PROMPTS,
    Clip,
    ImageEncoder,
    choose_thresholds,
    image_scores,
    rises_throughout,
    shift_curves,
)
from tests.errors import naming
from tests.sliders import tiny_world


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Clip:
    return Clip(tiny_world.save_clip(tmp_path_factory.mktemp("clip") / "tiny-clip"))


@pytest.fixture(scope="module")
def dino(tmp_path_factory) -> ImageEncoder:
    return ImageEncoder(tiny_world.save_dino(tmp_path_factory.mktemp("dino") / "tiny-dino"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two classes, three seeds, three scales, two shifts; noise that grows with the scale."""
    root, numbers = tmp_path_factory.mktemp("cns"), np.random.default_rng(0)
    for shift in ("heavy_snow", "cartoon_style"):
        for name in ("003_bag", "004_sneaker"):
            for seed in (1, 2, 3):
                base, noise = numbers.integers(0, 256, (2, 24, 24, 3))
                for scale in (0, 1000, 2500):
                    path = root / shift / name / f"seed_{seed:04}_scale_{scale:04}.png"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    mixed = base + (noise - base) * (scale / 2500)
                    Image.fromarray(mixed.astype(np.uint8)).save(path)
    return root


@pytest.fixture(scope="module")
def scores(folder: Path, clip: Clip, dino: ImageEncoder):
    return image_scores(cns_bench(folder), clip, dino, batch_size=7)


def unit(rows: torch.Tensor) -> np.ndarray:
    return torch.nn.functional.normalize(rows.double(), dim=-1).numpy()


def test_clip_scores_are_those_of_transformers(folder: Path, clip: Clip, scores) -> None:
    row = scores.table.row(4, named=True)
    assert row["sample"] == "cartoon_style/003_bag/seed_0002_scale_1000.png"
    assert (row["shift"], row["label"], row["name"], row["seed"], row["scale"]) == ("cartoon_style", 3, "bag", 2, 1.0)
    network, processor, tokens = clip.network, tiny_world_processor(), tiny_world.tokenizer()
    prompts = ["a photo in cartoon style", "a photo of a bag", "a photo of a bag in cartoon style"]
    files = [folder / row["sample"], folder / row["sample"].replace("1000", "0000")]
    with torch.no_grad():
        pixels = processor([Image.open(file) for file in files], return_tensors="pt")
        images = unit(network.get_image_features(**pixels).pooler_output)
        words = unit(network.get_text_features(**tokens(prompts, padding=True, return_tensors="pt")).pooler_output)
    expected = 100 * images[0] @ words.T
    np.testing.assert_allclose([row[k] for k in ("CLIP_shift", "CLIP_class", "CLIP_class_shift")], expected, atol=1e-3)
    assert row["CLIP_ref"] == pytest.approx(images[0] @ images[1], abs=1e-5)


def tiny_world_processor():
    sides = {"size": {"shortest_edge": 16}, "crop_size": {"height": 16, "width": 16}}
    return transformers.CLIPImageProcessorPil(**sides)


def test_the_image_encoder_sees_the_softmax_of_the_class_token(folder: Path, dino: ImageEncoder, scores) -> None:
    row = scores.table.row(5, named=True)
    files = [folder / row["sample"], folder / row["sample"].replace("2500", "0000")]
    resized = [np.asarray(Image.open(f).resize((30, 30), Image.Resampling.BILINEAR))[1:29, 1:29] for f in files]
    pixels = torch.from_numpy(np.stack(resized)).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        tokens = dino.network(pixel_values=(pixels - 0.5) / 0.2).last_hidden_state[:, 0].softmax(-1)
    a, b = unit(tokens)
    assert row["DINO_ref_no_head"] == pytest.approx(a @ b, abs=1e-5)


def test_scale_0_is_its_own_reference(scores) -> None:
    first = scores.table.filter(pl.col("scale") == 0)
    assert set(first["CLIP_ref"]) == {1.0} == set(first["DINO_ref_no_head"])
    assert scores.unreadable == {}
    assert len(scores.table) == 36


def test_prompts_can_be_the_papers_or_the_codes(folder: Path, clip: Clip) -> None:
    assert PAPER_PROMPTS.texts("bag", "heavy_snow")[:2] == ("A picture in heavy snow", "A picture of a bag")
    assert CODE_PROMPTS.texts("bag", "heavy snow")[2] == "a photo of a bag in heavy_snow"
    data = cns_bench(folder, shift="heavy_snow")
    plain, named = (image_scores(data, clip, names=names).table for names in (None, {3: "bag", 4: "fog"}))
    same = plain["CLIP_class"].to_numpy() == named["CLIP_class"].to_numpy()
    assert same.tolist() == [True] * 9 + [False] * 9
    assert "DINO_ref_no_head" not in plain.columns


def test_curves_are_mean_differences_with_intervals(scores) -> None:
    curves = shift_curves(scores, resamples=200)
    rows = scores.table.filter(pl.col("shift") == "heavy_snow").sort("label", "seed", "scale")
    values = rows["CLIP_class"].to_numpy().reshape(6, 3)
    snow_rows = curves.filter((pl.col("shift") == "heavy_snow") & (pl.col("measure") == "ΔCLIP class"))
    np.testing.assert_allclose(snow_rows["value"], (values - values[:, :1]).mean(0))
    assert snow_rows["trajectories"].to_list() == [6, 6, 6]
    assert snow_rows.row(0)[3:6] == (0, 0, 0)
    assert ((snow_rows["low"] <= snow_rows["value"]) & (snow_rows["value"] <= snow_rows["high"])).all()
    assert len(shift_curves(scores, by=None, resamples=20)) == 6
    assert set(shift_curves(scores, by="name", resamples=20)["name"]) == {"bag", "sneaker"}


def test_what_rises_throughout() -> None:
    table = pl.DataFrame({"shift": ["a"] * 3, "scale": [0, 1, 2], "measure": ["ΔCLIP shift"] * 3, "value": [0.0, 1, 2]})
    assert rises_throughout(table)
    assert not rises_throughout(table.with_columns(pl.Series("value", [0.0, 1, 1])))


def test_damaged_and_missing_images(folder: Path, clip: Clip, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(folder / "heavy_snow", tmp_path / "heavy_snow")
    place = tmp_path / "heavy_snow" / "003_bag"
    (place / "seed_0001_scale_1000.png").write_bytes(b"nothing")
    (place / "seed_0002_scale_0000.png").unlink()
    scored = image_scores(cns_bench(tmp_path), clip)
    assert list(scored.unreadable) == ["heavy_snow/003_bag/seed_0001_scale_1000.png"]
    assert len(scored.table) == 16
    lost = scored.table.filter(pl.col("CLIP_ref").is_null())
    assert lost["sample"].to_list() == [f"heavy_snow/003_bag/seed_0002_scale_{s}.png" for s in (1000, 2500)]
    assert set(shift_curves(scored, resamples=20)["trajectories"]) == {4}
    with pytest.raises(BrittleError, match=naming(0)):
        image_scores(cns_bench(tmp_path, scale=1.0), clip)
    with pytest.raises(BrittleError, match=naming(0, "1.0", "2.5")):
        shift_curves(scored.table.filter(pl.col("scale") > 0))
    with pytest.raises(BrittleError, match=naming(1)):
        choose_thresholds(scored, {scored.table["sample"][0]: "class"})
    with pytest.raises(BrittleError, match=naming(0)):
        choose_thresholds(scored, {scored.table["sample"][1]: "class"})

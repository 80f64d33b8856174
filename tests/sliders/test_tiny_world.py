"""The bundled world: small, whole, and meaningful."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.models import load_model
from brittle.sliders import (
    ClipPrompts,
    Slider,
    choose_thresholds,
    draw_trajectory,
    held_out_filters,
    slider_layers,
    two_prompts,
)
from brittle.sliders.demo_pipeline import DEMO_SAMPLING, DEMO_SHIFTS, ORACLE, draw_demo_shift, load_demo_pipeline
from brittle.sliders.pipeline import published_shifts, shift_text
from brittle.sliders.sampling import draw_images
from tests.errors import naming

MEGABYTES = 15
LABELLED = Path(__file__).parent / "tiny_world_filter.csv.gz"
"""Scores of generated images and what the judge says, kept by scripts/measure_tiny_world.py."""


@pytest.fixture(scope="module")
def world():
    return load_demo_pipeline()


@pytest.mark.parametrize("shift", DEMO_SHIFTS)
def test_a_shift_is_drawn_in_any_amount(shift: str) -> None:
    plain = np.full((32, 32, 3), 90, np.uint8)
    plain[8:24, 10:22] = 200
    little, full = (draw_demo_shift(plain, shift, amount, "a") for amount in (0.0, 1.0))
    assert little.shape == full.shape == plain.shape
    assert full.dtype == np.uint8
    assert np.abs(little - plain.astype(float)).mean() > 0
    assert not np.array_equal(little, full)
    np.testing.assert_array_equal(full, draw_demo_shift(plain, shift, 1.0, "a"))


def test_a_shift_that_is_not_drawn_is_named() -> None:
    with pytest.raises(BrittleError, match=naming("heavy_hail", "heavy_rain")):
        draw_demo_shift(np.zeros((32, 32, 3), np.uint8), "heavy_hail", 1.0, "a")


@pytest.fixture(scope="module")
def pipeline(world):
    return world.pipeline(device="cpu")


@pytest.fixture(scope="module")
def drawn(world, pipeline):
    """Four images of each class."""
    words = [DEMO_SAMPLING.prompt_of(name) for name in world.classes for _ in range(4)]
    return draw_images(pipeline, words, list(range(4)) * len(world.classes), DEMO_SAMPLING)


def test_it_is_small_and_whole(world):
    files = [file for file in world.folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MEGABYTES * 1e6
    assert len(world.classes) == 10
    assert len(world.shifts) >= 6
    assert set(world.shifts) <= set(published_shifts())
    assert (world.folder / "README.md").is_file()


def test_a_folder_without_a_world_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=naming("'pipeline'", "scripts/train_tiny_world.py")):
        load_demo_pipeline(tmp_path)


def test_an_unknown_classifier_is_told(world):
    with pytest.raises(BrittleError, match=naming("'standart'", "'standard'")):
        world.classifier("standart")


def test_the_judge_knows_what_is_drawn(world, drawn):
    labels = np.repeat(np.arange(len(world.classes)), 4)
    assert (world.classifier(ORACLE, device="cpu").scores(drawn).argmax(1) == labels).mean() >= 0.7


@pytest.mark.parametrize("name", ["small", "standard", "augmix"])
def test_classifiers_load_as_models_of_the_command_line(world, drawn, name):
    model = load_model(world.weights(name), device="cpu")
    labels = np.repeat(np.arange(len(world.classes)), 4)
    assert (model.scores(drawn).argmax(1) == labels).mean() >= 0.6


def test_clip_names_what_is_drawn(world, drawn):
    clip = world.clip(device="cpu")
    texts = clip.texts([ClipPrompts().name.replace("{name}", name) for name in world.classes])
    right = (clip.images(drawn) @ texts.T).argmax(1) == np.repeat(np.arange(len(world.classes)), 4)
    assert right.mean() >= 0.6


def test_a_shift_in_the_prompt_is_drawn(world, pipeline):
    clip = world.clip(device="cpu")
    texts = clip.texts([ClipPrompts().shift.replace("{shift}", shift_text(shift)) for shift in world.shifts])
    right = []
    for place, shift in enumerate(world.shifts):
        images = two_prompts(pipeline, "bag", shift, (1, 2), sampling=DEMO_SAMPLING, batch_size=4)[:, 1]
        right += list((clip.images(images) @ texts.T).argmax(1) == place)
    assert np.mean(right) >= 0.6


def test_the_encoder_knows_an_image_again(world, drawn):
    seen = world.encoder(device="cpu").images(np.concatenate([drawn[:8], np.roll(drawn[:8], 1, axis=2)]))
    alike = seen[:8] @ seen[8:].T
    assert np.diag(alike).mean() > alike.mean() + 0.02


def test_scale_0_is_the_plain_pipeline_bit_for_bit(pipeline):
    weights = {}
    rng = np.random.default_rng(0)
    torch = pytest.importorskip("torch")
    for path in slider_layers(pipeline.unet):
        layer = pipeline.unet.get_submodule(path)
        down, up = (4, *layer.weight.shape[1:]), (layer.weight.shape[0], 4, *[1] * (layer.weight.ndim - 2))
        for name, shape in (("lora_A", down), ("lora_B", up)):
            weights[f"{path}.{name}.weight"] = torch.from_numpy(0.1 * rng.standard_normal(shape, np.float32))
    images = draw_trajectory(pipeline, Slider("bag", "heavy snow", weights), (0.0, 1.0), (5,), sampling=DEMO_SAMPLING)
    plain = draw_images(pipeline, [DEMO_SAMPLING.prompt_of("bag")], (5,), DEMO_SAMPLING)
    assert (images[0, 0] == plain[0]).all()
    assert (images[0, 1] != plain[0]).any()


def test_the_filter_removes_what_it_was_told_to_of_images_it_was_not_tuned_on(world):
    scores = pl.read_csv(LABELLED)
    labels = dict(scores.select("sample", "said").rows())
    filters = {row["filter"]: row for row in held_out_filters(scores, labels, tpr=0.9).iter_rows(named=True)}
    for row in filters.values():
        assert row["tpr_low"] < 0.9 < row["tpr_high"]
    assert filters["2 of 4"]["tpr"] > 0.85
    assert filters["2 of 4"]["fpr"] < filters["CLIP_class"]["fpr"]
    limits, least = world.thresholds()
    assert least == 2
    assert limits == pytest.approx(choose_thresholds(scores, labels, tpr=0.9), abs=1e-4)


def test_the_scores_of_the_labelled_images_are_those_of_the_world(world, pipeline):
    kept = pl.read_csv(LABELLED).filter((pl.col("scale") == 0) & (pl.col("seed") == 101)).unique("name").sort("label")
    words = [DEMO_SAMPLING.prompt_of(name) for name in kept["name"]]
    texts = world.clip(device="cpu").texts([ClipPrompts().name.format(name=name) for name in kept["name"]])
    again = world.clip(device="cpu").images(draw_images(pipeline, words, [101] * len(words), DEMO_SAMPLING))
    cosines = 100 * (again * texts).sum(1)
    np.testing.assert_allclose(cosines, kept["CLIP_class"], atol=1.5)

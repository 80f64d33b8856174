"""Flips of several models on one sheet: every model's own pictures are there."""

from dataclasses import replace

import cv2
import numpy as np
from PIL import ImageFont

import brittle
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import photo
from brittle.evaluation import Classes, probe_photo
from brittle.evaluation.cell import predict
from brittle.models import from_callable
from brittle.plots import MODEL_COLOURS
from brittle.report import flip_sheet
from brittle.report.grid import resized, shorten

CAT = photo(size=64)
RECIPE = Benchmark("two", (Entry("imagenet-c/fog", (1,)), Entry("imagenet-c/contrast", (1,))), seed=3)


def shown(sheet: Image, picture: Image) -> bool:
    inner = picture[8:-8, 8:-8]  # corners are rounded
    return float(cv2.matchTemplate(sheet, inner, cv2.TM_SQDIFF).min()) < inner.size


def spread_below(limit: float, name: str):
    """Sees class 1 where the picture has little contrast."""

    def scores(images: Image) -> Image:
        grey = images.std((1, 2, 3)) < limit
        return np.stack([~grey, grey], axis=1).astype(np.float32)

    return from_callable(scores, name=name)


def test_every_model_is_drawn_where_it_flips_and_the_others_at_their_strongest() -> None:
    models = [spread_below(35, "early"), spread_below(30, "late"), spread_below(0, "never")]
    probed = probe_photo(CAT, models, RECIPE, image_size=64, classes=("sharp", "flat"), draws=3)
    sheet = flip_sheet(probed, thumb=64)
    pixels = np.asarray(sheet)
    assert shown(pixels, CAT)
    severities = set()
    for model, probe in probed.probes.items():
        for flip in probe.flips:
            severity = min(flip.median, 5)
            severities.add((flip.corruption, severity))
            assert shown(pixels, RECIPE.apply(CAT, flip.corruption, severity, flip.draw)), (model, flip)
    assert len(severities) == 6  # they do not flip at the same place
    for colour in MODEL_COLOURS[:3]:
        assert (pixels == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(-1).sum() > 50
    assert not (pixels == [int(MODEL_COLOURS[3][i : i + 2], 16) for i in (1, 3, 5)]).all(-1).any()


def test_long_names_and_many_corruptions_stay_on_the_sheet() -> None:
    recipe = brittle.load_benchmark("imagenet-c")
    models = [spread_below(35, "a model with a name that is longer than its pictures"), spread_below(12, "b")]
    sheet = flip_sheet(probe_photo(CAT, models, recipe, image_size=64, draws=1, tolerance=0.5), thumb=64)
    assert 0.8 < sheet.width / sheet.height < 2.8
    edge = np.asarray(sheet)[:, -10:]
    assert (edge == 255).all()


def test_one_model_has_the_last_unchanged_and_the_first_flipped_picture() -> None:
    model = spread_below(35, "early")
    probed = probe_photo(CAT, model, RECIPE, image_size=64, classes=("sharp", "flat"), draws=3)
    pixels = np.asarray(flip_sheet(probed, photo="cat.jpg"))
    for flip in probed.probes["early"].flips:
        assert flip.becomes == 1
        for severity in (flip.held, flip.median):
            picture = RECIPE.apply(CAT, flip.corruption, severity, flip.draw)
            assert shown(pixels, resized(picture, 112)), (flip.corruption, severity)
            [prediction], [sure] = predict(model, picture[np.newaxis], Classes())
            assert prediction == int(severity == flip.median)
            assert sure == np.float32(flip.confidence if prediction else flip.held_confidence)
    assert shown(pixels, resized(CAT, 112))
    for names in (("flat", "flat"), ("sharp", "sharp")):  # both classes are named
        other = np.asarray(flip_sheet(replace(probed, classes={"early": names}), photo="cat.jpg"))
        assert other.shape != pixels.shape or (other != pixels).any()


def test_a_long_name_is_cut_and_its_confidence_stays() -> None:
    font = ImageFont.load_default(12)
    text = shorten("a class with a name of many words 44 %", font, 112)
    assert text.endswith("… 44 %")
    assert font.getlength(text) <= 112
    assert shorten("cat 44 %", font, 112) == "cat 44 %"

"""What the live page asks for, with what was computed kept: pictures, predictions, strips and failure points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np

from brittle._errors import BrittleError, RunError
from brittle._types import Image
from brittle.benchmarks import list_benchmarks, load_benchmark
from brittle.corruptions import get_corruption, list_corruptions
from brittle.explorer import live
from brittle.explorer.live import Reading, View
from brittle.explorer.state import LoadingModel, Picture, Recent, State
from brittle.metrics import psnr, ssim
from brittle.models import input_side, resizes_images

EXACT = 400 * 400
"""Pictures of up to so many pixels are shown as PNG, exact and sent within milliseconds; larger ones as JPEG."""

JPEG_QUALITY, PNG_SPEED = 95, 1

EVERYTHING = "all"
"""In place of a benchmark's name: all corruptions that there are."""

USUAL_SIDE = 224
"""The side at which photographs are corrupted, if no model wants a larger one."""

LARGEST_USUAL_SIDE = 512


class Session:
    """The pictures and models of a state, and what was computed with them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._readings: Recent[Reading] = Recent(64)
        self._clean: Recent[tuple[int, list[dict[str, Any]]]] = Recent(512)
        self._strips: Recent[dict[str, Any]] = Recent(256)

    def draw(self, view: View) -> Image:
        """The pixels of a view."""
        picture = self.state.picture(view.picture)
        return self.state.drawn.once(view, lambda: live.corrupted_pixels(picture, view))

    def usual_size(self, picture: Picture) -> int | None:
        """The side at which a picture is first shown: images of a dataset as they are."""
        if picture.from_data and max(picture.pixels.shape[:2]) <= LARGEST_USUAL_SIDE:
            return None
        sides = [input_side(model.model) or 0 for model in self.state.models if model.model is not None]
        return min(max([USUAL_SIDE, *sides]), LARGEST_USUAL_SIDE)

    def facts(self, view: View) -> dict[str, Any]:
        """What is said of a picture beside it: its size, physical parameters, PSNR and SSIM."""
        picture = self.state.picture(view.picture)
        clean, shown = live.clean_pixels(picture, view.size), self.draw(view)
        noise, alike = psnr(clean, shown), ssim(clean, shown)
        return {
            "width": shown.shape[1],
            "height": shown.shape[0],
            "layers": live.parameters_in_words(view, shown.shape),
            "psnr": f"{noise:.1f} dB" if math.isfinite(noise) else "∞",
            "ssim": f"{alike:.3f}",
        }

    def model(self, number: int) -> LoadingModel:
        """The model of a number that the page has."""
        if not 0 <= number < len(self.state.models):
            raise BrittleError(f"there are {len(self.state.models)} models, and no number {number}")
        return self.state.models[number]

    def reading(self, number: int, picture: Picture) -> Reading | None:
        """How a model is read on such pictures; None while it loads."""
        given = self.model(number)
        if given.error:
            raise BrittleError(given.error)
        if given.model is None:
            return None
        image = live.clean_pixels(picture, self.usual_size(picture))
        return self._readings.once(
            (number, picture.from_data),
            lambda: Reading.of(given.model, self.state.dataset, image, from_data=picture.from_data),
        )

    def clean(self, number: int, reading: Reading, view: View) -> tuple[int, list[dict[str, Any]]]:
        """What a model says of the clean picture: its class, and its most likely outputs."""
        picture = self.state.picture(view.picture)

        def compute() -> tuple[int, list[dict[str, Any]]]:
            shares = reading.shares([live.clean_pixels(picture, view.size)])
            return int(reading.predicted(shares)[0]), reading.top(shares[0])

        return self._clean.once((number, picture.id, view.size), compute)

    def predictions(self, number: int, view: View) -> dict[str, Any]:
        """The most likely classes of a model for a view; what its code raises is told as text."""
        picture, given = self.state.picture(view.picture), self.model(number)
        try:
            reading = self.reading(number, picture)
            if reading is None:
                return {"name": given.name, "status": "loading"}
            return self._predictions(number, view, picture, reading)
        except (BrittleError, RunError) as error:
            return {"name": given.name, "status": "failed", "error": str(error)}

    def _predictions(self, number: int, view: View, picture: Picture, reading: Reading) -> dict[str, Any]:
        clean, clean_top = self.clean(number, reading, view)
        shares = reading.shares([self.draw(view)])
        predicted = int(reading.predicted(shares)[0])
        target = clean if picture.label is None else picture.label
        side = input_side(reading.model)
        return {
            "name": self.model(number).name,
            "status": "ready",
            "top": reading.top(shares[0]),
            "clean": clean_top[0],
            "target": reading.name(target),
            "known": picture.label is not None,
            "right": predicted == target,
            "flipped": predicted != clean,
            "sees": side if side and (resizes_images(reading.model) or side != self.draw(view).shape[0]) else None,
        }

    def strip(self, number: int, view: View, place: int) -> dict[str, Any]:
        """A model along the severity axis of one layer, with the exact failure point; or what its code raises."""
        picture = self.state.picture(view.picture)
        self.model(number)
        if not 0 <= place < len(view.layers):
            raise BrittleError(f"there are {len(view.layers)} corruptions on this picture, and no number {place}")
        try:
            reading = self.reading(number, picture)
            if reading is None:
                return {"status": "loading"}
            return self._strip(number, view, place, picture, reading)
        except (BrittleError, RunError) as error:
            return {"status": "failed", "error": str(error)}

    def _strip(self, number: int, view: View, place: int, picture: Picture, reading: Reading) -> dict[str, Any]:
        clean = self.clean(number, reading, view)[0]
        target = clean if picture.label is None else picture.label
        highest = get_corruption(view.layers[place].corruption).max_severity

        def draw(severity: float) -> Image:
            return self.draw(view.at(place, severity))

        def compute() -> dict[str, Any]:
            shown = live.strip(reading, draw, highest, target)
            failure = live.failure_of(reading, draw, shown)
            return {
                "status": "ready",
                "severities": shown.severities.tolist(),
                "confidence": [round(float(share), 4) for share in shown.confidence],
                "right": (shown.predicted == target).tolist(),
                "classes": [reading.name(int(predicted)) for predicted in shown.predicted],
                "target": reading.name(target),
                "known": picture.label is not None,
                "failure": failure_data(failure, reading.name),
            }

        return self._strips.once((number, view.at(place, 0.0), place), compute)

    def breaks(self, number: int, view: View, benchmark: str) -> Iterator[dict[str, Any]]:
        """Where each corruption of a benchmark, or of all, flips the prediction, as they are found."""
        picture = self.state.picture(view.picture)
        reading = self.reading(number, picture)
        if reading is None:
            yield {"status": "loading"}
            return
        if benchmark == EVERYTHING:
            corruptions = list_corruptions()
        elif benchmark in list_benchmarks():
            corruptions = [entry.corruption for entry in load_benchmark(benchmark).entries]
        else:
            raise BrittleError(f"there is no benchmark {benchmark[:40]!r}; there are: {', '.join(list_benchmarks())}")
        clean, top = self.clean(number, reading, view)
        yield {"total": len(corruptions), "clean": {**top[0], "name": reading.name(clean)}}
        for broken in live.breaks(reading, picture, view, corruptions):
            corruption = broken.corruption
            yield {
                "id": corruption.id,
                "name": corruption.name,
                "source": corruption.source,
                "family": corruption.family,
                "highest": corruption.max_severity,
                "failure": failure_data(broken.failure, reading.name),
            }

    def commands(self, number: int | None, view: View) -> dict[str, str]:
        """Python and shell of a view."""
        picture = self.state.picture(view.picture)
        given = None if number is None else self.model(number)
        model = None if given is None else given.model
        python = live.python_code(picture, view, self.state.data_in_python, model, given.text if given else None)
        return {"python": python, "shell": live.shell_command(picture, view)}


def failure_data(failure: live.Failure, name: Callable[[int], str]) -> dict[str, Any]:
    """A failure as JSON, which has no infinity."""
    return {
        "failed": failure.failed if math.isfinite(failure.failed) else None,
        "held": failure.held,
        "becomes": None if failure.prediction is None else name(failure.prediction),
    }


def encoded(image: Image) -> tuple[bytes, str]:
    """A picture for the screen, and its media type: exact if it is small, as a good JPEG if it is large."""
    if image.shape[0] * image.shape[1] <= EXACT:
        return png(image), "image/png"
    done, buffer = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    assert done
    return buffer.tobytes(), "image/jpeg"


def png(image: Image) -> bytes:
    """The exact pixels."""
    done, buffer = cv2.imencode(".png", image[:, :, ::-1], [cv2.IMWRITE_PNG_COMPRESSION, PNG_SPEED])
    assert done
    return buffer.tobytes()


def thumbnail(image: Image, side: int) -> Image:
    """A picture that fits into a square, made smaller but never larger."""
    height, width = image.shape[:2]
    scale = side / max(height, width)
    if scale >= 1:
        return image
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)

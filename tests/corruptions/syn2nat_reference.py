# ruff: noqa: ARG001 - every reading takes the same arguments, also those that draw nothing
"""A slow, plain reading of the 40 published definitions at severity 5 and 224 px, for tests.

With SciPy and loops, sharing no kernels; only the random numbers are those of the library, under the same names.
Every constant is the published one, written out again. OpenCV stands in where the definition names it: for the 8-bit
colour spaces, for drawing lines and filled polygons, and for the lens model.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image as Pil
from scipy import ndimage

from brittle.corruptions import Draws
from brittle.corruptions.kernels.random_words import normals, uniforms

Array = np.ndarray


def cut(x: Array) -> Array:
    return np.clip(x, 0, 255).astype(np.uint8)


def rounded(x: Array) -> Array:
    return cut(np.rint(np.clip(x, 0, 255)))


def read(image: Array, rows: Array, columns: Array, mode: str = "mirror") -> Array:
    planes = [
        ndimage.map_coordinates(image[..., c].astype(float), [rows, columns], order=1, mode=mode) for c in range(3)
    ]
    return rounded(np.stack(planes, -1))


def grid(image: Array) -> tuple[Array, Array]:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    return y.astype(float), x.astype(float)


def filtered(image: Array, kernel: Array) -> Array:
    return rounded(ndimage.correlate(image.astype(float), kernel[:, :, None], mode="mirror"))


def drawn(rng: Draws, name: str, count: int) -> Array:
    return uniforms(rng.key(name), count, 2).astype(float) / 2 + 0.5


def lightness(image: Array, change: Callable[[Array], Array]) -> Array:
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    hls[..., 1] = cut(change(hls[..., 1].astype(float)))
    return cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)


def affines(image: Array, rng: Draws) -> Array:
    scale = rng.uniform("scale", 0.6, 0.8)
    y, x = grid(image)
    return read(image, (y - 111.5) / scale + 111.5, (x - 111.5) / scale + 111.5)


def blur(image: Array, rng: Draws) -> Array:
    k = (5, 7, 9)[rng.integer("size", 3)]
    return filtered(image, np.full((k, k), 1 / k**2))


def border(image: Array, rng: Draws) -> Array:
    return np.pad(image[47:177, 47:177], ((47, 47), (47, 47), (0, 0)))


def channel_dropout(image: Array, rng: Draws) -> Array:
    out = image.copy()
    out[..., rng.integer("channel", 3)] = 0
    return out


def coarse_dropout(image: Array, rng: Draws) -> Array:
    out = image.copy()
    count = 16 + int(rng.uniform("count") * 33)
    for y, x in (drawn(rng, "places", count) * 217).astype(int):
        out[y : y + 8, x : x + 8] = 0
    return out


def color_jitter(image: Array, rng: Draws) -> Array:
    b, c, s = (rng.uniform(name, 0.3, 1.7) for name in ("brightness", "contrast", "saturation"))
    hue = rng.uniform("hue", -0.7, 0.7)
    for step in list(itertools.permutations("bcsh"))[rng.integer("order", 24)]:
        x = image.astype(float)
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        if step == "h":
            hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
            hsv[..., 0] = (hsv[..., 0].astype(int) + round(180 * hue)) % 180
            image = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
        else:
            pivot, factor = {"b": (0.0, b), "c": (grey.mean(), c), "s": (grey[..., None], s)}[step]
            image = rounded(pivot + factor * (x - pivot))
    return image


def cutout(image: Array, rng: Draws) -> Array:
    out = image.copy()
    y, x = (max(rng.integer(name, 225) - 75, 0) for name in ("row", "column"))
    out[y : y + 150, x : x + 150] = 0
    return out


def downscale(image: Array, rng: Draws) -> Array:
    small = cv2.resize(image, None, fx=0.45, fy=0.45, interpolation=cv2.INTER_NEAREST)
    assert small.shape == (101, 101, 3)
    return cv2.resize(small, (224, 224), interpolation=cv2.INTER_NEAREST)


def elastic_transform(image: Array, rng: Draws) -> Array:
    start = np.array([[186, 186, 1], [186, 38, 1], [38, 38, 1]], float)
    moves = [[rng.uniform(f"{axis}{i}", -50, 50) for axis in "xy"] for i in range(3)]
    back = np.linalg.solve(np.c_[start[:, :2] + moves, np.ones(3)], start[:, :2])
    y, x = grid(image)
    sx, sy = np.moveaxis(np.stack([x, y, np.ones_like(x)], -1) @ back, -1, 0)
    return read(image, sy, sx, "nearest")


def emboss(image: Array, rng: Draws) -> Array:
    s = rng.uniform("strength", 0.2, 0.7)
    return filtered(image, np.array([[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]]))


def flip(image: Array, rng: Draws) -> Array:
    return (image[::-1], image[:, ::-1], image[::-1, ::-1])[rng.integer("axes", 3)]


def gaussian_blur(image: Array, rng: Draws) -> Array:
    k, sigma = ((9, 1.7), (11, 2.0), (11, 2.0), (13, 2.3), (13, 2.3))[rng.integer("size", 5)]
    bell = np.exp(-0.5 * ((np.arange(k) - k // 2) / sigma) ** 2)
    return filtered(image, np.outer(bell, bell) / bell.sum() ** 2)


def grid_distortion(image: Array, rng: Draws) -> Array:
    def positions(axis: str) -> Array:
        factors = [rng.uniform(f"{axis}{i}", 0, 2) for i in range(6)]
        at, out = 0.0, []
        for pixel in range(224):
            out.append(at)
            at += factors[pixel // 44]
        return np.array(out)

    return read(image, *np.meshgrid(positions("y"), positions("x"), indexing="ij"))


def hue_saturation_value(image: Array, rng: Draws) -> Array:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV).astype(float)
    hsv[..., 0] = (hsv[..., 0] + rng.uniform("hue", -100, 100)) % 180
    hsv[..., 1] += rng.uniform("saturation", -150, 150)
    hsv[..., 2] += rng.uniform("value", -100, 100)
    return cv2.cvtColor(cut(hsv), cv2.COLOR_HSV2RGB)


def invert_img(image: Array, rng: Draws) -> Array:
    return 255 - image


def jpeg_compression(image: Array, rng: Draws) -> Array:
    data = io.BytesIO()
    quality = 5 + int(rng.uniform("quality") * 11)
    Pil.fromarray(np.ascontiguousarray(image[..., ::-1])).save(data, "JPEG", quality=quality)
    return np.asarray(Pil.open(data))[..., ::-1]


def median_blur(image: Array, rng: Draws) -> Array:
    k = (5, 7, 9, 11)[rng.integer("size", 4)]
    return ndimage.median_filter(image, (k, k, 1), mode="nearest")


def motion_blur(image: Array, rng: Draws) -> Array:
    k = (11, 13, 15, 17)[rng.integer("size", 4)]
    start, end = ((rng.integer(f"x{i}", k), rng.integer(f"y{i}", k)) for i in range(2))
    kernel = cv2.line(np.zeros((k, k)), start, end, 1.0)
    return filtered(image, kernel / kernel.sum())


def optical_distortion(image: Array, rng: Draws) -> Array:
    k = rng.uniform("k", -4, 4)
    dy, dx = (round(rng.uniform(name, -4, 4)) for name in ("dy", "dx"))
    camera = np.array([[224, 0, 112 + dx], [0, 224, 112 + dy], [0, 0, 1]], float)
    lens = np.array([k, k, 0, 0, 0])
    columns, rows = cv2.initUndistortRectifyMap(camera, lens, None, camera, (224, 224), cv2.CV_32F)
    return read(image, rows.astype(float), columns.astype(float))


def perspective(image: Array, rng: Draws) -> Array:
    sigma = rng.uniform("sigma", 0.1, 0.3)
    moves = np.abs(sigma * normals(rng.key("corners"), 4, 2).astype(float)) % 1 * 224
    frame = np.array([[0, 0], [224, 0], [224, 224], [0, 224]], float)
    inside = np.where(frame == 0, moves, frame - moves)
    inside[[0, 1], 0], inside[[3, 2], 0] = np.sort(inside[[0, 1], 0]), np.sort(inside[[3, 2], 0])
    inside[[0, 3], 1], inside[[1, 2], 1] = np.sort(inside[[0, 3], 1]), np.sort(inside[[1, 2], 1])
    rows, targets = [], []
    for (x, y), (u, v) in zip(frame, inside, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        targets += [u, v]
    h = np.append(np.linalg.solve(rows, targets), 1).reshape(3, 3)
    y, x = grid(image)
    u, v, w = np.moveaxis(np.stack([x + 0.5, y + 0.5, np.ones_like(x)], -1) @ h.T, -1, 0)
    return read(image, v / w - 0.5, u / w - 0.5, "nearest")


def posterize(image: Array, rng: Draws) -> Array:
    return image // 64 * 64


def random_brightness(image: Array, rng: Draws) -> Array:
    return cut(image + 255 * rng.uniform("shift", -0.9, 0.9))


def random_contrast(image: Array, rng: Draws) -> Array:
    return cut(image * rng.uniform("factor", -0.5, 2.5))


def random_fog(image: Array, rng: Draws) -> Array:
    f = rng.uniform("density", 0.8, 1)
    hw = int(74 * f)
    midx, midy, ring = 112 - 2 * hw, 112 - hw, 1
    share = iter(drawn(rng, "points", 200))
    rows, columns = grid(image)
    out = image.astype(float)
    while midx > -hw or midy > -hw:
        for _ in range(hw // 10 * ring):
            v, u = next(share)
            x = midx + math.floor(u * (224 - 2 * midx - hw + 1))
            y = midy + math.floor(v * (224 - 2 * midy - hw + 1))
            disc = (rows - y - hw // 2) ** 2 + (columns - x - hw // 2) ** 2 <= (hw // 2) ** 2
            out[disc] = np.rint(out[disc] * (1 - 0.08 * f) + 255 * 0.08 * f)
        midx, midy, ring = midx - 3 * hw * 224 // 448, midy - 3 * hw * 224 // 448, ring + 1
    k = hw // 10
    row = np.append(np.full(k, 1 / k), np.zeros(1 - k % 2))  # an even one reads a pixel more before than after
    return filtered(out, np.outer(row, row))


def random_gamma(image: Array, rng: Draws) -> Array:
    gamma = (300 + rng.integer("gamma", 701)) / 100
    return cut(255 * (image / 255) ** gamma)


def random_grid_shuffle(image: Array, rng: Draws) -> Array:
    tiles = [image[y : y + 56, x : x + 56] for y in range(0, 224, 56) for x in range(0, 224, 56)]
    for i in range(15):
        j = i + rng.integer(f"exchange{i}", 16 - i)
        tiles[i], tiles[j] = tiles[j], tiles[i]
    return np.concatenate([np.concatenate(tiles[r : r + 4], 1) for r in range(0, 16, 4)], 0)


def random_rain(image: Array, rng: Draws) -> Array:
    slant = int(rng.uniform("slant", -10, 10))
    out = image.copy()
    low, high = (slant, 224) if slant < 0 else (0, 224 - slant)
    for v, u in drawn(rng, "places", 224 * 224 // 600):
        x, y = int(low + u * (high - low + 1)), int(v * 205)
        cv2.line(out, (x, y), (x + 10, y + 20), (200, 200, 200), 1)
    return lightness(filtered(out, np.full((7, 7), 1 / 49)), lambda light: light * 0.7)


def random_shadow(image: Array, rng: Draws) -> Array:
    corners = (drawn(rng, "corners", 32) * 225).astype(np.int32).reshape(4, 8, 2)
    shadow = np.zeros((224, 224), np.uint8)
    for polygon in corners[: 2 + rng.integer("count", 3)]:
        cv2.fillPoly(shadow, [polygon], 1)
    return lightness(image, lambda light: np.where(shadow, light / 2, light))


def random_snow(image: Array, rng: Draws) -> Array:
    point = 85 + 127.5 * rng.uniform("point", 0.1, 0.3)
    return lightness(image, lambda light: np.where(light < point, light * 2.5, light))


def random_sun_flare(image: Array, rng: Draws) -> Array:
    y, x = int(rng.uniform("row", 0, 0.5) * 224), int(rng.uniform("column") * 224)
    slope = math.tan(rng.uniform("angle", 0, 2 * math.pi))
    overlay, out = image.copy(), image.astype(float)
    for i in range(6 + rng.integer("circles", 5)):
        column = rng.integer(f"column{i}", 224)
        radius = (1, 8)[rng.integer(f"size{i}", 2)]
        row = round(y - slope * (column - x))
        colour = [205 + rng.integer(f"{name}{i}", 51) for name in ("red", "green", "blue")]
        if abs(row) < 1000:
            cv2.circle(overlay, (column, row), radius, colour, -1)
        weight = rng.uniform(f"weight{i}", 0.05, 0.2)
        out = np.rint(weight * overlay + (1 - weight) * out)
    rows, columns = grid(image)
    for radius, weight in zip(np.linspace(1, 200, 20).astype(int), np.linspace(1, 0, 20) ** 3, strict=True):
        disc = (rows - y) ** 2 + (columns - x) ** 2 <= radius**2
        out[disc] = np.rint(weight * 255 + (1 - weight) * out[disc])
    return rounded(out)


def rgb_shift(image: Array, rng: Draws) -> Array:
    return cut(image + np.array([rng.uniform(name, -200, 200) for name in ("red", "green", "blue")]))


def rotate(image: Array, rng: Draws) -> Array:
    turn = np.exp(1j * math.radians(rng.uniform("angle", -180, 180)))
    y, x = grid(image)
    at = (x - 111.5 + 1j * (y - 111.5)) * turn
    return read(image, at.imag + 111.5, at.real + 111.5)


def sharpen(image: Array, rng: Draws) -> Array:
    a, light = rng.uniform("alpha", 0.3, 0.6), rng.uniform("lightness", 0.6, 1)
    identity = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    return filtered(image, (1 - a) * identity + a * np.array([[-1, -1, -1], [-1, 8 + light, -1], [-1, -1, -1]]))


def solarize(image: Array, rng: Draws) -> Array:
    return np.where(image >= 200, 255 - image, image)


def to_sepia(image: Array, rng: Draws) -> Array:
    return rounded(image @ np.array([[0.393, 0.349, 0.272], [0.769, 0.686, 0.534], [0.189, 0.168, 0.131]]))


def transpose(image: Array, rng: Draws) -> Array:
    y, x = grid(image)
    return read(image, y - 224 * rng.uniform("y", -0.7, 0.7), x - 224 * rng.uniform("x", -0.7, 0.7))


REFERENCE: dict[str, Callable[[Array, Draws], Array]] = {
    reading.__name__: reading
    for reading in (
        affines, blur, border, channel_dropout, coarse_dropout, color_jitter, cutout, downscale, elastic_transform,
        emboss, flip, gaussian_blur, grid_distortion, hue_saturation_value, invert_img, jpeg_compression, median_blur,
        motion_blur, optical_distortion, perspective, posterize, random_brightness, random_contrast, random_fog,
        random_gamma, random_grid_shuffle, random_rain, random_shadow, random_snow, random_sun_flare, rgb_shift, rotate,
        sharpen, solarize, to_sepia, transpose,
    )
}  # fmt: skip
"""All but the three whose noise is drawn for each pixel."""

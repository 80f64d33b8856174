# ruff: noqa: ARG001 - every reading takes the same arguments, also those that draw nothing
"""A slow, plain reading of the published definitions, for tests and for docs/explanation/fidelity.md.

Written from the formulas, with SciPy and loops, sharing no code with the kernels. Random ones draw from NumPy.
Images are H×W×3 uint8; `p` holds the published parameters.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from PIL import Image as Pil
from scipy import ndimage

Array = np.ndarray
Rng = np.random.Generator


def finish(x: Array) -> Array:
    """[0, 1] to bytes, by truncation."""
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


def smooth(x: Array, sigma: float) -> Array:
    sigmas = (sigma, sigma, 0) if x.ndim == 3 else sigma
    return ndimage.gaussian_filter(x, sigmas, mode="nearest", truncate=4.0)


def clipped_zoom(x: Array, factor: float) -> Array:
    side = x.shape[0]
    window = math.ceil(side / factor)
    top = (side - window) // 2
    factors = (factor, factor, 1) if x.ndim == 3 else (factor, factor)
    large = ndimage.zoom(x[top : top + window, top : top + window], factors, order=1)
    trim = (large.shape[0] - side) // 2
    return large[trim : trim + side, trim : trim + side]


def trail(x: Array, radius: float, sigma: float, angle: float) -> Array:
    count = 2 * math.ceil(radius) + 1
    weights = np.exp(-(np.arange(count) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    height, width = x.shape[:2]
    rows, columns = np.mgrid[:height, :width]
    out = np.zeros(x.shape)
    for i, weight in enumerate(weights):
        dx = math.ceil(i * math.cos(math.radians(angle)) - 0.5)
        dy = math.ceil(i * math.sin(math.radians(angle)) - 0.5)
        out += weight * x[np.clip(rows + dy, 0, height - 1), np.clip(columns + dx, 0, width - 1)]
    return out


def plasma(side: int, decay: float, rng: Rng) -> Array:
    grid = np.zeros((side, side))
    step, wibble = side, 100.0
    while step >= 2:
        half = step // 2
        at = np.arange(0, side, step)

        def shaken(mean: Array, w: float = wibble) -> Array:
            return mean + w * rng.uniform(-w, w, mean.shape)

        corner = grid[np.ix_(at, at)]
        square = corner + np.roll(corner, -1, 0)
        square += np.roll(square, -1, 1)
        grid[np.ix_(at + half, at + half)] = shaken(square / 4)
        centre = grid[np.ix_(at + half, at + half)]
        top = centre + np.roll(centre, 1, 0) + corner + np.roll(corner, -1, 1)
        grid[np.ix_(at, at + half)] = shaken(top / 4)
        left = centre + np.roll(centre, 1, 1) + corner + np.roll(corner, -1, 0)
        grid[np.ix_(at + half, at)] = shaken(left / 4)
        step, wibble = half, wibble / decay
    grid -= grid.min()
    return grid / grid.max()


def gaussian_noise(image: Array, rng: Rng, *, sigma: float) -> Array:
    return finish(image / 255 + rng.normal(0, sigma, image.shape))


def shot_noise(image: Array, rng: Rng, *, photons: float) -> Array:
    return finish(rng.poisson(image / 255 * photons) / photons)


def impulse_noise(image: Array, rng: Rng, *, amount: float) -> Array:
    replaced, salt = rng.random(image.shape) < amount, rng.random(image.shape) < 0.5
    return np.where(replaced, np.where(salt, 255, 0), image).astype(np.uint8)


def speckle_noise(image: Array, rng: Rng, *, sigma: float) -> Array:
    return finish(image / 255 * (1 + rng.normal(0, sigma, image.shape)))


def gaussian_blur(image: Array, rng: Rng, *, sigma: float) -> Array:
    return finish(smooth(image / 255, sigma))


def defocus_blur(image: Array, rng: Rng, *, radius: float, alias_sigma: float) -> Array:
    reach, taps = (8, 1) if radius <= 8 else (int(radius), 2)
    offsets = np.arange(-reach, reach + 1)
    disk = (offsets[:, None] ** 2 + offsets[None, :] ** 2 <= radius**2).astype(float)
    disk /= disk.sum()
    bell = np.exp(-(np.arange(-taps, taps + 1) ** 2) / (2 * alias_sigma**2))
    bell /= bell.sum()
    for axis in (0, 1):
        disk = ndimage.correlate1d(disk, bell, axis, mode="mirror")
    channels = [ndimage.correlate(image[..., c] / 255, disk, mode="mirror") for c in range(3)]
    return finish(np.stack(channels, -1))


def glass_blur(image: Array, rng: Rng, *, sigma: float, max_delta: float, iterations: float) -> Array:
    delta = int(max_delta)
    x = (smooth(image / 255, sigma) * 255).astype(np.uint8)
    for _ in range(int(iterations)):
        for row in range(x.shape[0] - delta, delta, -1):
            for column in range(x.shape[1] - delta, delta, -1):
                dx, dy = rng.integers(-delta, delta, 2)
                x[row, column] = x[row + dy, column + dx]
    return finish(smooth(x / 255, sigma))


def motion_blur(image: Array, rng: Rng, *, radius: float, sigma: float) -> Array:
    return np.rint(trail(image.astype(float), radius, sigma, rng.uniform(-45, 45))).astype(np.uint8)


def zoom_blur(image: Array, rng: Rng, *, largest_zoom: float, layers: float) -> Array:
    x = image / 255
    step = round((largest_zoom - 1) / (layers - 1), 6)
    factors = np.arange(1, largest_zoom + step / 2, step)
    return finish((x + sum(clipped_zoom(x, factor) for factor in factors)) / (len(factors) + 1))


def snow(image: Array, rng: Rng, **p: float) -> Array:
    x = image / 255
    field = clipped_zoom(rng.normal(p["loc"], p["scale"], image.shape[:2]), p["zoom"])
    field[field < p["threshold"]] = 0
    layer = (np.clip(field, 0, 1) * 255).astype(np.uint8).astype(float)
    layer = np.rint(trail(layer, p["blur_radius"], p["blur_sigma"], rng.uniform(-135, -45))) / 255
    grey = (x @ [0.299, 0.587, 0.114])[..., None]
    x = p["mix"] * x + (1 - p["mix"]) * np.maximum(x, 1.5 * grey + 0.5)
    return finish(x + (layer + np.rot90(layer, 2))[..., None])


def fog(image: Array, rng: Rng, *, strength: float, decay: float) -> Array:
    x = image / 255
    height, width = image.shape[:2]
    side = 2 ** math.ceil(math.log2(max(height, width)))
    cloud = plasma(side, decay, rng)[:height, :width, None]
    return finish((x + strength * cloud) * x.max() / (x.max() + strength))


def _hsv(image: Array, change: Callable[[Array], Array]) -> Array:
    hsv = cv2.cvtColor((image / 255).astype(np.float32), cv2.COLOR_RGB2HSV)
    return finish(cv2.cvtColor(change(hsv), cv2.COLOR_HSV2RGB))


def brightness(image: Array, rng: Rng, *, value_shift: float) -> Array:
    def change(hsv: Array) -> Array:
        hsv[..., 2] = np.clip(hsv[..., 2] + value_shift, 0, 1)
        return hsv

    return _hsv(image, change)


def saturate(image: Array, rng: Rng, *, factor: float, shift: float) -> Array:
    def change(hsv: Array) -> Array:
        hsv[..., 1] = np.clip(hsv[..., 1] * factor + shift, 0, 1)
        return hsv

    return _hsv(image, change)


def contrast(image: Array, rng: Rng, *, factor: float) -> Array:
    x = image / 255
    mean = x.mean((0, 1))
    return finish((x - mean) * factor + mean)


def elastic_transform(image: Array, rng: Rng, *, alpha: float, sigma: float, affine_jitter: float) -> Array:
    height, width = image.shape[:2]
    centre, q = np.float32([height // 2, width // 2]), min(height, width) // 3
    corners = centre + np.float32([[q, q], [q, -q], [-q, -q]])
    moved = corners + rng.uniform(-affine_jitter, affine_jitter, corners.shape).astype(np.float32)
    matrix = cv2.getAffineTransform(corners, moved)
    x = cv2.warpAffine(image / 255, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101)
    rows, columns = np.mgrid[:height, :width]
    if alpha > 0:
        fields = [
            ndimage.gaussian_filter(rng.uniform(-1, 1, (height, width)), sigma, mode="reflect", truncate=3) * alpha
            for _ in range(2)
        ]
        where = (rows + fields[1], columns + fields[0])
        x = np.stack([ndimage.map_coordinates(x[..., c], where, order=1, mode="reflect") for c in range(3)], -1)
    return finish(x)


def pixelate(image: Array, rng: Rng, *, scale: float) -> Array:
    height, width = image.shape[:2]
    small = Pil.fromarray(image).resize((int(width * scale), int(height * scale)), Pil.Resampling.BOX)
    return np.array(small.resize((width, height), Pil.Resampling.BOX))


def jpeg_compression(image: Array, rng: Rng, *, quality: float) -> Array:
    data = io.BytesIO()
    Pil.fromarray(image).save(data, "JPEG", quality=int(quality))
    return np.array(Pil.open(data))


def spatter(image: Array, rng: Rng, **p: float) -> Array:
    x = image / 255
    field = smooth(rng.normal(p["loc"], p["scale"], image.shape[:2]), p["sigma"])
    field[field < p["threshold"]] = 0
    if p["mud"]:
        cover = smooth((field > p["threshold"]).astype(float), p["mud_blur"])
        cover = np.where(cover < 0.8, 0, cover)[..., None]
        return finish(x * (1 - cover) + cover * np.array([63, 42, 20]) / 255)
    drops = (field * 255).astype(np.uint8)
    distance = cv2.distanceTransform(255 - cv2.Canny(drops, 50, 150), cv2.DIST_L2, 5)
    _, distance = cv2.threshold(distance, 20, 20, cv2.THRESH_TRUNC)
    relief = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    relief = cv2.filter2D(relief, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    mask = drops.astype(float) * cv2.blur(relief, (3, 3)).astype(float)
    mask = mask / max(mask.max(), 1e-9) * p["water"]
    return finish(x + mask[..., None] * np.array([175, 238, 238]) / 255)


def frost(image: Array, rng: Rng, *, textures: list[Array], **p: float) -> Array:
    texture = textures[rng.integers(len(textures))]
    if p["texture_scale"] != 1:
        texture = cv2.resize(texture, (0, 0), fx=p["texture_scale"], fy=p["texture_scale"])
    height, width = image.shape[:2]
    row = rng.integers(max(1, texture.shape[0] - height))
    column = rng.integers(max(1, texture.shape[1] - width))
    crop = texture[row : row + height, column : column + width]
    return np.clip(p["image_weight"] * image + p["frost_weight"] * crop, 0, 255).astype(np.uint8)


DETERMINISTIC = [
    "brightness",
    "contrast",
    "defocus_blur",
    "gaussian_blur",
    "jpeg_compression",
    "pixelate",
    "saturate",
    "zoom_blur",
]

REFERENCE: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        gaussian_noise, shot_noise, impulse_noise, speckle_noise, defocus_blur, gaussian_blur, glass_blur, motion_blur,
        zoom_blur, snow, fog, brightness, contrast, saturate, elastic_transform, pixelate, jpeg_compression, spatter,
        frost,
    )
}  # fmt: skip

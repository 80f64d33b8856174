"""Weather of ImageNet-C."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Field, Image, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.inputs import LUMINANCE
from brittle.corruptions.kernels.arithmetic import compiled, level
from brittle.corruptions.kernels.blur import gaussian, motion_blur
from brittle.corruptions.kernels.blur import zoom as enlarge
from brittle.corruptions.kernels.colour import shift_value
from brittle.corruptions.kernels.layers import tint, weighted_sum
from brittle.corruptions.kernels.random_words import normals, unit, word
from brittle.corruptions.kernels.shapes import flakes, mud_layer, water_layer, whiten_and_add
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
PUBLISHED = ["frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg", "frost6.jpg"]


def find_textures(folder: str | Path) -> tuple[Path, ...]:
    """The pictures of a folder, in the order of their names; of the six published photographs, the five in use."""
    if not isinstance(folder, str | Path):
        raise BrittleTypeError(f"textures is the path of a folder, got {folder!r} ({type(folder).__name__})")
    folder = Path(folder)
    if not folder.is_dir():
        raise BrittleError(f"textures={str(folder)!r} is not a folder; give one that holds pictures")
    return _list_textures(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _list_textures(folder: Path, changed: int) -> tuple[Path, ...]:  # noqa: ARG001 - a changed folder is listed again
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
    if not paths:
        raise BrittleError(f"the folder {str(folder)!r} holds no pictures ({', '.join(PICTURES)})")
    if [path.name for path in paths] == PUBLISHED:
        paths.pop()
    return tuple(paths)


@lru_cache(maxsize=32)
def _read(path: Path, scale: float, channels: int) -> Image:
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR_RGB)
    if picture is None:
        raise BrittleError(f"{str(path)!r} cannot be read as a picture; replace it or remove it from the folder")
    if channels == 1:
        picture = np.rint(picture @ LUMINANCE).astype(np.uint8)
    if scale != 1:
        size = [max(1, round(side * scale)) for side in picture.shape[1::-1]]
        picture = cv2.resize(picture, size)
    return np.asarray(picture, np.uint8).reshape(*picture.shape[:2], channels)


def crop_texture(path: Path, shape: tuple[int, ...], scale: float, row: float, column: float) -> Image:
    """The part of a scaled texture at the relative position (row, column) on [0, 1), as large as the image.

    If the texture is too small for the image it is enlarged further, until it covers it.
    """
    height, width, channels = shape
    texture = _read(path, min(scale, 1.0), channels)
    rows, columns = texture.shape[:2]
    enlarge = max(scale, 1.0, height / rows, width / columns)
    crop_height, crop_width = min(rows, round(height / enlarge)), min(columns, round(width / enlarge))
    crop_height, crop_width = max(crop_height, 1), max(crop_width, 1)
    top, left = int(row * (rows - crop_height)), int(column * (columns - crop_width))
    crop = texture[top : top + crop_height, left : left + crop_width]
    if (crop_height, crop_width) == (height, width):
        return np.ascontiguousarray(crop)
    return np.asarray(cv2.resize(crop, (width, height)), np.uint8).reshape(shape)


def plasma(key: Key, side: int, decay: float) -> Field:
    """A side×side field on [0, 1], side a power of two. A smaller decay makes it rougher.

    The displacement is the nominal amplitude times a uniform variate of that same half-width, so it starts at
    100² and falls by decay² per octave, as in the published code.
    """
    field = np.empty((side, side), np.float32)
    _plasma((key[0], key[1]), decay, field)
    return field


@compiled
def _plasma(key, decay, field):
    side = len(field)
    field[0, 0] = np.float32(0)
    mask = side - 1
    step = side
    amplitude = 100.0
    while step >= 2:
        half = step // 2
        sway = np.float32(2 * amplitude * amplitude)
        for y in range(0, side, step):
            for x in range(0, side, step):
                below, right = (y + step) & mask, (x + step) & mask
                corners = (field[y, x] + field[below, x]) + (field[y, right] + field[below, right])
                at = (y + half) * side + x + half
                field[y + half, x + half] = corners * np.float32(0.25) + _shift(key, at, sway)
        for y in range(0, side, step):
            for x in range(0, side, step):
                up, left = (y - half) & mask, (x - half) & mask
                below, right = (y + step) & mask, (x + step) & mask
                centre = field[y + half, x + half]
                over = field[up, x + half] + centre + field[y, x] + field[y, right]
                field[y, x + half] = over * np.float32(0.25) + _shift(key, y * side + x + half, sway)
                beside = field[y + half, left] + centre + field[y, x] + field[below, x]
                field[y + half, x] = beside * np.float32(0.25) + _shift(key, (y + half) * side + x, sway)
        step = half
        amplitude /= decay
    heights = field.reshape(-1)
    low = high = heights[0]
    for i in range(len(heights)):
        low, high = min(low, heights[i]), max(high, heights[i])
    span = high - low if high > low else np.float32(1)
    for i in range(len(heights)):
        heights[i] = (heights[i] - low) / span


@compiled
def _shift(key, at, sway):
    return (unit(word(key, at)) - np.float32(0.5)) * sway


@corruption(
    family="weather",
    source="imagenet-c",
    full_depth=True,
    value_shift=levels(
        *(0.1, 0.2, 0.3, 0.4, 0.5),
        at32=(0.05, 0.1, 0.15, 0.2, 0.3),
        at64=(0.1, 0.2, 0.3, 0.4, 0.5),
        at299=(0.1, 0.2, 0.3, 0.4, 0.5),
        clean=0,
    ),
)
def brightness(image: Pixels, rng: Draws, *, value_shift: float) -> Pixels:  # noqa: ARG001
    """Daylight: the value V of HSV grows, hue and saturation stay; a black pixel becomes grey."""
    return shift_value(image, value_shift)


LARGEST_MAP = 8192
"""Longer images see the map again, without a seam: it is drawn on a torus."""


@corruption(
    family="weather",
    source="imagenet-c",
    full_depth=True,
    strength=levels(
        *(1.5, 2, 2.5, 2.5, 3),
        at32=(0.2, 0.5, 0.75, 1, 1.5),
        at64=(0.4, 0.7, 1, 1.5, 2),
        at299=(1.5, 2, 2.5, 2.5, 3),
        clean=0,
    ),
    decay=levels(
        *(2, 2, 1.7, 1.5, 1.4),
        at32=(3, 3, 2.5, 2, 1.75),
        at64=(3, 3, 2.5, 2, 1.75),
        at299=(2, 2, 1.8, 1.6, 1.5),
        clean=None,
    ),
)
def fog(image: Pixels, rng: Draws, *, strength: float, decay: float) -> Pixels:
    """A cloud of plasma over the picture, the sum dimmed so that the brightest element stays as bright as it was.

    Quirks kept: the plasma's displacements fall by decay² per octave, not by decay; the map is the next power
    of two (256 for 224 px) and its top-left window is used; an all-black image stays black. A smaller decay
    makes rougher fog.
    """
    height, width = image.shape[:2]
    side = min(1 << (max(height, width) - 1).bit_length(), LARGEST_MAP)
    cloud = plasma(rng.key("plasma"), side, decay)
    return _add_and_dim(image, cloud, strength)


def _add_and_dim(image: Pixels, layer: Field, strength: float) -> Pixels:
    """(x + c·layer)·m/(m + c) with x and layer in [0, 1] and m the largest x; a small layer is repeated."""
    return _add_and_scale(image, layer, np.float32(255 * strength), float(strength))


@compiled
def _add_and_scale(image, layer, gain, strength):
    height, width, channels = image.shape
    most = image.reshape(-1)[0]
    for value in image.reshape(-1):
        most = max(most, value)
    brightest = most / 255
    scale = np.float32(brightest / (brightest + strength)) if most else np.float32(0)
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for y in range(height):
        row = layer[y % layer.shape[0]]
        for start in range(0, width, layer.shape[1]):
            at, count = np.uint64((y * width + start) * channels), np.uint64(min(layer.shape[1], width - start))
            if channels == 3:
                for x in range(count):
                    cloud, i = gain * row[x], at + three * x
                    target[i] = level((np.float32(source[i]) + cloud) * scale)
                    target[i + one] = level((np.float32(source[i + one]) + cloud) * scale)
                    target[i + two] = level((np.float32(source[i + two]) + cloud) * scale)
            else:
                for x in range(count):
                    target[at + x] = level((np.float32(source[at + x]) + gain * row[x]) * scale)
    return out


BUNDLED = Path(__file__).parent / "frost_textures"


@corruption(
    family="weather",
    source="imagenet-c",
    full_depth=True,
    monotone=False,
    image_weight=levels(
        *(1, 0.8, 0.7, 0.65, 0.6),
        at32=(1, 1, 0.9, 0.85, 0.75),
        at64=(1, 0.9, 0.8, 0.75, 0.7),
        at299=(1, 0.8, 0.7, 0.65, 0.6),
        clean=1,
    ),
    frost_weight=levels(
        *(0.4, 0.6, 0.7, 0.7, 0.75),
        at32=(0.2, 0.3, 0.4, 0.4, 0.45),
        at64=(0.3, 0.4, 0.45, 0.5, 0.55),
        at299=(0.4, 0.6, 0.7, 0.7, 0.75),
        clean=0,
    ),
    texture_scale=levels(
        *(1, 1, 1, 1, 1),
        at32=(0.2, 0.2, 0.2, 0.2, 0.2),
        at64=(0.3, 0.3, 0.3, 0.3, 0.3),
        at299=(1, 1, 1, 1, 1),
        clean=None,
        px=1,
    ),
)
def frost(
    image: Pixels,
    rng: Draws,
    *,
    image_weight: float,
    frost_weight: float,
    texture_scale: float,
    textures: str | Path | None = None,
) -> Pixels:
    """Hoar frost on a window: a weighted sum of the image and a random crop of a frost texture, saturated.

    The five bundled textures are drawn by our own program to look like, and to have the statistics of, the
    published photographs, whose licence is not known; `textures=` names a folder with others (the photographs
    come with the package imagecorruptions). Quirks kept: the weights add up to more than 1; of the six
    published photographs the last is never drawn, and the second and third are the same picture, so the bundled
    set has two textures of that one's kind.
    """
    choices = _list_textures(BUNDLED, 0) if textures is None else find_textures(textures)
    texture = choices[rng.integer("texture", len(choices))]
    crop = crop_texture(texture, image.shape, texture_scale, rng.uniform("row"), rng.uniform("column"))
    return weighted_sum(image, crop, image_weight, frost_weight)


@corruption(
    family="weather",
    source="imagenet-c",
    full_depth=True,
    loc=levels(
        *(0.1, 0.2, 0.55, 0.55, 0.55),
        at32=(0.1, 0.1, 0.15, 0.25, 0.3),
        at64=(0.1, 0.1, 0.15, 0.25, 0.3),
        at299=(0.1, 0.2, 0.55, 0.55, 0.55),
        clean=None,
    ),
    scale=levels(
        *(0.3, 0.3, 0.3, 0.3, 0.3),
        at32=(0.2, 0.2, 0.3, 0.3, 0.3),
        at64=(0.2, 0.2, 0.3, 0.3, 0.3),
        at299=(0.3, 0.3, 0.3, 0.3, 0.3),
        clean=None,
    ),
    zoom=levels(
        *(3, 2, 4, 4.5, 2.5),
        at32=(1, 1, 1.75, 2.25, 1.25),
        at64=(1, 1, 1.75, 2.25, 1.25),
        at299=(3, 2, 4, 4.5, 2.5),
        clean=None,
        px=1,
    ),
    threshold=levels(
        *(0.5, 0.5, 0.9, 0.85, 0.85),
        at32=(0.6, 0.5, 0.55, 0.6, 0.65),
        at64=(0.6, 0.5, 0.55, 0.6, 0.65),
        at299=(0.5, 0.5, 0.9, 0.85, 0.85),
        clean=1.1,
    ),
    blur_radius=levels(
        *(10, 12, 12, 12, 12),
        at32=(8, 10, 10, 12, 14),
        at64=(8, 10, 10, 12, 14),
        at299=(10, 12, 12, 12, 12),
        clean=None,
        px=1,
    ),
    blur_sigma=levels(
        *(4, 4, 8, 8, 12),
        at32=(3, 4, 4, 6, 12),
        at64=(3, 4, 4, 6, 12),
        at299=(4, 4, 8, 8, 12),
        clean=None,
        px=1,
    ),
    mix=levels(
        *(0.8, 0.7, 0.7, 0.65, 0.55),
        at32=(0.95, 0.9, 0.9, 0.85, 0.8),
        at64=(0.8, 0.8, 0.7, 0.65, 0.6),
        at299=(0.8, 0.7, 0.7, 0.65, 0.55),
        clean=1,
    ),
)
def snow(
    image: Pixels,
    rng: Draws,
    *,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    blur_radius: float,
    blur_sigma: float,
    mix: float,
) -> Pixels:
    """Falling snow: thresholded noise, enlarged and motion-blurred into flakes, over a whitened picture.

    The flakes fall at an angle uniform on −135° … −45° and are added twice, once turned by 180°. Quirks kept:
    the enlargement is not monotone in severity, so neither is the size of the flakes; the layer is cut to 8 bit
    before it is blurred and rounded afterwards. Towards severity 0 the threshold rises, so flakes vanish one by
    one.
    """
    height, width = image.shape[:2]
    field = enlarge(loc + scale * normals(rng.key("flakes"), height, width), zoom)
    angle = rng.uniform("angle", -135, -45)
    layer = motion_blur(flakes(field, threshold)[:, :, np.newaxis], blur_radius, blur_sigma, angle)
    return whiten_and_add(image, layer[:, :, 0], mix)


WATER, MUD = (175, 238, 238), (63, 42, 20)


@corruption(
    family="weather",
    source="imagenet-c",
    full_depth=True,
    monotone=False,
    loc=levels(
        *(0.65, 0.65, 0.65, 0.65, 0.67),
        at32=(0.62, 0.65, 0.65, 0.65, 0.65),
        at64=(0.62, 0.65, 0.65, 0.65, 0.65),
        at299=(0.65, 0.65, 0.65, 0.65, 0.67),
        clean=None,
    ),
    scale=levels(
        *(0.3, 0.3, 0.3, 0.3, 0.4),
        at32=(0.1, 0.1, 0.3, 0.1, 0.1),
        at64=(0.1, 0.1, 0.3, 0.1, 0.1),
        at299=(0.3, 0.3, 0.3, 0.3, 0.4),
        clean=None,
        px=1,
    ),
    sigma=levels(
        *(4, 3, 2, 1, 1),
        at32=(0.7, 0.8, 1, 0.7, 0.5),
        at64=(0.7, 0.8, 1, 0.7, 0.5),
        at299=(4, 3.5, 3, 1.2, 1.2),
        clean=None,
        px=1,
    ),
    threshold=levels(
        *(0.69, 0.68, 0.68, 0.65, 0.65),
        at32=(0.7, 0.7, 0.69, 0.69, 0.68),
        at64=(0.7, 0.7, 0.69, 0.68, 0.67),
        at299=(0.69, 0.68, 0.68, 0.65, 0.65),
        clean=0.75,
    ),
    water=levels(
        *(0.6, 0.6, 0.5, 0, 0),
        at32=(0.5, 0.5, 0.5, 0, 0),
        at64=(0.6, 0.6, 0.6, 0, 0),
        at299=(0.9, 0.9, 0.8, 0, 0),
        clean=0,
    ),
    mud=levels(
        *(0, 0, 0, 1, 1),
        at32=(0, 0, 0, 1, 1),
        at64=(0, 0, 0, 1, 1),
        at299=(0, 0, 0, 1, 1),
        clean=0,
    ),
    mud_blur=levels(
        *(1.5, 1.5, 1.5, 1.5, 1.5),
        at32=(0.6, 0.6, 0.6, 0.6, 0.6),
        at64=(0.6, 0.6, 0.6, 0.6, 0.6),
        at299=(1.8, 1.8, 1.8, 1.8, 1.8),
        clean=None,
        px=1,
    ),
)
def spatter(
    image: Pixels,
    rng: Draws,
    *,
    loc: float,
    scale: float,
    sigma: float,
    threshold: float,
    water: float,
    mud: float,
    mud_blur: float,
) -> Pixels:
    """Splashes on the lens: water at severities 1 to 3, mud at 4 and 5. One of the four extra corruptions.

    Quirk kept: the material changes between severities 3 and 4, so the series is not monotone; in between,
    water fades out as mud fades in. Not kept: where a small image catches no drop at all, the published code
    divides 0 by 0; here such an image stays clean.
    """
    height, width, channels = image.shape
    field = gaussian(loc + scale * normals(rng.key("splash"), height, width), sigma)
    if water > 0:
        image = tint(image, water_layer(field, threshold) * water, _colour(WATER, channels), opaque=False)
    if mud > 0:
        image = tint(image, mud_layer(field, threshold, mud_blur) * mud, _colour(MUD, channels), opaque=True)
    return image


def _colour(rgb: tuple[int, int, int], channels: int) -> tuple[float, ...]:
    return rgb if channels == 3 else (float(LUMINANCE @ rgb),)

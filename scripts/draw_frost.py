"""Draw the five hoar-frost textures of the frost corruption: ice grown stroke by stroke, no photograph used.

The benchmark's own frost pictures carry no clear licence.  These stand in for them: every crystal is drawn,
and the picture is then brought to the tones, and to the contrast at each scale, that were measured on the
originals, so that a frosted image is about as hard to read as before.

    python draw_frost.py [output folder]
"""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Canvas = NDArray[np.uint8]
Shape = tuple[int, int]

FINE = 2  # crystals are drawn this many times too large, then averaged down: hairlines stay smooth
BRANCHING = np.pi / 3  # ice is hexagonal, and branches at sixty degrees


def cloud(rng: Generator, shape: Shape, cell: float, octaves: int = 3) -> Floats:
    """Smooth noise in 0..1 with blobs of about `cell` pixels: where ice is thick, which way it grows."""
    total: Floats = np.zeros(shape)
    for octave in range(octaves):
        grid = rng.normal(size=[int(side / cell * 2**octave) + 3 for side in shape])
        total += cv2.resize(grid, shape[::-1], interpolation=cv2.INTER_CUBIC) / 2**octave
    total -= total.min()
    total /= total.max()
    return total


def scatter(rng: Generator, density: Floats, count: int) -> Floats:
    """Points (x, y), likelier where the density is high; some lie outside, for ice that grows inwards."""
    spots = rng.uniform(-0.05, 1.05, (8 * count, 2)) * density.shape[::-1]
    taken: Floats = spots[rng.random(len(spots)) < at(density, spots)][:count]
    return taken


def at(field: NDArray[Any], spots: Floats) -> Any:
    """The value of a field at a point or at many; outside of it, at the border nearest to them."""
    column, row = np.clip(spots, 0, np.array(field.shape[::-1]) - 1).astype(int).T
    return field[row, column]


def grow(roots: Floats, headings: Floats, lengths: Floats, curl: Floats, points: int) -> tuple[Floats, ...]:
    """Gently bent stems as (stem, point, xy), with the direction of growth at every point."""
    ways = headings[:, None] + curl[:, None] * np.linspace(0, 1, points)
    steps = np.stack([np.cos(ways), np.sin(ways)], -1) * (lengths / (points - 1))[:, None, None]
    return roots[:, None] + np.cumsum(steps, 1) - steps[:, :1], ways


def stroke(canvas: Canvas, paths: Floats, tone: float, width: int = 1) -> None:
    """Draw a smooth line through the points of each path."""
    lines = list(np.rint(paths * 16).astype(np.int32))
    cv2.polylines(canvas, lines, False, float(np.clip(tone, 0, 255)), width, cv2.LINE_AA, shift=4)


def fern(canvas: Canvas, rng: Generator, root: Floats, way: float, length: float, tone: float) -> None:
    """One feather of ice, over its own shade: a spine, branches on both sides, barbs on the branches."""
    knots = max(5, int(length / rng.uniform(5, 8)))
    spine, ways = grow(root[None], np.array([way]), np.array([length]), rng.normal(0, 0.3, 1), knots)
    along = np.linspace(0, 1, knots)
    reach = length * rng.uniform(0.2, 0.4) * (1 - along) ** 0.8 * np.minimum(1, 0.25 + 3 * along)
    sides = []
    for side in (-1, 1):
        spread = ways[0] + side * BRANCHING * rng.uniform(0.65, 1)
        lengths = reach * rng.uniform(0.5, 1.15, knots)
        sides.append(grow(spine[0], spread, lengths, -side * rng.uniform(0, 0.5, knots), 6))
        stroke(canvas, sides[-1][0] + 2, tone * rng.uniform(0.25, 0.5), 4)
    for (branches, spread), shine in zip(sides, tone * rng.uniform(0.5, 1.1, 2), strict=True):
        for turn, dim in ((-1, 0.8), (1, 0.65)):
            lengths = np.outer(reach * 0.3, [1, 0.9, 0.7, 0.4]).ravel()
            barbs = branches[:, 1:5].reshape(-1, 2), (spread[:, 1:5] + turn * BRANCHING).ravel()
            stroke(canvas, grow(*barbs, lengths, 0 * lengths, 2)[0], shine * dim)
        for branch, glint in zip(branches, rng.normal(1, 0.15, knots), strict=True):
            stroke(canvas, branch[None], shine * glint)
            stroke(canvas, branch[None, :3], shine * glint, 2)
    stroke(canvas, spine, tone * 1.1)
    stroke(canvas, spine[:, : knots // 2], tone * 1.15, 2)


def blade(canvas: Canvas, rng: Generator, root: Floats, way: float, length: float, tone: float) -> None:
    """One needle of ice: a spindle of uneven fibres with a dark seam along its lower edge."""
    wide = length * rng.uniform(0.015, 0.06)
    spine, ways = grow(root[None], np.array([way]), np.array([length]), rng.normal(0, 0.06, 1), 8)
    across = np.stack([-np.sin(ways), np.cos(ways)], -1)
    across *= (np.sin(np.pi * np.linspace(0.1, 1, 8) ** 0.8) * wide)[None, :, None]
    stroke(canvas, spine + across * 1.3, tone * rng.uniform(0.5, 0.9), 2)
    for offset in np.arange(-1, 1.01, min(1.0, 1.5 / wide)):
        first, last = sorted(rng.choice(9, 2, replace=False))
        stroke(canvas, spine + across * offset, tone * rng.normal(1, 0.06))
        stroke(canvas, (spine + across * offset)[:, first : last + 1], tone * rng.normal(1, 0.13))


def leaf(canvas: Canvas, rng: Generator, root: Floats, way: float, length: float, tone: float) -> None:
    """One flat crystal: two hatched facets that meet in a ridge and catch the light differently."""
    along = np.linspace(0, 1, max(4, int(length / 1.5)))[:, None]
    swell = np.interp(along, (0, rng.uniform(0.3, 0.6), 1), (0.1, 1, 0)) * length * rng.uniform(0.1, 0.26)
    ridge = root + along * length * np.array([np.cos(way), np.sin(way)])
    for side in (-1, 1):
        lean = way + side * BRANCHING
        edge = ridge + swell * np.array([np.cos(lean), np.sin(lean)])
        shine = tone * (0.4 + 0.6 * np.cos(lean + 2.3) ** 2) * rng.uniform(0.8, 1.15)
        hatch = np.stack([ridge, edge], 1)
        stroke(canvas, hatch, shine, 2)
        stroke(canvas, hatch[rng.random(len(hatch)) < 0.4], shine * rng.uniform(0.7, 1.2))
        stroke(canvas, edge[None], shine * (1.4 if side > 0 else 0.5))


def film(rng: Generator, shape: Shape) -> Floats:
    """A crumpled film of ice lit from one side: creases, and buried ferns, seen only by their relief."""
    drift, thick = cloud(rng, shape, 500) * 9, cloud(rng, shape, 260)
    height = np.full(shape, 110, np.uint8)
    for spot in scatter(rng, 0.2 + thick, 60):
        fern(height, rng, spot, at(drift, spot), rng.uniform(150, 420), 190)
    for spot in scatter(rng, 0.1 + cloud(rng, shape, 120), 12000):
        way = np.array([at(drift, spot) + rng.normal(0, 0.45)])
        crease, _ = grow(spot[None], way, rng.gamma(2, 17, 1), rng.normal(0, 0.9, 1), 8)
        crease += np.cumsum(rng.normal(0, 1.2, crease.shape), 1)
        stroke(height, crease, 0.5 * at(height, spot) + rng.uniform(0, 130), int(rng.integers(1, 6)))
    soft = cv2.GaussianBlur(height.astype(float), (0, 0), 1.1)
    relief = cv2.Sobel(soft, -1, 1, 0) + 1.4 * cv2.Sobel(soft, -1, 0, 1)
    return relief * (0.15 + thick**2) + 300 * cloud(rng, shape, 420, 5) + rng.normal(0, 9, shape)


def needles(rng: Generator, shape: Shape) -> Floats:
    """A dense white fur of needles, in sheaves that share a root, half sunk in grainy snow."""
    canvas = (150 + 90 * rng.random(shape)).astype(np.uint8)
    drift, bright = cloud(rng, shape, 240) * 14, cloud(rng, shape, 160)
    spots = scatter(rng, 0.3 + 0.7 * cloud(rng, shape, 90), 1300)
    for spot, length in zip(spots, rng.gamma(2.2, 26, len(spots)) + 16, strict=True):
        way = at(drift, spot) + rng.normal(0, 0.5)
        for _ in range(rng.integers(2, 7)):
            tone = 165 + 60 * at(bright, spot) + rng.normal(0, 16)
            root = spot + rng.normal(0, 0.13 * length, 2)
            blade(canvas, rng, root, way + rng.normal(0, 0.13), length * rng.uniform(0.5, 1.1), tone)
    snow = cv2.GaussianBlur(rng.normal(205, 75, shape), (0, 0), 1.3) + 20 * cloud(rng, shape, 24)
    sunk = np.clip(cloud(rng, shape, 90, 5) * 1.7 - 0.7, 0.05, 0.75)
    return canvas * (1 - sunk) + snow * sunk


def leaves(rng: Generator, shape: Shape) -> Floats:
    """Window frost: sprays of flat crystals on dark glass, and hanging strings of tiny ones over them."""
    canvas = (25 + 30 * rng.random(shape)).astype(np.uint8)
    bare = cloud(rng, shape, 130)
    for spot in scatter(rng, 0.1 + (1 - bare) ** 2, 900):
        way, length = rng.uniform(0, 6.3), rng.gamma(3, 10) + 10
        for _ in range(rng.integers(2, 7)):
            heading = way + rng.normal(0, 0.8)
            leaf(canvas, rng, spot, heading, length * rng.uniform(0.5, 1.2), rng.uniform(50, 240))
    for column in np.cumsum(rng.gamma(5, 2.6, shape[1] // 13)):
        for row in np.arange(0, shape[0], 3):
            spot = np.array([column, row]) + rng.normal(0, 2, 2)
            if at(bare, spot) > rng.normal(0.5, 0.1):
                way = rng.choice([-1, -0.5, 0.5, 1]) + rng.choice([0, np.pi]) + rng.normal(0, 0.2)
                leaf(canvas, rng, spot, way, rng.gamma(4, 3.2), rng.uniform(40, 245))
    return canvas + rng.normal(0, 7, shape)


def ferns(rng: Generator, shape: Shape) -> Floats:
    """Feathers of ice on dark glass, dim large ones below and bright small ones on top, veiled by breath."""
    canvas = (25 + 50 * cloud(rng, shape, 160)).astype(np.uint8)
    drift, bright, veil = cloud(rng, shape, 330) * 14, cloud(rng, shape, 250), cloud(rng, shape, 420)
    spots = scatter(rng, 0.2 + cloud(rng, shape, 200), 1500)
    for rank, spot in enumerate(spots):
        tone = 45 + 60 * rank / len(spots) + 120 * at(bright, spot) + rng.normal(0, 25)
        length = rng.gamma(5, 14) + 90 * (1 - rank / len(spots)) + 16
        fern(canvas, rng, spot, at(drift, spot) + rng.normal(0, 0.7), length, tone)
    breath = np.clip(veil * 2.2 - 1.0, 0, 0.7)
    return canvas * (1 - breath) + 110 * breath + rng.normal(0, 8, shape)


class Look(NamedTuple):
    """What one texture shows, and the measurements that it must meet."""

    scene: Callable[[Generator, Shape], Floats]
    size: Shape  # (height, width)
    tones: tuple[tuple[int, ...], ...]  # for R, G, B: the grey level at each of RANKS
    bands: tuple[float, ...]  # the standard deviation of luminance between successive BLURS, finest first
    tint: float = 0.0  # how far red and blue stray from the luminance


RANKS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
BLURS = (0.5, 1, 2, 4, 8, 16, 32, 64)  # pixels
TEAL = (
    (24, 31, 40, 46, 57, 74, 95, 115, 127, 150, 169),
    (111, 116, 123, 128, 137, 148, 160, 171, 178, 190, 205),
    (129, 134, 141, 146, 155, 166, 176, 186, 191, 202, 216),
)
WHITE = (
    (104, 138, 162, 173, 189, 204, 216, 225, 230, 241, 248),
    (104, 140, 165, 176, 193, 209, 221, 230, 235, 245, 252),
    (109, 146, 172, 184, 202, 218, 231, 240, 244, 249, 253),
)
SILVER = (
    (41, 69, 91, 102, 120, 138, 155, 171, 183, 218, 244),
    (53, 84, 105, 118, 135, 153, 170, 186, 199, 234, 255),
    (60, 92, 115, 129, 147, 165, 183, 201, 214, 249, 255),
)
STEEL = (
    (24, 34, 48, 59, 79, 107, 140, 174, 195, 233, 252),
    (35, 45, 60, 70, 91, 119, 151, 183, 203, 238, 255),
    (45, 57, 72, 83, 104, 131, 161, 192, 211, 243, 255),
)
FUR = (2.8, 4.7, 4.1, 3.9, 3.4, 2.7, 2.3, 2.7, 12.3)
LOOKS = (
    Look(film, (600, 900), TEAL, (2.7, 4.3, 3.0, 2.1, 1.9, 2.4, 2.9, 3.6, 9.8), tint=3.2),
    Look(needles, (320, 560), WHITE, FUR),
    Look(needles, (320, 560), WHITE, FUR),
    Look(leaves, (350, 527), SILVER, (4.7, 7.8, 6.2, 5.0, 3.9, 2.8, 2.3, 4.0, 13.4)),
    Look(ferns, (495, 660), STEEL, (6.4, 9.3, 8.0, 8.0, 7.9, 7.1, 5.1, 5.0, 22.8)),
)


def balance(light: Floats, bands: tuple[float, ...]) -> Floats:
    """Give every scale of detail its measured contrast: this sets the power spectrum and moves no crystal."""
    even = np.full_like(light, light.mean())
    levels = [light, *(cv2.GaussianBlur(light, (0, 0), blur) for blur in BLURS), even]
    layers = [fine - coarse for fine, coarse in pairwise(levels)]
    return sum((layer * (band / layer.std()) for layer, band in zip(layers, bands, strict=True)), even)


def grade(light: Floats, tones: tuple[int, ...]) -> Floats:
    """Move the values, keeping their order, to the measured quantiles."""
    ranks = np.empty(light.size)
    ranks[np.argsort(light, axis=None)] = np.linspace(0, 1, light.size)
    return np.interp(ranks, RANKS, tones).reshape(light.shape)


def draw_frost(index: int) -> Canvas:
    """Texture `index` (0 to 4) as height x width x RGB; the same on every call."""
    look, rng = LOOKS[index], np.random.default_rng(2219 + index)
    height, width = look.size
    large = look.scene(rng, (height * FINE, width * FINE))
    glow = 120 * cloud(rng, look.size, 2 * width, 1)  # the slow change of daylight across a pane
    light: Floats = glow + cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)
    for _ in range(3):  # each of the two upsets the other a little, and less every time
        light = balance(grade(light, look.tones[1]), look.bands)
    hue = (cloud(rng, look.size, 190) - 0.5) * look.tint * light.std()
    channels = map(grade, (light + hue, light, light - hue), look.tones)
    return np.rint(np.stack(list(channels), -1)).astype(np.uint8)


def main() -> None:
    """Write frost1.jpg to frost5.jpg into the folder given, or beside this script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    cv2.setNumThreads(1)
    for index in range(len(LOOKS)):
        frost = cv2.cvtColor(draw_frost(index), cv2.COLOR_RGB2BGR)
        cv2.imwrite(str(folder / f"frost{index + 1}.jpg"), frost, [cv2.IMWRITE_JPEG_QUALITY, 92])


if __name__ == "__main__":
    main()

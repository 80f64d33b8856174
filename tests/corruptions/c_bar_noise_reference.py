"""A slow, plain reading of twelve C-bar definitions: its noises, caustic_refraction and blue_noise_sample.

Written from the formulas with NumPy and SciPy, in double precision, sharing no kernels. The drawn numbers come from
the same streams, so that both sides see the same draw. Images are H×W×C uint8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import ndimage

from brittle.corruptions import Draws
from brittle.corruptions.kernels.random_words import normals

Array = np.ndarray


def clip8(x: Array) -> Array:
    return np.clip(x, 0, 255).astype(np.uint8)


def frac(x: Array) -> Array:
    return x - np.floor(x)


def grid(image: Array) -> tuple[Array, Array, int]:
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width].astype(float)
    return y, x, min(height, width)


def words(draws: Draws, name: str, count: int) -> list[int]:
    """SplitMix64 by counting, in whole numbers."""
    start, step = map(int, draws.key(name))
    out = []
    for i in range(count):
        z = (start + i * (step | 1)) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        out.append(z ^ (z >> 31))
    return out


def single_frequency_greyscale(image: Array, draws: Draws, *, intensity: float) -> Array:
    y, x, _ = grid(image)
    a = draws.uniform("large", -math.pi, math.pi)
    b = abs(a) * draws.uniform("small", -1, 1)
    fx, fy = (a, b) if draws.uniform("order") < 0.5 else (b, a)
    wave = np.sin(fx * x + fy * y + draws.uniform("phase", 0, 2 * math.pi))
    return clip8(image + intensity * wave[..., None])


def cocentric_sine_waves(image: Array, draws: Draws, *, intensity: float) -> Array:
    y, x, side = grid(image)
    dx, dy = x - draws.uniform("x", 0, image.shape[1]), y - draws.uniform("y", 0, image.shape[0])
    bent = np.hypot(dx, dy) + draws.uniform("bend", 0, side / 10) * np.sin(
        draws.uniform("lobes", 0, 10) * np.arctan2(dx, dy)
    )
    return clip8(image + intensity * (frac(bent / draws.uniform("spacing", 0, side / 10)) - 0.5)[..., None])


def plasma_noise(image: Array, draws: Draws, *, intensity: float) -> Array:
    y, x, side = grid(image)
    t, kappa = draws.uniform("time", 0, 6 * math.pi), draws.uniform("sharpness", 0.5, 1)
    size = draws.uniform("size", 0.075, 0.2) * side
    u, v, a, b, g = x / size, y / size, 1.0, 1.0, 1.0
    for _ in range(4 + draws.integer("steps", 3)):
        p, q = np.cos(a * v + t / b) / g, np.sin(a * u + t / b) / g
        p, q = p - 0.3 * q, q + 0.3 * p
        u, v = u + p, v + q
        a, b, g = a * 1.93, b * 1.15, g * (2.25 - kappa)
    noise = np.stack([np.sin(u - t), np.sin((u + v + np.sin(t)) / 2), np.sin(v + t)], -1)
    return clip8((1 - intensity / 255) * image + intensity * noise[..., : image.shape[2]])


def voronoi_noise(image: Array, draws: Draws, *, intensity: float) -> Array:
    y, x, side = grid(image)
    size = draws.uniform("size", 0.05, 0.2) * side
    strength = draws.uniform("spread", 0, 10) * 0.0025
    place = np.stack([x, y]) / size + 1
    cell = np.floor(place)
    nearest = np.ones(x.shape)
    for px in (-1, 0, 1):
        for py in (-1, 0, 1):
            step = np.array([px, py])[:, None, None]
            w = np.einsum("ij,jyx->iyx", [[13.85, 47.77], [99.41, 88.48]], cell + step)
            offset = step + frac(np.sin(w) * np.sqrt(w) * strength) - (place - cell)
            nearest = np.minimum(nearest, np.hypot(*offset))
    d = np.clip(draws.uniform("density", 0.5, 0.9) * nearest, 0, 1)
    sign = -1 if draws.uniform("sign") > 0.5 else 1
    return clip8(image + sign * intensity * (3 * d**2 - 2 * d**3 - 0.5)[..., None])


def caustic_map(image: Array, draws: Draws) -> Array:
    y, x, side = grid(image)
    time, size = draws.uniform("time", 0.5, 2), draws.uniform("size", 0.75, 1.25) * side
    py, px = (6.28318530718 * frac(each / size) - 250 for each in (y, x))
    iy, ix, c = py, px, np.ones(x.shape)
    for n in range(5):
        t = time * (1 - 3.5 / (n + 1))
        iy, ix = py + np.cos(t - iy) + np.sin(t + ix), px + np.sin(t - ix) + np.cos(t + iy)
        c = c + 1 / np.hypot(0.005 * py / np.sin(iy + t), 0.005 * px / np.cos(ix + t))
    return np.clip(np.abs(1.17 - (c / 5) ** 1.4) ** 8, 0, 1)


def caustic_noise(image: Array, draws: Draws, *, intensity: float) -> Array:
    return clip8(image + intensity * caustic_map(image, draws)[..., None])


def caustic_refraction(image: Array, draws: Draws, *, lens_scale: float, lighting: float) -> Array:
    surface = np.pad(ndimage.gaussian_filter(caustic_map(image, draws), 1, mode="reflect"), 1)
    gy, gx = surface[2:, 1:-1] - surface[:-2, 1:-1], surface[1:-1, 2:] - surface[1:-1, :-2]
    norm = np.sqrt(gy**2 + gx**2 + 1)
    cosine = 1 / norm
    bent = np.sqrt(1 - (1 - cosine**2) / 16)
    reach = np.where(cosine >= 1 - 1e-3, 0, lens_scale * (bent - cosine / 4))
    y, x, _ = grid(image)
    at = np.stack([y + np.round(reach * gy / norm, 3), x + np.round(reach * gx / norm, 3)]) + 1
    seen = [
        ndimage.map_coordinates(np.pad(plane / 255, 1), at, order=1, mode="grid-constant")
        for plane in np.moveaxis(image, -1, 0)
    ]
    lit = np.stack(seen, -1) + lighting * (gy - gx)[..., None]
    return (255 * np.clip(lit, 0, 1)).astype(np.uint8)


def rays_of_a_star(image: Array, centre: tuple[float, float], lengths: Array, exponent: float) -> Array:
    y, x, _ = grid(image)
    dy, dx = y - centre[0], x - centre[1]
    q = (np.arctan2(dx, dy) + math.pi) / (2 * math.pi) * len(lengths)
    j = np.floor(q).astype(int)
    f = q - j
    here, after = lengths[j % len(lengths)], lengths[(j + 1) % len(lengths)]
    square = (here + f * (after - here)) ** 2 / (dy**2 + dx**2 + 1e-4)
    return np.clip((1 - (f - 0.5) ** 2) * square**exponent, 0, 1)


def sparkles(image: Array, draws: Draws, *, radius: float) -> Array:
    height, width = image.shape[:2]
    v = image.astype(float)
    for i in range(5):
        z = normals(draws.key(f"lengths {i}"), 1, 50 + draws.integer(f"rays {i}", 150))[0].astype(float)
        centre = draws.uniform(f"y {i}", 0, height), draws.uniform(f"x {i}", 0, width)
        m = rays_of_a_star(image, centre, np.maximum(1, radius * (1 + 0.25 * z)), 1)
        v = v + m[..., None] * (255 - v)
    return clip8(v)


def inverse_sparkles(image: Array, draws: Draws, *, falloff_exponent: float) -> Array:
    height, width = image.shape[:2]
    z = normals(draws.key("lengths"), 1, 50 + draws.integer("rays", 150))[0].astype(float)
    centre = draws.uniform("y", 0.25, 0.75) * height, draws.uniform("x", 0.25, 0.75) * width
    m = rays_of_a_star(image, centre, 0.25 * min(height, width) * (1 + 0.25 * z), falloff_exponent)
    return clip8(255 + m[..., None] * (image - 255.0))


def perlin_noise(image: Array, draws: Draws, *, alpha: float) -> Array:
    bits = words(draws, "lattice", 512)
    gradients = np.array([((w % 512) - 256, (w // 512 % 512) - 256) for w in bits[:256]], float)
    gradients /= np.hypot(*gradients.T)[:, None]
    order = list(range(256))
    for i in range(255, -1, -1):
        j = bits[256 + i] % 256
        order[i], order[j] = order[j], order[i]
    table = np.array(order * 2)
    y, x, side = grid(image)
    total = np.zeros(x.shape)
    for k in range(5):
        total += np.abs(_gradient_noise(x * 7 / side * 2**k, y * 7 / side * 2**k, gradients, table)) / 2**k
    return clip8((1 - alpha) * image + 255 * alpha * np.clip(total / 2 + 0.5, 0, 1)[..., None])


def _gradient_noise(x: Array, y: Array, gradients: Array, table: Array) -> Array:
    x, y = x + 4096, y + 4096
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    rx, ry = x - x0, y - y0

    def corner(i: int, j: int) -> Array:
        g = gradients[table[table[(x0 + i) % 256] + (y0 + j) % 256]]
        return g[..., 0] * (rx - i) + g[..., 1] * (ry - j)

    sx, sy = 3 * rx**2 - 2 * rx**3, 3 * ry**2 - 2 * ry**3
    top = corner(0, 0) + sx * (corner(1, 0) - corner(0, 0))
    bottom = corner(0, 1) + sx * (corner(1, 1) - corner(0, 1))
    return 1.5 * (top + sy * (bottom - top))


def coloured_field(draws: Draws, name: str, side: int, magnitude: Callable[[Array], Array]) -> Array:
    """As published, for even sides: a full complex spectrum, rolled, transformed, its real part."""
    half = side // 2
    bits = np.array(words(draws, name, side * half), dtype=np.uint64)
    left = 2 * math.pi * ((bits >> np.uint64(40)) / 2.0**24).reshape(side, half)
    phases = np.concatenate([left, np.rot90(left, 2)], 1)
    y, x = np.mgrid[:side, :side]
    spectrum = magnitude(np.hypot(y - half, x - half)) * np.exp(1j * phases)
    field = np.fft.ifft2(np.roll(spectrum, (half, half), (0, 1))).real
    return field / field.std()


def blue_noise(image: Array, draws: Draws, *, intensity: float) -> Array:
    planes = [coloured_field(draws, f"phases {c}", len(image), lambda d: d) for c in range(image.shape[2])]
    return clip8(image + intensity * np.stack(planes, -1))


def brownish_noise(image: Array, draws: Draws, *, intensity: float) -> Array:
    def fall(d: Array) -> Array:
        return 1 / (d**2 + 1)

    planes = [coloured_field(draws, f"phases {c}", len(image), fall) for c in range(image.shape[2])]
    return clip8(image + intensity * np.stack(planes, -1))


def blue_noise_sample(image: Array, draws: Draws, *, threshold: float) -> Array:
    kept = coloured_field(draws, "phases", len(image), lambda d: d) > threshold
    return np.where(kept[..., None], image, 0).astype(np.uint8)


REFERENCE: dict[str, Callable[..., Array]] = {
    f.__name__: f
    for f in (
        single_frequency_greyscale,
        cocentric_sine_waves,
        plasma_noise,
        voronoi_noise,
        caustic_noise,
        sparkles,
        inverse_sparkles,
        perlin_noise,
        blue_noise,
        brownish_noise,
        caustic_refraction,
        blue_noise_sample,
    )
}

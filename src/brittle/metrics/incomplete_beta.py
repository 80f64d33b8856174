"""The regularised incomplete beta function and its inverse: binomial, Student and F tails, without SciPy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats

TINY = 1e-300
CLOSE = 1e-14
TERMS = 20_000

_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def incomplete_beta(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """I_x(a, b) for a, b > 0 and x between 0 and 1, element by element."""
    a, b, x = (np.array(v) for v in np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (a, b, x))))
    if (a <= 0).any() or (b <= 0).any() or not ((x >= 0) & (x <= 1)).all():
        raise ValueError("the incomplete beta function needs a > 0, b > 0 and x between 0 and 1")
    far = x > (a + 1) / (a + b + 2)  # beyond the mean the fraction of the mirrored function converges faster
    p, q, z = np.where(far, b, a), np.where(far, a, b), np.where(far, 1 - x, x)
    with np.errstate(divide="ignore", under="ignore"):
        front = np.exp(_log_power(z, p) + _log_power(1 - z, q) - _log_beta(p, q)) / p
    value = front * _fraction(p, q, z)
    return np.asarray(np.clip(np.where(far, 1 - value, value), 0, 1))


def beta_quantile(probability: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """The x at which I_x(a, b) reaches the probability: Newton's steps, halving wherever one leaves the bracket."""
    target, a, b = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (probability, a, b)))
    out = (a / (a + b)).ravel()
    low, high, todo = np.zeros(out.size), np.ones(out.size), np.arange(out.size)
    for _ in range(200):
        x, p, q = out[todo], a.flat[todo], b.flat[todo]
        gap = incomplete_beta(p, q, x) - target.flat[todo]
        low[todo], high[todo] = np.where(gap < 0, x, low[todo]), np.where(gap < 0, high[todo], x)
        with np.errstate(all="ignore"):
            step = x - gap / np.exp(_log_power(x, p - 1) + _log_power(1 - x, q - 1) - _log_beta(p, q))
        inside = (step > low[todo]) & (step < high[todo])  # False where the step is not a number
        out[todo] = np.where(inside, step, (low[todo] + high[todo]) / 2)
        todo = todo[np.abs(out[todo] - x) > 1e-12 * x]
        if not todo.size:
            break
    return np.asarray(out.reshape(target.shape))


def _log_beta(a: Floats, b: Floats) -> Floats:
    return np.asarray(_log_gamma(a) + _log_gamma(b) - _log_gamma(a + b))


def _log_power(x: Floats, exponent: Floats) -> Floats:
    """log(x ** exponent), with 0 ** 0 = 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(exponent == 0, 0.0, exponent * np.log(x))


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = np.ones(x.shape), _no_zero(1 - (a + b) * x / (a + 1))
    d = 1 / d
    value = d.copy()
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / _no_zero(1 + term * d), _no_zero(1 + term / c)
            change = d * c
            value = value * change
        if (np.abs(change - 1) < CLOSE).all():
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge in {TERMS} terms")


def _no_zero(x: Floats) -> Floats:
    return np.where(np.abs(x) < TINY, TINY, x)

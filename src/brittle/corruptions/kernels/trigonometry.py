"""Sines and angles as short polynomials: loops over them become vector code, with the same bits on every CPU.

Errors stay below 1e-10 for arguments up to 1e5: no grey level notices, and a loop over them takes a small part of
the time of one over the system's own functions.
"""

import math

import numpy as np

from brittle.corruptions.kernels.compiled import inlined

PI = math.pi
PER_HALF_TURN = 1 / math.pi
S3, S5, S7, S9, S11, S13, S15 = ((-1) ** (n // 2) / math.factorial(n) for n in range(3, 16, 2))
C2, C4, C6, C8, C10, C12, C14, C16 = ((-1) ** (n // 2) / math.factorial(n) for n in range(2, 17, 2))
T3, T5, T7, T9, T11, T13, T15, T17, T19, T21 = ((-1) ** (n // 2) / n for n in range(3, 22, 2))
TAN_EIGHTH = math.tan(math.pi / 8)


@inlined
def sine(x):
    """sin x, from its Taylor series within a quarter turn of 0."""
    half_turns = np.floor(x * PER_HALF_TURN + 0.5)
    sign = 1.0 - 2.0 * (half_turns - 2.0 * np.floor(0.5 * half_turns))
    r = x - half_turns * PI
    q = r * r
    tail = S9 + q * (S11 + q * (S13 + q * S15))
    return sign * (r + r * (q * (S3 + q * (S5 + q * (S7 + q * tail)))))


@inlined
def cosine(x):
    """cos x."""
    half_turns = np.floor(x * PER_HALF_TURN + 0.5)
    sign = 1.0 - 2.0 * (half_turns - 2.0 * np.floor(0.5 * half_turns))
    r = x - half_turns * PI
    q = r * r
    tail = C10 + q * (C12 + q * (C14 + q * C16))
    return sign * (1.0 + q * (C2 + q * (C4 + q * (C6 + q * (C8 + q * tail)))))


@inlined
def angle(across, along):
    """atan2(across, along), in radians on [−π, π]; 0 where both are 0."""
    a, b = abs(across), abs(along)
    large, small = max(a, b), min(a, b)
    steep = small > TAN_EIGHTH * large  # then it is measured from the diagonal
    t = ((small - large) if steep else small) / (((small + large) if steep else large) + 1e-300)
    q = t * t
    tail = T11 + q * (T13 + q * (T15 + q * (T17 + q * (T19 + q * T21))))
    turn = t + t * (q * (T3 + q * (T5 + q * (T7 + q * (T9 + q * tail)))))
    turn += 0.25 * PI if steep else 0.0
    turn = 0.5 * PI - turn if a > b else turn
    turn = PI - turn if along < 0.0 else turn
    return -turn if across < 0.0 else turn

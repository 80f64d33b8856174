"""Corrupt images of all accepted types, with addressed random draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Image, Key, check_seed
from brittle.corruptions import inputs
from brittle.corruptions.inputs import BYTE, PLAIN, DataRange, Reading
from brittle.corruptions.registry import Corruption, get_corruption, parameters_at
from brittle.corruptions.severity import check_severity

Sample = int | str
"""The id of an image: its index in a dataset, or its file name."""


UINT64 = np.dtype("<u8")


def address_bytes(text: str) -> bytes:
    """The bytes of any text: file names may hold bytes that are no text, and a string halves of a surrogate pair."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class Draws:
    """Addressed randomness: the random numbers of one (seed, corruption, sample), each stream addressed by a name.

    Severity, batch, order, thread, process and machine are not part of the address, so the same flakes fall at
    every severity and on every machine. Large fields come from `key`, which a kernel turns into any
    number of random words by counting (see kernels/random_words.py); NumPy's generators are never used.
    """

    __slots__ = ("_address",)

    def __init__(self, seed: int, corruption: str, sample: Sample) -> None:
        kind = "s" if isinstance(sample, str) else "i"
        self._address = f"{seed}\0{corruption}\0{kind}{sample}\0"

    @property
    def name(self) -> str:
        """A unique name of these draws, usable as a sample id."""
        return self._address.replace("\0", "/")

    def _digest(self, name: str) -> bytes:
        address = address_bytes(self._address + name)
        return blake2b(address, digest_size=16).digest()

    def key(self, name: str) -> Key:
        """The two words that address one stream inside a compiled kernel."""
        return np.frombuffer(bytearray(self._digest(name)), dtype=UINT64)

    def uniform(self, name: str, low: float = 0.0, high: float = 1.0) -> float:
        """One number, uniform on [low, high)."""
        fraction = (int.from_bytes(self._digest(name)[:8], "little") >> 11) * 2.0**-53
        return low + (high - low) * fraction

    def integer(self, name: str, count: int) -> int:
        """One whole number, uniform on 0 … count−1."""
        return int(self.uniform(name) * count)


def check_sample(sample: object) -> Sample:
    """The sample id as a plain int or str."""
    if type(sample) is int:
        return sample
    if isinstance(sample, str):
        return str(sample)
    if isinstance(sample, int | np.integer) and not isinstance(sample, bool):
        return int(sample)
    raise BrittleTypeError(f"a sample id is a whole number or a string, got {sample!r} ({type(sample).__name__})")


def corrupt(
    image: Any,
    corruption: str | Corruption,
    severity: float,
    *,
    seed: int = 0,
    sample: Sample | Sequence[Sample] | None = None,
    table: int | None = None,
    jpeg85: bool = False,
    data_range: DataRange | None = None,
    bands: bool = False,
    **options: Any,
) -> Any:
    """Corrupt an image, or a batch of images, and return it in the type of the input.

    The result depends only on the image, the corruption, the severity, the seed and the sample id. The input is never
    changed, and severity 0 returns a copy.

    >>> import brittle
    >>> image = brittle.datasets.photo("cat")
    >>> dark = brittle.corrupt(image, "contrast", severity=3.5, sample="cat.jpg")
    >>> bool(dark.std() < image.std())
    True

    Args:
        image: H×W, H×W×3 or H×W×4 (alpha is kept) or H×W×C with any number of bands, as uint8 or as float in [0, 1];
            a PIL image (L, RGB, RGBA); or a batch N×H×W×C. Float images are rounded to 8 bit first, because
            corruptions are defined on 8-bit images. Subclasses of arrays and memory maps come back as plain arrays.
        corruption: an id such as "imagenet-c/fog", or "fog" if only one set has it.
        severity: any real number from 0 (clean) to the largest published level, usually 5.
        seed: the benchmark's seed.
        sample: the id of this image, an index or a file name; for a batch one for each image (by default 0, 1, 2 …).
        table: use the published parameters for this image side (32, 64, 224, 299) at any size of the image.
        jpeg85: end with a JPEG pass of quality 85, as in the files of the released ImageNet-C.
        data_range: the values of black and white, (low, high), or one number for (0, number); needed for uint16, int16
            and floats outside [0, 1]. The result has the same range. What most corruptions do is then computed at full
            depth; the others round to 256 levels between the two (`Corruption.full_depth`).
        bands: all channels are bands of data: four are not RGBA, three are not RGB. Each is corrupted as a grey image.
        options: options of the corruption, such as `textures=` of frost.
    """
    chosen = get_corruption(corruption)
    severity = check_severity(severity, chosen.highest_severity)
    seed = check_seed(seed)
    if options:
        chosen.check_options(options)
    if table is not None:
        chosen.check_table(table)
    reading = PLAIN if data_range is None and bands is False else inputs.reading_of(data_range, bands)
    inputs.check(image, reading)
    if chosen.channels == "rgb":
        inputs.check_colour(chosen, image, reading)
    if severity == 0 and not jpeg85:
        return np.array(image, order="C") if isinstance(image, np.ndarray) else image.copy()
    how = _Checked(chosen, severity, seed, table, jpeg85, reading, options)
    if not (isinstance(image, np.ndarray) and image.ndim == 4):
        return how.apply(image, check_sample(0 if sample is None else sample))
    return how.apply_to_batch(image, batch_ids(sample, len(image)))


class _Checked(NamedTuple):
    """What to do to images: all arguments of `corrupt` but the images and their ids, checked once for a whole batch."""

    corruption: Corruption
    severity: float
    seed: int
    table: int | None
    jpeg85: bool
    reading: Reading
    options: dict[str, Any]

    def apply(self, image: Any, sample: Sample) -> Any:
        """Corrupt one checked image of any accepted type."""
        draws = Draws(self.seed, self.corruption.id, sample)
        plain = type(image) is np.ndarray and image.dtype is BYTE and self.reading is PLAIN
        if plain and image.ndim == 3 and image.shape[2] == 3:
            if not (image.flags.c_contiguous and image.flags.writeable):
                image = image.copy()  # kernels are compiled for contiguous, writable arrays
            return self._change(image, draws)
        full = self.corruption.full_depth and not self.jpeg85
        return inputs.apply(
            image, lambda clean: self._change(clean, draws), self.corruption, self.reading, full_depth=full
        )

    def apply_to_batch(self, batch: NDArray[Any], samples: Sequence[Sample]) -> NDArray[Any]:
        """Corrupt each image of a checked batch."""
        out = np.empty_like(batch, order="C", subok=False)
        chosen, flags = self.corruption, batch.flags
        simple = chosen.bundled and not self.jpeg85 and not (self.severity % 1 and chosen.blends)
        plain = type(batch) is np.ndarray and batch.dtype is BYTE and self.reading is PLAIN and batch.shape[3] == 3
        if simple and plain and flags.c_contiguous and flags.writeable:  # nothing is left to be done for each image
            parameters = parameters_at(chosen, self.severity, min(batch.shape[1:3]), self.table)
            function = partial(chosen.function, **parameters, **self.options)
            for single, target, sample in zip(batch, out, samples, strict=True):
                target[...] = function(single, Draws(self.seed, chosen.id, sample))
            return out
        for single, target, sample in zip(batch, out, samples, strict=True):
            target[...] = self.apply(single, sample)
        return out

    def _change(self, clean: Image, draws: Draws) -> Image:
        step = self.severity % 1
        if step and self.corruption.blends:
            below = self.severity - step
            weak, strong = self._corrupt(below, clean, draws), self._corrupt(below + 1, clean, draws)
            mean = weak + step * (strong.astype(np.float64) - weak)
            out = (np.rint(mean) if clean.dtype == BYTE else mean).astype(clean.dtype)
        else:
            out = self._corrupt(self.severity, clean, draws)
        if not self.jpeg85:
            return out
        from brittle.corruptions.kernels.jpeg import through_jpeg  # loads Numba

        if out.shape[2] == 1 or (out.shape[2] == 3 and not self.reading.bands):
            return through_jpeg(out, 85)
        return np.concatenate([through_jpeg(band, 85) for band in np.split(out, out.shape[2], axis=2)], axis=2)

    def _corrupt(self, severity: float, clean: Image, draws: Draws) -> Image:
        if severity == 0:
            return clean
        chosen = self.corruption
        parameters = parameters_at(chosen, severity, min(clean.shape[:2]), self.table)
        if not chosen.bundled:
            clean = clean.copy()  # a user's function may write to its input
        out: Image = chosen.function(clean, draws, **parameters, **self.options)
        if not isinstance(out, np.ndarray) or out.dtype != clean.dtype or out.shape != clean.shape:
            returned = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise BrittleTypeError(
                f"{chosen.id} must return {clean.dtype} of shape {clean.shape}, as its input; it returned {returned}"
            )
        return clean.copy() if out is clean else out


def batch_ids(sample: Any, count: int) -> Sequence[Sample]:
    """One sample id for each image of a batch; by default 0, 1, 2 …"""
    if sample is None:
        return range(count)
    if isinstance(sample, str) or not isinstance(sample, Sequence | np.ndarray) or len(sample) != count:
        raise BrittleError(f"a batch of {count} images needs a sequence of {count} sample ids, got sample={sample!r}")
    return [check_sample(i) for i in sample]

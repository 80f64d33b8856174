"""The published tables, hit exactly at severities 1 to 5 for all four published sizes."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle.corruptions.imagenet_c.blur import disk
from brittle.corruptions.kernels.blur import zoom_factors

TABLES = tomllib.loads((Path(__file__).parent / "imagenet_c_tables.toml").read_text())
OUR_NAMES = {"wibble_decay": "decay"}


@pytest.mark.parametrize("side", [32, 64, 224, 299])
@pytest.mark.parametrize("name", TABLES)
def test_published_parameters_are_hit_exactly(name: str, side: int) -> None:
    for severity, row in enumerate(TABLES[name][f"at{side}"], start=1):
        ours = brittle.get_corruption(f"imagenet-c/{name}").parameters(severity, side)
        if name == "zoom_blur":
            np.testing.assert_allclose(zoom_factors(ours["largest_zoom"], int(ours["layers"])), row, rtol=1e-12)
            continue
        published = dict(zip(TABLES[name]["parameters"], row, strict=True))
        if name == "spatter":
            amount, mud = published.pop("strength_or_blur"), published.pop("is_mud")
            published |= {"mud": mud, "mud_blur": amount} if mud else {"mud": 0, "water": amount}
        for parameter, value in published.items():
            assert ours[OUR_NAMES.get(parameter, parameter)] == value, parameter


@pytest.mark.parametrize(
    ("stop", "step", "largest", "layers"),
    [
        (1.11, 0.01, 1.11, 12), (1.16, 0.01, 1.15, 16), (1.21, 0.02, 1.20, 11), (1.26, 0.02, 1.24, 13),
        (1.31, 0.03, 1.30, 11), (1.06, 0.01, 1.06, 7), (1.21, 0.01, 1.20, 21), (1.26, 0.01, 1.25, 26),
    ],
)  # fmt: skip
def test_zoom_ranges_equal_numpys_to_the_last_bit(stop: float, step: float, largest: float, layers: int) -> None:
    published = np.arange(1, stop, step)
    assert len(published) == layers
    ours = zoom_factors(largest, layers)
    for side in (224, 32, 64, 299):
        np.testing.assert_array_equal(np.ceil(side / ours), np.ceil(side / published))


@pytest.mark.parametrize(
    ("radius", "total"),
    [(8, 1.01298), (10, 1.01079), (7, 1.0029), (12, 1.0078), (3, 1), (4, 1), (6, 1), (2.5, 1), (1.5, 1), (0.3, 1)],
)
def test_defocus_kernels_have_their_published_sums(radius: float, total: float) -> None:
    kernel = disk(radius, 0.5)
    assert 1 + kernel.rest.sum() == pytest.approx(total, abs=2e-4)


@pytest.mark.parametrize(
    ("radius", "pixels"), [(3, 29), (4, 49), (6, 113), (8, 197), (10, 317), (2.5, 21), (1.5, 9), (1, 5), (0.4, 1)]
)
def test_disks_have_their_published_pixel_counts(radius: float, pixels: int) -> None:
    assert int((2 * disk(radius, 0.1).half_widths + 1).sum()) == pixels

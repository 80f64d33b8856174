"""Categories that somebody published, as far as they are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from brittle.benchmarks import benchmark
from brittle.datasets.near import nearest
from brittle.design.categories import Categories

FOLDER = Path(__file__).parent / "published"


def published_categories(name: str = "syn2nat") -> Categories:
    """The categories of a paper; "syn2nat" is all there is.

    Syn2Nat drew its six categories as a picture. Twenty of forty memberships follow from its text and from the order
    of names in its code, the categories of "heterogeneous" and "blurs" by position alone. The first three of each are
    ImageNet-Syn2Nat. The file names its source.
    """
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if name not in known:
        raise ValueError(f"there are no published categories {name!r}; {nearest(name, known)}")
    return replace(Categories.load(FOLDER / f"{name}.toml"), candidates=benchmark(f"{name}-candidates"))

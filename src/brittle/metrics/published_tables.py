"""Published tables, the reference models of mCE, and published scores."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._html import html_block, html_table, html_title
from brittle._texts import read_csv
from brittle._types import FloatArray, check_fractions

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True, eq=False)
class Table:
    """A small table: columns of numbers are arrays (an empty cell is NaN), the others lists of strings.

    The first column names the rows. `what` says what the numbers are and in which unit, `source` and `year` where and
    when they were printed, and `better` whether its scores are better the "lower" or the "higher", if either.
    """

    name: str
    what: str
    source: str
    columns: Mapping[str, FloatArray | list[str]]
    year: int | None = None
    better: Literal["lower", "higher"] | None = None

    @property
    def citation(self) -> str:
        """The source with its year."""
        return self.source if self.year is None else f"{self.source} ({self.year})"

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"<Table {self.name!r}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        columns = [
            [("" if math.isnan(value) else f"{value:g}") for value in map(float, values)]
            if isinstance(values, np.ndarray)
            else [escape(value) for value in values]
            for values in self.columns.values()
        ]
        left = next((i for i, values in enumerate(self.columns.values()) if isinstance(values, np.ndarray)), None)
        table = html_table(list(self.columns), list(zip(*columns, strict=True)), left=left or 1)
        return html_block(html_title("Table", self.name, self.what), table, note=self.source)

    def __getitem__(self, column: str) -> FloatArray | list[str]:
        if column not in self.columns:
            raise KeyError(f"{self.name} has no column {column!r}; it has: {', '.join(self.columns)}")
        return self.columns[column]

    def numbers(self, *columns: str) -> FloatArray:
        """One column of numbers as a vector, or several as rows × columns."""
        selected = [self[column] for column in columns]
        for column, values in zip(columns, selected, strict=True):
            if not isinstance(values, np.ndarray):
                raise BrittleError(f"the column {column!r} of {self.name} holds text, not numbers")
        return np.asarray(selected[0] if len(selected) == 1 else np.column_stack(selected), dtype=np.float64)

    def text(self, column: str) -> list[str]:
        """A column as strings."""
        values = self[column]
        return values if isinstance(values, list) else [f"{value:g}" for value in values]

    def row(self, name: str) -> dict[str, float | str]:
        """The row whose first column is `name`."""
        names = self.text(next(iter(self.columns)))
        if name not in names:
            raise KeyError(f"{self.name} has no row {name!r}; it has: {', '.join(names)}")
        i = names.index(name)
        return {key: v[i] if isinstance(v, list) else float(v[i]) for key, v in self.columns.items()}


def list_published_tables() -> list[str]:
    """The names of all published tables."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def published_table(name: str) -> Table:
    """A published table by its name.

    >>> import brittle
    >>> table = brittle.published_table("imagenet-c-alexnet")
    >>> dict(zip(table.text("corruption"), table.numbers("error").tolist()))["fog"]
    0.819324
    """
    names = list_published_tables()
    if name not in names:
        close = get_close_matches(str(name), names, n=1, cutoff=0.6)
        hint = f"did you mean {close[0]!r}? All: " if close else "there are: "
        raise BrittleError(f"there is no published table {name!r}; {hint}{', '.join(names)}")
    about = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))[name]
    columns = {column.name: _column(column) for column in read_csv(FOLDER / f"{name}.csv")}
    return Table(name, about["what"], about["source"], columns, about["year"], about.get("better"))


def _column(texts: pl.Series) -> FloatArray | list[str]:
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() > texts.null_count():
        return texts.fill_null("").to_list()
    return np.asarray(numbers.fill_null(np.nan).to_numpy())


BASELINES = {
    "alexnet-imagenet-c": (
        "imagenet-c-alexnet",
        ("corruption", "error", 0.435),
        "AlexNet on the released ImageNet-C (Hendrycks & Dietterich 2019)",
    ),
    "alexnet-imagenet-noc": (
        "noc-candidates",
        ("name", "alexnet_error", 0.435),
        "AlexNet on ImageNet-NOC (Laugros et al. 2020)",
    ),
    "reference-cifar10-c": (
        "cifar10-c-reference",
        ("corruption", "error", 0.05334),
        "CIFAR-10 reference network of the code of C-bar (Mintun et al. 2021)",
    ),
}
"""Each published baseline: its table, the columns of names and errors with the clean error, and what it is."""


@dataclass(frozen=True)
class Baseline:
    """A reference model: its clean error, and its error on each corruption, averaged over severities.

    `about` names the network and the publication. The clean error is NaN if no clean images were evaluated: then there
    is an mCE, but no relative mCE.
    """

    name: str
    clean_error: float
    errors: Mapping[str, float]
    about: str = ""

    def __post_init__(self) -> None:
        clean = [] if math.isnan(self.clean_error) else [self.clean_error]
        check_fractions([*clean, *self.errors.values()], f"an error of the baseline {self.name!r}")

    @property
    def title(self) -> str:
        """The name with its description, for reports."""
        return f"{self.name}: {self.about}" if self.about else self.name

    def of(self, corruptions: Sequence[str]) -> FloatArray:
        """The errors in the order of these corruptions, named with or without their source."""
        names = [name if name in self.errors else name.rpartition("/")[2] for name in corruptions]
        missing = [name for name in names if name not in self.errors]
        if missing:
            raise BrittleError(
                f"the baseline {self.name!r} has no error for {', '.join(missing)}; it has: {', '.join(self.errors)}"
            )
        return np.array([self.errors[name] for name in names])


def baseline(name: str = "alexnet-imagenet-c") -> Baseline:
    """A published baseline by its name."""
    if name not in BASELINES:
        raise BrittleError(f"there is no baseline {name!r}; there are: {', '.join(BASELINES)}")
    table, (key, column, clean_error), about = BASELINES[name]
    published: Table = published_table(table)
    return Baseline(
        name, clean_error, dict(zip(published.text(key), map(float, published.numbers(column)), strict=True)), about
    )


COLUMNS = {
    "imagenet-c": (
        ("imagenet-c-leaderboard", "mCE", "mCE"),
        ("noc-table5", "relative_mCE", "relative mCE"),
        ("c-bar-table1-imagenet", "imagenet_c_error", "unnormalised error"),
        ("c-bar-table2", "imagenet_c_error", "unnormalised error"),
    ),
    "imagenet-c-bar": (
        ("c-bar-table1-imagenet", "imagenet_c_bar_error", "unnormalised error"),
        ("c-bar-table2", "imagenet_c_bar_error", "unnormalised error"),
    ),
    "imagenet-noc": (
        ("noc-table6", "relative_mCE", "relative mCE"),
        ("noc-table4", "imagenet_noc_relative_mCE", "relative mCE"),
    ),
    "cifar10-c": (("c-bar-table1-cifar10", "cifar10_c_error", "unnormalised error"),),
    "cifar10-c-bar": (("c-bar-table1-cifar10", "cifar10_c_bar_error", "unnormalised error"),),
}
"""For each bundled recipe: a published table, its column, and its metric, in percent."""

PRINTED = {
    "imagenet-c-leaderboard": ("hendrycks/robustness, README", 2020),
    "noc-table4": ("Laugros et al., Table 4", 2020),
    "noc-table5": ("Laugros et al., Table 5", 2020),
    "noc-table6": ("Laugros et al., Table 6", 2020),
    "c-bar-table1-imagenet": ("Mintun et al., Table 1", 2021),
    "c-bar-table1-cifar10": ("Mintun et al., Table 1", 2021),
    "c-bar-table2": ("Mintun et al., Table 2", 2021),
}
"""The publication and year of each table."""

FULL_NAMES = {
    "c-bar-table1-imagenet": {
        "Baseline": "ResNet-50",
        "AA": "AutoAugment, ResNet-50",
        "SIN": "Stylized ImageNet, ResNet-50",
        "AugMix": "AugMix, ResNet-50",
        "PG": "Patch Gaussian, ResNet-50",
        "ANT": "adversarial noise training, ResNet-50",
        "DA": "DeepAugment, ResNet-50",
        "DA+AM": "DeepAugment + AugMix, ResNet-50",
    },
    "c-bar-table1-cifar10": {
        "Baseline": "WideResNet-40-2",
        "AA": "AutoAugment, WideResNet-40-2",
        "AugMix": "AugMix, WideResNet-40-2",
        "PG": "Patch Gaussian, WideResNet-40-2",
    },
    "c-bar-table2": {
        "WSL ResNeXt-101-32x8d": "weakly supervised pretraining, ResNeXt-101-32x8d",
        "Noisy Student EfficientNet-B0": "Noisy Student, EfficientNet-B0",
    },
    "imagenet-c-leaderboard": {
        "AugMix": "AugMix, ResNet-50",
        "DeepAugment+AugMix": "DeepAugment + AugMix, ResNet-50",
    },
    "noc-table4": {
        "Standard": "ResNet-50",
        "SIN+IN": "Stylized ImageNet + ImageNet, ResNet-50",
        "Augmix": "AugMix, ResNet-50",
        "ANT3x3": "adversarial noise training (3x3), ResNet-50",
        "DeepAugment": "DeepAugment, ResNet-50",
    },
}
"""Abbreviated methods of a table in full, with the network they were measured on."""


@dataclass(frozen=True)
class PublishedScore:
    """One published score: a fraction, the model or method, and the publication."""

    who: str
    metric: str
    value: float
    source: str
    year: int

    @property
    def citation(self) -> str:
        """The source with its year."""
        return f"{self.source} ({self.year})"


def published_scores(benchmark: str) -> list[PublishedScore]:
    """Published scores on a bundled benchmark; empty if there are none.

    `brittle.evaluation.comparable` decides whether they are comparable with a run, by its recipe and images.
    """
    scores: list[PublishedScore] = []
    for name, column, metric in COLUMNS.get(benchmark, ()):
        table, full_names = published_table(name), FULL_NAMES.get(name, {})
        for who, value in zip(table.text(next(iter(table.columns))), table.numbers(column), strict=True):
            score = PublishedScore(full_names.get(who, who), metric, float(value) / 100, *PRINTED[name])
            if not math.isnan(value) and (score.who, metric) not in {(known.who, known.metric) for known in scores}:
                scores.append(score)
    return scores


BY_CORRUPTION = {
    "unnormalised error": "error",
    "mCE": "corruption error",
    "relative mCE": "relative corruption error",
}
"""What a table that prints this score over all corruptions prints of each of them."""


def published_by_corruption(benchmark: str, corruptions: Sequence[str]) -> dict[str, list[PublishedScore]]:
    """What others published of single corruptions of a bundled benchmark, where their tables print those.

    Corruptions are named with or without their source. Whether such numbers may stand beside a run's is for
    `brittle.evaluation.comparable` to say.
    """
    scores: dict[str, list[PublishedScore]] = {corruption: [] for corruption in corruptions}
    for name, _, metric in COLUMNS.get(benchmark, ()):
        table, full = published_table(name), FULL_NAMES.get(name, {})
        people = table.text(next(iter(table.columns)))
        for corruption in corruptions:
            column = corruption.rpartition("/")[2]
            for who, value in zip(people, table.numbers(column) if column in table.columns else (), strict=False):
                if not math.isnan(value):
                    score = PublishedScore(
                        full.get(who, who), BY_CORRUPTION[metric], float(value) / 100, *PRINTED[name]
                    )
                    scores[corruption].append(score)
    return scores

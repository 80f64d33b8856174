"""Published scores on a benchmark, to put beside one's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from brittle.metrics.tables import published

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
"""For each bundled recipe: a published table, its column, and what the column holds, in percent."""

PRINTED = {
    "imagenet-c-leaderboard": ("hendrycks/robustness, README", 2020),
    "noc-table4": ("Laugros et al., Table 4", 2020),
    "noc-table5": ("Laugros et al., Table 5", 2020),
    "noc-table6": ("Laugros et al., Table 6", 2020),
    "c-bar-table1-imagenet": ("Mintun et al., Table 1", 2021),
    "c-bar-table1-cifar10": ("Mintun et al., Table 1", 2021),
    "c-bar-table2": ("Mintun et al., Table 2", 2021),
}
"""Who printed each table, and in which year."""

SPELLED_OUT = {
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
    """One number as printed: a fraction, whose it is, and where and when it was printed."""

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
    """What others published on a bundled benchmark; empty if nothing is known here.

    Whether such numbers may stand beside a run's is for `brittle.evaluation.comparable` to say: it looks at what the
    run's recipe draws, and on which images.
    """
    found: list[PublishedScore] = []
    for name, column, metric in COLUMNS.get(benchmark, ()):
        table, full = published(name), SPELLED_OUT.get(name, {})
        for who, value in zip(table.text(next(iter(table.columns))), table.numbers(column), strict=True):
            score = PublishedScore(full.get(who, who), metric, float(value) / 100, *PRINTED[name])
            if not math.isnan(value) and (score.who, metric) not in {(one.who, one.metric) for one in found}:
                found.append(score)
    return found

"""NOC, section 5.4 and appendix C: pretrained and robust models on ImageNet-C and on ImageNet-NOC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittle._types import FloatArray
from brittle.benchmarks import Benchmark
from brittle.design import Reference, alexnet_reference
from brittle.metrics import Estimate, Table, mce, published_table, spearman
from brittle.papers.experiments import Outcome, Setting, experiment, plain_name
from brittle.papers.models import paper_specs
from brittle.papers.noc_setup import (
    NETWORKS,
    SMALL_NEEDS,
    agreement_of,
    differences,
    imagenet_c,
    imagenet_noc,
    listed,
    names_of,
    noc_data,
    overlaps,
    relative_ce,
    run_errors,
    run_models,
    trained_with,
)

ZOO_COST = "9 models"


@dataclass(frozen=True)
class Zoo:
    """Models on ImageNet-C and on ImageNet-NOC: their errors, a row for each model, and what divides them."""

    models: tuple[str, ...]
    recipes: tuple[Benchmark, Benchmark]
    errors: tuple[FloatArray, FloatArray]
    clean: FloatArray
    references: tuple[Reference, Reference]

    def scores(self, which: int) -> FloatArray:
        """Relative CE in percent on ImageNet-C (0) or ImageNet-NOC (1), a row for each model."""
        return relative_ce(self.errors[which], self.clean, self.references[which], names_of(self.recipes[which]))

    def means(self) -> FloatArray:
        """The relative mCE of each model on both."""
        return np.column_stack([np.nanmean(self.scores(which), axis=1) for which in (0, 1)])

    def plain_mce(self) -> FloatArray:
        """The mCE on ImageNet-C without clean errors subtracted, in percent, as Table 4 prints it."""
        return np.asarray(100 * mce(self.errors[0], self.references[0].of(names_of(self.recipes[0]))))


def measured_zoo(setting: Setting, models: Mapping[str, str | Path], reference: str) -> Zoo:
    """Models on both benchmarks; AlexNet's published errors divide, or at small scale those of one of the models."""
    data = noc_data(setting)[1] if setting.small else setting.data("imagenet")
    recipes = imagenet_c(setting), imagenet_noc(setting)
    names = tuple(models)
    measured = [run_errors(run_models(setting, models, recipe, data), names, recipe) for recipe in recipes]
    errors, clean = tuple(one for one, _ in measured), measured[0][1]
    if setting.small:
        place = names.index(reference)
        found = [
            Reference(reference, float(clean[place]), dict(zip(names_of(recipe), one[place].tolist(), strict=True)))
            for recipe, one in zip(recipes, errors, strict=True)
        ]
    else:
        found = [alexnet_reference(recipe) for recipe in recipes]
    return Zoo(names, recipes, (errors[0], errors[1]), clean, (found[0], found[1]))


TORCHVISION = {
    "AlexNet": "alexnet",
    "SqueezeNet": "squeezenet1_1",
    "VGG-11": "vgg11",
    "VGG-19-BN": "vgg19_bn",
    "ResNet-18": "resnet18",
    "ResNet-50": "resnet50",
    "DenseNet-121": "densenet121",
    "DenseNet-201": "densenet201",
    "WideResNet-50-2": "wide_resnet50_2",
}
"""The models of Tables 3, 5 and 6, whose weights are torchvision's first ones."""

PRINTED = {"ResNet-50": "Standard", "AugMix": "Augmix"}
"""Models of Table 4 whose names in `paper_models` are not those that it prints."""


def torchvision_zoo(setting: Setting) -> Zoo:
    """The pretrained classifiers of Tables 3, 5 and 6; at small scale four of CIFAR-10."""
    if not setting.small:
        models = {name: f"torchvision:{one},weights=IMAGENET1K_V1" for name, one in TORCHVISION.items()}
        return measured_zoo(setting, models, "AlexNet")
    first, second = NETWORKS["small"][:2]
    folders = {first: overlaps(setting).folder, second: overlaps(setting, second).folder}
    trained = {name: folder / "models" / "standard.safetensors" for name, folder in folders.items()}
    return measured_zoo(setting, {**trained, "demo:standard": "demo:standard", "demo:augmix": "demo:augmix"}, first)


def robust_zoo(setting: Setting) -> Zoo:
    """A standard model and robust ones of the same architecture, as in Table 4."""
    if not setting.small:
        specs = paper_specs("noc", setting.path("checkpoints"))
        return measured_zoo(setting, {PRINTED.get(name, name): spec for name, spec in specs.items()}, "Standard")
    folder = overlaps(setting).folder / "models"
    schemes = {"AugMix": "augmix", "AutoAugment": "autoaugment-cifar10", "Patch Gaussian": "patch-gaussian"}
    trained = {name: trained_with(setting, scheme, scheme) for name, scheme in schemes.items()}
    noise = folder / "imagenet-c.gaussian_noise.safetensors"
    return measured_zoo(setting, {"Standard": folder / "standard.safetensors", **trained, "noise": noise}, "Standard")


@experiment(
    "table3",
    "Relative mCE of classifiers on both benchmarks",
    claim="VGG-19, ResNet-50 and WideResNet-50-2 beat AlexNet on ImageNet-NOC, but not on ImageNet-C.",
    minutes=10,
    after=("fig1",),
    needs=("imagenet",),
    small_needs=SMALL_NEEDS,
    cost=ZOO_COST,
)
def table3(setting: Setting) -> Outcome:
    """The last columns of Tables 5 and 6 beside each other."""
    zoo, table = torchvision_zoo(setting), published_table("noc-table3")
    means = zoo.means()
    ours = [
        {"model": model, "ImageNet-C": c, "ImageNet-NOC": noc}
        for model, (c, noc) in zip(zoo.models, means, strict=True)
    ]
    columns = {
        "imagenet_c_relative_mCE": "published ImageNet-C",
        "imagenet_noc_relative_mCE": "published ImageNet-NOC",
    }
    rows = _beside(ours, _published_rows(table, columns))
    printed = {row["model"]: (row["published ImageNet-C"], row["published ImageNet-NOC"]) for row in rows}
    theirs = [model for model, (c, noc) in printed.items() if c is not None and noc < 100 <= c]
    split = [model for model, (c, noc) in zip(zoo.models[1:], means[1:], strict=True) if noc < 100 <= c]
    verdict = (
        f"Of {len(means) - 1} models besides the reference {zoo.models[0]}, {len(split)} beat it on ImageNet-NOC and "
        f"not on ImageNet-C ({listed(split)}); in the paper {len(theirs)} of {len(table) - 1} ({listed(theirs)}). The "
        f"two columns order the models with a Spearman correlation of {spearman(*means.T).value:.2f} here, and of "
        f"{spearman(*table.numbers(*columns).T).value:.2f} in the paper."
    )
    agreement = [] if setting.small else _column_agreement(rows, ("ImageNet-C", "ImageNet-NOC"))
    return Outcome(verdict, {"models": rows}, agreement, _zoo_differs(setting, zoo))


@experiment(
    "table4",
    "Robust models on ImageNet-NOC",
    claim="SIN+IN, ANT3x3 and DeepAugment are not robust to border; the ranks on the two benchmarks differ.",
    minutes=1.5,
    after=("fig1",),
    needs=("imagenet", "checkpoints"),
    small_needs=SMALL_NEEDS,
    cost="5 models",
)
def table4(setting: Setting) -> Outcome:
    """Relative CE on ImageNet-NOC, its mean, the plain mCE on ImageNet-C, and the ranks by both."""
    zoo, table = robust_zoo(setting), published_table("noc-table4")
    noc, c = zoo.means()[:, 1], zoo.plain_mce()
    ranks = [np.argsort(np.argsort(column)) + 1 for column in (noc, c)]
    rows = _zoo_rows(zoo, 1, table)
    more = ("imagenet_noc_relative_mCE", "imagenet_noc_rank", "imagenet_c_mCE", "imagenet_c_rank")
    titles = ("NOC relative mCE", "NOC rank", "ImageNet-C mCE", "ImageNet-C rank")
    for place, row in enumerate(rows[: len(zoo.models)]):
        row |= dict(zip(titles, (noc[place], int(ranks[0][place]), c[place], int(ranks[1][place])), strict=True))
    printed = _published_rows(table, dict(zip(more, (f"published {title}" for title in titles), strict=True)))
    rows = _beside(rows, printed)
    border = names_of(zoo.recipes[1]).index("noc/border")
    scores = zoo.scores(1)[:, border]
    weak = [model for model, one in zip(zoo.models[1:], scores[1:], strict=True) if one >= scores[0]]
    moved = [model for model, a, b in zip(zoo.models, *ranks, strict=True) if a != b]
    theirs = table.numbers("border")
    verdict = (
        f"Not more robust to border than the standard model: {listed(weak)} of {len(zoo.models) - 1} robust ones; in "
        f"the paper {listed(np.array(table.text('model'))[theirs > theirs[0]])}. {len(moved)} of {len(zoo.models)} "
        f"models have another rank on ImageNet-NOC than on ImageNet-C ({listed(moved)}), in the paper "
        f"{int((table.numbers('imagenet_noc_rank') != table.numbers('imagenet_c_rank')).sum())} of {len(table)}."
    )
    agreement = [] if setting.small else _column_agreement(rows, ("NOC relative mCE", "ImageNet-C mCE"))
    return Outcome(verdict, {"models": rows}, agreement, _zoo_differs(setting, zoo))


@experiment(
    "table5",
    "Relative CE of classifiers on ImageNet-C",
    claim="All but the DenseNets lose more than AlexNet under ImageNet-C on average.",
    minutes=0.2,
    after=("table3",),
    needs=("imagenet",),
    small_needs=SMALL_NEEDS,
    cost=ZOO_COST,
)
def table5(setting: Setting) -> Outcome:
    """A row for each model, a column for each corruption."""
    return _zoo_table(setting, 0, "noc-table5")


@experiment(
    "table6",
    "Relative CE of classifiers on ImageNet-NOC",
    claim="All but SqueezeNet and VGG-11 lose less than AlexNet under ImageNet-NOC on average.",
    minutes=0.2,
    after=("table3",),
    needs=("imagenet",),
    small_needs=SMALL_NEEDS,
    cost=ZOO_COST,
)
def table6(setting: Setting) -> Outcome:
    """The same for the other benchmark."""
    return _zoo_table(setting, 1, "noc-table6")


def _zoo_table(setting: Setting, which: int, name: str) -> Outcome:
    zoo, table = torchvision_zoo(setting), published_table(name)
    rows, means = _zoo_rows(zoo, which, table), zoo.means()[:, which]
    for row, mean in zip(rows, means, strict=False):
        row["relative mCE"] = mean
    rows = _beside(rows, _published_rows(table, {"relative_mCE": "published relative mCE"}))
    printed = table.numbers("relative_mCE")[1:]
    worse = [model for model, mean in zip(zoo.models[1:], means[1:], strict=True) if mean > 100]
    theirs = [model for model, mean in zip(table.text("model")[1:], printed, strict=True) if mean > 100]
    recipe = ("ImageNet-C", "ImageNet-NOC")[which]
    verdict = (
        f"On {recipe} {len(worse)} of {len(means) - 1} models lose more than the reference {zoo.models[0]} "
        f"({listed(worse)}); in the paper {len(theirs)} of {len(printed)} lose more than AlexNet ({listed(theirs)})."
    )
    agreement = [] if setting.small else _column_agreement(rows, (*map(plain_name, names_of(zoo.recipes[which])),))
    return Outcome(verdict, {"models": rows}, agreement, _zoo_differs(setting, zoo))


def _zoo_rows(zoo: Zoo, which: int, table: Table) -> list[dict[str, Any]]:
    """A row for each model: its relative CE under each corruption, ours and the printed."""
    members = names_of(zoo.recipes[which])
    ours = []
    for model, clean, row in zip(zoo.models, zoo.clean, zoo.scores(which), strict=True):
        numbers = {plain_name(name): float(one) for name, one in zip(members, row, strict=True)}
        ours.append({"model": model, "clean error": 100 * float(clean), **numbers})
    return _beside(
        ours, _published_rows(table, {plain_name(name): f"published {plain_name(name)}" for name in members})
    )


def _published_rows(table: Table, columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of a published table of models, with some of its columns under other names."""
    values = table.numbers(*columns)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    models = table.text("model")
    return [
        {"model": model, **dict(zip(columns.values(), map(float, row), strict=True))}
        for model, row in zip(models, values, strict=True)
    ]


def _beside(ours: list[dict[str, Any]], published: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Our rows, with the published numbers of the same models beside them, and those of other models below."""
    rows = {row["model"]: dict(row) for row in ours}
    for row in published:
        rows.setdefault(row["model"], {"model": row["model"]}).update(row)
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    return [{column: row.get(column) for column in columns} for row in rows.values()]


def _column_agreement(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[Estimate]:
    """The agreement of columns with their published ones over all models."""
    both = [(row.get(name), row.get(f"published {name}")) for name in columns for row in rows]
    known = [pair for pair in both if None not in pair]
    ours, published = zip(*known, strict=True) if known else ((), ())
    return agreement_of(ours, published, "all models")


def _zoo_differs(setting: Setting, zoo: Zoo) -> list[str]:
    more = [
        f"other models: {', '.join(zoo.models)}; {zoo.references[0].name} takes AlexNet's place",
        "a published row and one of ours are different models, so that no agreement is computed",
    ]
    return differences(setting, *(more if setting.small else []), trained=False)

"""Members, drops and groups of benchmarks by names and files, as a command line or a script gives them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError
from brittle.benchmarks import (
    SEQUENCE_BENCHMARKS,
    Benchmark,
    load_benchmark,
    load_sequence_benchmark,
)
from brittle.design.clustering import Categories, load_categories
from brittle.design.correlation import Drops, load_drops, load_shift_drops, read_drops
from brittle.design.covering import (
    Reference,
    SingleScores,
    alexnet_reference,
    benchmark_of,
    fits_alexnet,
    members_in,
    run_reference,
    single_scores,
)
from brittle.design.matrix import OverlapMatrix
from brittle.design.overlap import is_recipe, split_names
from brittle.design.sampling import balanced, by_imbalance, possible_benchmarks, unbalanced
from brittle.evaluation import Results, decoded_images, load_results


def named_members(benchmark: str, names: Sequence[str]) -> tuple[str, ...]:
    """The corruptions of a recipe, or of a text with commas, as a matrix or a table names them; see `members_in`."""
    return members_in(load_benchmark(benchmark) if is_recipe(benchmark) else split_names(benchmark), names)


def benchmark_title(benchmark: str) -> str:
    """The name of a recipe, or the text with commas itself."""
    return load_benchmark(benchmark).name if is_recipe(benchmark) else benchmark


def built_benchmark(
    members: Sequence[str],
    measured: Benchmark | None,
    *,
    levels_from: str | Path | None = None,
    name: str,
    title: str = "",
    source: str = "",
) -> Benchmark:
    """A recipe of these corruptions at the levels at which they were `measured`, or at those of another recipe."""
    candidates = measured if levels_from is None else load_benchmark(levels_from)
    if candidates is None:
        raise BrittleError(
            "it is not known at which levels these corruptions were measured; give a folder of "
            "`brittle design overlap`, which knows, or a recipe that has them by `levels_from`"
        )
    return benchmark_of(members, candidates, name=name, title=title, source=source)


def without_masked(overlap: OverlapMatrix) -> OverlapMatrix:
    """The matrix without corruptions all of whose overlaps are masked; the same if fewer than two would be left."""
    masked = np.isnan(overlap.scores).sum(axis=1) == len(overlap) - 1
    names = [name for name, is_masked in zip(overlap.names, masked, strict=True) if not is_masked]
    return overlap if len(names) < 2 or len(names) == len(overlap) else overlap.subset(names)


def folder_balance(
    overlap: str | Path, benchmarks: Sequence[str] | None = None, *, reference: str | Path | None = None
) -> dict[str, SingleScores]:
    """Whether benchmarks weigh their corruptions alike, from a folder of `brittle design overlap`; see `single_scores`.

    Args:
        overlap: the folder.
        benchmarks: recipes by their names or files, or names of candidates with commas; all candidates by default.
        reference: "alexnet" for its published errors, "standard" for the standard model of the folder, or the folder
            of a run of another model; by default alexnet where its errors are valid, else standard.
    """
    from brittle.design.overlap_training import correct_cube

    folder = Path(overlap)
    if not (folder / "overlap.json").is_file() or not (folder / "run").is_dir():
        raise FileNotFoundError(
            f"{str(folder)!r} holds no models trained with one corruption each; `brittle design overlap` makes such a "
            "folder"
        )
    results = load_results(folder / "run")
    recipe = results.benchmarks()[0]
    names, correct = tuple(entry.id for entry in recipe.entries), correct_cube(results, recipe)
    members = (
        {recipe.name: names}
        if benchmarks is None
        else {benchmark_title(each): named_members(each, names) for each in benchmarks}
    )
    used = tuple(entry for entry in recipe.entries if any(entry.id in each for each in members.values()))
    divisor = _find_reference(reference, results, recipe, replace(recipe, entries=used))
    return {title: single_scores(correct, names, each, reference=divisor) for title, each in members.items()}


def _find_reference(
    reference: str | Path | None, results: Results, recipe: Benchmark, used: Benchmark
) -> Reference | None:
    """The model whose errors divide those under the candidates in use; None is the standard model of the folder."""
    if reference is None:
        run = results.runs[0]
        images = decoded_images(run.folder)
        if images is None:
            raise BrittleError(
                f"the images of the run {str(run.folder)!r} are missing or damaged, so it is not known which reference "
                "fits them; repeat its command, or give a `reference`"
            )
        side = int(min(images.shape[1:3]))
        reference = "alexnet" if fits_alexnet(used, run.classes, side) else "standard"
    if reference == "standard":
        return None
    if reference == "alexnet":
        return alexnet_reference(used)
    if not Path(reference).is_dir():
        raise FileNotFoundError(f"a reference is alexnet, standard or the folder of a run, got {str(reference)!r}")
    return run_reference(load_results(reference), recipe)


def paired_drops(
    synthetic: Sequence[str | Path],
    natural: Mapping[str, str | Path] | None = None,
    *,
    clean: Mapping[str, str | Path] | None = None,
    natural_csv: str | Path | None = None,
) -> tuple[Drops, Drops]:
    """The drops under corruptions and on natural shifts of the models that both sides have, in the same order.

    `synthetic` are runs or one .csv of drops; the natural shifts are runs by the names of the shifts, or one .csv.
    `clean` are runs on clean images of the same classes, for shifts that have only some of those of the synthetic runs.
    """
    if (natural_csv is None) == (not natural):
        raise BrittleError("give the natural shifts as `natural`, each NAME=RUN, or all in the file `natural_csv`")
    corrupted = load_drops(synthetic)
    shifted = load_shift_drops(natural or {}, synthetic, clean) if natural_csv is None else read_drops(natural_csv)
    shared = [model for model in corrupted.models if model in shifted.models]
    if len(shared) < 3:
        raise BrittleError(
            f"a correlation needs three models or more on both sides, got {len(shared)} "
            f"({', '.join(shared) or 'none'}); synthetic: {', '.join(corrupted.models)}; "
            f"natural: {', '.join(shifted.models)}"
        )
    return corrupted.of(shared), shifted.of(shared)


def read_benchmarks(path: str | Path) -> list[tuple[str, ...]]:
    """The benchmarks of a .csv file, one in each row, as `design build balanced` writes them."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file of benchmarks {str(path)!r}; `brittle design build balanced … -o FILE.csv` writes one"
        )
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [tuple(name.strip() for name in row if name.strip()) for row in csv.reader(lines)]
    found = [row for row in rows if row]
    if not found:
        raise BrittleError(f"{str(path)!r} has no benchmarks; write the corruptions of one benchmark in each row")
    return found


def benchmark_groups(
    names: Sequence[str],
    *,
    categories: str | Path | None = None,
    nk: Sequence[tuple[int, int]] = (),
    benchmarks: Sequence[str | Path] = (),
    count: int = 1000,
    substitutions: int = 0,
    seed: int = 0,
) -> dict[str, list[tuple[str, ...]]]:
    """Groups of benchmarks whose drops are correlated with natural shifts, by their titles.

    For each (n, k) up to `count` benchmarks with k corruptions of each of n categories are drawn. With `substitutions`
    there are further groups with what 1 to so many substitutions make of them, by their imbalance, as in Table 3 of
    Syn2Nat. Each of `benchmarks` is a group of one, or of all benchmarks in a .csv file of `design build balanced`.
    `names` are the corruptions whose drops are known.
    """
    if substitutions < 0 or (substitutions and not nk):
        raise BrittleError(
            f"--substitutions is a whole number from 1, with --categories and --nk, whose benchmarks are changed; got "
            f"{substitutions}"
        )
    if bool(nk) != (categories is not None):
        raise BrittleError("`nk` and `categories` belong together: which categories, and how many of each")
    if not nk and not benchmarks:
        raise BrittleError("say which benchmarks: `categories` and `nk`, such as 6,3, or a `benchmark`")
    groups: dict[str, list[tuple[str, ...]]] = {}
    if categories is not None:
        stored = load_categories(categories)
        known = Categories({name: members_in(group, names) for name, group in stored.members.items()})
        for n, k in nk:
            drawn = balanced(known, n, k, count=min(count, possible_benchmarks(known, n, k)), seed=seed)
            groups[f"({n},{k})"] = drawn
            changed = unbalanced(drawn, known, times=range(1, substitutions + 1), seed=seed)
            groups |= {f"({n},{k}) std {std:.1f}": group for std, group in by_imbalance(changed, known).items()}
    for each in benchmarks:
        if each in SEQUENCE_BENCHMARKS:
            groups[str(each)] = [members_in(load_sequence_benchmark(str(each)).perturbations, names)]
            continue
        if Path(each).suffix == ".csv":
            groups[Path(each).stem] = [members_in(one, names) for one in read_benchmarks(each)]
            continue
        recipe = load_benchmark(each)
        groups[recipe.name] = [members_in(recipe, names)]
    return groups

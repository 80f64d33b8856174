"""One table or figure of a paper as an experiment: what it needs, what it costs, and what it finds."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal

from brittle._errors import BrittleError, did_you_mean
from brittle._identity import digest
from brittle._io import atomic_write, locked, make_folder
from brittle._types import Progress, check_seed
from brittle.metrics import Estimate

if TYPE_CHECKING:
    from brittle.datasets import Dataset

PAPERS = {
    "noc": "Increasing the Coverage and Balance of Robustness Benchmarks by Using Non-Overlapping Corruptions",
    "syn2nat": "Using Synthetic Corruptions to Measure Robustness to Natural Distribution Shifts",
    "msd": "On Interaction Between Augmentations and Corruptions in Natural Corruption Robustness (MSD, C-bar)",
    "cns": "CNS-Bench: Benchmarking Model Robustness Under Continuous Nuisance Shifts",
}
"""The papers, by the name of the module that holds their experiments."""

Scale = Literal["small", "paper"]
Rows = Sequence[Mapping[str, Any]]

FETCHED = {"cifar10": "fetch_cifar10", "fashion-mnist": "fetch_fashion_mnist"}
"""Data that are fetched if no path is given, with the function of `brittle.datasets` that does it."""

WITHIN = {"imagenet-100": "imagenet"}
"""Data that are part of others, so that the path of the others is enough."""


@dataclass(frozen=True)
class Setting:
    """Where and how an experiment runs: its folder, its scale, the data that were given, seed and device.

    Experiments of one paper share what takes long: `work` names a folder for it, which the functions that train and
    evaluate resume by themselves. `training` holds settings of trainings that were asked to differ, such as
    `{"epochs": 2}`; an experiment gives them to `training_config` or `training_plan` last.
    """

    folder: Path
    scale: Scale = "small"
    paths: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    engine: str = "local"
    address: str | None = None
    progress: Progress | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.folder, self.scale, self.seed, *sorted(self.paths.items())))

    @property
    def small(self) -> bool:
        """Whether two cores must finish this in minutes."""
        return self.scale == "small"

    def work(self, name: str) -> Path:
        """A folder that experiments share, such as the one with the models of an overlap matrix.

        Each scale, seed and set of changed training settings has its own.
        """
        changed = digest(dict(self.training), length=8) if self.training else ""
        seed = f"seed{self.seed}" if self.seed else ""
        return self.folder / "work" / "-".join(part for part in (self.scale, seed, changed) if part) / name

    def path(self, name: str) -> str:
        """The path that was given for some data, or for those that they are part of."""
        for given in (name, WITHIN.get(name, name)):
            if given in self.paths:
                return self.paths[given]
        raise BrittleError(f"this needs {name}, and no path was given for it; give paths={{{name!r}: FOLDER}}")

    def data(self, name: str, *, train: bool = False, limit: int | None = None, prepare: str | None = None) -> Dataset:
        """A part of some data, or so many images evenly over it; what can be fetched is, unless a path was given.

        `prepare` says how photographs are brought to one size, see `load_dataset`.
        """
        from brittle import datasets

        if name in FETCHED and name not in self.paths:
            fetch = getattr(datasets, FETCHED[name])
            folder = fetch(self.folder.parent / "data" / name, progress=self.progress)
        else:
            folder = Path(self.path(name))
        return _loaded(f"{name}:{folder}", train, prepare).limited(limit)


def plain_name(corruption: str) -> str:
    """A corruption's name without its set."""
    return corruption.rpartition("/")[2]


@lru_cache(maxsize=4)
def _loaded(spec: str, train: bool, prepare: str | None) -> Dataset:
    """Data that were read once: the experiments of one call share them."""
    from brittle.datasets import load_dataset

    return load_dataset(spec, train=train or None, prepare=prepare)  # to test, a folder of classes is enough


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    A column whose name begins with "published" holds the paper's numbers, and stands beside ours. `agreement` says how
    near both are, `differs` what was done otherwise than in the paper, and `figures` holds Axes, or pictures of Pillow,
    by name.
    """

    verdict: str
    tables: Mapping[str, Rows] = field(default_factory=dict)
    agreement: Sequence[Estimate] = ()
    differs: Sequence[str] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    `claim` is what the paper reads from it. `minutes` is the time at small scale on two cores, if those experiments are
    finished that `after` names: they train or measure what this one shares, and it does so itself if they were not run.
    `needs` names the data at the scale of the paper, and `cost` what that takes. `optional` are data that may be given
    there, each with those of the needs that it replaces: published images need not be drawn again.
    """

    paper: str
    name: str
    title: str
    claim: str
    run: Callable[[Setting], Outcome]
    minutes: float
    needs: tuple[str, ...] = ()
    small_needs: tuple[str, ...] = ()
    cost: str = ""
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    after: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name with the paper's, such as `noc/table7`."""
        return f"{self.paper}/{self.name}"

    @property
    def module(self) -> str:
        """The module that it stands in."""
        return self.run.__module__

    def missing(self, setting: Setting) -> list[str]:
        """The data for which a path is still to be given."""
        needs = self.small_needs if setting.small else self.needs
        given = {*setting.paths, *FETCHED}
        for name in {*self.optional} & {*setting.paths}:
            given |= {*self.optional[name]}
        return [name for name in needs if not {name, WITHIN.get(name)} & given]


@dataclass(frozen=True)
class Finding:
    """An experiment that was run: its outcome as it is stored, with the files of its tables and figures."""

    experiment: str
    title: str
    claim: str
    scale: Scale
    seed: int
    key: str
    seconds: float
    verdict: str
    tables: Mapping[str, Rows]
    agreement: Sequence[Mapping[str, Any]]
    differs: Sequence[str]
    figures: Sequence[str]

    @property
    def paper(self) -> str:
        """The name of its paper."""
        return self.experiment.partition("/")[0]

    @property
    def name(self) -> str:
        """The name within its paper."""
        return self.experiment.partition("/")[2]


_EXPERIMENTS: dict[str, Experiment] = {}


def experiment(
    name: str,
    title: str,
    *,
    claim: str,
    minutes: float,
    needs: Iterable[str] = (),
    small_needs: Iterable[str] = (),
    cost: str = "",
    optional: Mapping[str, Iterable[str]] | None = None,
    after: Iterable[str] = (),
) -> Callable[[Callable[[Setting], Outcome]], Callable[[Setting], Outcome]]:
    """Register a function as an experiment of the paper whose module it stands in: `noc.py`, or `noc_models.py`."""

    def register(run: Callable[[Setting], Outcome]) -> Callable[[Setting], Outcome]:
        paper = run.__module__.rpartition(".")[2].partition("_")[0]
        may = {each: tuple(replaced) for each, replaced in (optional or {}).items()}
        data = tuple(needs), tuple(small_needs)
        one = Experiment(paper, name, title, claim, run, minutes, *data, cost, may, tuple(after))
        if one.id in _EXPERIMENTS:
            raise ValueError(f"two experiments are called {one.id}")
        _EXPERIMENTS[one.id] = one
        return run

    return register


def list_experiments(paper: str | None = None) -> list[Experiment]:
    """All experiments, or those of one paper, in the order in which the paper shows them."""
    if paper is not None and paper not in PAPERS:
        raise BrittleError(f"there is no paper {paper!r}{did_you_mean(paper, PAPERS)}; there are {', '.join(PAPERS)}")
    for name in PAPERS:
        for module in _modules(name):
            import_module(f"brittle.papers.{module}")
    found = []
    for name in PAPERS if paper is None else [paper]:
        order = [f"brittle.papers.{module}" for module in _modules(name)]
        of_paper = [one for one in _EXPERIMENTS.values() if one.paper == name]
        found += sorted(of_paper, key=lambda one: order.index(one.module) if one.module in order else len(order))
    return found


@cache
def _modules(paper: str) -> list[str]:
    """The modules of a paper, `noc` first and then such as `noc_appendix`."""
    found = [module.name for module in iter_modules([str(Path(__file__).parent)])]
    return [paper, *sorted(name for name in found if name.startswith(f"{paper}_"))]


def find_experiments(paper: str, names: Sequence[str] = ()) -> list[Experiment]:
    """Experiments of a paper by name; none named, or `all`, are all of them."""
    known = {one.name: one for one in list_experiments(paper)}
    for name in names:
        if name != "all" and name not in known:
            hint = did_you_mean(name, known)
            raise BrittleError(f"{paper} has no experiment {name!r}{hint}; it has {', '.join(known)}, and all")
    return list(known.values()) if not names or "all" in names else [known[name] for name in dict.fromkeys(names)]


def reproduce(
    paper: str,
    names: Sequence[str] | str = (),
    output: str | Path = "reproduced",
    *,
    scale: Scale = "small",
    paths: Mapping[str, str | Path] | None = None,
    seed: int = 0,
    device: str = "auto",
    engine: str = "local",
    address: str | None = None,
    training: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> list[Finding]:
    """Repeat experiments of a paper, and write tables, figures and a page with ours beside the published numbers.

    The folder gets a subfolder for each experiment with its tables (CSV) and figures (SVG, PDF), and `index.html` and
    `findings.md` over all that are finished in it. What is finished is not done again, and what was interrupted goes on
    where it stopped. `paths` says where data are, such as `{"imagenet": "/data/imagenet"}`, and `training` which
    settings of all trainings are not the paper's, such as `{"epochs": 2}`.

    >>> from brittle.papers import reproduce
    >>> found = reproduce("noc", ["fig2"], "found")
    >>> found[0].experiment
    'noc/fig2'
    """
    if scale not in ("small", "paper"):
        raise BrittleError(f"the scale is small or paper, got {scale!r}")
    from brittle.papers.page import write_page

    chosen = find_experiments(paper, [names] if isinstance(names, str) else names)
    given = {name: str(path) for name, path in (paths or {}).items()}
    _check_paths(given)
    folder, changed = Path(output), dict(training or {})
    _check_training(changed)
    setting = Setting(folder / paper, scale, given, check_seed(seed), device, engine, address, progress, changed)
    _check_needs(chosen, setting)
    found = []
    make_folder(folder)
    for number, one in enumerate(chosen):
        if progress is not None:
            progress(f"{one.id}", number, len(chosen))
        found.append(_run(one, setting, overwrite=overwrite))
        write_page(folder)
    if progress is not None:
        progress(paper, len(chosen), len(chosen))
    return found


def read_findings(folder: str | Path) -> list[Finding]:
    """All finished experiments of a folder, in the order of the papers."""
    found = []
    for one in list_experiments():
        path = Path(folder) / one.paper / one.name / "finding.json"
        if path.is_file():
            found.append(_read(path))
    return found


def _check_paths(paths: Mapping[str, str]) -> None:
    asked = {name for one in list_experiments() for name in (*one.needs, *one.small_needs, *one.optional)}
    known = sorted({*asked, *FETCHED, *(WITHIN[name] for name in asked & {*WITHIN})})
    for name, path in paths.items():
        if name not in known:
            raise BrittleError(f"no experiment asks for {name!r}{did_you_mean(name, known)}; paths: {', '.join(known)}")
        if not Path(path).exists():
            raise FileNotFoundError(f"the path of {name} does not exist: {path!r}")


def _check_training(settings: Mapping[str, Any]) -> None:
    if settings:
        from brittle.training import TrainingConfig, changed_config

        changed_config(TrainingConfig(), **settings)


def _check_needs(chosen: Sequence[Experiment], setting: Setting) -> None:
    missing = {one.id: needs for one in chosen if (needs := one.missing(setting))}
    if missing:
        name, needs = next(iter(missing.items()))
        more = "" if len(missing) == 1 else f" (and {len(missing) - 1} more experiments need data)"
        listed, form = ", ".join(needs), f"`paths={{{needs[0]!r}: FOLDER}}`, or --path {needs[0]}=FOLDER"
        raise BrittleError(f"{name} at scale {setting.scale} needs {listed}{more}; give the path of each: {form}")


def _run(one: Experiment, setting: Setting, *, overwrite: bool) -> Finding:
    folder = setting.folder / one.name
    about = {"experiment": one.id, "scale": setting.scale, "seed": setting.seed, "paths": _paths_of(one, setting)}
    key = digest(about | ({"training": dict(setting.training)} if setting.training else {}))
    path = folder / "finding.json"
    make_folder(folder)
    with locked(folder):
        if path.is_file() and not overwrite:
            stored = _read(path)
            if stored.key == key:
                return stored
        clock = time.perf_counter()
        outcome = one.run(setting)
        return _write(one, setting, outcome, folder, key, time.perf_counter() - clock)


def _paths_of(one: Experiment, setting: Setting) -> dict[str, str]:
    needs = one.small_needs if setting.small else (*one.needs, *one.optional)
    used = {*needs, *(WITHIN[name] for name in needs if name in WITHIN and name not in setting.paths)}
    return {name: path for name, path in setting.paths.items() if name in used}


def _write(one: Experiment, setting: Setting, outcome: Outcome, folder: Path, key: str, seconds: float) -> Finding:
    from PIL import Image as Pil

    from brittle.plots import save_figure

    figures = []
    for name, drawn in outcome.figures.items():
        if isinstance(drawn, Pil.Image):
            with atomic_write(folder / f"{name}.png") as temporary:
                drawn.save(temporary, format="PNG")
            figures.append(f"{name}.png")
            continue
        for ending in ("svg", "pdf"):
            save_figure(drawn, folder / f"{name}.{ending}")
        figures.append(f"{name}.svg")
    tables = {name: [_plain(row) for row in rows] for name, rows in outcome.tables.items()}
    for name, rows in tables.items():
        _write_csv(rows, folder / f"{name}.csv")
    finding = Finding(
        experiment=one.id,
        title=one.title,
        claim=one.claim,
        scale=setting.scale,
        seed=setting.seed,
        key=key,
        seconds=round(seconds, 1),
        verdict=outcome.verdict,
        tables=tables,
        agreement=[_plain(asdict(each)) for each in outcome.agreement],
        differs=[*outcome.differs, *(f"{name} = {value} by request" for name, value in setting.training.items())],
        figures=figures,
    )
    with atomic_write(folder / "finding.json") as temporary:
        temporary.write_text(json.dumps(asdict(finding), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return finding


def _write_csv(rows: Rows, path: Path) -> None:
    import polars as pl

    with atomic_write(path) as temporary:
        pl.DataFrame(list(rows), infer_schema_length=None).write_csv(temporary)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of plain numbers and texts: what NumPy made becomes Python's, and what is not finite becomes None."""

    def value(one: Any) -> Any:
        one = one.item() if hasattr(one, "item") else one
        return None if isinstance(one, float) and not math.isfinite(one) else one

    return {str(name): value(one) for name, one in row.items()}


def _read(path: Path) -> Finding:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Finding(**stored)
    except (OSError, ValueError, TypeError) as error:
        raise BrittleError(f"{str(path)!r} is damaged ({error}); remove it, and the experiment is done again") from None

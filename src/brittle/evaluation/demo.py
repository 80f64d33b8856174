"""The demo: two bundled models, two benchmarks and two rules, with nothing to fetch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from brittle._io import atomic_write
from brittle._types import Progress
from brittle.datasets import load_dataset
from brittle.evaluation.results import Results
from brittle.evaluation.rules.checks import Outcome, check_rules
from brittle.evaluation.rules.rule import load_rules
from brittle.evaluation.run import evaluate

DEMO_BENCHMARKS = ("cifar10-c", "cifar10-c-bar")
DEMO_MODELS = ("demo:standard", "demo:augmix")
QUICK = 100

RULES = """\
# What a model must keep to pass `brittle check`; docs/how-to/check.md says what else a rule can ask for.

[[rule]]
name = "usable in bad weather"
benchmark = "cifar10-c"
family = "weather"
metric = "accuracy"
at_least = 0.60

[[rule]]
name = "sees through strong noise"
benchmark = "cifar10-c"
family = "noise"
severity = 5
metric = "accuracy"
at_least = 0.50
"""
"""With a few hundred images both models pass the first, and the one that was trained plainly fails the second."""


@dataclass(frozen=True)
class Demo:
    """What `run_demo` made: the run's folder, its results, the file of rules, and their outcomes."""

    folder: Path
    results: Results
    rules: Path
    outcomes: list[Outcome]


def demo_limit(limit: int | None = None, *, quick: bool = False) -> int | None:
    """The number of images of the demo: 100 at most if it is to be `quick`, and None for all 1,000."""
    return min(QUICK if limit is None else limit, QUICK) if quick else limit


def demo_folder(limit: int | None = None) -> Path:
    """The folder of the demo: `demo`, or `demo-N` with a limit of N images, so that runs of two sizes are apart."""
    return Path("demo" if limit is None else f"demo-{len(load_dataset('demo').limited(limit))}")


def run_demo(
    folder: str | Path | None = None,
    *,
    limit: int | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> Demo:
    """Run two bundled models on 1,000 bundled CIFAR-10 images through CIFAR-10-C and C-bar; check two rules.

    >>> import tempfile
    >>> from brittle.evaluation import run_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     demo = run_demo(folder, limit=2)
    ...     demo.results.models, demo.outcomes[0].rule.name
    (['demo-augmix', 'demo-standard'], 'usable in bad weather')

    `brittle.write_report(demo.results, "report.html")` then writes the page.

    Args:
        folder: of the run and its rules.toml; by default that of `demo_folder`. An existing one is resumed.
        limit: the number of images, evenly over the data.
        quick: use 100 images only.
    """
    limit = demo_limit(limit, quick=quick)
    place = demo_folder(limit) if folder is None else Path(folder)
    data = load_dataset("demo").limited(limit)
    for benchmark in DEMO_BENCHMARKS:
        results = evaluate(list(DEMO_MODELS), data, benchmark, place, batch_size=128, progress=progress)
    rules = place / "rules.toml"
    with atomic_write(rules) as part:
        part.write_text(RULES, encoding="utf-8")
    return Demo(place, results, rules, check_rules(results, load_rules(rules)))

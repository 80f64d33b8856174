"""`brittle demo`: the whole way once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle._io import atomic_write
from brittle.cli.check import print_outcomes
from brittle.cli.console import OUTPUT_FOLDER, compile_first, console, interrupted, progress_bar
from brittle.cli.inputs import follow, load_data
from brittle.cli.options import option
from brittle.cli.scores import print_scores

BENCHMARKS = ("cifar10-c", "cifar10-c-bar")
MODELS = ("standard", "augmix")

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

EXAMPLES = (
    ("brittle demo", "to demo/report.html, in a few minutes"),
    ("brittle demo --quick", "with 100 images, to demo-100/report.html, in a tenth of the time"),
)


def demo_verb(
    output: Annotated[
        Path | None,
        option("--output", help="The run's folder.", show_default="demo, or demo-N with a limit of N"),
    ] = None,
    limit: Annotated[int | None, option("--limit")] = None,
    quick: Annotated[bool, option("--quick")] = False,
) -> None:
    """Run two bundled models on 1,000 bundled CIFAR-10 images through CIFAR-10-C and C-bar, and write the report.

    One model was trained plainly, one with AugMix; the report shows what that bought, and a check of two rules, which
    are written beside it, shows what would stop a build. Nothing is fetched.
    """
    import brittle
    from brittle.evaluation import check_rules, load_rules
    from brittle.models import demo_model
    from brittle.report import write_report

    if quick:
        limit = QUICK if limit is None else min(limit, QUICK)
    models = [demo_model(name) for name in MODELS]
    data = load_data("demo", limit=limit)
    output = output or Path("demo" if limit is None else f"demo-{len(data)}")
    OUTPUT_FOLDER.set(output)
    benchmarks = [brittle.load_benchmark(name) for name in BENCHMARKS]
    compile_first(entry.corruption for benchmark in benchmarks for entry in benchmark.entries)
    with progress_bar() as bar:
        try:
            for benchmark in benchmarks:
                progress = follow(bar, "images")
                results = brittle.evaluate(models, data, benchmark, output, batch_size=128, progress=progress)
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    print_scores(results)
    rules = output / "rules.toml"
    with atomic_write(rules) as part:
        part.write_text(RULES, encoding="utf-8")
    console().print("\n[bold]two rules, checked[/]")
    print_outcomes(check_rules(results, load_rules(rules)))
    report = write_report(results, output / "report.html", title="Two small ResNets on CIFAR-10-C and C-bar")
    console().print(
        f"\n{report}  [dim]open it in a browser; brittle compare {output} has the tables[/]", soft_wrap=True
    )
    console().print(
        f"brittle check {output} --rules {rules}  [dim]checks again; change a bound and see[/]", soft_wrap=True
    )

"""`brittle demo`: the whole way once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import compile_first, console, interrupted, progress_bar
from brittle.cli.run import follow, load_data
from brittle.cli.scores import print_scores

BENCHMARKS = ("cifar10-c", "cifar10-c-bar")
MODELS = ("standard", "augmix")

QUICK = 100

EXAMPLES = (
    ("brittle demo", "to demo/report.html, in a few minutes"),
    ("brittle demo --quick", "with 100 images, to demo-100/report.html, in a tenth of the time"),
)


def demo_verb(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The run's folder.", show_default="demo, or demo-N with a limit of N"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Number of images to use, evenly over the classes.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help=f"The same as --limit {QUICK}.")] = False,
) -> None:
    """Run two bundled models on 1,000 bundled CIFAR-10 images through CIFAR-10-C and C-bar, and write the report.

    One model was trained plainly, one with AugMix; the report shows what that bought. Nothing is fetched.
    """
    import brittle
    from brittle.models import demo_model
    from brittle.report import write_report

    if quick:
        limit = QUICK if limit is None else min(limit, QUICK)
    models = [demo_model(name) for name in MODELS]
    data = load_data("demo", limit, None, {})
    output = output or Path("demo" if limit is None else f"demo-{len(data)}")
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
    report = write_report(results, output / "report.html", title="Two small ResNets on CIFAR-10-C and C-bar")
    console().print(
        f"\n{report}  [dim]open it in a browser; brittle compare {output} has the tables[/]", soft_wrap=True
    )

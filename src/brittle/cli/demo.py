"""`brittle demo`: the whole way once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import console, interrupted, progress_bar, say_if_compiling
from brittle.cli.run import follow
from brittle.cli.scores import print_scores

BENCHMARKS = ("cifar10-c", "cifar10-c-bar")
MODELS = ("standard", "augmix")

EXAMPLES = (("brittle demo", "to demo/report.html, in a few minutes"),)


def demo_verb(
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder.")] = Path("demo"),
) -> None:
    """Run two bundled models on 1,000 bundled CIFAR-10 images through CIFAR-10-C and C-bar, and write the report.

    One model was trained plainly, one with AugMix; the report shows what that bought. Nothing is fetched.
    """
    import brittle
    from brittle.datasets import load_dataset
    from brittle.models import demo_model
    from brittle.report import write_report

    models = [demo_model(name) for name in MODELS]
    data = load_dataset("demo")
    say_if_compiling()
    with progress_bar() as bar:
        try:
            for name in BENCHMARKS:
                progress = follow(bar)
                results = brittle.evaluate(
                    models, data, brittle.benchmark(name), output, batch_size=128, progress=progress
                )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    print_scores(results)
    report = write_report(results, output / "report.html", title="Two small ResNets on CIFAR-10-C and C-bar")
    console().print(
        f"\n{report}  [dim]open it in a browser; brittle compare {output} has the tables[/]", soft_wrap=True
    )

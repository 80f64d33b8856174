"""`brittle demo`: the whole way once, with nothing to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle.cli.check import print_outcomes
from brittle.cli.console import OUTPUT_FOLDER, compile_first, console, hint, resumable_progress
from brittle.cli.inputs import follow
from brittle.cli.options import option
from brittle.cli.scores import print_scores
from brittle.cli.styles import BOLD, DIM, END

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

    One model was trained in the usual way, one with AugMix, and the report compares them. A check of two rules, which
    are written beside the report, shows what would stop a build. Nothing is downloaded.
    """
    from brittle.benchmarks import find_corruptions
    from brittle.evaluation import DEMO_BENCHMARKS, demo_folder, demo_limit, run_demo
    from brittle.report import write_report

    output = output or demo_folder(demo_limit(limit, quick=quick))
    OUTPUT_FOLDER.set(output)
    compile_first(corruption for name in DEMO_BENCHMARKS for corruption in find_corruptions(benchmark=name))
    with resumable_progress() as bar:
        demo = run_demo(output, limit=limit, quick=quick, progress=follow(bar, "images"))
        report = write_report(demo.results, output / "report.html", title="Two small ResNets on CIFAR-10-C and C-bar")
    print_scores(demo.results)
    console().print(f"\n{BOLD}two rules, checked{END}")
    print_outcomes(demo.outcomes)
    console().print(f"\n{report}  {DIM}open it in a browser{END}", soft_wrap=True)
    hint(f"brittle compare {output} has the tables")
    hint(f"brittle check {output} --rules {demo.rules} checks again; change a bound and see")

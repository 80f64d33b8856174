"""`brittle check`: rules that a run must keep, for builds that fail where a model does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, print_json, tell_files
from brittle.cli.options import option
from brittle.cli.scores import new_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.evaluation import Outcome

EXAMPLES = (
    ("brittle check run --rules rules.toml", "exit code 1 if a rule fails"),
    ("brittle check run --rules rules.toml --strict", "also if one is undecided"),
    ("brittle check run --rules may-lose.toml --against other-run", "bounds on the difference to another run"),
    ("brittle check run --rules rules.toml --junit check.xml --markdown check.md", "for a build server"),
)

STYLES = {"holds": ("✓ holds", "green"), "fails": ("✗ fails", "bold red"), "undecided": ("? undecided", "yellow")}

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the file of a build's summary page."""


def check_verb(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders that `brittle run` or `failure-points` wrote.")
    ],
    rules: Annotated[Path, option("--rules")],
    against: Annotated[
        Path | None,
        option("--against"),
    ] = None,
    strict: Annotated[bool, option("--strict")] = False,
    junit: Annotated[Path | None, option("--junit")] = None,
    markdown: Annotated[
        Path | None,
        option("--markdown"),
    ] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Check rules: a bound for a metric of a model, decided by its 95 % interval and never by the value alone.

    A rule holds if the whole interval satisfies the bound, fails if the whole interval violates it, and is undecided if
    the bound lies inside; the command then estimates how many images would decide it. Intervals are wide enough to hold
    for all rules at once (Bonferroni), so many rules do not fail by chance.

    The exit code is 0 if no rule fails, 1 if one does (with --strict also if one is undecided), and 2 if a rule asks
    for something that was not run.
    """
    from brittle._io import atomic_write
    from brittle.evaluation import check_rules, junit_xml, load_evidence, load_rules, markdown_summary, rules_hold

    evidence = load_evidence(*runs)
    outcomes = check_rules(evidence, load_rules(rules), None if against is None else load_evidence(against))
    passed = rules_hold(outcomes, strict=strict)
    if as_json:
        print_json({"passed": passed, "outcomes": [outcome.to_dict() for outcome in outcomes]})
    else:
        print_outcomes(outcomes, strict=strict)
    texts = [(junit, junit_xml(outcomes, strict=strict)), (markdown, markdown_summary(outcomes, strict=strict))]
    for path, text in texts:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as part:
                part.write_text(text, encoding="utf-8")
            if not as_json:
                tell_files(path)
    if os.environ.get(SUMMARY):
        with Path(os.environ[SUMMARY]).open("a", encoding="utf-8") as page:
            page.write(texts[1][1])
    if not passed:
        raise typer.Exit(1)


def print_outcomes(outcomes: Sequence[Outcome], *, strict: bool = False) -> None:
    """Print a table of the outcomes, what would decide each undecided one if `strict`, and their numbers."""
    from rich.text import Text

    from brittle.evaluation import interval_note, outcome_counts, rules_hold

    screen = console()
    difference = any(outcome.against for outcome in outcomes)
    table = new_table()
    table.add_column("rule", overflow="fold", ratio=3)
    table.add_column("model", overflow="fold", ratio=2)
    for title in ("difference" if difference else "value", "bound"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    shown = ""
    for outcome in outcomes:
        mark, style = STYLES[outcome.verdict]
        rule = Text(outcome.rule.title if outcome.rule.title != shown else "")
        if outcome.rule.name and outcome.rule.title != shown:
            rule.append(f"\n{outcome.rule.subject}", "dim")
        shown = outcome.rule.title
        value = Text.assemble(outcome.value, (f"\n{outcome.interval}", "dim"))
        verdict = Text(mark, style)
        if outcome.verdict == "undecided":
            needed = "at the bound" if outcome.images_needed is None else f"~ {outcome.images_needed:,} images"
            verdict.append(f"\n{needed}", "not bold dim")
        table.add_row(rule, outcome.model, value, outcome.bound.replace(", ", "\n"), verdict)
    screen.print(table)
    undecided = [outcome for outcome in outcomes if outcome.verdict == "undecided"]
    note = "; ~ is about how many would decide it" if any(outcome.images_needed for outcome in undecided) else ""
    screen.print(Text(f"{interval_note(outcomes)}{note}", "dim"))
    for outcome in undecided if strict else ():
        remedy = f", {outcome.model}: {outcome.remedy} ({outcome.estimate.n:,} now)."
        screen.print(Text.assemble((outcome.rule.title, "bold"), remedy))
    passed = rules_hold(outcomes, strict=strict)
    hint = " With --strict an undecided rule fails." if undecided and strict else ""
    screen.print(Text(f"{outcome_counts(outcomes)}.{hint}", "bold green" if passed else "bold red"))

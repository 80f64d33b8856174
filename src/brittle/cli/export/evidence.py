"""`brittle export evidence`: a file for a safety case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle.cli.console import tell_files
from brittle.cli.export.scores import RUNS
from brittle.cli.options import option

EXAMPLES = (
    ("brittle export evidence run --rules rules.toml -o evidence.html", "with the verdicts of its rules"),
    ("brittle export evidence run -o evidence.md", "as Markdown; .pdf is printed by an installed Chromium"),
)


def evidence_verb(
    runs: RUNS,
    output: Annotated[Path, option("--output", help="An .html, .md or .pdf file.")],
    benchmark: Annotated[str | None, option("--benchmark", show_default="all that the runs hold")] = None,
    rules: Annotated[Path | None, option("--rules")] = None,
    title: Annotated[str | None, option("--title")] = None,
) -> None:
    """Write evidence for a safety case: what was tested, results with intervals, rules, and what it does not prove.

    A table says which sections address which requirements of ISO/IEC 24029 and Article 15 of the EU AI Act. The exit
    code is 0 whatever the verdicts are: use `brittle check` to stop a build.
    """
    from brittle.evaluation import load_results
    from brittle.publish import write_evidence

    tell_files(write_evidence(load_results(*runs), output, benchmark, rules=rules, title=title))

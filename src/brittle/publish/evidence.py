"""A file for a safety case: what was tested and how, results, rules and verdicts, and what all of it does not prove."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from brittle._errors import BrittleError
from brittle._io import atomic_write, make_folder, toml_text
from brittle.benchmarks import Benchmark, level_name
from brittle.evaluation import (
    CONFIDENCE_METRICS,
    Outcome,
    Results,
    Run,
    Scores,
    calibration_scores,
    check_rules,
    command_line,
    interval_note,
    load_rules,
    outcome_counts,
    scores,
)
from brittle.metrics import Estimate
from brittle.publish.clauses import CLAUSES, MAPPING_NOTE, NOT_COVERED, NOT_PROVED, STATISTICS
from brittle.publish.scored import (
    chosen_benchmarks,
    escape_markdown,
    last_day,
    rendered,
    title_of,
    versions,
    write_text,
)

ENDINGS = (".html", ".htm", ".md", ".pdf")
BROWSERS = ("chromium", "google-chrome", "chromium-browser", "google-chrome-stable", "microsoft-edge")
PRINTING = 120
"""Seconds after which a browser that prints is ended."""


@dataclass(frozen=True)
class Table:
    """A table of texts; columns of numbers stand right."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Section:
    """A numbered section: paragraphs, lists, tables and texts to be copied, in this order."""

    key: str
    title: str
    paragraphs: Sequence[str] = ()
    points: Sequence[str] = ()
    tables: Sequence[tuple[str, Table]] = ()
    sources: Sequence[tuple[str, str]] = ()


def write_evidence(
    results: Results,
    path: str | Path,
    benchmark: str | Benchmark | None = None,
    *,
    rules: str | Path | None = None,
    title: str | None = None,
) -> Path:
    """Write evidence for a safety case as .html, .md or .pdf, and give its path.

    >>> import brittle, tempfile
    >>> from brittle.publish import write_evidence
    >>> recipe = brittle.load_benchmark("cifar10-c").cut(["fog"], severities=[5])
    >>> results = brittle.evaluate("demo:augmix", brittle.load_dataset("demo").limited(20), recipe)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "What this does not prove" in write_evidence(results, f"{folder}/evidence.md").read_text("utf-8")
    True

    `rules` is a file of rules as `check_rules` takes them; their outcomes are part of the evidence, whatever they are.
    The runs must be on the same images. A .pdf is printed from the .html by a Chromium, which must be installed.
    """
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise BrittleError(f"evidence is a file that ends in .html, .md or .pdf, got {str(place)!r}")
    if place.is_dir():
        raise BrittleError(f"{str(place)!r} is a folder; name the file to write, such as evidence.html in it")
    sections = evidence_sections(results, chosen_benchmarks(results, benchmark), rules)
    models = ", ".join(results.models)
    heading = title or f"Robustness evidence: {models if len(results.models) <= 3 else f'{len(results.models)} models'}"
    facts = [last_day(results.runs), f"brittle {versions(results.runs)}".strip()]
    if place.suffix.lower() == ".md":
        return write_text(place, _markdown(heading, facts, sections))
    page = rendered("evidence.html", title=heading, facts=list(filter(None, facts)), sections=sections)
    return _print(page, place) if place.suffix.lower() == ".pdf" else write_text(place, page)


def evidence_sections(results: Results, recipes: Sequence[Benchmark], rules: str | Path | None = None) -> list[Section]:
    """The sections of the evidence, in their order."""
    measured = [(recipe, scores(results, recipe)) for recipe in recipes]
    outcomes = [] if rules is None else check_rules(results, load_rules(rules))
    return [
        _tested(results),
        _conditions(results, recipes),
        _measured(results, measured),
        _rules(outcomes, rules),
        Section("statistics", "Statistical basis", STATISTICS),
        Section("limits", "What this does not prove", NOT_PROVED[:1], NOT_PROVED[1:]),
        _clauses(),
        _records(results, recipes),
    ]


def _tested(results: Results) -> Section:
    models = [(model.name, model.key, model.origin or "–") for run in results.runs for model in run.models]
    images = [
        (
            run.data or "unnamed",
            f"{run.images:,}",
            f"{len(run.classes):,}" if run.classes else "not named",
            f"{len(run.skipped):,}",
            run.data_key or "not known (stored set)",
        )
        for run in results.runs
    ]
    return Section(
        "tested",
        "What was tested",
        (
            "The subject is each of these files of weights, or functions, by its digest: not its architecture, and not "
            "another training of it.",
        ),
        tables=(
            ("Models", Table(("model", "digest", "origin"), list(dict.fromkeys(models)))),
            (
                "Images",
                Table(
                    ("images", "number", "classes", "not readable", "digest"),
                    list(dict.fromkeys(images)),
                    frozenset({1, 2, 3}),
                ),
            ),
        ),
    )


def _conditions(results: Results, recipes: Sequence[Benchmark]) -> Section:
    stored = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
    tables = [
        (
            "Recipes",
            Table(
                ("recipe", "hash", "corruptions", "cells", "seed", "pixels", "source"),
                [
                    (
                        *(recipe.name, recipe.hash, f"{len(recipe.entries)}", f"{len(recipe)}", f"{recipe.seed}"),
                        *(stored[recipe.storage], recipe.source or "–"),
                    )
                    for recipe in recipes
                ],
                frozenset({2, 3, 4}),
            ),
        )
    ]
    for recipe in recipes:
        rows = [
            (entry.id, entry.corruption.family, ", ".join(level_name(level) for level in entry.levels))
            for entry in recipe.entries
        ]
        tables.append((f"Perturbations of {recipe.name}", Table(("corruption", "family", "severities"), rows)))
    notes = list(dict.fromkeys(note for run in results.runs for call in run.calls for note in call.notes))
    return Section(
        "conditions",
        "Test conditions",
        (
            "Every pixel follows from the recipe, its seed and the sample's id: the same recipe hash and the same "
            "digest of the images give the same test on every machine. Severity 0 is the clean image.",
            *notes,
        ),
        tables=tables,
    )


def _measured(results: Results, measured: Sequence[tuple[Benchmark, Sequence[Scores]]]) -> Section:
    tables = []
    for recipe, rows in measured:
        names = list(dict.fromkeys(one.name for row in rows for one in row.all()))
        lines = []
        for row in rows:
            known = {one.name: one for one in row.all()}
            lines.append((row.model, *(_number(known.get(name)) for name in names)))
        images = max((row.mean_accuracy.n or 0 for row in rows), default=0)
        caption = f"{title_of(recipe)}, {images:,} images: percent, with 95 % intervals"
        reference = next((row.reference for row in rows if row.reference and row.mce), None)
        caption += f"; mCE relative to {reference}" if reference else ""
        tables.append((caption, Table(("model", *names), lines, frozenset(range(1, len(names) + 1)))))
        each = [
            (
                entry.id,
                entry.corruption.family,
                *(_number(row.corruptions[place].accuracy) for row in rows),
            )
            for place, entry in enumerate(recipe.entries)
        ]
        head = ("corruption", "family", *(row.model for row in rows))
        caption = f"{title_of(recipe)}: accuracy under each corruption, mean over its severities"
        tables.append((caption, Table(head, each, frozenset(range(2, len(head))))))
        tables += _confidences(results, recipe, [row.model for row in rows])
    return Section("results", "Results", tables=tables)


def _confidences(results: Results, recipe: Benchmark, models: Sequence[str]) -> list[tuple[str, Table]]:
    """What the confidences of the models are worth, as far as the rows have them."""
    scored = sorted(calibration_scores(results, recipe, models=models), key=lambda row: models.index(row.model))
    known = [one for one in CONFIDENCE_METRICS if any(one.field in (row.mean or row.clean) for row in scored)]
    lines = [
        (row.model, images, *(_number(estimates.get(one.field)) for one in known))
        for row in scored
        for images, estimates in (("clean", row.clean), ("corrupted", row.mean))
        if estimates
    ]
    if not lines:
        return []
    head = ("model", "images", *(f"{one.short} (%)" if one.percent else one.short for one in known))
    caption = f"{title_of(recipe)}: what confidences are worth; corrupted is the mean over the cells"
    return [(caption, Table(head, lines, frozenset(range(2, len(head)))))]


def _number(estimate: Estimate | None) -> str:
    return "–" if estimate is None else str(estimate).removeprefix(f"{estimate.name} ").replace(" %", "", 1)


def _rules(outcomes: Sequence[Outcome], rules: str | Path | None) -> Section:
    if rules is None:
        text = (
            "No rules were given, so no requirement was checked: the results stand for themselves. “brittle check” and "
            "this export take a file of rules, which should be written before the test."
        )
        return Section("rules", "Requirements and verdicts", (text,))
    digest = sha256(Path(rules).read_bytes()).hexdigest()
    rows = [
        (
            one.rule.title,
            one.model,
            one.value,
            one.interval,
            one.bound,
            one.verdict.upper() if one.verdict == "fails" else one.verdict,
        )
        for one in outcomes
    ]
    note = interval_note(outcomes)
    return Section(
        "rules",
        "Requirements and verdicts",
        (
            f"{outcome_counts(outcomes)}. The file of rules has the SHA-256 digest {digest}. A rule holds if the whole "
            "interval keeps the bound, fails if the whole interval is beyond it, and is undecided otherwise; undecided "
            "is not nearly passed.",
            f"{note[0].upper()}{note[1:]}.",
        ),
        tables=(
            ("Outcomes", Table(("rule", "model", "value", "interval", "bound", "verdict"), rows, frozenset({2, 3, 4}))),
        ),
        points=[f"{one.rule.title}, {one.model}: {one.sentence}." for one in outcomes if one.verdict != "holds"],
        sources=[("The rules", Path(rules).read_text(encoding="utf-8"))],
    )


def _clauses() -> Section:
    numbers = {key: number for number, key in enumerate(ORDER, start=1)}
    rows = [
        (clause.standard, clause.asks, ", ".join(f"section {numbers[key]}" for key in clause.sections) or NOT_COVERED)
        for clause in CLAUSES
    ]
    return Section(
        "clauses",
        "Where standards and law ask for it",
        (MAPPING_NOTE,),
        tables=(("", Table(("clause", "asks for", "here"), rows)),),
    )


ORDER = ("tested", "conditions", "results", "rules", "statistics", "limits", "clauses", "records")
"""The keys of the sections, in their order."""


def _records(results: Results, recipes: Sequence[Benchmark]) -> Section:
    rows = [(run.folder.name, *_digest(run), command_line(run) or "not made on a command line") for run in results.runs]
    calls = [
        (
            str(call.started),
            call.title,
            call.state,
            ", ".join(f"{name} {version}" for name, version in call.versions.items()),
            ", ".join(str(value) for value in call.machine.values()),
        )
        for run in results.runs
        for call in run.calls
    ]
    return Section(
        "records",
        "Records",
        (
            "The digest of the predictions is the SHA-256 of the names and SHA-256 digests of all files of rows, in "
            "the order of their names; “brittle doctor” checks each file by its own seal.",
        ),
        tables=(
            ("Runs", Table(("folder", "files of rows", "digest of the predictions", "command"), rows, frozenset({1}))),
            ("Calls", Table(("started (UTC)", "what", "state", "versions", "machine"), calls)),
        ),
        sources=[(f"The recipe {recipe.name} ({recipe.hash})", toml_text(recipe.to_dict())) for recipe in recipes],
    )


def _digest(run: Run) -> tuple[str, str]:
    """How many files of rows there are, and one digest of all of them."""
    files = sorted(path for path in run.folder.glob("cells/**/*.parquet") if path.is_file())
    digest = sha256()
    for path in files:
        one = sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(run.folder).as_posix()} {one}\n".encode("utf-8", "surrogateescape"))
    return f"{len(files)}", digest.hexdigest()


def _markdown(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    lines = [f"# {escape_markdown(title)}", "", " · ".join(filter(None, facts)), ""]
    for number, section in enumerate(sections, start=1):
        lines += [f"## {number}. {section.title}", ""]
        for text in section.paragraphs:
            lines += [escape_markdown(text), ""]
        lines += [f"- {escape_markdown(text)}" for text in section.points] + ([""] if section.points else [])
        for caption, table in section.tables:
            lines += [f"**{escape_markdown(caption)}**", ""] if caption else []
            rules = ["--:" if i in table.numbers else "---" for i in range(len(table.head))]
            cells = [[escape_markdown(cell) for cell in row] for row in (table.head, *table.rows)]
            texts = [f"| {' | '.join(row)} |" for row in cells]
            lines += [texts[0], f"|{'|'.join(rules)}|", *texts[1:], ""]
        for caption, text in section.sources:
            fence = "```" if "```" not in text else "````````"
            lines += [f"{escape_markdown(caption)}:", "", f"{fence}toml", text.rstrip("\n"), fence, ""]
    return "\n".join(lines)


def _print(page: str, path: Path) -> Path:
    """Print a page into a PDF with the browser that is installed."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise BrittleError(
            "a .pdf is printed by Chromium, Chrome or Edge, and none is installed; write .html instead, and print that "
            "into a file with any browser"
        )
    make_folder(path.parent)
    with tempfile.TemporaryDirectory(prefix="brittle-print-", ignore_cleanup_errors=True) as home:
        source, made = Path(home) / "evidence.html", Path(home) / "evidence.pdf"
        source.write_text(page, encoding="utf-8", newline="\n")
        command = [browser, "--headless=new", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={home}/profile", "--host-resolver-rules=MAP * ~NOTFOUND"]
        command += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        try:
            done = subprocess.run(
                [*command, f"--print-to-pdf={made}", source.as_uri()],
                capture_output=True,
                timeout=PRINTING,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BrittleError(f"{browser!r} did not print within {PRINTING} s; write .html and print that") from error
        if not made.is_file() or not made.read_bytes().startswith(b"%PDF"):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise BrittleError(f"{browser!r} could not print ({last[0]}); write .html instead, and print that")
        with atomic_write(path) as part:
            shutil.copyfile(made, part)
    return path

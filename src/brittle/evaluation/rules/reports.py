"""The outcomes of rules for other programs: JUnit XML for build servers, Markdown for their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from brittle.evaluation.rules.checks import Outcome

MARKS = {"holds": "✅ holds", "fails": "❌ fails", "undecided": "❔ undecided"}


def rules_hold(outcomes: Sequence[Outcome], *, strict: bool = False) -> bool:
    """Whether no rule fails; if strict, whether all of them hold."""
    return all(one.verdict == "holds" or (one.verdict == "undecided" and not strict) for one in outcomes)


def outcome_counts(outcomes: Sequence[Outcome]) -> str:
    """How many hold, fail and are undecided."""
    counts = [(sum(one.verdict == verdict for one in outcomes), verdict) for verdict in MARKS]
    singular = {"holds": "holds", "fails": "fails", "undecided": "is undecided"}
    plural = {"holds": "hold", "fails": "fail", "undecided": "are undecided"}
    parts = [f"{n} {(singular if n == 1 else plural)[verdict]}" for n, verdict in counts if n]
    return f"{len(outcomes)} check{'s' * (len(outcomes) > 1)}: {', '.join(parts)}"


def interval_note(outcomes: Sequence[Outcome]) -> str:
    """What the intervals are."""
    bonferroni = (
        f", wide enough to hold for all {len(outcomes)} checks at once (Bonferroni)" if len(outcomes) > 1 else ""
    )
    differ = "paired differences to the other run, with " if any(one.against for one in outcomes) else ""
    both = len({one.rule.percent for one in outcomes}) == 2
    units = "percent" if outcomes[0].rule.percent else "severity"
    units = "percent, failure points in severity" if both else units
    return (
        f"{units}; {differ}95 % intervals over images{bonferroni}; a bound inside its interval leaves a rule undecided"
    )


def junit_xml(outcomes: Sequence[Outcome], *, strict: bool = False) -> str:
    """JUnit XML: a test case for each rule and model; what is undecided is skipped, or a failure if strict."""
    failed = [one for one in outcomes if not rules_hold([one], strict=strict)]
    skipped = [one for one in outcomes if one.verdict == "undecided" and one not in failed]
    numbers = {"tests": len(outcomes), "failures": len(failed), "errors": 0, "skipped": len(skipped)}
    counts = {key: str(value) for key, value in numbers.items()}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "brittle check", **counts})
    for one in outcomes:
        place = ".".join(filter(None, (one.benchmark, one.model)))
        case = ElementTree.SubElement(suite, "testcase", {"classname": place, "name": one.rule.title, "time": "0"})
        about = {"message": one.sentence, "type": one.verdict}
        if one in failed:
            ElementTree.SubElement(case, "failure", about).text = one.sentence
        elif one in skipped:
            ElementTree.SubElement(case, "skipped", about)
        else:
            ElementTree.SubElement(case, "system-out").text = one.sentence
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def markdown_summary(outcomes: Sequence[Outcome], *, strict: bool = False) -> str:
    """A table of all outcomes in Markdown, and a sentence for each that does not hold."""
    title = "passed" if rules_hold(outcomes, strict=strict) else "failed"
    lines = [f"## brittle check {title}: {outcome_counts(outcomes).partition(': ')[2]}", ""]
    value = "difference" if any(one.against for one in outcomes) else "value"
    lines += [f"| | rule | model | {value} | interval | bound |", "|---|---|---|--:|--:|--:|"]
    for one in outcomes:
        row = (MARKS[one.verdict], one.rule.title, one.model, one.value, one.interval, one.bound)
        lines.append("| " + " | ".join(_escaped(text) for text in row) + " |")
    for verdict in ("fails", "undecided"):
        chosen = [one for one in outcomes if one.verdict == verdict]
        lines += [""] if chosen else []
        lines += [
            f"- **{_escaped(one.rule.title)}**, {_escaped(one.model)}: {_escaped(one.sentence)}." for one in chosen
        ]
    note = interval_note(outcomes)
    return "\n".join([*lines, "", f"{note[0].upper()}{note[1:]}.", ""])


def _escaped(text: str) -> str:
    """Text that stays text in a cell of a Markdown table."""
    for mark in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())

"""Models beside each other: a table to sort, with paired differences to the best."""

from __future__ import annotations

from brittle.evaluation.compare_all import compare_all, shared_rows
from brittle.evaluation.references import Comparable, comparable, published_rows
from brittle.evaluation.scores import CLEAN_CELL
from brittle.metrics import Estimate, holm, mcnemar
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import RESAMPLES, Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import interval, p_value, percent, signed
from brittle.report.page.parts import Part


def comparison(part: Part, measures: list[Measure], looks: Looks) -> Html | None:
    """Only if there are at least two models."""
    if len(measures) < 2:
        return None
    best = measures[0]
    columns = [name for name, _ in _numbers(best)] + ["difference to best", "clear?"]
    if part.has_clean:
        columns.append("p, clean images" if best.scores else "p")
    heads = [_head("rank", "num"), _head("model"), *(_head(name, "num") for name in columns)]
    models = [mine.model for mine in measures]
    gaps = compare_all(part.results, part.benchmark, models, resamples=RESAMPLES)
    tests = against_best(part, models)
    rows = [_row(place, mine, gaps.get(mine.model), tests, looks) for place, mine in enumerate(measures, start=1)]
    what = best.main.name
    words = (
        f"Ranked by {what}. Differences to {best.model} are of {what}, in percentage points, in pairs on the same "
        "images, with their 95 % intervals; a difference is clear if its interval excludes 0."
    )
    if len(gaps) > 1:
        words += (
            f" The intervals of differences hold all at once for {len(models)} models, of which the best was picked."
        )
    if part.has_clean:
        words += f" p is McNemar's exact test against {best.model} on the {'clean ' if best.scores else ''}images"
        words += f", adjusted for {len(gaps)} tests by Holm's method." if len(gaps) > 1 else "."
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable stacked")
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="comparison of models")
    return together(tag("p", words, class_="note"), scroll)


def beside_published(part: Part, measures: list[Measure], looks: Looks) -> Html | None:  # noqa: ARG001 - as all sections
    """Which reference divides mCE, what others published, and how that differs; or why it is not shown."""
    if part.benchmark is None:
        return None
    beside = comparable(part.results, part.benchmark)
    reference = next((m.scores.reference for m in measures if m.scores is not None and m.scores.mce is not None), None)
    lines = [f"mCE is divided by the errors of {reference}; those are taken as exact."] if reference else []
    lines.append(beside.refusal(has_reference=reference is not None))
    table = _published(beside) if beside.published else None
    if table is not None or (beside.baseline is not None and reference == beside.baseline.title):
        lines += beside.notes
    said = [tag("p", line, class_="note") for line in lines if line]
    return together(*said, table) if said or table is not None else None


def _published(beside: Comparable) -> Html:
    scores = beside.published
    metrics = [
        metric for metric in ("unnormalised error", "mCE", "relative mCE") if metric in {s.metric for s in scores}
    ]
    heads = [_head("published by others"), *(_head(metric, "num") for metric in metrics), _head("source")]
    rows = []
    for who, own in published_rows(scores).items():
        values = {score.metric: score.value for score in own}
        cells = [
            tag("td", percent(values[m]) if m in values else "–", data_v=values.get(m, -1), class_="num")
            for m in metrics
        ]
        sources = "; ".join(dict.fromkeys(score.citation for score in own))
        rows.append(tag("tr", tag("th", who, scope="row", data_v=who), *cells, tag("td", sources, data_v=sources)))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable stacked")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="published numbers")


def _row(place: int, mine: Measure, gap: Estimate | None, tests: dict[str, float], looks: Looks) -> Html:
    name = tag("th", looks[mine.model].swatch(), mine.model, scope="row", data_v=mine.model)
    cells = [tag("td", str(place), data_v=place, class_="num"), name, *(_number(x) for _, x in _numbers(mine))]
    if gap is None:
        return tag("tr", *cells, tag("td", "best", data_v=0, class_="num"), _dash(), _dash() if tests else None)
    test = tests.get(mine.model)
    p = None if test is None else tag("td", p_value(test), data_v=f"{test:.6g}", class_="num")
    clear = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    verdict = tag("td", "yes" if clear else "no", class_="num yes-cell" if clear else "num")
    shown = tag("td", tag("b", signed(gap.value)), " ", tag("span", interval(gap, sign=True), class_="ci"),
                data_v=f"{gap.value:.6f}", class_="num")  # fmt: skip
    return tag("tr", *cells, shown, verdict, p)


def _numbers(mine: Measure) -> list[tuple[str, Estimate | None]]:
    """The columns of numbers; what a model lacks, such as a ratio to a clean accuracy of zero, is None."""
    clean = [(mine.clean.name, mine.clean)] if mine.clean else []
    if mine.scores is None:
        return [*clean]
    own = mine.scores
    last = ("mCE", own.mce) if own.mce else ("unnormalised error", own.error)
    return [*clean, ("mean accuracy", own.mean_accuracy), *([("robustness R", own.robustness)] if clean else []), last]


def against_best(part: Part, models: list[str]) -> dict[str, float]:
    """McNemar's p of each further model against the first, on the clean images, adjusted for how many they are."""
    if not part.has_clean:
        return {}
    best, *others = (table[:, 0] for table in shared_rows(part.results, models, [CLEAN_CELL]))
    return dict(zip(models[1:], holm([mcnemar(other, best).p for other in others]), strict=True))


def _dash() -> Html:
    return tag("td", "–", data_v=1, class_="num")


def _head(name: str, kind: str | None = None) -> Html:
    return tag("th", name, scope="col", class_=kind)


def _number(estimate: Estimate | None) -> Html:
    if estimate is None:
        return tag("td", "–", data_v=-1, class_="num")
    ends = tag("span", interval(estimate), class_="ci")
    return tag("td", tag("b", percent(estimate.value)), " ", ends, data_v=f"{estimate.value:.6f}", class_="num")

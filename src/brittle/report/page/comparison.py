"""Models beside each other: a table to sort, with paired differences to the best."""

from __future__ import annotations

import numpy as np

from brittle.evaluation.scores import CLEAN_CELL, compare
from brittle.metrics import Estimate, McNemar, difference, mcnemar
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
    rows = [_row(place, part, mine, best, looks) for place, mine in enumerate(measures, start=1)]
    what = best.main.name
    words = (
        f"Ranked by {what}. Differences to {best.model} are of {what}, in percentage points, in pairs on the same "
        "images, with their 95 % intervals; a difference is clear if its interval excludes 0."
    )
    if part.has_clean:
        words += f" p is McNemar's exact test against {best.model} on the {'clean ' if best.scores else ''}images."
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable stacked")
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="comparison of models")
    return together(tag("p", words, class_="note"), scroll)


def _row(place: int, part: Part, mine: Measure, best: Measure, looks: Looks) -> Html:
    name = tag("th", looks[mine.model].swatch(), mine.model, scope="row", data_v=mine.model)
    cells = [tag("td", str(place), data_v=place, class_="num"), name, *(_number(x) for _, x in _numbers(mine))]
    if mine is best:
        return tag(
            "tr", *cells, tag("td", "best", data_v=0, class_="num"), _dash(), _dash() if part.has_clean else None
        )
    gap, test = paired(part, mine.model, best.model)
    p = tag("td", p_value(test.p), data_v=f"{test.p:.6g}", class_="num") if test else None
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


def paired(part: Part, first: str, second: str) -> tuple[Estimate, McNemar | None]:
    """The difference of two models on the same images, and McNemar's test on the clean ones."""
    if not part.has_clean and part.benchmark is not None:
        return compare(part.results, part.benchmark, first, second, resamples=RESAMPLES), None
    a, b = (part.results.matrix(model, [CLEAN_CELL]) for model in (first, second))
    _, i, j = np.intersect1d(a.samples, b.samples, return_indices=True)
    right = a.values[i, 0], b.values[j, 0]
    if part.benchmark is None:
        return difference(*right, name="difference", resamples=RESAMPLES), mcnemar(*right)
    return compare(part.results, part.benchmark, first, second, resamples=RESAMPLES), mcnemar(*right)


def _dash() -> Html:
    return tag("td", "–", data_v=1, class_="num")


def _head(name: str, kind: str | None = None) -> Html:
    return tag("th", name, scope="col", class_=kind)


def _number(estimate: Estimate | None) -> Html:
    if estimate is None:
        return tag("td", "–", data_v=-1, class_="num")
    ends = tag("span", interval(estimate), class_="ci")
    return tag("td", tag("b", percent(estimate.value)), " ", ends, data_v=f"{estimate.value:.6f}", class_="num")

"""Which families of corruptions hurt: bars over the means of each family, each corruption a dot."""

from __future__ import annotations

from brittle.report.page.bars import Bar, group, scale
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure, families
from brittle.report.page.models import Looks
from brittle.report.page.numbers import count
from brittle.report.page.parts import Part


def by_family(part: Part, measures: list[Measure], looks: Looks) -> Html | None:
    """One group of bars for each family."""
    if part.benchmark is None:
        return None
    groups = []
    for family, columns in families(part.benchmark).items():
        ids = [part.benchmark.entries[i].id for i in columns]
        names = ", ".join(name.rpartition("/")[2] for name in ids)
        bars = [
            Bar(
                mine.model,
                mine.families[family],
                mine.clean,
                [(name.rpartition("/")[2], mine.corruptions[name].value) for name in ids],
            )
            for mine in measures
        ]
        title = tag("h4", tag("span", family, class_=f"family f-{family}"), tag("small", names))
        groups.append(group(title, bars, looks))
    return together(
        tag(
            "p",
            f"Mean accuracy over the corruptions and levels of a family ({count(len(groups), 'family', 'families')}), "
            "with its 95 % interval. Each ring is one corruption"
            + ("; the upright mark is the clean accuracy." if part.has_clean else "."),
            class_="note",
        ),
        tag("div", *groups, scale(), class_="bars"),
    )

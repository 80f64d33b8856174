"""Several views of one thing: a switch if the page's script runs, one below the other if it does not."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.markup import Html, tag

OPEN = 6
"""So many views are open without the script, and printed; the others can be opened."""


def views(label: str, items: Sequence[tuple[str, Html]]) -> Html:
    """Named views, the first one shown; a single one needs no switch."""
    if len(items) == 1:
        return items[0][1]
    shown = [
        tag("details", tag("summary", name), body, class_="view", open=i < OPEN) for i, (name, body) in enumerate(items)
    ]
    return tag("div", *shown, class_="views", data_label=label)

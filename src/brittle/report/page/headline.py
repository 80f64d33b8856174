"""The first thing to read: one sentence a model, and its key numbers."""

from __future__ import annotations

from brittle.metrics import Estimate
from brittle.report.page.film import film
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import interval, listed, percent
from brittle.report.page.parts import Part

CARDS = 6
WORST = 3


def headline(part: Part, measures: list[Measure], looks: Looks) -> Html:
    """A card for each of the first models."""
    cards = [_card(part, mine, looks) for mine in measures[:CARDS]]
    more = len(measures) - len(cards)
    note = tag("p", f"The other {more} are in the comparison below.", class_="note") if more else None
    left_out = part.left_out and tag(
        "p", f"Not shown, because some cells are missing: {listed(part.left_out)}.", class_="note"
    )
    return together(tag("div", *cards, class_="cards"), note, left_out or None, film(part, measures[0]))


def _card(part: Part, mine: Measure, looks: Looks) -> Html:
    several = len(looks.order) > 1
    return tag(
        "article",
        tag("h4", looks[mine.model].swatch() if several else None, mine.model, class_="model-name"),
        tag("p", sentence(part, mine), class_="lead"),
        tag("dl", *(_tile(estimate, note) for estimate, note in key_numbers(mine)), class_="tiles"),
        class_=f"card {looks[mine.model].name}",
    )


def sentence(part: Part, mine: Measure) -> Html:
    """What a busy reader takes away."""
    name = tag("span", part.name, class_="whole" if len(part.name) < 24 else None)
    if mine.scores is None:
        return together("It gets ", _strong(mine.main), " of the images of ", name, " right.")
    kept = mine.scores.robustness
    words = (
        together("It gets ", _strong(mine.main), " of the images right under ", name)
        if kept is None
        else together("It keeps ", _strong(kept), " of its clean accuracy under ", name)
    )
    clean = mine.clean.value if mine.clean else 1.0
    harmful = [name for name in mine.worst() if mine.corruptions[name].value < clean][:WORST]
    if not harmful:
        return together(words, ". No corruption lowers its accuracy.")
    worst = [
        together(tag("b", name.rpartition("/")[2]), f" ({percent(mine.corruptions[name].value)} right)")
        for name in harmful
    ]
    tail = [together(", " if i < len(worst) - 1 else " and ", item) for i, item in enumerate(worst)][1:]
    return together(words, ". What breaks it most: ", worst[0], tail, ".")


def _strong(estimate: Estimate) -> Html:
    return together(tag("strong", percent(estimate.value)), " ", tag("span", interval(estimate), class_="ci"))


def key_numbers(mine: Measure) -> list[tuple[Estimate, str]]:
    """The numbers of a card, each with the direction that is good."""
    if mine.scores is None:
        return [(mine.main, "higher is better")]
    own = mine.scores
    last = (own.error, "lower is better")
    if own.mce is not None and own.reference is not None:
        last = (own.mce, f"lower is better; {own.reference.partition(':')[0]} is 100 %")
    known = [(own.clean, ""), (own.mean_accuracy, "over corruptions"), (own.robustness, "mean ÷ clean"), last]
    return [(estimate, note) for estimate, note in known if estimate is not None]


def _tile(estimate: Estimate, note: str) -> Html:
    return tag(
        "div",
        tag("dt", estimate.name),
        tag("dd", tag("span", percent(estimate.value), class_="big"), tag("span", interval(estimate), class_="ci")),
        tag("dd", note, class_="hint") if note else None,
    )

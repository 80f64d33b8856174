"""What broke it: pictures before and after, for the corruptions that hurt a model most."""

from __future__ import annotations

from brittle.report.page.broken_samples import Broken, broken_samples
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import percent
from brittle.report.page.parts import Part
from brittle.report.page.pictures import Pictures, picture, pictures
from brittle.report.page.views import views

MODELS, CORRUPTIONS, EACH = 3, 4, 3


def examples(part: Part, measures: list[Measure], looks: Looks) -> Html | None:
    """The worst corruptions of the first models, a few images each."""
    if part.benchmark is None:
        return None
    album = pictures(part)
    if album is None:
        return tag(
            "p", "There are no pictures, because the folder of the run does not hold its clean images.", class_="note"
        )
    shown = [mine for mine in measures if looks[mine.model].shown][:MODELS]
    items = [(mine.model, _model(part, mine, album)) for mine in shown]
    words = (
        "Images that the model is right about, and surest of, when they are clean, and that break at the lowest level: "
        "left the clean image, right what it sees when it is wrong for the first time."
    )
    return together(tag("p", words, class_="note"), views("Model", items))


def _model(part: Part, mine: Measure, album: Pictures) -> Html:
    worst = mine.worst()[:CORRUPTIONS]
    rows = []
    for corruption, found in zip(worst, broken_samples(part, mine.model, worst, EACH), strict=True):
        name = corruption.rpartition("/")[2]
        cards = [_card(part, broken, album) for broken in found if album.drawable(corruption)]
        if not cards:
            why = "No image breaks." if album.drawable(corruption) else "Give its code by --import to see pictures."
            cards = [tag("p", why, class_="note")]
        title = tag("h5", name, tag("small", f"{percent(mine.corruptions[corruption].value)} right"))
        rows.append(tag("div", title, tag("div", *cards, class_="pairs"), class_="example"))
    return together(rows)


def _card(part: Part, broken: Broken, album: Pictures) -> Html:
    name, level = broken.corruption.rpartition("/")[2], album.severity(broken.sample, broken.corruption, broken.level)
    truth, wrong = part.class_name(broken.label), part.class_name(broken.wrong)
    clean = album.clean(broken.sample)
    seen = album.corrupted(broken.sample, broken.corruption, broken.level)
    return tag(
        "figure",
        tag(
            "div",
            picture(clean, f"clean image of {truth}"),
            tag("span", "→", class_="arrow", aria_hidden="true"),
            picture(seen, f"the same image under {name} {level}"),
            class_="pair",
        ),
        tag(
            "figcaption",
            tag("span", tag("span", "✓", class_="yes", aria_label="right:"), f" {truth} ", _sure(broken.confidence)),
            tag(
                "span",
                tag("span", "✗", class_="no", aria_label="wrong:"),
                f" {wrong} ",
                _sure(broken.wrong_confidence),
            ),
            tag("small", f"severity {level} · sample {broken.sample}", class_="where"),
        ),
        class_="shot",
    )


def _sure(confidence: float) -> Html:
    return tag("small", percent(confidence))

"""Pieces of HTML for notebooks: nothing to load, no scripts, names escaped, readable on light and on dark pages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from html import escape
from io import BytesIO
from typing import Any

LINE = "1px solid rgba(127,127,127,.35)"
FAINT = "opacity:.65;font-size:.9em"
CELL = "padding:.15em .7em .15em 0;border:0;background:transparent;vertical-align:middle"


def html_block(title: str, *parts: str, note: str = "") -> str:
    """A title, what is shown below it, and a note in smaller letters."""
    below = f'<div style="{FAINT};margin-top:.3em;max-width:60em">{escape(note)}</div>' if note else ""
    return f'<div style="margin:.4em 0"><div style="margin-bottom:.3em">{title}</div>{"".join(parts)}{below}</div>'


def html_title(kind: str, name: str, *facts: str) -> str:
    """What it is, what it is called, and a few facts."""
    details = " · ".join(escape(fact) for fact in facts if fact)
    return f'<b>{escape(kind)} {escape(name)}</b> <span style="{FAINT}">{details}</span>'


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int | Collection[int] = 1, styles: Any = None
) -> str:
    """A table of cells that are HTML already; the first `left` columns, or these, are words, the others numbers.

    `styles(row, column)` adds to the style of a cell.
    """

    text_columns = range(left) if isinstance(left, int) else left

    def cell(tag: str, content: str, column: int, style: str = "") -> str:
        side = "left" if column in text_columns else "right"
        return f'<{tag} style="{CELL};text-align:{side};{style}">{content}</{tag}>'

    top = "".join(cell("th", escape(name), i, f"border-bottom:{LINE};font-weight:600") for i, name in enumerate(head))
    body = [
        "<tr>" + "".join(cell("td", c, i, styles(j, i) if styles else "") for i, c in enumerate(row)) + "</tr>"
        for j, row in enumerate(rows)
    ]
    head_row = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;border:0;margin:0 0 .5em;font:inherit;'
        f'color:inherit;font-variant-numeric:tabular-nums">{head_row}<tbody>{"".join(body)}</tbody></table></div>'
    )


def html_number(value: str, interval: str = "", *, bold: bool = False) -> str:
    """A number with its interval in smaller letters behind it."""
    text = f"<b>{escape(value)}</b>" if bold else escape(value)
    return f'{text} <span style="{FAINT}">{escape(interval)}</span>' if interval else text


def html_image(pixels: Any, label: str, *, side: int) -> str:
    """An image as a PNG within the page, `side` pixels high, with a label below it."""
    from PIL import Image as Pil

    stream = BytesIO()
    Pil.fromarray(pixels).save(stream, "PNG", optimize=True)
    name = escape(label)
    return (
        '<div style="display:inline-block;margin:0 .4em .3em 0;text-align:center;vertical-align:top">'
        f'<img alt="{name}" src="data:image/png;base64,{b64encode(stream.getvalue()).decode()}" '
        f'style="height:{side}px;width:auto;max-width:none;margin:0;display:block;image-rendering:auto">'
        f'<span style="{FAINT};display:block;max-width:{side}px;overflow:hidden;text-overflow:ellipsis;'
        f'white-space:nowrap" title="{name}">{name}</span></div>'
    )

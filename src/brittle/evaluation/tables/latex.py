"""Text as LaTeX prints it."""

from __future__ import annotations

import re

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",  # not an option of \\
    "]": "{]}",
    "*": "{*}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "∞": r"$\infty$",
    "†": r"\dag{}",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "η": r"$\eta$",
    "σ": r"$\sigma$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "’": "'",
    "\N{NO-BREAK SPACE}": "~",
}
UNKNOWN = re.compile("[^\x20-\x7e\N{NO-BREAK SPACE}-\N{LATIN SMALL LETTER Z WITH CARON}]")
"""Characters that pdfLaTeX's fonts do not have."""


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it, whatever it holds; letters beyond Latin need XeLaTeX or LuaLaTeX."""
    plain = re.sub("-(?=-)", "-\0", " ".join(text.split()))  # two hyphens are no dash
    return "".join("{}" if one == "\0" else LATEX.get(one, one) for one in plain if one.isprintable() or one == "\0")

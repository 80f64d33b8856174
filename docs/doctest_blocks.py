"""An extension of Griffe: examples in docstrings become code blocks, so that their brackets are no links."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Module, Object


class DoctestBlocks(Extension):
    """Put fences around each `>>>` example, up to the next empty line."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Change all docstrings of a package before they are parsed."""
        self.fence(pkg)

    def fence(self, part: Object) -> None:
        """Change the docstring of an object and of all that is defined in it."""
        for member in part.members.values():
            if not member.is_alias:
                self.fence(member)  # type: ignore[arg-type]
        if part.docstring is not None:
            text = part.docstring.value
            part.docstring.value = re.sub(r"^>>> .*?(?=\n\s*\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S)

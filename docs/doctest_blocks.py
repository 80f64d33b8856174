"""An extension of Griffe: examples in docstrings become code blocks, so that their brackets are no links."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class DoctestBlocks(Extension):
    """Put fences around each `>>>` example, up to the next empty line."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one object before it is parsed."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = re.sub(r"^>>> .*?(?=\n\s*\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S)

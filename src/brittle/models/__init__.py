"""Who is tested."""

from brittle.models.from_callable import from_callable
from brittle.models.from_torch import from_torch
from brittle.models.model import Model, Scores, checked_scores

__all__ = ["Model", "Scores", "checked_scores", "from_callable", "from_torch"]

"""Run the test, keep every prediction."""

from brittle.evaluation.cell import Cell, plan
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.run import evaluate

__all__ = ["Cell", "Results", "evaluate", "load_results", "plan"]

"""Run the test, keep every prediction."""

from brittle.evaluation.cell import Cell, plan
from brittle.evaluation.compare_all import compare_all
from brittle.evaluation.elsewhere import import_predictions
from brittle.evaluation.failure_search import load_failure_points, search_failure_points
from brittle.evaluation.probe import Flip, Probe, probe
from brittle.evaluation.references import Comparable, as_baseline, comparable, find_reference
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.run import evaluate
from brittle.evaluation.scores import CorruptionScores, Scores, compare, scores
from brittle.evaluation.stored import evaluate_stored

__all__ = [
    "Cell",
    "Comparable",
    "CorruptionScores",
    "Flip",
    "Probe",
    "Results",
    "Scores",
    "as_baseline",
    "comparable",
    "compare",
    "compare_all",
    "evaluate",
    "evaluate_stored",
    "find_reference",
    "import_predictions",
    "load_failure_points",
    "load_results",
    "plan",
    "probe",
    "scores",
    "search_failure_points",
]

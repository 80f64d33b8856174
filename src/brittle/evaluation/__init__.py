"""Run the test, keep every prediction."""

from brittle.evaluation.cell import Cell, plan
from brittle.evaluation.failure_search import load_failure_points, search_failure_points
from brittle.evaluation.predictions import import_predictions, read_predictions
from brittle.evaluation.probing import Flip, Probe, probe
from brittle.evaluation.published_set import evaluate_stored
from brittle.evaluation.references import Comparable, as_baseline, comparable, find_reference
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.run import evaluate
from brittle.evaluation.score import CorruptionScores, Scores, compare, compare_all, scores
from brittle.evaluation.trajectory_scores import CnsScores, Trajectories, cns_scores, trajectories

__all__ = [
    "Cell",
    "CnsScores",
    "Comparable",
    "CorruptionScores",
    "Flip",
    "Probe",
    "Results",
    "Scores",
    "Trajectories",
    "as_baseline",
    "cns_scores",
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
    "read_predictions",
    "scores",
    "search_failure_points",
    "trajectories",
]

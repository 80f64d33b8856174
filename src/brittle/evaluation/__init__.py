"""Run the test, keep every prediction."""

from brittle.benchmarks import CLEAN, Cell
from brittle.evaluation.cell import Classes, Drawn, best_batch_size, common_batch_size, infer, plan
from brittle.evaluation.failure_search import drawn_key, load_failure_points, search_failure_points
from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
from brittle.evaluation.inputs import decoded_ids, fitted, image_shape
from brittle.evaluation.predictions import import_predictions, read_predictions
from brittle.evaluation.probing import Flip, Probe, probe
from brittle.evaluation.published_set import evaluate_stored
from brittle.evaluation.records import Call, KnownModel, Run
from brittle.evaluation.references import Comparable, as_baseline, comparable, find_reference, published_rows
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.run import evaluate
from brittle.evaluation.score import (
    CorruptionScores,
    Scores,
    by_corruption,
    compare,
    compare_all,
    guessing_in_words,
    guessing_models,
    scores,
    shared_rows,
)
from brittle.evaluation.store import Store
from brittle.evaluation.summaries import (
    Comparison,
    LevelFailures,
    ScoreList,
    Summary,
    compare_with_best,
    corruption_summary,
    level_failures,
    score_list,
    severity_ranks,
)
from brittle.evaluation.trajectory_scores import SCALE, SHIFT, CnsScores, Trajectories, cns_scores, trajectories

__all__ = [
    "CLEAN",
    "SCALE",
    "SHIFT",
    "Call",
    "Cell",
    "Classes",
    "CnsScores",
    "Comparable",
    "Comparison",
    "CorruptionScores",
    "Drawn",
    "FailureSummary",
    "Flip",
    "KnownModel",
    "LevelFailures",
    "Probe",
    "Results",
    "Run",
    "ScoreList",
    "Scores",
    "SearchedFolder",
    "Store",
    "Summary",
    "Trajectories",
    "as_baseline",
    "best_batch_size",
    "by_corruption",
    "cns_scores",
    "common_batch_size",
    "comparable",
    "compare",
    "compare_all",
    "compare_with_best",
    "corruption_summary",
    "decoded_ids",
    "drawn_key",
    "evaluate",
    "evaluate_stored",
    "find_reference",
    "fitted",
    "guessing_in_words",
    "guessing_models",
    "image_shape",
    "import_predictions",
    "infer",
    "level_failures",
    "load_failure_points",
    "load_results",
    "plan",
    "probe",
    "published_rows",
    "read_predictions",
    "score_list",
    "scores",
    "search_failure_points",
    "severity_ranks",
    "shared_rows",
    "trajectories",
]

"""Run the test, keep every prediction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle._errors import CallbackFailed
from brittle.benchmarks import CLEAN, Cell
from brittle.evaluation.cell import (
    Classes,
    Drawn,
    best_batch_size,
    checked_scores,
    common_batch_size,
    infer,
    plan,
    probabilities,
)
from brittle.evaluation.inputs import as_dataset, decoded_ids, fitted, image_shape
from brittle.evaluation.records import Call, KnownModel, Run
from brittle.evaluation.references import Comparable, as_baseline, comparable, find_reference, published_rows
from brittle.evaluation.results import Results, load_results
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

if TYPE_CHECKING:
    from brittle.evaluation.callbacks import (
        Callback,
        MLflowCallback,
        StartedRun,
        TensorBoardCallback,
        WandbCallback,
        load_callback,
    )
    from brittle.evaluation.comparison import (
        Comparison,
        LevelFailures,
        ScoreList,
        compare_with_best,
        level_failures,
        score_list,
        score_table,
    )
    from brittle.evaluation.diagnosis import (
        ClassScores,
        Columns,
        EarliestFailure,
        FailureCurves,
        FailureNumbers,
        ModelCalibration,
        earliest_failures,
        failure_curves,
        model_calibration,
        scores_by_class,
        severity_columns,
    )
    from brittle.evaluation.failure_search import drawn_key, load_failure_points, search_failure_points
    from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
    from brittle.evaluation.latex_text import escape_latex
    from brittle.evaluation.predictions import import_predictions, read_predictions
    from brittle.evaluation.probing import Flip, Probe, probe
    from brittle.evaluation.published_set import evaluate_stored
    from brittle.evaluation.rule_checks import Outcome, check_rules
    from brittle.evaluation.rule_evidence import load_evidence
    from brittle.evaluation.rule_reports import (
        intervals_in_words,
        junit_xml,
        markdown_summary,
        outcomes_in_words,
        rules_kept,
    )
    from brittle.evaluation.rules import Rule, load_rules
    from brittle.evaluation.run import evaluate
    from brittle.evaluation.table_formats import (
        Column,
        Format,
        ScoreTable,
        format_table,
        guess_format,
        table_parts,
    )
    from brittle.evaluation.tables import (
        MEASURES,
        By,
        Measure,
        agreement_table,
        by_corruption_table,
        per_corruption_table,
        printed_table,
        published_index,
        rank_table,
    )
    from brittle.evaluation.trajectory_scores import SCALE, SHIFT, CnsScores, Trajectories, cns_scores, trajectories
    from brittle.evaluation.trajectory_tables import slide_tables

_LAZY = {
    "Callback": "callbacks",
    "MLflowCallback": "callbacks",
    "StartedRun": "callbacks",
    "TensorBoardCallback": "callbacks",
    "WandbCallback": "callbacks",
    "load_callback": "callbacks",
    "drawn_key": "failure_search",
    "load_failure_points": "failure_search",
    "search_failure_points": "failure_search",
    "FailureSummary": "failure_summary",
    "SearchedFolder": "failure_summary",
    "import_predictions": "predictions",
    "read_predictions": "predictions",
    "Flip": "probing",
    "Probe": "probing",
    "probe": "probing",
    "evaluate_stored": "published_set",
    "evaluate": "run",
    "SCALE": "trajectory_scores",
    "SHIFT": "trajectory_scores",
    "CnsScores": "trajectory_scores",
    "Trajectories": "trajectory_scores",
    "cns_scores": "trajectory_scores",
    "trajectories": "trajectory_scores",
    "ClassScores": "diagnosis",
    "ModelCalibration": "diagnosis",
    "model_calibration": "diagnosis",
    "scores_by_class": "diagnosis",
    "Columns": "diagnosis",
    "EarliestFailure": "diagnosis",
    "FailureCurves": "diagnosis",
    "FailureNumbers": "diagnosis",
    "earliest_failures": "diagnosis",
    "failure_curves": "diagnosis",
    "severity_columns": "diagnosis",
    "Comparison": "comparison",
    "LevelFailures": "comparison",
    "ScoreList": "comparison",
    "compare_with_best": "comparison",
    "level_failures": "comparison",
    "score_list": "comparison",
    "score_table": "comparison",
    "escape_latex": "latex_text",
    "Outcome": "rule_checks",
    "check_rules": "rule_checks",
    "load_evidence": "rule_evidence",
    "intervals_in_words": "rule_reports",
    "junit_xml": "rule_reports",
    "markdown_summary": "rule_reports",
    "outcomes_in_words": "rule_reports",
    "rules_kept": "rule_reports",
    "Rule": "rules",
    "load_rules": "rules",
    "Column": "table_formats",
    "Format": "table_formats",
    "ScoreTable": "table_formats",
    "format_table": "table_formats",
    "guess_format": "table_formats",
    "table_parts": "table_formats",
    "MEASURES": "tables",
    "By": "tables",
    "Measure": "tables",
    "agreement_table": "tables",
    "by_corruption_table": "tables",
    "per_corruption_table": "tables",
    "printed_table": "tables",
    "published_index": "tables",
    "rank_table": "tables",
    "slide_tables": "trajectory_tables",
}
"""Names imported at first use, and the module each is in: what a report or a run does not need is not loaded."""

__all__ = [
    "CLEAN",
    "MEASURES",
    "SCALE",
    "SHIFT",
    "By",
    "Call",
    "Callback",
    "CallbackFailed",
    "Cell",
    "ClassScores",
    "Classes",
    "CnsScores",
    "Column",
    "Columns",
    "Comparable",
    "Comparison",
    "CorruptionScores",
    "Drawn",
    "EarliestFailure",
    "FailureCurves",
    "FailureNumbers",
    "FailureSummary",
    "Flip",
    "Format",
    "KnownModel",
    "LevelFailures",
    "MLflowCallback",
    "Measure",
    "ModelCalibration",
    "Outcome",
    "Probe",
    "Results",
    "Rule",
    "Run",
    "ScoreList",
    "ScoreTable",
    "Scores",
    "SearchedFolder",
    "StartedRun",
    "Store",
    "TensorBoardCallback",
    "Trajectories",
    "WandbCallback",
    "agreement_table",
    "as_baseline",
    "as_dataset",
    "best_batch_size",
    "by_corruption",
    "by_corruption_table",
    "check_rules",
    "checked_scores",
    "cns_scores",
    "common_batch_size",
    "comparable",
    "compare",
    "compare_all",
    "compare_with_best",
    "decoded_ids",
    "drawn_key",
    "earliest_failures",
    "escape_latex",
    "evaluate",
    "evaluate_stored",
    "failure_curves",
    "find_reference",
    "fitted",
    "format_table",
    "guess_format",
    "guessing_in_words",
    "guessing_models",
    "image_shape",
    "import_predictions",
    "infer",
    "intervals_in_words",
    "junit_xml",
    "level_failures",
    "load_callback",
    "load_evidence",
    "load_failure_points",
    "load_results",
    "load_rules",
    "markdown_summary",
    "model_calibration",
    "outcomes_in_words",
    "per_corruption_table",
    "plan",
    "printed_table",
    "probabilities",
    "probe",
    "published_index",
    "published_rows",
    "rank_table",
    "read_predictions",
    "rules_kept",
    "score_list",
    "score_table",
    "scores",
    "scores_by_class",
    "search_failure_points",
    "severity_columns",
    "shared_rows",
    "slide_tables",
    "table_parts",
    "trajectories",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"brittle.evaluation.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'brittle.evaluation' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted(__all__)

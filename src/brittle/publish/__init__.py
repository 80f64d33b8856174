"""Results where people look: the Hugging Face Hub, RobustBench, FiftyOne, a safety case, and a leaderboard."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.publish.evidence import write_evidence
    from brittle.publish.fiftyone import write_fiftyone
    from brittle.publish.hub import (
        HubSettings,
        check_eval_results,
        check_model_index,
        eval_results,
        model_index,
        write_hub,
    )
    from brittle.publish.leaderboard import LeaderboardTable, leaderboard_tables, write_leaderboard
    from brittle.publish.robustbench import PaperEntry, load_paper_entry, robustbench_info, write_robustbench

_LAZY = {
    "HubSettings": "hub",
    "LeaderboardTable": "leaderboard",
    "PaperEntry": "robustbench",
    "check_eval_results": "hub",
    "check_model_index": "hub",
    "eval_results": "hub",
    "leaderboard_tables": "leaderboard",
    "load_paper_entry": "robustbench",
    "model_index": "hub",
    "robustbench_info": "robustbench",
    "write_evidence": "evidence",
    "write_fiftyone": "fiftyone",
    "write_hub": "hub",
    "write_leaderboard": "leaderboard",
    "write_robustbench": "robustbench",
}
"""Names imported at first use, and the module each is in."""

__all__ = [
    "HubSettings",
    "LeaderboardTable",
    "PaperEntry",
    "check_eval_results",
    "check_model_index",
    "eval_results",
    "leaderboard_tables",
    "load_paper_entry",
    "model_index",
    "robustbench_info",
    "write_evidence",
    "write_fiftyone",
    "write_hub",
    "write_leaderboard",
    "write_robustbench",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"brittle.publish.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'brittle.publish' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""The papers as experiments: one module a paper, one function a table or figure, published numbers beside ours."""

from brittle.papers.experiments import (
    PAPERS,
    Experiment,
    Finding,
    Outcome,
    Setting,
    experiment,
    find_experiments,
    list_experiments,
    read_findings,
    reproduce,
)
from brittle.papers.models import PaperModel, load_paper_models, paper_models
from brittle.papers.page import findings_markdown, write_page

__all__ = [
    "PAPERS",
    "Experiment",
    "Finding",
    "Outcome",
    "PaperModel",
    "Setting",
    "experiment",
    "find_experiments",
    "findings_markdown",
    "list_experiments",
    "load_paper_models",
    "paper_models",
    "read_findings",
    "reproduce",
    "write_page",
]

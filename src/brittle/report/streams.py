"""Streams: the error over time of models that may adapt to what they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from brittle.benchmarks import StreamBenchmark
from brittle.evaluation.row_files import STREAMS
from brittle.evaluation.streams import StreamScores, stream_scores
from brittle.report.charts import Axis, Caption, Chart, Frame, Series, line_chart, share_axis, value_tips
from brittle.report.data import Measure, Measured, Part
from brittle.report.theme import ModelStyles


@dataclass(frozen=True, eq=False)
class MeasuredStreams(Measured):
    """A part with streams: the scores of its models on each."""

    scores: Sequence[StreamScores] = ()


def measure_streams(part: Part) -> MeasuredStreams:
    """Every model that was shown a stream, by its mean accuracy over streams, the best first."""
    scores = stream_scores(part.results)
    unknown = np.array([np.nan])
    measures = []
    for model in part.models:
        errors = [one.error for one in scores if one.model == model]
        accuracy = 1 - float(np.mean([error.value for error in errors]))
        measures.append(Measure(model, errors[0].n or 0, np.array([accuracy]), unknown, unknown))
    measures.sort(key=lambda one: (-one.main.value, one.model))
    return MeasuredStreams(part, measures, scores=scores)


def shown_streams(part: Part) -> list[StreamBenchmark]:
    """The recipes of the streams that models were shown, as far as their runs hold them."""
    files = [path for run in part.results.runs for path in sorted((run.folder / STREAMS).glob("*.toml"))]
    return list({stream.hash: stream for stream in map(StreamBenchmark.load, files)}.values())


def streams_over_time(measured: MeasuredStreams, styles: ModelStyles) -> dict[str, Any]:
    """A chart of the error over time for each stream, and a table with the error under each corruption."""
    names = list(dict.fromkeys(one.stream for one in measured.scores))
    views = []
    for name in names:
        scores = [one for one in measured.scores if one.stream == name]
        short = name.rpartition("-")[0]
        views.append({"name": short, "scores": scores, "chart": _over_time(short, scores, styles)})
    return {"template": "streams.html", "views": views}


def _over_time(name: str, scores: Sequence[StreamScores], styles: ModelStyles) -> Chart:
    windows = scores[0].over_time
    middles = [(a + b) / 2 for a, b in pairwise([0, *(window.end for window in windows)])]
    series = [
        Series(one.model, styles[one.model], middles, *(
            [getattr(window.error, end) or 0.0 for window in one.over_time] for end in ("value", "low", "high")
        ))
        for one in scores
    ]  # fmt: skip
    last = windows[-1].end
    ticks = [(last * part / 5, f"{last * part / 5:,.0f}") for part in range(6)]
    top = max(max(one.high) for one in series)
    frame = Frame(760, 260, Axis(0, last, ticks, "images shown"), share_axis(top, "error"), (8, 24, 34, 34))
    best = scores[0]
    label = f"On the stream {name} {best.model} has the lowest mean error, {100 * best.error.value:.1f} percent"
    caption = Caption(name, "error in percent, as images are shown", label)
    return line_chart(frame, series, caption, value_tips(series, [window.title for window in windows]))

"""Streams: what models are shown, what is kept of it, and the error over time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry, StreamBenchmark
from brittle.cli import app
from brittle.evaluation import check_run, stream_scores, stream_tables
from brittle.models import wrap_model
from brittle.publish import leaderboard_tables
from tests.errors import naming

DATA = brittle.load_dataset("demo").limited(40)
RECIPE = Benchmark("two", (Entry("fog", (1, 3)), Entry("contrast", (2, 4))))


class Recorder:
    """Predicts class 0 in its first batches and then class 1, and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Any] = []
        self.resets: list[int] = []

    def __call__(self, images: Any) -> Any:
        self.shown.append(np.array(images))
        return np.eye(10)[[len(self.shown) % 10] * len(images)]

    def reset(self) -> None:
        self.resets.append(len(self.shown))


@pytest.mark.parametrize("order", ["continual", "gradual", "mixed"])
def test_a_model_is_shown_what_the_rows_say(order: str) -> None:
    recorder, stream = Recorder(), StreamBenchmark(RECIPE, order, batch_size=15)
    results = brittle.evaluate({"recorder": wrap_model(recorder, name="recorder")}, DATA, stream)
    assert results.streams is not None
    rows = results.streams.collect()
    shown = np.concatenate(recorder.shown[-rows["step"].n_unique() :])
    places = {str(sample): place for place, sample in enumerate(DATA.ids)}
    for row, image in list(zip(rows.iter_rows(named=True), shown, strict=True))[::7]:
        clean = DATA.image(places[row["sample"]])
        level = float(row["level"])
        np.testing.assert_array_equal(
            image, RECIPE.apply(clean, row["corruption"], level, DATA.ids[places[row["sample"]]])
        )
        assert row["label"] == DATA.labels[places[row["sample"]]]  # type: ignore[index]
    by_step = rows.group_by("step", maintain_order=True).agg(pl.col("prediction").unique())
    assert by_step["prediction"].list.len().max() == 1  # one answer a batch, in their order
    steps = len(by_step)
    assert recorder.resets.count(len(recorder.shown) - steps) >= 1


def test_models_forget_at_each_segment_if_the_stream_says_so() -> None:
    resets = {}
    for reset in ("start", "segment"):
        recorder = Recorder()
        brittle.evaluate(wrap_model(recorder, name="r"), DATA, StreamBenchmark(RECIPE, reset=reset, batch_size=40))
        resets[reset] = sorted({place for place in recorder.resets if 0 < place - 1 < 4})  # after the clean images
    assert resets == {"start": [], "segment": [2, 3, 4]}


def test_scores_are_those_of_the_rows(tmp_path: Path) -> None:
    stream = StreamBenchmark(RECIPE, "gradual", batch_size=16)
    results = brittle.evaluate(["demo:standard", "bn-adapt:demo:standard"], DATA, stream, tmp_path / "run")
    assert results.streams is not None
    rows = results.streams.collect()
    for score in stream_scores(results):
        mine = rows.filter(model=score.model)
        wrong = mine.group_by("segment", maintain_order=True).agg(error=1 - pl.col("correct").mean())
        assert score.error.value == pytest.approx(wrong["error"].mean())
        assert [window.error.value for window in score.over_time] == pytest.approx(wrong["error"].to_list())
        assert [window.end for window in score.over_time] == [40, 80, 120, 160, 200, 240]
        assert [window.title for window in score.over_time][:3] == ["fog 1", "fog 3", "fog 1"]
        fog = mine.filter(pl.col("corruption").str.ends_with("fog"))
        assert score.corruptions["imagenet-c/fog"].value == pytest.approx(1 - fog["correct"].mean())  # type: ignore[operator]
        assert score.error.low is not None
    [table] = stream_tables(results)
    assert [row[0] for row in table.rows] == ["fog", "contrast", "mean"]
    results.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.index("Error over time") < page.index("In short")
    assert stream.hash in page
    with pytest.raises(BrittleError, match="stream"):
        results.find_benchmark()
    with pytest.raises(BrittleError, match="stream"):
        leaderboard_tables(results)
    static = rows.filter(model="demo-standard", level=3.0, segment=1).sort("sample")
    ordinary = brittle.evaluate("demo:standard", DATA, RECIPE).rows.filter(level=3.0).sort("sample").collect()
    assert static["prediction"].to_list() == ordinary["prediction"].to_list()  # a model that does not adapt


def test_a_stream_is_kept_and_not_computed_again(tmp_path: Path) -> None:
    recorder, stream = Recorder(), StreamBenchmark(RECIPE, batch_size=20)
    model = wrap_model(recorder, name="r", version="1")
    first = brittle.evaluate(model, DATA, stream, tmp_path / "run")
    shown = len(recorder.shown)
    again = brittle.evaluate(model, DATA, stream, tmp_path / "run")
    assert len(recorder.shown) == shown
    assert again.streams is not None
    assert first.streams is not None
    assert again.streams.collect().equals(first.streams.collect())
    assert not [finding for finding in check_run(tmp_path / "run").findings if finding.kind == "damage"]
    brittle.evaluate(model, DATA, stream.cut(batch_size=10), tmp_path / "run")
    scores = brittle.load_results(tmp_path / "run").stream_scores()
    assert {score.stream.rpartition("-")[0] for score in scores} == {"two", "two-custom"}
    with pytest.raises(BrittleError, match=naming("tow", "two")):
        stream_scores(again, "tow")
    with pytest.raises(BrittleError, match="no stream"):
        stream_scores(brittle.evaluate("demo:standard", DATA))
    with pytest.raises(BrittleError, match=naming("streams", "ray")):
        brittle.evaluate(model, DATA, stream, engine="ray")


def test_streams_on_the_command_line(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    base = ["run", "-m", "bn-adapt:demo:standard", "-d", "demo", "--limit", "40", "-b", "cifar10-c-continual"]
    made = CliRunner().invoke(app, [*base, "-c", "fog,contrast", "--batch-size", "20", "-o", run])
    assert made.exit_code == 0, made.output
    assert "cifar10-c-continual-custom" in made.output
    assert max(len(line) for line in made.output.splitlines() if run not in line) <= 80
    found = CliRunner().invoke(app, ["compare", run, "--json"])
    [score] = json.loads(found.stdout)["streams"]
    assert list(score["corruptions"]) == ["imagenet-c/fog", "imagenet-c/contrast"]
    table = CliRunner().invoke(app, ["compare", run, "--format", "csv"])
    assert table.stdout.splitlines()[1].startswith("fog,")
    drawn = CliRunner().invoke(app, ["compare", run, "--figure", str(tmp_path / "stream.pdf")])
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "stream.pdf").read_bytes().startswith(b"%PDF")
    cells = CliRunner().invoke(app, [*base[:-1], "cifar10-c", "-c", "fog", "-s", "5", "-o", run])
    assert cells.exit_code == 0, cells.output
    both = CliRunner().invoke(app, ["compare", run])
    assert "on the stream cifar10-c-continual-custom" in both.output
    assert "accuracy by corruption" in both.output
    alone = CliRunner().invoke(app, ["compare", run, "-b", "cifar10-c-continual-custom"])
    assert "on the stream" in alone.output
    assert "accuracy by corruption" not in alone.output
    for wrong, named in ((["--difficulty", "2"], "--difficulty"), (["--textures", run], "textures")):
        refused = CliRunner().invoke(app, [*base, *wrong, "-o", str(tmp_path / "other")])
        assert refused.exit_code == 2
        assert named in refused.output

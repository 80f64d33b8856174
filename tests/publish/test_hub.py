"""What is written for the Hub: read back by PyYAML and by huggingface_hub itself, and refused where that refuses."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brittle
from brittle._errors import BrittleError
from brittle.evaluation import Results
from brittle.publish import HubSettings, check_eval_results, check_model_index, write_hub
from brittle.publish.yaml_text import yaml_text
from tests.errors import naming
from tests.publish.conftest import SMALL, models

yaml = pytest.importorskip("yaml", reason="an independent reader of YAML is needed: pip install pyyaml")
hub = pytest.importorskip("huggingface_hub", reason="the Hub's own schema is needed: pip install huggingface_hub")

TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(PLAIN, min_size=1, max_size=4) | st.dictionaries(TEXTS, PLAIN, min_size=1, max_size=4))
def test_yaml_is_read_as_the_same_data(data: object) -> None:
    assert _floats(yaml.safe_load(yaml_text(data))) == _floats(data)


def _floats(data: object) -> object:
    """Numbers whose notation readers of YAML 1.1 and 1.2 take differently, as text."""
    if isinstance(data, dict):
        return {key: _floats(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_floats(value) for value in data]
    if isinstance(data, float):
        return repr(data) if "e" in repr(data) else data
    return data


def test_the_hub_reads_what_is_written(two: Results, tmp_path: Path) -> None:
    settings = HubSettings("uoft-cs/cifar10", publish_as="me/ours", source_url="https://example.org/x")
    card, results = write_hub(two, tmp_path, settings, model_name="one")
    known = hub.ModelCard.load(card)
    [score] = two.scores(models=["one"])
    read = {one.metric_name: one for one in known.data.eval_results}
    assert known.data.model_name == "me/ours"
    mean = read["mean accuracy (%)"]
    assert mean.metric_value == pytest.approx(100 * score.mean_accuracy.value, abs=0.005)
    assert mean.metric_args["low"] == pytest.approx(100 * score.mean_accuracy.low, abs=0.005)
    assert (mean.dataset_type, mean.dataset_config, mean.task_type) == (
        "uoft-cs/cifar10",
        SMALL.name,
        "image-classification",
    )
    [entry] = hub.parse_eval_result_entries(yaml.safe_load(results.read_text("utf-8")))
    assert (entry.dataset_id, entry.task_id) == ("uoft-cs/cifar10", SMALL.name)
    assert entry.value == mean.metric_value
    assert SMALL.hash in entry.notes
    assert results.parent.name == ".eval_results"


def test_a_card_keeps_its_text_and_what_others_measured(two: Results, tmp_path: Path) -> None:
    other = hub.EvalResult("image-classification", "imagenet-1k", "ImageNet", "accuracy", 0.8)
    data = hub.ModelCardData(license="mit", model_name="net", eval_results=[other])
    (tmp_path / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n\n# My net\n\nWords.\n")
    for _ in range(2):  # the second time replaces the first
        write_hub(two, tmp_path, "uoft-cs/cifar10", model_name="two")
    card = hub.ModelCard.load(tmp_path / "README.md")
    assert "# My net\n\nWords." in card.text
    assert (card.data.license, card.data.model_name) == ("mit", "net")
    names = [one.metric_name for one in card.data.eval_results if one.dataset_type == "uoft-cs/cifar10"]
    assert len(names) == len(set(names)) == 5
    assert [one.metric_value for one in card.data.eval_results if one.dataset_type == "imagenet-1k"] == [0.8]


def test_a_card_without_metadata_gets_some_and_one_in_another_encoding_is_refused(
    two: Results, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    card = tmp_path / "README.md"
    card.write_text("# My net\n\nWords.\n")
    for _ in range(2):
        write_hub(two, tmp_path, "uoft-cs/cifar10", model_name="two")
    read = hub.ModelCard.load(card)
    assert read.text.strip() == "# My net\n\nWords."
    assert len(read.data.eval_results) == 5
    assert not caplog.records
    card.write_bytes("# Résumé".encode("cp1252"))
    with pytest.raises(BrittleError, match="UTF-8"):
        write_hub(two, tmp_path, "uoft-cs/cifar10", model_name="two")


def test_two_benchmarks_stay_apart_in_a_card(two: Results, tmp_path: Path) -> None:
    folder = shutil.copytree(two.runs[0].folder, tmp_path / "run")
    fog = brittle.Benchmark("fog alone", SMALL.entries[:1], table=SMALL.table)
    both = brittle.evaluate(models("one", "two"), brittle.load_dataset("demo").limited(40), fog, folder, progress=None)
    for _ in range(2):  # written, then merged by huggingface_hub
        write_hub(both, tmp_path / "hub", "a/b", model_name="one")
        read = hub.ModelCard.load(tmp_path / "hub" / "README.md").data.eval_results
        means = {one.dataset_config: one.metric_value for one in read if one.metric_name == "mean accuracy (%)"}
        for recipe in (fog, SMALL):
            [score] = both.scores(recipe, models=["one"])
            assert means[recipe.name] == pytest.approx(100 * score.mean_accuracy.value, abs=0.005)
        assert len(read) == 10


@pytest.mark.parametrize("text", ["---\nlicense: [\n---\n", "---\nmodel-index: 3\n---\n", "---\n- a\n---\n"])
def test_bad_metadata_of_a_card_is_one_sentence_and_the_card_is_kept(two: Results, tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(BrittleError, match=naming("README.md")) as caught:
        write_hub(two, tmp_path, "uoft-cs/cifar10", model_name="one")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "README.md").read_text() == text
    assert not (tmp_path / ".eval_results").exists()


GOOD = {"dataset": {"id": "a/b", "task_id": "c"}, "value": 1.0}


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ([], ("list",)),
        ({}, ("list",)),
        ([3], ("result 1", "dataset")),
        ([{"value": 1}], ("result 1", "'dataset'")),
        ([{"dataset": {"id": "a/b", "task_id": "c"}}], ("'value'",)),
        ([{**GOOD, "dataset": {"id": "a/b"}}], ("'task_id'",)),
        ([{**GOOD, "dataset": {"id": "a b", "task_id": "c"}}], ("'a b'",)),
        ([GOOD, {**GOOD, "value": "high"}], ("result 2", "'high'")),
        ([{**GOOD, "value": True}], ("True",)),
        ([{**GOOD, "valeu": 1}], ("'valeu'", "value")),
        ([{**GOOD, "source": {"name": "x"}}], ("'url'",)),
        ([{**GOOD, "date": "yesterday"}], ("'yesterday'",)),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(data: object, named: tuple[str, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        check_eval_results(data)


def test_what_huggingface_hub_itself_refuses_is_one_sentence() -> None:
    with pytest.raises(BrittleError, match=naming("model-index")):
        check_model_index({"tags": []})
    with pytest.raises(BrittleError, match=naming("refuse", "KeyError")):
        check_model_index({"model-index": [{"name": "x", "results": [{"task": {}}]}]})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"dataset_id": ""}, ("dataset_id", "uoft-cs/cifar10")),
        ({"dataset_id": "a/b/c"}, ("'a/b/c'",)),
        ({"dataset_id": "../x"}, ("'../x'",)),
        ({"dataset_id": "a/b", "publish_as": " "}, ("publish_as",)),
        ({"dataset_id": "a/b", "source_url": "javascript:alert(1)"}, ("source_url", "https://")),
        ({"dataset_id": "a/b", "source_name": "logs"}, ("'logs'", "source_url")),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, str], named: tuple[str, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        HubSettings(**settings)


def test_one_model_is_published_at_a_time(two: Results, tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming(2, "one", "two")):
        write_hub(two, tmp_path, "a/b")
    with pytest.raises(BrittleError, match=naming("'tow'", "'two'")):
        write_hub(two, tmp_path, "a/b", model_name="tow")
    with pytest.raises(BrittleError, match=naming("'cifar10-c-bar'", SMALL.name)):
        write_hub(two, tmp_path, "a/b", "cifar10-c-bar", model_name="one")
    assert not list(tmp_path.iterdir())

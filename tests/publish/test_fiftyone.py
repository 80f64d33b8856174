"""A folder that FiftyOne imports: read as its importer reads it, and by FiftyOne itself where it is installed."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle._errors import BrittleError
from brittle.evaluation import Results
from brittle.publish import write_fiftyone
from tests.errors import naming
from tests.publish.conftest import SMALL


@pytest.fixture(scope="module")
def written(two: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fiftyone") / "data"
    return write_fiftyone(two, folder, corruptions=["fog"], severities=[5], limit=4)


def samples(folder: Path) -> list[dict]:
    return list(json.loads((folder / "samples.json").read_text("utf-8"))["samples"])


def test_pictures_are_those_that_the_models_saw(written: Path) -> None:
    data = brittle.load_dataset("demo").limited(40)
    places = {str(sample): i for i, sample in enumerate(data.ids)}
    made = samples(written)
    assert [one["corruption"] for one in made] == ["clean"] * 4 + ["imagenet-c/fog"] * 4
    for one in made:
        i = places[one["sample"]]
        image = data.image(i)
        if one["corruption"] != "clean":
            image = SMALL.apply(image, "imagenet-c/fog", 5, data.ids[i])
        assert np.array_equal(np.asarray(Pil.open(written / one["filepath"])), image)
        assert one["ground_truth"]["label"] == data.classes[data.labels[i]]


def test_predictions_are_those_of_the_rows(two: Results, written: Path) -> None:
    rows = {
        (row["model"], row["corruption"], row["level"], row["sample"]): row for row in two.rows.collect().to_dicts()
    }
    for one in samples(written):
        for model in ("one", "two"):
            row = rows[model, one["corruption"], one["severity"], one["sample"]]
            assert one[model]["label"] == two.runs[0].classes[row["prediction"]]
            assert one[model]["confidence"] == pytest.approx(row["confidence"])
            assert one[f"{model}_correct"] == row["correct"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"corruptions": ["snow"]}, ("'snow'", "imagenet-c/fog")),
        ({"severities": [2.5]}, (2.5, 1, 5)),
        ({"model_names": ["three"]}, ("'three'", "one", "two")),
        ({"limit": 0}, ("limit", 0)),
        ({"benchmark": "cifar10-c-bar"}, ("'cifar10-c-bar'", SMALL.name)),
    ],
)
def test_a_choice_that_cannot_be_is_one_sentence(two: Results, tmp_path: Path, options: dict, named: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        write_fiftyone(two, tmp_path / "data", **options)
    assert not (tmp_path / "data").exists()


def test_a_folder_of_something_else_is_left_alone(two: Results, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BrittleError, match=naming("not empty")):
        write_fiftyone(two, tmp_path)


IMPORT = """
import sys, fiftyone as fo
dataset = fo.Dataset.from_dir(sys.argv[1], dataset_type=fo.types.FiftyOneDataset)
right = dataset.evaluate_classifications("one", gt_field="ground_truth", eval_key="e").metrics()["accuracy"]
print("imported", len(dataset), dataset.count_values("corruption"), round(right, 4))
"""


def test_fiftyone_itself_imports_it(written: Path, tmp_path: Path) -> None:
    python = os.environ.get("BRITTLE_FIFTYONE_PYTHON")
    if not python:
        pytest.skip("BRITTLE_FIFTYONE_PYTHON names a Python with fiftyone and its database; it is not set")
    done = subprocess.run([python, "-c", IMPORT, written], capture_output=True, text=True, cwd=tmp_path, check=False)
    right = np.mean([one["one_correct"] for one in samples(written)])
    assert f"imported 8 {{'clean': 4, 'imagenet-c/fog': 4}} {round(right, 4)}" in done.stdout, done.stderr

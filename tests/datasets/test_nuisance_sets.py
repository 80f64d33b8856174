"""OOD-CV and both ImageNet-D: layouts as published, made by hand, and what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from brittle import BrittleError
from brittle.cli import app
from brittle.datasets import NUISANCES, domainnet, imagenet_d, load_dataset, ood_cv, stored_set
from brittle.datasets.classes import imagenet_names
from brittle.datasets.nuisance_sets import OOD_CV_CLASSES, imagenet_d_classes
from brittle.evaluation import evaluate_stored, nuisance_table
from brittle.evaluation.results import Results
from brittle.models import from_callable
from tests.datasets.fake_layouts import picture
from tests.errors import naming

TEN = list(OOD_CV_CLASSES)


def ood_folder(root: Path, *, nuisances: tuple[str, ...] = NUISANCES) -> Path:
    """Two images of each of three classes in each part, of different sizes, listed in labels.csv as the authors do."""
    for part in ("train", "iid_test", *(f"nuisances/{name}" for name in nuisances)):
        lines = ["imgs,labels,azimuth"]
        for number, name in enumerate(("boat", "car", "train")):
            for which in range(2):
                file = f"collection_{name}_{part.rpartition('/')[2]}_{which}.jpg"
                picture(root / part / "Images" / name / file, seed=number, size=(20 + 5 * which, 30))
                lines.append(f"{file},{name},1.5")
        (root / part / "Images" / "sofa").mkdir()  # the converter makes a folder for each class
        (root / part / "labels.csv").write_text("\n".join([*lines, lines[-1]]))  # an image may be listed twice
    return root


def test_ood_cv_has_ten_classes_and_a_folder_for_each_nuisance(tmp_path: Path) -> None:
    root = ood_folder(tmp_path / "ROBINv1.1-cls-pose")
    for options, name in (({}, "iid_test"), ({"nuisance": "pose"}, "pose"), ({"train": True}, "train")):
        data = ood_cv(root, **options)
        assert data.name == f"ood-cv/{name}"
        assert data.classes == tuple(TEN)
        assert data.labels is not None
        assert data.labels.tolist() == [2, 2, 4, 4, 9, 9]
        assert data.outputs == 10
    for_imagenet = ood_cv(root, nuisance="weather", imagenet=True)
    assert for_imagenet.outputs == 1000
    assert for_imagenet.class_map is not None
    kinds = {
        name: [imagenet_names()[i] for i in np.flatnonzero(for_imagenet.class_map == n)] for n, name in enumerate(TEN)
    }
    assert kinds["motorbike"] == ["moped", "motor scooter"] or kinds["motorbike"] == ["moped", "motor_scooter"]
    assert "school_bus" in [kind.replace(" ", "_") for kind in kinds["bus"]]
    assert all(kinds.values())


def test_the_first_release_was_flat(tmp_path: Path) -> None:
    for nuisance in NUISANCES:
        picture(tmp_path / nuisance / "bus" / "1.jpg")
    assert ood_cv(tmp_path, nuisance="shape").ids == ("bus/1.jpg",)
    found = stored_set(f"ood-cv:{tmp_path}")
    assert found is not None
    assert {cell.corruption for cell in found.cells} == {f"ood-cv/{name}" for name in NUISANCES}


def test_each_nuisance_is_a_cell_of_a_run(tmp_path: Path) -> None:
    root = ood_folder(tmp_path / "ood")
    stored = stored_set(f"ood-cv:{root}")
    assert stored is not None
    always_car = from_callable(lambda images: np.eye(10)[np.full(len(images), TEN.index("car"))], name="car")
    results = evaluate_stored(always_car, stored, tmp_path / "run")
    accuracy = dict(results.accuracy().select("corruption", "accuracy").iter_rows())
    assert accuracy == pytest.approx(dict.fromkeys(["clean", *(f"ood-cv/{name}" for name in NUISANCES)], 1 / 3))
    again = evaluate_stored(always_car, stored, tmp_path / "run")  # resumes
    assert again.accuracy().equals(results.accuracy())
    racer = from_callable(lambda images: np.eye(1000)[np.full(len(images), 751)], name="racer")  # a kind of car
    mapped = stored_set(f"ood-cv-imagenet:{root}")
    assert mapped is not None
    results = evaluate_stored(racer, mapped, tmp_path / "mapped")
    assert set(results.accuracy()["accuracy"]) == {1 / 3}


def test_the_mean_weighs_each_nuisance_the_same() -> None:
    rows = [("m", "clean", 0.0, str(i), i < 9) for i in range(10)]
    for number, name in enumerate(NUISANCES):
        rows += [("m", f"ood-cv/{name}", 1.0, str(i), i < number) for i in range(5 + 5 * number)]
    columns = ["model", "corruption", "level", "sample", "correct"]
    table = nuisance_table(Results(pl.DataFrame(rows, schema=columns, orient="row").lazy()))
    found = {str(row[0]): row[1] for row in table.rows}
    assert found["I.I.D. test set"].value == 0.9
    each = {name: number / (5 + 5 * number) for number, name in enumerate(NUISANCES)}
    assert {name: found[name].value for name in NUISANCES} == pytest.approx(each)
    mean = found["mean of nuisances"]
    assert mean.value == pytest.approx(np.mean(list(each.values())))
    assert 0 <= mean.low < mean.value < mean.high
    assert mean.high - mean.low < found["pose"].high - found["pose"].low


def test_ood_cv_runs_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ood_folder(tmp_path / "ood")
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(
        "import numpy as np\n"
        "def ten():\n    return lambda images: np.eye(10)[images.astype(int).mean((1, 2, 3)).astype(int) % 10]\n"
    )
    call = ["run", "-m", "net.py:ten", "-d", "ood-cv:ood", "-o", "run"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert len(rows) == 6 * 7
    assert "ood-cv/weather" in done.output
    done = CliRunner().invoke(app, ["compare", "run"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for name in ("I.I.D. test set", *NUISANCES, "mean of nuisances"):
        assert name in done.output
    done = CliRunner().invoke(app, ["compare", "run", "--json"])
    assert len(json.loads(done.stdout)) == 8
    done = CliRunner().invoke(app, ["report", "run"])
    assert done.exit_code == 0, done.output


def two_classes(root: Path) -> Path:
    for name in ("mug", "cup"):
        picture(root / name / "1.jpg")
    return root


BAD = {
    "no nuisance": (lambda p: ood_cv(ood_folder(p), nuisance="poze"), ("poze", "pose")),
    "missing nuisance": (
        lambda p: stored_set(f"ood-cv:{ood_folder(p, nuisances=NUISANCES[:-2])}"),
        ("weather, occlusion", "nuisances", "--partial"),
    ),
    "its images asked for": (
        lambda p: ood_cv(ood_folder(p, nuisances=NUISANCES[1:]), nuisance="pose"),
        ("pose", "iid_test"),
    ),
    "not there": (lambda p: ood_cv(p / "x"), ("x", "iid_test")),
    "other classes": (
        lambda p: ood_cv(picture(p / "pose" / "cat" / "1.jpg").parents[2], nuisance="pose"),
        ("cat", "sofa"),
    ),
    "ImageNet-D without a part": (
        lambda p: imagenet_d(picture(p / "background" / "mug" / "1.jpg").parents[2]),
        ("texture, material",),
    ),
    "other parts": (lambda p: imagenet_d(p, shift="backgrund"), ("backgrund", "background")),
    "other classes of ImageNet-D": (
        lambda p: imagenet_d(picture(p / "texture" / "cat" / "1.jpg").parents[2], shift="texture"),
        ("cat", 113, "alarm_clock"),
    ),
    "no map": (
        lambda p: domainnet(picture(p / "clipart" / "bird" / "1.jpg").parents[2], domain="clipart"),
        ("imagenet_classes.json",),
    ),
    "a wrong map": (
        lambda p: domainnet(picture(p / "bird" / "1.jpg").parents[1], mapping={"bird": [1000]}),
        (1000, 999),
    ),
    "a map of others": (
        lambda p: domainnet(picture(p / "bird" / "1.jpg").parents[1], mapping={"dog": [151]}),
        (1, "clipart"),
    ),
    "one class twice": (
        lambda p: domainnet(two_classes(p), mapping={"mug": [504], "cup": [504]}),
        (504, "mug", "cup"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, tmp_path: Path) -> None:
    call, values = BAD[case]
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        call(tmp_path)


def test_a_part_of_ood_cv(tmp_path: Path) -> None:
    root = ood_folder(tmp_path, nuisances=("pose", "shape"))
    found = stored_set(f"ood-cv:{root}", partial=True)
    assert found is not None
    assert len(found.cells) == 3  # with the I.I.D. test set
    lost = root / "nuisances" / "pose" / "Images" / "car" / "collection_car_pose_1.jpg"
    lost.unlink()
    with pytest.raises(BrittleError, match=naming(1, 7, lost.name, "--partial")):
        ood_cv(root, nuisance="pose")
    assert len(ood_cv(root, nuisance="pose", partial=True)) == 5


def test_imagenet_d_shares_the_classes_of_objectnet(tmp_path: Path) -> None:
    classes = imagenet_d_classes()
    assert len(classes) == 113
    assert (classes["chair"], classes["gown"], classes["t_shirt"]) == ((423, 559, 765), (578,), (610,))
    for number, part in enumerate(("background", "texture", "material")):
        picture(tmp_path / part / "chair" / "1.png", seed=number)
    picture(tmp_path / "texture" / "wok" / "1.png")
    (tmp_path / "questions").mkdir()
    data = imagenet_d(tmp_path)
    assert data.columns["shift"].tolist() == ["background", "texture", "texture", "material"]
    assert [data.classes[label] for label in data.labels] == ["chair", "chair", "wok", "chair"]
    assert data.class_map[[423, 559, 765, 0]].tolist() == [list(classes).index("chair")] * 3 + [-1]
    assert len(load_dataset(f"imagenet-d:{tmp_path}", shift="texture")) == 2
    rocking = from_callable(lambda images: np.eye(1000)[np.full(len(images), 765)], name="rocking chair")
    stored = stored_set(f"imagenet-d:{tmp_path}")
    assert stored is not None
    found = evaluate_stored(rocking, stored, tmp_path / "run").accuracy()
    accuracy = {f"imagenet-d/{part}": value for part, value in (("background", 1), ("texture", 0.5), ("material", 1))}
    assert dict(found.select("corruption", "accuracy").iter_rows()) == accuracy


def test_domainnet_takes_a_map_of_its_classes(tmp_path: Path) -> None:
    for folder in ("bird", "zebra", "The_Eiffel_Tower"):
        picture(tmp_path / "clipart" / folder / "1.jpg")
    (tmp_path / "imagenet_classes.json").write_text(json.dumps({"bird": [7, 8, 9], "zebra": [340]}))
    data = domainnet(tmp_path, domain="clipart")
    assert (data.name, data.classes) == ("domainnet/clipart", ("bird", "zebra"))
    assert data.class_map[[7, 9, 340, 0]].tolist() == [0, 0, 1, -1]
    assert "1 images of 1 classes" in data.notes[0]
    assert len(load_dataset(f"domainnet:{tmp_path / 'clipart'}")) == 2

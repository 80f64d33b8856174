"""run, import, compare, failure-points, probe and report, as a user calls them."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil
from typer.testing import Result

import brittle
from brittle.benchmarks import Cell
from brittle.datasets import load_dataset
from brittle.models import ModelError
from tests.errors import unnamed

Run = Callable[..., Result]

MODELS = """
import numpy as np
from brittle.models import from_callable

def tones():
    return from_callable(lambda x: -np.abs(x.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10)), name="tones")

def reds():
    return from_callable(lambda x: -np.abs(x[..., 0].mean((1, 2))[:, None] - np.linspace(60, 190, 10)), name="reds")

def nan():
    return from_callable(lambda x: np.full((len(x), 10), np.nan), name="nan")

def dark():
    def scores(images):
        if images.std((1, 2, 3)).mean() < 25 and images.any():
            return {}[int(images.std())]
        return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))
    return from_callable(scores, name="dark")

def never():
    raise AttributeError("no weights here")
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(MODELS)
    return tmp_path / "nets.py"


@pytest.fixture
def finished(run: Run, models: Path, tmp_path: Path) -> Path:
    """A run of two models on 40 images."""
    how = ["-d", "demo", "--limit", 40, "-b", "cifar10-c", "-c", "fog,contrast", "-s", "1,2.5"]
    result = run("run", "-m", f"{models}:tones", "-m", f"{models}:reds", *how, "-o", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    return tmp_path / "run"


def test_run_keeps_every_prediction_and_prints_the_scores(finished: Path) -> None:
    results = brittle.load_results(finished)
    assert results.models == ["reds", "tones"]
    assert results.cells == [Cell(), *(Cell(f"imagenet-c/{c}", s) for c in ("contrast", "fog") for s in (1, 2.5))]
    assert len(results.rows.collect()) == 2 * 5 * 40


def test_the_same_command_again_does_nothing_new(run: Run, models: Path, finished: Path) -> None:
    before = sorted(p.stat().st_mtime_ns for p in finished.glob("cells/*/*"))
    how = ["-d", "demo", "--limit", 40, "-b", "cifar10-c", "-c", "fog,contrast", "-s", "1,2.5", "-o", finished]
    result = run("run", "-m", f"{models}:tones", *how)
    assert result.exit_code == 0, result.stderr
    assert "tones" in result.stdout
    assert "mean acc." in result.stdout
    assert sorted(p.stat().st_mtime_ns for p in finished.glob("cells/*/*")) == before


def test_compare_ranks_and_pairs(run: Run, finished: Path, tmp_path: Path) -> None:
    result = run("compare", finished)
    assert result.exit_code == 0, result.stderr
    assert "to the best" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    drawn = run("compare", finished, "--figure", tmp_path / "accuracy.svg")
    assert drawn.exit_code == 0, drawn.stderr
    assert "accuracy (%), mean over levels" in (tmp_path / "accuracy.svg").read_text()
    found = json.loads(run("compare", finished, "--json").stdout)["cifar10-c-custom"]["models"]
    assert [row["rank"] for row in found] == [1, 2]
    assert found[0]["to_the_best"] is None
    assert found[1]["to_the_best"]["value"] <= 0
    own = json.loads(run("compare", finished, "--json", "--reference", found[0]["model"]).stdout)["cifar10-c-custom"]
    assert own["reference"].startswith(found[0]["model"])
    own = own["models"]
    assert own[0]["mce"]["value"] == pytest.approx(1)


def test_an_unknown_reference_is_answered_by_the_models_of_the_run_and_the_published_ones(
    run: Run, finished: Path
) -> None:
    result = run("compare", finished, "--reference", "foo")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("'foo'", "reds", "tones", "alexnet-imagenet-c"))


def test_a_report_makes_one_folder_and_no_more(run: Run, finished: Path, tmp_path: Path) -> None:
    refused = run("report", finished, "-o", tmp_path / "no" / "where" / "x.html")
    assert refused.exit_code == 2
    assert str(tmp_path / "no") in refused.stderr
    assert not (tmp_path / "no").exists()
    assert run("report", finished, "-o", tmp_path / "new" / "x.html").exit_code == 0
    assert (tmp_path / "new" / "x.html").is_file()


def test_failure_points_are_found_and_counted(run: Run, models: Path, tmp_path: Path) -> None:
    how = ["-d", "demo", "--limit", 30, "-c", "fog,c-bar/sparkles", "--tolerance", 0.25, "-o", tmp_path / "run"]
    result = run("failure-points", "-m", f"{models}:tones", *how)
    assert result.exit_code == 0, result.stderr
    assert "fog" in result.stdout
    assert "a grid as fine takes" in result.stdout
    files = list((tmp_path / "run" / "failure-points").glob("*/*.parquet"))
    assert len(files) == 2
    assert set(pl.read_parquet(files[0]).columns) >= {"sample", "failed", "held", "evaluations", "prediction"}


def test_probe_says_what_flips_first(run: Run, models: Path, tmp_path: Path) -> None:
    result = run(
        "probe", "cat", "-m", f"{models}:tones", "--image-size", 32, "-c", "fog,contrast", "-o", tmp_path / "p.png"
    )
    assert result.exit_code == 0, result.stderr
    assert "tones sees class" in result.stdout
    with Pil.open(tmp_path / "p.png") as picture:
        assert picture.width > 200
    names = ["-m", f"{models}:tones", "-m", f"{models}:reds"]
    both = run(
        "probe", "cat", *names, "--image-size", 32, "-c", "fog,contrast", "-o", tmp_path / "two.png", columns=200
    )
    assert both.exit_code == 0, both.stderr
    assert "px, of tones, reds" in both.stdout
    with Pil.open(tmp_path / "two.png") as picture:
        orange = (np.asarray(picture) == [0xC2, 0x57, 0x0C]).all(-1)  # the second model's colour
    assert orange.sum() > 50


def test_predictions_made_elsewhere_are_a_run(run: Run, tmp_path: Path) -> None:
    data = load_dataset("demo")
    recipe = brittle.load_benchmark("cifar10-c")
    rng = np.random.default_rng(0)
    tables = [pl.DataFrame({"sample": list(map(str, data.ids)), "corruption": "clean", "level": 0.0})]
    for cell in recipe.cells():
        name = cell.corruption.partition("/")[2]
        row = {"sample": list(map(str, data.ids)), "corruption": name, "level": cell.severity}
        tables.append(pl.DataFrame(row))
    table = pl.concat(tables)
    table = table.with_columns(prediction=pl.Series(rng.integers(0, 10, len(table))))
    table.write_csv(tmp_path / "guesses.csv")
    result = run("import", tmp_path / "guesses.csv", "-d", "demo", "-b", "cifar10-c", "-o", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "guesses" in result.stdout
    [mine] = brittle.evaluation.scores(brittle.load_results(tmp_path / "run"), recipe, resamples=20)
    assert abs(mine.mean_accuracy.value - 0.1) < 0.01
    assert run("report", tmp_path / "run").exit_code == 0


def test_the_report_is_one_file(run: Run, finished: Path) -> None:
    result = run("report", finished, "--title", "Two <odd> models")
    assert result.exit_code == 0, result.stderr
    page = (finished / "report.html").read_text(encoding="utf-8")
    assert "Two &lt;odd&gt; models" in page
    assert "tones" in page


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["run", "-m", "NETS:nan", "-d", "demo", "-o", "OUT"], ("'nan'", "not numbers")),
        (["run", "-m", "NETS:tone", "-d", "demo", "-o", "OUT"], ("nets.py", "tone", "tones")),
        (["run", "-m", "resnet50", "-d", "demo", "-o", "OUT"], ("'resnet50'", "demo:standard", "timm:NAME")),
        (["run", "-m", "NETS:tones", "-d", "nowhere", "-o", "OUT"], ("'nowhere'", "cifar10:PATH")),
        (["run", "-m", "NETS:tones", "-d", "demo", "-b", "cifar-c", "-o", "OUT"], ("cifar-c", "cifar10-c", ".toml")),
        (["run", "-m", "NETS:tones", "-d", "demo", "-s", "3", "-o", "OUT"], ("--benchmark", "--corruption")),
        (["run", "-m", "NETS:tones", "-d", "demo", "--clean", "demo", "-o", "OUT"], ("--clean", "demo")),
        (
            ["run", "-m", "NETS:tones", "-d", "demo", "--engine", "dask", "-o", "OUT"],
            ("--engine", "dask", "local", "ray"),
        ),
        (
            ["run", "-m", "NETS:tones", "-d", "demo", "--limit", "0", "-o", "OUT"],
            ("limit", 0),
        ),
        (["run", "-m", "NETS:tones", "-d", "demo", "-o", "."], ("'.'", "brittle")),
        (["compare", "OUT"], ("brittle", "run.toml")),
        (["report", "OUT", "-o", "page.pdf"], (".html", "page.pdf")),
        (
            ["failure-points", "-m", "NETS:tones", "-d", "demo", "--search-step", "3", "-o", "OUT"],
            ("step 3", 5),
        ),
        (["probe", "no.jpg", "-m", "NETS:tones"], ("no.jpg", "cat", "coffee")),
        (["fetch", "imagenet"], ("'imagenet'", "cifar10")),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, models: Path, tmp_path: Path, arguments: list[str], values: tuple) -> None:
    placed = [a.replace("NETS", str(models)).replace("OUT", str(tmp_path / "out")) for a in arguments]
    result = run(*placed, columns=400)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert unnamed(result.stderr, *values) == []


def test_an_error_of_the_models_own_code_is_one_sentence_that_names_the_cell(
    run: Run, models: Path, tmp_path: Path
) -> None:
    how = ["run", "-m", f"{models}:dark", "-d", "demo", "--limit", 40, "-c", "fog,imagenet-c/contrast", "-s", "5"]
    result = run(*how, "-o", tmp_path / "run", columns=400)
    assert result.exit_code == 1
    told, hint = result.stderr.splitlines()
    assert re.fullmatch(r"Error: the model 'dark' failed on contrast 5 of 'demo': KeyError: \d+", told)
    assert hint == "What was finished is kept. `brittle --traceback run …` shows where it arose."
    assert brittle.load_results(tmp_path / "run").cells == [Cell(), Cell("imagenet-c/fog", 5)]
    asked = run("--traceback", *how, "-o", tmp_path / "run")
    assert isinstance(asked.exception, ModelError)
    assert isinstance(asked.exception.__cause__, KeyError)
    made = run("run", "-m", f"{models}:never", "-d", "demo", "-o", tmp_path / "none", columns=400)
    assert unnamed(made.stderr, "nets.py:never", "AttributeError: no weights here") == []


def test_photographs_of_any_size_are_prepared(run: Run, tmp_path: Path) -> None:
    for name, size in (("a", (300, 260)), ("b", (400, 500))):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Pil.fromarray(np.full((*size, 3), 90, np.uint8)).save(tmp_path / "photos" / name / "x.png")
    (tmp_path / "two.py").write_text("import numpy as np\ndef two(): return lambda x: x.mean((1, 2))[:, :2]")
    how = [
        "run",
        "-m",
        f"{tmp_path}/two.py:two",
        "-d",
        tmp_path / "photos",
        "-c",
        "fog",
        "-s",
        "1",
        "-o",
        tmp_path / "r",
    ]
    refused = run(*how, "--prepare", "none", columns=300)
    assert refused.exit_code == 2
    assert "--prepare imagenet" in refused.stderr
    result = run(*how[:-1], tmp_path / "s")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "from 260×300 to 500×400 px" in said
    assert "short side to 256 px, central 224×224 (--prepare none" in said
    assert np.load(tmp_path / "s" / "images.npy").shape == (2, 224, 224, 3)
    other = run(*how[:-1], tmp_path / "t", "--prepare", "96,64")
    assert other.exit_code == 0, other.stderr
    assert np.load(tmp_path / "t" / "images.npy").shape == (2, 64, 64, 3)
    assert "brought to one size" not in other.stdout
    found = run("failure-points", *how[1:7], "-o", tmp_path / "f")
    assert found.exit_code == 0, found.stderr
    assert np.load(tmp_path / "f" / "images.npy").shape == (2, 224, 224, 3)


COLOURS = """
import torch

class Colours(torch.nn.Module):
    def forward(self, x):
        return x.mean((2, 3)).argmax(1, keepdim=True) == torch.tensor([[0, 1, 2]])

def sorted_names():
    return Logits(Colours())

class Logits(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x):
        return self.net(x).float()
"""


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    """Photographs in red, green and blue of many sizes, in folders whose sorted order is blue, green, red."""
    for place, name in enumerate(("red", "green", "blue")):
        (tmp_path / "colours" / name).mkdir(parents=True)
        for number in range(12):
            pixels = np.full((20 + number, 40 - number, 3), 60, np.uint8)
            pixels[..., place] = 200
            Pil.fromarray(pixels).save(tmp_path / "colours" / name / f"{number}.png")
    (tmp_path / "colours.py").write_text(COLOURS)
    (tmp_path / "classes.txt").write_text("Red\n\nGREEN\nblue\n")
    return tmp_path


def test_classes_in_another_order_are_noticed_and_can_be_given(run: Run, colours: Path) -> None:
    model = f"{colours}/colours.py:sorted_names,size=16,mean=0.5;0.5;0.5,std=0.25"
    how = ["-d", colours / "colours", "-m", model]
    wrong = run("run", *how, "-o", colours / "wrong", columns=400)
    assert wrong.exit_code == 0, wrong.stderr
    assert "12 of 36 clean images" in wrong.stdout
    assert "red, green, blue" in wrong.stdout
    right = run("run", *how, "--classes", colours / "classes.txt", "-o", colours / "right", columns=400)
    assert right.exit_code == 0, right.stderr
    assert "guessing" not in right.stdout
    assert "resized to 16×16; mean 0.5 0.5 0.5, std 0.25 0.25 0.25" in right.stdout
    assert "short side to 18 px, central 16×16" in right.stdout
    assert brittle.load_results(colours / "right").clean_accuracy("sorted_names") == 1
    (colours / "classes.txt").write_text("red\ngreen\n")
    few = run("run", *how, "--classes", colours / "classes.txt", "-o", colours / "few", columns=400)
    assert few.exit_code == 2
    assert "'blue'" in few.stderr


def test_the_command_line_sets_preprocessing_where_it_applies(run: Run, colours: Path) -> None:
    how = ["-d", colours / "colours", "-o", colours / "r", "--classes", colours / "classes.txt"]
    net = f"{colours}/colours.py:sorted_names"
    shown = run("run", "-m", net, *how, "--mean", "0.4", "--std", "0.2,0.2,0.3", "--size", 20, "--crop", 16, "-j", 1)
    assert shown.exit_code == 0, shown.stderr
    said = " ".join(shown.stdout.split())
    assert "short side to 20, central 16×16; mean 0.4 0.4 0.4, std 0.2 0.2 0.3" in said
    assert "batches of 64 images" in said
    refused = run("run", "-m", "demo:standard", "-d", "demo", "-o", colours / "d", "--mean", "0.4", columns=300)
    assert refused.exit_code == 2
    assert "--mean does not apply" in refused.stderr
    assert not (colours / "d").exists()


def test_data_are_checked_before_models_are_built(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(f"def make(): open({str(tmp_path / 'built')!r}, 'w').close()")
    for verb in (["run"], ["failure-points", "-c", "fog"]):
        refused = run(*verb, "-m", f"{tmp_path}/slow.py:make", "-d", tmp_path / "nowhere", "-o", tmp_path / "r")
        assert refused.exit_code == 2
        assert "nowhere" in refused.stderr
    assert not (tmp_path / "built").exists()


def test_recipes_of_one_name_and_models_without_all_cells_live_in_one_run(
    run: Run, models: Path, finished: Path
) -> None:
    how = ["run", "-m", f"{models}:tones", "-d", "demo", "--limit", 40, "-o", finished]
    for corruption in ("fog", "snow"):
        result = run(*how, "-c", corruption, "-s", "3")
        assert result.exit_code == 0, result.stderr
    found = json.loads(run("compare", finished, "--json").stdout)
    customs = [rows["models"] for name, rows in found.items() if name.startswith("custom ")]
    assert len(customs) == 2
    assert customs[0][0]["mean_accuracy"]["value"] != customs[1][0]["mean_accuracy"]["value"]
    assert [row["model"] for row in customs[0]] == ["tones"]


def test_more_outputs_than_classes_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text("import numpy as np\ndef many(): return lambda x: np.zeros((len(x), 1000))")
    result = run("run", "-m", f"{tmp_path}/many.py:many", "-d", "demo", "-o", tmp_path / "run", columns=300)
    assert result.exit_code == 2
    assert unnamed(result.stderr, 1000, 10) == []


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        ("8,clean,0,999", ("p.csv", 999, "demo", 0, 9)),
        ("8,fog,1,2\n8,imagenet-c/fog,1,3", ("p.csv", "fog, imagenet-c/fog")),
        ("8,foog,1,2", ("p.csv", "foog", "'cifar10-c'")),
    ],
)
def test_predictions_that_make_no_sense_are_refused(run: Run, tmp_path: Path, rows: str, values: tuple) -> None:
    first = str(load_dataset("demo").ids[0])
    text = "sample,corruption,level,prediction\n" + rows.replace("8,", f"{first},", 1).replace("\n8,", f"\n{first},")
    (tmp_path / "p.csv").write_text(text)
    result = run("import", tmp_path / "p.csv", "-d", "demo", "-b", "cifar10-c", "-o", tmp_path / "run", columns=300)
    assert result.exit_code == 2
    assert unnamed(result.stderr, *values) == []


@pytest.mark.parametrize("verb", ["run", "failure-points"])
def test_a_failed_start_is_followed_by_the_corrected_command_in_the_same_folder(
    run: Run, models: Path, tmp_path: Path, verb: str
) -> None:
    how = ["-d", "demo", "-c", "fog", "-o", tmp_path / "new", *(["-s", 3] if verb == "run" else ["--tolerance", 1])]
    failed = run(verb, "-m", f"{models}:nan", *how, "--limit", 20)
    assert failed.exit_code == 2
    assert "not numbers" in failed.stderr
    result = run(verb, "-m", f"{models}:tones", *how, "--limit", 10)
    assert result.exit_code == 0, result.stderr
    assert len(list((tmp_path / "new" / ("cells" if verb == "run" else verb)).glob("*/*.parquet"))) > 0


def test_overwrite_starts_anew_and_a_refusal_names_it(run: Run, models: Path, finished: Path) -> None:
    (finished / "notes.txt").write_text("mine")
    other = ["-m", f"{models}:tones", "-d", "demo", "--limit", 10]
    for verb, more in (("run", []), ("failure-points", ["-c", "fog", "--tolerance", 1])):
        refused = run(verb, *other, *more, "-o", finished)
        assert refused.exit_code == 2
        for words in ("40 images", "10", "--overwrite"):
            assert words in refused.stderr
        assert "key" not in refused.stderr
    assert run("run", *other, "-o", finished, "--overwrite").exit_code == 0
    assert len(brittle.load_results(finished).rows.collect()) == 10
    result = run("failure-points", *other, "-c", "fog", "--tolerance", 1, "-o", finished, "--overwrite")
    assert result.exit_code == 0, result.stderr
    assert not list(finished.glob("cells/*/*"))
    assert (finished / "notes.txt").read_text() == "mine"


def test_another_seed_is_named(run: Run, models: Path, tmp_path: Path) -> None:
    how = ["-m", f"{models}:tones", "-d", "demo", "--limit", 10, "-c", "fog", "-s", 3, "-o", tmp_path / "seeds"]
    assert run("run", *how, "--seed", 0).exit_code == 0
    refused = run("run", *how, "--seed", 1)
    assert refused.exit_code == 2
    for words in ("fog 3", "seed 0", "seed 1"):
        assert words in refused.stderr


def test_a_damaged_file_is_told_once_in_a_sentence(run: Run, models: Path, finished: Path) -> None:
    before = brittle.load_results(finished).accuracy()
    cell = next(finished.glob("cells/tones*/*fog*@1-*.parquet"))
    cell.write_bytes(b"")
    how = ["-d", "demo", "--limit", 40, "-b", "cifar10-c", "-c", "fog,contrast", "-s", "1,2.5"]
    result = run("run", "-m", f"{models}:tones", "-m", f"{models}:reds", *how, "-o", finished)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count(cell.name) == 1
    assert "Traceback" not in result.stderr
    assert brittle.load_results(finished).accuracy().equals(before)


@pytest.mark.parametrize(
    ("logger", "named"),
    [
        ("tensorbord:logs", ["tensorbord:logs", "'tensorboard'"]),
        ("tensorboard", ["tensorboard:FOLDER"]),
        ("file:x", ["file:x", "mlflow", "wandb"]),
    ],
)
def test_a_logger_that_is_none_is_named_before_anything_is_loaded(
    run: Run, tmp_path: Path, logger: str, named: list[str]
) -> None:
    result = run("run", "-m", "demo:standard", "-d", "demo", "-o", tmp_path / "run", "--log", logger)
    assert result.exit_code == 2
    assert all(name in result.stderr for name in named), result.stderr
    assert not (tmp_path / "run").exists()


def test_a_missing_logger_names_its_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    result = run("run", "-m", "demo:standard", "-d", "demo", "-o", tmp_path / "run", "--log", "mlflow")
    assert result.exit_code == 2
    assert "pip install mlflow" in result.stderr

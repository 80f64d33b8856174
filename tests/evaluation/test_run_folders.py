"""Whose a run's folder is, what is left in it when something goes wrong, and what a crash may not spoil."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle._io import DamagedFile
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets.dataset import Dataset
from brittle.evaluation import (
    evaluate,
    import_predictions,
    load_failure_points,
    load_results,
    search_failure_points,
)
from brittle.models import from_callable
from tests.errors import naming, unnamed

RECIPE = Benchmark("small", (Entry("imagenet-c/contrast", (1, 3)), Entry("gaussian_noise", (5,))))


def squares(kind: int = 1, count: int = 20, classes: str = "abcd") -> Dataset:
    """Grey squares; `kind` are other images of the same name, number and classes."""
    rng = np.random.default_rng(kind)
    images = rng.integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    labels = rng.integers(0, 4, count)
    ids = [f"{i}.png" for i in range(count)]
    return Dataset("squares", images.__getitem__, ids, content=lambda: f"{kind}", labels=labels, classes=classes)


def by_mean(images: np.ndarray) -> np.ndarray:
    return np.eye(4)[(images.mean((1, 2, 3)).astype(int) // 8) % 4]


def model(name: str = "mean"):
    return from_callable(by_mean, name=name)


def rows(folder: Path) -> pl.DataFrame:
    return load_results(folder).rows.sort("model", "corruption", "level", "sample").collect()


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def fail(_: np.ndarray) -> np.ndarray:
    raise LookupError("not today")


# what a crash leaves


def both(folder: Path) -> pl.DataFrame:
    evaluate(model(), squares(), RECIPE, folder)
    return search_failure_points(model(), squares(), RECIPE, folder, tolerance=0.5)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    both(folder)
    return folder


def test_everything_but_the_cells_may_be_empty_at_once(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    for path in run.rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            path.write_bytes(b"")
    before = {path: path.stat().st_ino for path in run.rglob("*.parquet")}
    with pytest.warns(DamagedFile):
        both(run)
    assert {path: path.stat().st_ino for path in run.rglob("*.parquet")} == before  # nothing was computed again
    for path in (run / "calls").iterdir():
        path.unlink()
    assert rows(run).equals(rows(finished))


def test_cells_of_other_data_are_not_taken_over_with_an_empty_claim(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    (run / "run.toml").write_bytes(b"")
    with pytest.raises(BrittleError, match=naming("run.toml", "overwrite=True")):
        evaluate(model(), squares(2), RECIPE, run)
    with pytest.raises(FileNotFoundError, match=naming("run", "run.toml")):
        load_results(run)


def test_a_record_of_another_program_is_kept(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('tool = "another"\n')
    with pytest.warns(DamagedFile, match="run.toml"):
        evaluate(model(), squares(), RECIPE, tmp_path)
    assert (tmp_path / "run.toml.damaged").read_text() == 'tool = "another"\n'


def test_arrays_that_results_keep_are_read_only(finished: Path) -> None:
    results = load_results(finished)
    right = results.correct(results.models[0], "imagenet-c/contrast")[0]
    with pytest.raises(ValueError, match="read-only"):
        right[0, 0] = False


def test_a_damaged_cell_is_left_out_of_results_that_are_only_read(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    for path in (next(run.glob("cells/*/*noise*")), next(run.glob("failure-points/*/*noise*"))):
        path.write_bytes(b"")
    with pytest.warns(DamagedFile, match="noise"):
        cells = load_results(run).cells
    assert cells == [Cell(), Cell("imagenet-c/contrast", 1), Cell("imagenet-c/contrast", 3)]
    with pytest.warns(DamagedFile, match="noise"):
        searched = load_failure_points(run)
    assert searched is not None
    assert searched["corruption"].unique().to_list() == ["imagenet-c/contrast"]


# whose a folder is

RACERS = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import tests.evaluation.test_run_folders as t

place, me, kind, count, rounds = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
data, model = t.squares(kind), t.model()
data.key
for turn in range(rounds):
    ready = place / f"ready-{turn}"
    ready.mkdir(exist_ok=True)
    (ready / me).touch()
    while len(list(ready.iterdir())) < count:
        time.sleep(0.0005)
    try:
        t.evaluate(model, data, t.RECIPE, place / f"run-{turn}", batch_size=8, threads=1)
        said = "ok"
    except ValueError as error:
        said = f"refused: {error}"
    (place / f"{turn}-{me}.txt").write_text(said)
"""


def race(place: Path, kinds: list[int], rounds: int) -> list[list[str]]:
    """What each process said in each round; they start each round at once."""
    arguments = [sys.executable, "-c", RACERS, str(Path(__file__).parents[2]), str(place)]
    processes = [
        subprocess.Popen([*arguments, str(number), str(kind), str(len(kinds)), str(rounds)], stderr=subprocess.PIPE)
        for number, kind in enumerate(kinds)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()
    return [[(place / f"{turn}-{number}.txt").read_text() for number in range(len(kinds))] for turn in range(rounds)]


def test_of_processes_with_other_data_one_gets_the_folder(tmp_path: Path) -> None:
    calm = {kind: evaluate(model(), squares(kind), RECIPE, tmp_path / f"calm-{kind}") for kind in (1, 2)}
    assert set(calm) == {1, 2}
    for turn, printed in enumerate(race(tmp_path, [1, 2], rounds=10)):
        assert sorted(words[:8] for words in printed) == ["ok", "refused:"], printed
        assert unnamed(max(printed), "'squares'", "overwrite=True") == []
        winner = printed.index("ok") + 1
        assert rows(tmp_path / f"run-{turn}").equals(rows(tmp_path / f"calm-{winner}"))


def test_processes_with_the_same_data_share_the_folder(tmp_path: Path) -> None:
    evaluate(model(), squares(), RECIPE, tmp_path / "calm")
    for turn, printed in enumerate(race(tmp_path, [1, 1, 1], rounds=8)):
        assert printed == ["ok"] * 3
        run = tmp_path / f"run-{turn}"
        assert rows(run).equals(rows(tmp_path / "calm"))
        assert len(list(run.glob("cells/*/*"))) == 4
        assert not list(run.rglob("*.part"))


@pytest.mark.parametrize(
    ("other", "values"),
    [
        (squares(2), ("'squares'",)),
        (squares(count=10), ("20 images", 10)),
        (squares(classes="abce"), ("class 3", "'d'", "'e'")),
        (squares(classes="abcde"), ("4 classes", 5)),
    ],
    ids=["images", "number", "class", "classes"],
)
def test_a_refusal_says_in_words_what_differs(finished: Path, tmp_path: Path, other: Dataset, values: tuple) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    before = rows(run)
    with pytest.raises(BrittleError, match=naming(run, *values, "overwrite=True")) as caught:
        evaluate(model(), other, RECIPE, run)
    assert squares().key not in str(caught.value)
    assert other.key not in str(caught.value)
    assert rows(run).equals(before)


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ({"seed": 0}, {"seed": 1}, ("seed 0", "seed 1")),
        ({}, {"storage": "jpeg85"}, ("storage none", "storage jpeg85")),
        ({"table": 32}, {"table": 224}, ("table 32", "table 224")),
    ],
)
def test_another_way_to_draw_a_cell_is_refused_and_named(
    tmp_path: Path, first: dict, second: dict, values: tuple
) -> None:
    one, two = (Benchmark("custom", (Entry("fog", (3,)),), **how) for how in (first, second))
    evaluate(model(), squares(), one, tmp_path / "run")
    with pytest.raises(BrittleError, match=naming(tmp_path / "run", "fog 3", *values, "overwrite=True")) as caught:
        evaluate(model(), squares(), two, tmp_path / "run")
    assert "custom" not in str(caught.value)


# a start that failed


def test_a_start_that_fails_before_anything_is_read_leaves_nothing(tmp_path: Path) -> None:
    images = [np.zeros((8 + i, 8, 3), np.uint8) for i in range(2)]
    sizes = Dataset("squares", images.__getitem__, ["0", "1"], content=str, labels=[0, 1], classes="abcd")
    sizes = sizes.prepared("none")  # so that they stay different
    for run in (evaluate, search_failure_points):
        with pytest.raises(BrittleError, match=naming("squares", "(9, 8, 3)", "(8, 8, 3)", "prepare='imagenet'")):
            run(model(), sizes, RECIPE, tmp_path / "new" / "run")
        assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    with pytest.raises(BrittleError, match=naming("squares", "(9, 8, 3)", "(8, 8, 3)", "prepare='imagenet'")):
        evaluate(model(), sizes, RECIPE, tmp_path / "mine")
    assert files(tmp_path) == set()
    assert (tmp_path / "mine").is_dir()
    assert len(rows_after(tmp_path / "mine", squares())) == 20 * 4


def rows_after(folder: Path, data: Dataset) -> pl.DataFrame:
    evaluate(model(), data, RECIPE, folder)
    return rows(folder)


def test_a_model_that_fails_at_once_leaves_images_only_and_other_data_take_the_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(RuntimeError, match=naming("squares", "LookupError: not today")):
        evaluate(from_callable(fail, name="fails"), squares(), RECIPE, run)
    assert files(run) == {"images.npy", "images.json"}
    evaluate(model(), squares(2), RECIPE, tmp_path / "calm")
    assert rows_after(run, squares(2)).equals(rows(tmp_path / "calm"))


NO_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
"""Even root is refused then what may not be read."""

AGAIN = """
import sys
from tests.evaluation.test_run_folders import RECIPE, evaluate, model, squares
evaluate(model(), squares(int(sys.argv[2])), RECIPE, sys.argv[1])
"""


@pytest.mark.parametrize("place", ["cells", "cells/mean-*"])
@pytest.mark.parametrize("kind", ["1", "2"], ids=["same data", "other data"])
def test_a_run_whose_cells_may_not_be_read_is_left_as_it_is(
    finished: Path, tmp_path: Path, place: str, kind: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    [locked] = folder.glob(place)
    before = files(folder)
    locked.chmod(0)
    command = [sys.executable, "-c", AGAIN, str(folder), kind]
    try:
        if os.access(locked, os.R_OK):
            if shutil.which("setpriv") is None:
                pytest.skip("root reads all folders here")
            command = [*NO_OVERRIDE, *command]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    finally:
        locked.chmod(0o755)
    assert "PermissionError" in done.stderr
    assert before <= files(folder)
    assert rows(folder).equals(rows(finished))


@pytest.mark.parametrize("target", ["run", "nowhere"])
def test_a_link_that_leads_nowhere_is_no_folder(tmp_path: Path, target: str) -> None:
    (tmp_path / "run").symlink_to(target)
    with pytest.raises(BrittleError, match=naming("run")):
        evaluate(model(), squares(), RECIPE, tmp_path / "run")


def test_a_run_that_was_killed_before_its_first_cell_is_taken_over(tmp_path: Path) -> None:
    evaluate(model(), squares(), RECIPE, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "cells")
    evaluate(model(), squares(2), Benchmark("other", RECIPE.entries, seed=5), tmp_path / "run")
    assert [recipe.name for recipe in load_results(tmp_path / "run").benchmarks()] == ["other"]
    assert len(load_results(tmp_path / "run").runs[0].calls) == 1


def test_a_recipe_of_which_nothing_was_computed_does_not_stand_in_the_way(tmp_path: Path) -> None:
    run = tmp_path / "run"
    evaluate(model(), squares(), None, run)
    with pytest.raises(RuntimeError, match=naming("squares", "LookupError: not today")):
        evaluate(from_callable(fail, name="fails"), squares(), RECIPE, run)
    evaluate(model(), squares(), Benchmark("again", RECIPE.entries, seed=1), run)
    assert [recipe.name for recipe in load_results(run).benchmarks()] == ["again"]


def test_a_failure_after_the_first_cell_keeps_it(tmp_path: Path) -> None:
    shown: list[int] = []

    def moody(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        return fail(images) if len(shown) > 1 else by_mean(images)

    with pytest.raises(RuntimeError, match=naming("squares", "LookupError: not today")):
        evaluate(from_callable(moody, name="moody"), squares(), RECIPE, tmp_path / "run")
    assert load_results(tmp_path / "run").cells == [Cell()]
    assert "LookupError" in load_results(tmp_path / "run").runs[0].calls[0].state


def test_a_folder_that_is_removed_meanwhile_is_told_at_the_next_cell(tmp_path: Path) -> None:
    run, shown = tmp_path / "run", []

    def remover(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        shutil.rmtree(run, ignore_errors=True)
        return by_mean(images)

    with pytest.raises(FileNotFoundError, match=re.escape(str(run))):
        evaluate(from_callable(remover, name="remover"), squares(), RECIPE, run)
    assert len(shown) == 1


# overwrite


def test_overwrite_removes_the_run_and_nothing_else(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    (run / "notes.txt").write_text("mine")
    (run / "cells" / "notes.txt").write_text("mine too")
    evaluate(model(), squares(2), RECIPE, run, overwrite=True)
    evaluate(model(), squares(2), RECIPE, tmp_path / "calm")
    assert rows(run).equals(rows(tmp_path / "calm"))
    assert not (run / "failure-points").exists()
    assert len(load_results(run).runs[0].calls) == 1
    assert (run / "notes.txt").read_text() == "mine"
    assert (run / "cells" / "notes.txt").read_text() == "mine too"
    search_failure_points(model(), squares(), RECIPE, run, tolerance=0.5, overwrite=True)
    assert not list((run / "cells").glob("*/*.parquet"))


def test_overwrite_does_not_touch_what_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years")
    with pytest.raises(BrittleError, match=naming(tmp_path.name, "brittle")):
        evaluate(model(), squares(), RECIPE, tmp_path, overwrite=True)
    assert files(tmp_path) == {"thesis.tex"}


def test_overwrite_waits_for_nobody_who_still_works(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def meddling(images: np.ndarray) -> np.ndarray:
        with pytest.raises(BrittleError, match=naming(run)):
            evaluate(model(), squares(2), RECIPE, run, overwrite=True)
        return by_mean(images)

    evaluate(from_callable(meddling, name="mean"), squares(), RECIPE, run)
    assert len(rows(run)) == 20 * 4


# names and neighbours


@pytest.mark.parametrize("name", ["exp[1]", "exp[2]", "run[/]", "a*", "what?", "{a,b}", "lr=0.1", "[2024] x"])
def test_a_folder_may_have_any_name(finished: Path, tmp_path: Path, name: str) -> None:
    evaluate(model(), squares(2), RECIPE, tmp_path / "exp1")  # what a pattern would find
    run = tmp_path / name
    evaluate(model(), squares(), RECIPE, run)
    assert rows(run).equals(rows(finished))
    searched = search_failure_points(model(), squares(), RECIPE, run, tolerance=0.5)
    assert searched.equals(
        load_failure_points(finished).select(searched.columns).sort("corruption", maintain_order=True)
    )


def test_a_model_that_writes_into_its_batch_harms_nobody(tmp_path: Path) -> None:
    def writer(images: np.ndarray) -> np.ndarray:
        images[...] = 255 - images
        return by_mean(images)

    first = from_callable(writer, name="writer")
    evaluate([first, model()], squares(), RECIPE, tmp_path / "both")
    evaluate(model(), squares(), RECIPE, tmp_path / "alone")
    evaluate(from_callable(lambda x: by_mean(255 - x), name="writer"), squares(), RECIPE, tmp_path / "kind")
    both = rows(tmp_path / "both")
    assert both.filter(pl.col("model") == "mean").equals(rows(tmp_path / "alone"))
    assert both.filter(pl.col("model") == "writer").equals(rows(tmp_path / "kind"))


@pytest.mark.parametrize("name", ["/abs/olute", "../../escaped", "lab/fog", "a\x00b", "two\nlines", "x" * 300, "Größe"])
def test_the_name_of_a_recipe_or_model_is_no_path(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home" / "home" / "home"
    results = evaluate(model(name), squares(), Benchmark(name, RECIPE.entries), home / "run")
    assert results.models == [name]
    assert [recipe.name for recipe in load_results(home / "run").benchmarks()] == [name]
    assert [path.relative_to(tmp_path).parts[:4] for path in tmp_path.rglob("*.toml")] == [
        ("home", "home", "home", "run")
    ] * 3
    evaluate(model(name), squares(), Benchmark(name, RECIPE.entries), home / "run")
    assert len(rows(home / "run")) == 20 * 4


def test_models_whose_names_look_alike_are_told_apart(tmp_path: Path) -> None:
    names = ["a/b", "a.b", "A.B", "a b", "a_b"]
    evaluate([model(name) for name in names], squares(), None, tmp_path / "run")
    assert load_results(tmp_path / "run").models == sorted(names)
    assert len({path.name.lower() for path in (tmp_path / "run" / "cells").iterdir()}) == len(names)


def test_imported_corruptions_whose_names_look_alike_are_told_apart(tmp_path: Path) -> None:
    names = ["a/b", "a.b", "A.B", "x" * 300]
    table = pl.DataFrame(
        [(name, 999_999.5, f"{i}.png", number) for number, name in enumerate(names) for i in range(20)],
        schema=["corruption", "level", "sample", "prediction"],
        orient="row",
    )
    place = tmp_path / "predictions[1].csv"
    table.write_csv(place)
    results = import_predictions(place, squares(), tmp_path / "run")
    assert {cell.corruption for cell in results.cells} == set(names)
    predictions = results.rows.group_by("corruption").agg(pl.col("prediction").unique().first()).collect()
    assert dict(predictions.iter_rows()) == {name: number for number, name in enumerate(names)}


def test_a_log_in_a_folder_says_how_each_call_ended(finished: Path) -> None:
    states = [json.loads(path.read_text())["state"] for path in sorted((finished / "calls").iterdir())]
    assert states[:2] == ["finished", "finished"]

"""One name, one meaning; groups and panels; options from files; quiet and verbose."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

import brittle
from brittle._errors import BrittleError
from brittle.benchmarks import choose_benchmark
from brittle.cli import app
from brittle.cli.options import OPTIONS, option
from tests.cli.verb_checks import good, refused
from tests.errors import naming, unnamed

Run = Callable[..., Result]
ROOT = typer.main.get_command(app)


def verbs(command: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    parts = getattr(command, "commands", {})
    for name, part in parts.items():
        yield from verbs(part, (*path, name))
    if not parts:
        yield path, command


OF_VERBS = [(path, part) for path, command in verbs() for part in command.params if part.opts[0].startswith("-")]


def test_every_option_means_what_the_table_says_whichever_verb_takes_it() -> None:
    for path, part in OF_VERBS:
        name = next((flag for flag in part.opts if flag.startswith("--")), part.opts[0])
        if name == "--help":
            continue
        assert name in OPTIONS, f"{name} of {path} is not in the table"
        assert name == "--output" or part.help == OPTIONS[name].text, (path, name)
        assert {flag for flag in part.opts if not flag.startswith("--")} == {OPTIONS[name].short} - {""}, (path, name)


def test_the_table_holds_no_option_that_no_verb_takes() -> None:
    assert set(OPTIONS) == {flag for _, part in OF_VERBS for flag in part.opts if flag.startswith("--")} - {"--help"}


def test_a_short_name_has_one_meaning() -> None:
    together = {path: [part.opts for p, part in OF_VERBS if p == path] for path, _ in OF_VERBS}
    shorts: dict[str, set[str]] = {}
    for flags in (flags for several in together.values() for flags in several):
        for short in flags:
            if not short.startswith("--"):
                shorts.setdefault(short, set()).update(flag for flag in flags if flag.startswith("--"))
    assert all(len(names) == 1 for names in shorts.values()), shorts


def test_every_help_is_a_phrase_that_stands_alone() -> None:
    for name, meaning in OPTIONS.items():
        assert meaning.help[0].isupper() or meaning.help[0] in "`η", name
        assert meaning.help.endswith((".", "…")), name
        assert len(meaning.help.split()) >= 3, name


def test_a_switch_takes_no_value_and_every_other_option_has_a_word_for_its_own() -> None:
    for path, command in verbs():
        for part in command.get_params(typer.Context(command)):
            if part.param_type_name == "option":
                assert (part.metavar == "") == part.is_flag, (path, part.opts)


def test_only_the_output_says_what_it_is() -> None:
    with pytest.raises(ValueError, match=naming("--limit", "OPTIONS")):
        option("--limit", help="Something else.")


def test_there_are_at_most_twenty_words_and_they_stand_in_panels(run: Run) -> None:
    assert len(ROOT.commands) <= 20
    printed = good(run("--help"))
    for panel in (
        "Test a model",
        "Publish results",
        "Corrupt images",
        "Build better tests",
        "Get started",
        "Exit codes",
    ):
        assert panel in printed


CALL = ("run", "-m", "demo:standard", "-d", "demo", "--limit", 10, "-c", "fog", "-s", "1,3")


def test_a_refused_call_leaves_a_folder_in_use_as_it_was(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not of brittle")
    refused = run(*CALL, "-o", tmp_path)
    assert refused.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_run_can_be_repeated_by_the_file_that_it_leaves(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = Path("first")
    good(run(*CALL, "-o", first))
    kept = tomllib.loads((first / "command.toml").read_text())
    assert kept["command"] == "run"
    assert kept["options"] == {
        "model": ["demo:standard"],
        "data": "demo",
        "limit": 10,
        "corruption": ["fog"],
        "severity": ["1,3"],
        "output": "first",
    }
    good(run("--config", first / "command.toml", "-o", "second"))
    good(run("run", "--config", first / "command.toml", "-s", 2, "-o", "third"))
    tables = [brittle.load_results(name).accuracy() for name in ("first", "second", "third")]
    assert tables[0].equals(tables[1])
    assert tables[2]["level"].to_list() == [0, 2]


@pytest.mark.parametrize(
    ("text", "words", "named"),
    [
        ('command = "run"\n[options]\nlimitt = 3', (), ("limitt", "limit")),
        ('command = "run"\nlimit = 3', (), ("limit", "[options]")),
        ('command = "run"', ("compare",), ("brittle run", "brittle compare")),
        ("[options]\nlimit = 3", (), ("no command",)),
        ('command = "run"\n[options]\nreport = 3', (), ("report", "true or false")),
        ("command = [", (), ("not a TOML file",)),
        ("command = 5", (), ("command = 5", "command = ")),
        ('command = "run"\noptions = 5', (), ("options = 5", "[options]")),
        ('command = "corrupt"\narguments = "photo.jpg"', (), ("arguments", "photo.jpg", "[")),
        (None, (), ("there is no file",)),
    ],
)
def test_a_bad_file_of_options_is_one_sentence(
    run: Run, tmp_path: Path, text: str | None, words: tuple[str, ...], named: tuple[str, ...]
) -> None:
    file = tmp_path / "options.toml"
    if text is not None:
        file.write_text(text)
    result = run(*words, "--config", file, columns=400)
    for each in named:
        refused(result, each)


def test_quiet_prints_results_only_and_verbose_settings_and_cost(run: Run, tmp_path: Path) -> None:
    quiet = run(*CALL, "-o", tmp_path / "a", "-q")
    assert quiet.exit_code == 0
    assert quiet.stderr == ""
    assert "next:" not in quiet.stdout
    assert "batches" not in quiet.stdout
    assert "fog" in quiet.stdout
    loud = run("-v", *CALL, "-o", tmp_path / "b")
    assert "limit = 10" in loud.stderr
    assert "MiB of memory" in loud.stderr
    refused(run("-q", "-v", "list"), "--quiet")


def test_a_choice_is_shown_and_checked(run: Run) -> None:
    assert "ray" in good(run("run", "--help"))
    refused(run("run", "-m", "a", "-d", "b", "-o", "c", "--engine", "dask"), "'dask'", "'local'", "'ray'")


def test_json_is_json(run: Run, tmp_path: Path) -> None:
    result = run(*CALL, "-o", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("brittle run -b cifar10-c-b", "cifar10-c-bar"),
        ("brittle run -c fog,sno", "fog,snow"),
        ("brittle run -m demo:s", "demo:standard"),
        ("brittle design ov", "overlap"),
        ("brittle run --engine r", "ray"),
    ],
)
def test_shells_complete_verbs_and_names(typed: str, completed: str) -> None:
    words = {"_BRITTLE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    call = [sys.executable, "-m", "brittle"]
    done = subprocess.run(call, env={**os.environ, **words}, capture_output=True, text=True, check=True)
    assert completed in done.stdout.split()


def test_a_sentence_of_the_library_names_the_options_of_the_verb(run: Run, tmp_path: Path) -> None:
    plan = run("design", "overlap", "-d", "demo", "--train-limit", 5, "--batch-size", 64, "-o", tmp_path / "x")
    assert unnamed(plan.stderr, "--train-limit 5", "--batch-size", 64) == []
    severities = run("run", "-m", "demo:standard", "-d", "demo", "-s", 3, "-o", tmp_path / "x")
    assert unnamed(severities.stderr, "--benchmark", "--corruption") == []
    assert plan.exit_code == severities.exit_code == 2
    with pytest.raises(BrittleError, match=naming("`benchmark`", "`corruptions`")):
        choose_benchmark(None, severities=[3])

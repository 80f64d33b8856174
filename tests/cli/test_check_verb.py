"""`brittle check`: exit codes, what is printed and written, and what a wrong rules file is told."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import Result

import brittle
from tests.cli.verb_checks import good, refused
from tests.evaluation.rule_cases import write_run

Run = Callable[..., Result]

HOLDS = '[[rule]]\nname = "in snow"\ncorruption = "snow"\nmetric = "accuracy"\nat_least = 0.6\n'
FAILS = '[[rule]]\nname = "in noise | hard"\nfamily = "noise"\nmetric = "robustness R"\nat_least = 0.99\n'
OPEN = '[[rule]]\nmetric = "clean accuracy"\nat_least = 0.93\n'
LOSES = '[[rule]]\nmetric = "accuracy"\nat_least = -0.05\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one model, and of one that is a little better."""
    place = tmp_path_factory.mktemp("check")
    write_run(place / "run", {"net": 0.95})
    write_run(place / "better", {"net": 0.99})
    write_run(place / "elsewhere", {"net": 0.95}, images=40)
    return place


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def rules(tmp_path: Path) -> Callable[..., Path]:
    def write(*texts: str) -> Path:
        path = tmp_path / "rules.toml"
        path.write_text("\n".join(texts))
        return path

    return write


def flat(text: str) -> str:
    return " ".join(text.split())


def test_all_hold(run: Run, rules: Callable[..., Path]) -> None:
    text = good(run("check", "run", "--rules", rules(HOLDS)))
    assert "✓ holds" in text
    assert "in snow" in text
    assert "1 check: 1 holds" in text


def test_one_fails(run: Run, rules: Callable[..., Path]) -> None:
    result = run("check", "run", "--rules", rules(HOLDS, FAILS, OPEN))
    assert result.exit_code == 1
    assert not result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "✗ fails" in result.stdout
    assert "3 checks: 1 holds, 1 fails, 1 is undecided" in flat(result.stdout)
    assert "Bonferroni" in result.stdout


def test_undecided_fails_only_if_strict_and_says_how_many_images_decide(run: Run, rules: Callable[..., Path]) -> None:
    text = good(run("check", "run", "--rules", rules(OPEN)))
    assert "? undecided" in text
    [outcome] = json.loads(run("check", "run", "--rules", rules(OPEN), "--json").stdout)["outcomes"]
    needed = f"{outcome['images_needed']:,} images"
    assert needed in text
    strict = run("check", "run", "--rules", rules(OPEN), "--strict")
    assert strict.exit_code == 1
    assert f"about {needed}" in flat(strict.stdout)


def test_json_is_the_whole_answer(run: Run, rules: Callable[..., Path]) -> None:
    result = run("check", "run", "--rules", rules(HOLDS, FAILS), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["passed"] is False
    assert [one["verdict"] for one in found["outcomes"]] == ["holds", "fails"]
    first = found["outcomes"][0]
    assert first["rule"] == {"metric": "mean accuracy", "at_least": 0.6, "name": "in snow", "corruption": "snow"}
    assert first["estimate"]["low"] < first["estimate"]["value"] < first["estimate"]["high"]
    assert (first["model"], first["benchmark"], first["against"]) == ("net", "cifar10-c-custom", None)


@pytest.mark.parametrize(("strict", "failures", "skipped"), [(False, 1, 1), (True, 2, 0)])
def test_junit(run: Run, rules: Callable[..., Path], tmp_path: Path, strict: bool, failures: int, skipped: int) -> None:
    path = tmp_path / "new" / "check.xml"
    run("check", "run", "--rules", rules(HOLDS, FAILS, OPEN), "--junit", path, *(["--strict"] if strict else []))
    root = ElementTree.parse(path).getroot()
    [suite] = root.findall("testsuite")
    counts = {"tests": "3", "failures": str(failures), "skipped": str(skipped), "errors": "0"}
    assert {key: suite.get(key) for key in counts} == counts
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["in snow", "in noise | hard", "clean accuracy"]
    assert cases[0].find("failure") is None
    assert "net" in str(cases[0].get("classname"))
    told = cases[1].find("failure")
    assert told is not None
    assert "99.0" in str(told.get("message"))
    open_one = cases[2].find("failure" if strict else "skipped")
    assert open_one is not None
    assert "images would decide it" in str(open_one.get("message"))


def test_markdown_goes_to_a_file_and_to_the_summary_of_the_build(
    run: Run, rules: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, summary = tmp_path / "check.md", tmp_path / "summary.md"
    summary.write_text("# Build 7\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run("check", "run", "--rules", rules(HOLDS, FAILS), "--markdown", page)
    text = page.read_text()
    assert summary.read_text() == "# Build 7\n" + text
    assert text.startswith("## brittle check failed: 1 holds, 1 fails\n")
    rows = [line for line in text.splitlines() if line.startswith("| ✅") or line.startswith("| ❌")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [7, 7]  # a bar in a name is no column
    run("check", "run", "--rules", rules(HOLDS))
    assert "## brittle check passed: 1 holds" in summary.read_text()


def test_against_another_run(run: Run, rules: Callable[..., Path]) -> None:
    better = run("check", "better", "--rules", rules(LOSES), "--against", "run")
    assert re.search(r"\+3\.[89]|\+4\.0", good(better))
    assert "paired differences" in flat(better.stdout)
    small = '[[rule]]\nmetric = "accuracy"\nat_least = -0.001\n'
    assert run("check", "run", "--rules", rules(small), "--against", "better").exit_code == 1
    refused(run("check", "run", "--rules", rules(LOSES), "--against", "elsewhere"), 40, "'made-up'")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "rules.toml"),
        (HOLDS.replace("snow", "frost"), "'frost'"),
        (HOLDS + "severity = 2", "1, 3, 5"),
        (HOLDS + 'benchmark = "imagenet-c"', "'imagenet-c'"),
        (HOLDS + 'model = "nett"', "'net'"),
        (HOLDS + 'classes = ["shp"]', "'ship'"),
        (HOLDS.replace("0.6", "60"), "60"),
        (HOLDS + "at_mots = 0.7", "'at_most'"),
        (HOLDS.replace("at_least = 0.6", ""), "at_least"),
        (HOLDS + "at_most = 0.5", "0.5"),
        (HOLDS.replace('"accuracy"', '"acuracy"'), "'accuracy'"),
    ],
)
def test_a_wrong_rule_is_one_sentence(run: Run, rules: Callable[..., Path], text: str, named: str) -> None:
    refused(run("check", "run", "--rules", rules(text)), named)


def test_wrong_files_are_one_sentence(run: Run, rules: Callable[..., Path], tmp_path: Path) -> None:
    refused(run("check", "run", "--rules", tmp_path / "none.toml"), "none.toml")
    refused(run("check", tmp_path / "nowhere", "--rules", rules(HOLDS)), "nowhere")
    refused(run("check", "run", "--rules", rules(LOSES), "--against", tmp_path / "nowhere"), "nowhere")


def test_a_metric_of_ones_own(run: Run, rules: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from brittle.metrics import metric\n\n"
        '@metric("worst corruption of mine")\ndef worst_of_mine(accuracy):\n    return accuracy.min(axis=-1)\n'
    )
    text = '[[rule]]\nmetric = "worst corruption of mine"\nat_least = 0.5\n'
    result = run("--import", tmp_path / "mine.py", "check", "run", "--rules", rules(text))
    from brittle.metrics import corruption_error

    corruption_error._metrics.pop("worst_of_mine")
    assert "✓ holds" in good(result)


PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "check.md").read_text()


def test_the_workflow_of_the_page_gives_commands_that_its_examples_run() -> None:
    """tests/test_examples.py runs the blocks in sh; those in the YAML are the same."""
    yaml = pytest.importorskip("yaml")
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    [job] = yaml.safe_load(text)["jobs"].values()
    lines = [line.strip() for step in job["steps"] for line in step.get("run", "").splitlines()]
    commands = [line for line in lines if line.startswith("brittle ")]
    shown = [
        line.split("  #")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S)
        for line in block.splitlines()
    ]
    assert len(commands) >= 3
    assert set(commands) <= set(shown)


@pytest.mark.usefixtures("one_thread")
def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, Any] = {}
    exec(text, names)
    [test] = [function for name, function in names.items() if name.startswith("test_")]
    test(tmp_path)


@pytest.mark.usefixtures("one_thread")
def test_real_models_pass_and_fail(run: Run, rules: Callable[..., Path], tmp_path: Path) -> None:
    """The two bundled networks under noise: one was trained for such things, the other was not."""
    models = [brittle.models.demo_model(name) for name in ("standard", "augmix")]
    data = brittle.load_dataset("demo").subset(range(0, 1000, 4))
    recipe = brittle.load_benchmark("cifar10-c").cut(["gaussian_noise"], severities=[3])
    brittle.evaluate(models, data, recipe, tmp_path / "demo", progress=None)
    text = '[[rule]]\ncorruption = "gaussian_noise"\nmetric = "accuracy"\nat_least = 0.475\n'
    result = run("check", tmp_path / "demo", "--rules", rules(text), "--json")
    verdicts = {one["model"]: one["verdict"] for one in json.loads(result.stdout)["outcomes"]}
    assert verdicts == {"demo-augmix": "holds", "demo-standard": "fails"}
    assert result.exit_code == 1
    assert run("check", tmp_path / "demo", "--rules", rules(text + 'model = "demo-augmix"\n')).exit_code == 0

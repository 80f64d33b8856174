"""What the README and the docs show is true: their Python runs, their commands exist, their pages can be made."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import brittle
from brittle.cli import app
from brittle.datasets import photo

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = {page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.S) for page in PAGES}
COMMANDS = sorted(
    {
        line.removeprefix("$ ").split("#")[0].strip()
        for page in PAGES
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text(), re.S)
        for line in block.splitlines()
        if line.removeprefix("$ ").startswith("brittle ")
    }
)
GROUPS = {group.name for group in app.registered_groups}
RECIPE = next(iter(re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "recipes.md").read_text(), re.S)))


@pytest.mark.parametrize("page", [name for name, blocks in PYTHON.items() if blocks])
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winter-road.toml").write_text(RECIPE)
    (tmp_path / "our_frost_photos").mkdir()
    (tmp_path / "our_frost_photos" / "a.jpg").write_bytes(
        (ROOT / "src/brittle/datasets/photos/coffee.jpg").read_bytes()
    )
    images = np.stack([photo("cat", 32), photo("coffee", 32)])
    names = {
        "brittle": brittle,
        "np": np,
        "image": photo("cat", 256),
        "images": images,
        "file_names": ["a", "b"],
        "label": 3,
        "mask": 0,
        "transform": brittle.Transform("fog"),
    }
    for block in PYTHON[page]:
        exec(block, names)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_exist(line: str) -> None:
    """Each verb and each option that a page shows is known; the files it names need not be there."""
    _, verb, *rest = line.split()
    path = [verb, rest[0]] if verb in GROUPS and rest and not rest[0].startswith("-") else [verb]
    described = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"})
    assert described.exit_code == 0
    for word in rest:
        if word.startswith("-"):
            assert word in described.stdout, word


def test_every_corruption_has_a_table_for_its_page() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)  # type: ignore[union-attr]
    for corruption in brittle.corruptions():
        rows = generate.parameter_table(corruption)
        assert len(rows) == 2 + sum(len(level.tables) for level in corruption.levels.values())

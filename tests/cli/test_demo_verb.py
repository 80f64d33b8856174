"""`brittle demo` on a few images is the whole way too."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import brittle

Run = Callable[..., Result]


@pytest.mark.usefixtures("one_thread")
def test_a_few_images_are_enough(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--limit", 3, "--quick")
    assert result.exit_code == 0, result.output
    assert Path("demo-3/report.html").stat().st_size > 100_000  # a folder of its own: the whole demo may still come
    results = brittle.load_results("demo-3")
    assert results.runs[0].images == 3
    assert len(results.benchmarks()) == 2
    assert "usable in bad weather" in result.stdout
    assert "brittle check demo-3 --rules demo-3/rules.toml" in result.stdout
    again = run("check", "demo-3", "--rules", "demo-3/rules.toml")
    assert again.exit_code in (0, 1)  # of three images
    assert again.stdout in result.stdout  # the same table as the demo's

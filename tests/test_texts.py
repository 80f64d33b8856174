"""Text files that no program would write: nested without end, with numbers of any length, not in UTF-8, a pipe."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brittle import BrittleError
from brittle._texts import read_json_file, read_toml_file
from brittle.benchmarks import Benchmark, StreamBenchmark
from brittle.cli.config import _read as read_options
from brittle.design import Categories
from brittle.evaluation import load_rules
from brittle.publish import load_paper_entry
from tests.errors import naming

READERS: list[Callable[[Path], Any]] = [
    Benchmark.load,
    StreamBenchmark.load,
    load_rules,
    read_options,
    load_paper_entry,
    Categories.load,
]
ODD = {
    "nested": b"a = " + b"[" * 5000 + b"]" * 5000,
    "digits": b"seed = " + b"1" * 5000,
    "bytes": b"\xff\xfe\x00",
    "no table": b"[[[",
    "of others": b"[tool.black]\nline-length = 5\n",
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__qualname__)
def test_whatever_a_toml_file_holds_it_is_named(tmp_path: Path, read: Callable[[Path], Any], content: bytes) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(BrittleError, match=naming("odd.toml")):
        read(path)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__qualname__)
def test_a_pipe_is_not_waited_for(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(FileNotFoundError, match=naming("pipe.toml")):
        read(tmp_path / "pipe.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert read_toml_file(path, "options") == {"a": 1}


@pytest.mark.parametrize("content", [b"[" * 100_000, b"1" * 5000, b"\xff", b"", b"nonsense"], ids=len)
def test_what_is_no_json_is_a_wrong_value(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        read_json_file(path)


@pytest.mark.parametrize("key", ["at_least", "at_most", "severity", "quantile"])
def test_a_number_of_a_rule_that_no_float_holds_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "rules.toml"
    metric = "failure point" if key == "quantile" else "accuracy"
    bound = "" if key == "at_least" else "at_least = 0.5\n"
    path.write_text(f'[[rule]]\nmetric = "{metric}"\n{bound}{key} = 1{"0" * 400}\n')
    with pytest.raises(BrittleError, match=naming(key)):
        load_rules(path)


@pytest.mark.parametrize("key", ["image_size", "version", "table"])
def test_a_number_of_a_recipe_that_is_too_large_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(f'name = "x"\nlevels = [1]\n{key} = 1{"0" * 400}\n[[corruption]]\nid = "imagenet-c/fog"\n')
    with pytest.raises(BrittleError, match=naming(key)):
        Benchmark.load(path)

"""Recipes: whatever is written, a sentence, or a benchmark that is the same after it was saved and loaded."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark
from tests.fuzz.engine import SENTENCES, Finding, Fuzzer

IDS = [one.id for one in brittle.list_corruptions()]
ODD_LEVELS: tuple[Any, ...] = (
    *([], [0], [-1], [99], [1, 1], [1, 1.0], ["3"], [True], "3", 3, None, [[5, 1]], [[1]]),
    *([float("nan")], [float("inf")], [1e-9], [1e308], list(range(1, 300))),
)
ODD_SETTINGS: tuple[Any, ...] = (
    *({"storage": "zip"}, {"table": 7}, {"image_size": 0}, {"version": "2"}, {"title": 5}, {"source": ["x"]}),
    *({"unknown": 1}, {"image_size": True}, {"levels": [1]}, {"uniform": [1, 2]}),
)


def written(**case: Any) -> bytes:
    """A recipe as TOML."""
    rng = np.random.default_rng(case["pick"])
    entries = []
    for index in range(case["entries"]):
        identity = IDS[int(rng.integers(len(IDS)))] if index or case["id"] is None else case["id"]
        entry: dict[str, Any] = {
            "id": identity,
            "levels": case["levels"],
            "uniform": case["uniform"],
            "options": case["options"],
        }
        if entry["uniform"] is not None and case["alone"]:
            entry["levels"] = None
        entries.append({key: value for key, value in entry.items() if value is not None})
    recipe = {"name": case["name"], "seed": case["seed"], **case["other"], "corruption": entries}
    if not case["entries"]:
        recipe["corruption"] = None
    return tomli_w.dumps({key: value for key, value in recipe.items() if value is not None}).encode()


def edited(text: bytes, edit: str, seed: int) -> bytes:
    """The text with a slip of the hand, or of the disk."""
    rng = np.random.default_rng(seed)
    lines = text.splitlines(keepends=True) or [b""]
    at, line = int(rng.integers(len(text) + 1)), int(rng.integers(len(lines)))
    if edit == "cut":
        return text[:at]
    if edit == "flip" and text:
        at %= len(text)
        return text[:at] + bytes([text[at] ^ (1 << int(rng.integers(8)))]) + text[at + 1 :]
    if edit == "drop a line":
        return b"".join(lines[:line] + lines[line + 1 :])
    if edit == "double a line":
        return b"".join(lines[: line + 1] + lines[line:])
    if edit == "swap lines":
        return b"".join(rng.permutation(np.array(lines, dtype=object)))
    if edit == "insert":
        return text[:at] + rng.choice([b"[", b"]", b"=", b'"', b"#", b"\n", b"1", b"{}", b"'''"]) + text[at:]
    if edit == "other bytes":
        return text[:at] + rng.bytes(3) + text[at:]
    return {
        "spaces": text.replace(b" ", b"  "),
        "crlf": text.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + text,
    }.get(edit, text)


def check(edit: str, place: int, **case: Any) -> str:
    """Load it, save it, load it: the same data and the same hash, from which all its cells have their keys."""
    content = edited(written(**case), edit, place)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        path.write_bytes(content)
        try:
            recipe = Benchmark.load(path)
        except SENTENCES as error:
            if not str(error).strip():
                raise Finding("an error without a sentence") from error
            return "refused"
        if len({cell.file_name for cell in recipe.cells()}) != len(recipe):
            raise Finding("two cells have one name")
        if any(len(cell.file_name.encode()) > 200 or "/" in cell.file_name for cell in recipe.cells()):
            raise Finding("a cell whose name is no file name")
        recipe.save(path)
        again = Benchmark.load(path)
        if again.to_dict() != recipe.to_dict() or again.hash != recipe.hash or again != recipe:
            raise Finding("another recipe after saving")
        if [cell.key for cell in again.cells()] != [cell.key for cell in recipe.cells()]:
            raise Finding("other keys after saving")
        first = recipe.entries[0]
        picture = np.full((8, 8, 3), 100, np.uint8)
        try:
            drawn = recipe.apply(picture, first.id, first.levels[0], "a")
        except BrittleError:
            if "textures" not in first.options:  # a folder of another machine, which is looked for when it is needed
                raise
            return "loaded, without its textures"
        if drawn.shape != picture.shape:
            raise Finding("another shape")
        if repr(recipe).count("Benchmark") < 1 or "<b>" in recipe._repr_html_().replace("<b>Benchmark", ""):
            raise Finding("a name became markup")
    return "loaded"


RECIPES = Fuzzer(
    "recipes",
    {
        "name": ("small", "a b", "ü"),
        "entries": (1, 2, 5),
        "id": (None,),
        "pick": range(10_000),
        "levels": ([1, 3, 5], [2.5], [1], [[1, 5]], [[1, 2], 3], [0.1, 0.2, 0.30000000000000004]),
        "uniform": (None, [1, 5], [2, 2]),
        "alone": (True,),
        "options": (None, {}),
        "seed": (None, 0, 7, 2**63 - 1),
        "other": ({}, {"storage": "jpeg85"}, {"table": 32}, {"image_size": 224}, {"version": 2}, {"title": "<b>"}),
        "edit": ("nothing", "spaces", "crlf"),
        "place": range(10_000),
    },
    check,
    odd={
        "name": ("", "x" * 300, "../up", "/tmp/abs", "a\nb", "\0", "[red]", "<b>", 5, None, "CON", "."),
        "entries": (0, 40),
        "id": ("fog", "fgo", "", "imagenet-c/", 5, "noc/../fog", "contrast"),
        "levels": ODD_LEVELS,
        "uniform": ([5, 1], [1], [1, 2, 3], "x", [0, 0], 3),
        "alone": (False,),
        "options": ({"textures": "none"}, {"nonsense": 1}, {"mode": "x"}, 5, {"severity": 3}),
        "seed": (2**63, -1, 1.5, "x", True),
        "other": ODD_SETTINGS,
        "edit": ("cut", "flip", "drop a line", "double a line", "swap lines", "insert", "other bytes", "bom"),
    },
)

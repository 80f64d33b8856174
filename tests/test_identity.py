"""What a thing is, as data: the same for equal things, another for others, and no field with a default changes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle._identity import as_data, canonical, code_digest, digest, settings
from brittle.benchmarks import Benchmark, Entry
from tests.errors import naming


@dataclass(frozen=True)
class Plan:
    """A plan as it was."""

    name: str
    rate: float = 0.1
    sides: tuple[int, ...] = (1, 2)
    words: str = field(default="", compare=False)


def test_settings_are_the_fields_that_are_not_at_their_default():
    assert settings(Plan("a")) == {"name": "a"}
    assert settings(Plan("a", rate=0.2, words="x")) == {"name": "a", "rate": 0.2}


def test_a_new_field_with_a_default_changes_no_key():
    later = make_dataclass("Plan", [("name", str), ("rate", float, 0.1), ("depth", int, 3)], frozen=True)
    assert digest(later("a")) == digest(Plan("a"))
    assert digest(later("a", rate=0.2)) == digest(Plan("a", rate=0.2))
    assert digest(later("a", depth=4)) != digest(Plan("a"))


def test_a_new_field_of_a_benchmark_with_a_default_changes_no_key():
    recipe = Benchmark("test", (Entry("fog", (1, 2)),))
    longer = make_dataclass("Longer", [("gamma", float, 2.2)], bases=(Benchmark,), frozen=True)
    twin = longer("test", recipe.entries)
    assert twin.hash == recipe.hash
    assert twin.cell(twin.entries[0], 1.0) == recipe.cell(recipe.entries[0], 1.0)
    assert longer("test", recipe.entries, gamma=1.0).hash != recipe.hash


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, '{"a":1,"b":2}'),
        ((1, 2), [1.0, 2.0], "[1,2]"),
        (np.float64(0.5), 0.5, "0.5"),
        (np.int32(3), 3, "3"),
        (Path("a/b"), "a/b", '"a/b"'),
    ],
)
def test_equal_things_have_one_text(one, other, text):
    assert canonical(one) == canonical(other) == text
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), [(1, "1"), (True, "true"), ([1, [2]], [[1], 2]), (None, ""), (0.1, 0.2)])
def test_other_things_have_another(one, other):
    assert digest(one) != digest(other)


def test_classes_count():
    from brittle.training.augmentation import AugMix, FlipCrop

    assert digest(AugMix()) != digest(FlipCrop())


def test_words_of_a_recipe_do_not_count_and_what_it_does_to_pixels_does():
    recipe = brittle.load_benchmark("imagenet-c")
    assert replace(recipe, name="other", title="other", source="other").hash == recipe.hash
    assert replace(recipe, seed=1).hash != recipe.hash
    assert replace(recipe, storage="jpeg85").hash != recipe.hash
    assert replace(recipe, entries=recipe.entries[1:]).hash != recipe.hash


@pytest.mark.parametrize("thing", [object(), lambda: None, {1, 2}])
def test_what_cannot_be_told_apart_is_refused(thing):
    with pytest.raises(brittle.BrittleError, match=naming(type(thing).__name__, "to_dict()")):
        as_data({"a": thing})
    with pytest.raises(brittle.BrittleError, match=naming(type(thing).__name__, "to_dict()")):
        as_data(thing)


@pytest.mark.parametrize("name", brittle.list_benchmarks())
def test_recipes_as_files_are_the_same_recipes(name, tmp_path):
    recipe = brittle.load_benchmark(name)
    recipe.save(tmp_path / "recipe.toml")
    again = Benchmark.load(tmp_path / "recipe.toml")
    assert again == recipe
    assert again.hash == recipe.hash


def test_a_compiled_function_counts_as_the_one_that_it_was_made_of() -> None:
    """As `jax.jit`, `lru_cache` gives an object without Python code, which has the original as `__wrapped__`."""

    def made(factor: int) -> Callable[[int], int]:
        return lambda value: value * factor

    compiled = [functools.lru_cache(made(factor)) for factor in (2, 3)]
    first, second = map(code_digest, compiled)
    assert None not in (first, second)
    assert first != second
    assert code_digest(functools.lru_cache(made(2))) == first
    users = [code_digest(lambda value, inner=inner: inner(value)) for inner in compiled]
    assert users[0] != users[1]

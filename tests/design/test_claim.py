"""A folder belongs to one piece of work."""

from pathlib import Path

import pytest

from brittle import BrittleError
from brittle._io import claim, weights_key
from tests.errors import naming


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "about.json"
    claim(file, {"plan": "a", "steps": (1, 2)}, "models")
    claim(file, {"plan": "a", "steps": (1, 2)}, "models")
    with pytest.raises(BrittleError, match=naming("new", "models", "plan", "a", "b")):
        claim(file, {"plan": "b", "steps": (1, 2)}, "models")


def test_other_weights_of_the_same_name_are_others(tmp_path: Path) -> None:
    file = tmp_path / "start.safetensors"
    file.write_bytes(b"one")
    first = weights_key(file)
    assert first is not None
    assert first.startswith("start.safetensors ")
    file.write_bytes(b"two")
    assert weights_key(file) != first
    assert weights_key(None) is None
    with pytest.raises(FileNotFoundError, match=naming("nowhere.pt")):
        weights_key(tmp_path / "nowhere.pt")

"""The rules of the house: who may import whom, and how light the front door is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import brittle

SOURCE = Path(brittle.__file__).parent
ROOMS = [
    "corruptions",
    "benchmarks",
    "datasets",
    "models",
    "metrics",
    "evaluation",
    "training",
    "distance",
    "design",
    "sliders",
    "report",
    "cli",
]
LIGHT_ROOMS = {"corruptions", "benchmarks", "datasets", "metrics"}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return names | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("room", [room for room in ROOMS if (SOURCE / room).is_dir()])
def test_a_room_imports_only_from_rooms_above_it(room: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    for path in (SOURCE / room).rglob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "brittle" and len(parts) > 1 and parts[1] in ROOMS:
                assert parts[1] in allowed, f"{path.name} of {room} imports {name}"
            assert not (room in LIGHT_ROOMS and parts[0] in {"torch", "timm", "transformers"}), path


def test_importing_brittle_loads_nothing_heavy() -> None:
    heavy = ["numba", "cv2", "torch", "PIL", "rich", "typer", "scipy"]
    code = f"import brittle, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

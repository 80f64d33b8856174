"""The rules of the house: who may import whom, what a room exports, and how light the front door is."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import brittle

SOURCE = Path(brittle.__file__).parent
ROOMS = [
    "corruptions",
    "transforms",
    "benchmarks",
    "datasets",
    "models",
    "metrics",
    "evaluation",
    "training",
    "distance",
    "design",
    "sliders",
    "plots",
    "report",
    "publish",
    "papers",
    "explorer",
    "cli",
]
LIGHT_ROOMS = {"corruptions", "benchmarks", "datasets", "metrics"}
PRIVATE_IMPORTS = 15
"""So many imports take from another room what it does not export; the number may only fall."""

MODULES = {
    ".".join(("brittle", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
PACKAGES = [module for module, path in MODULES.items() if path.name == "__init__.py"]


def room(module: str) -> str:
    return [*module.split("."), ""][1]


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """(module, name) of every import, also inside functions; the name is None where a module is imported."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole, None) if whole in MODULES else (node.module, alias.name)


def exported(module: str) -> set[str]:
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_only_from_rooms_above_it(name: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(name) + 1])
    for path in (SOURCE / name).rglob("*.py"):
        for module, _ in imports(path):
            assert room(module) not in set(ROOMS) - allowed or not module.startswith("brittle."), (path, module)
            assert not (name in LIGHT_ROOMS and module.split(".")[0] in {"torch", "timm", "transformers"}), path


def test_the_foundation_imports_no_room() -> None:
    for path in SOURCE.glob("_[a-z]*.py"):
        assert not [module for module, _ in imports(path) if room(module) in ROOMS and module.startswith("brittle.")]


def test_a_room_takes_from_another_what_that_one_exports() -> None:
    public = {f"brittle.{name}": exported(f"brittle.{name}") for name in ROOMS}
    private = [
        (module, source, name)
        for module, path in MODULES.items()
        for source, name in imports(path)
        if room(source) in ROOMS and source.startswith("brittle.") and room(source) != room(module)
        if source not in PACKAGES and name not in public[f"brittle.{room(source)}"]
    ]
    assert len(private) <= PRIVATE_IMPORTS, "\n".join(map(str, private))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_exported_name_hides_a_module(package: str) -> None:
    modules = {module.rpartition(".")[2] for module in MODULES if module.rpartition(".")[0] == package}
    assert not exported(package) & modules


def test_packages_have_no_cycles() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        here = module if module in PACKAGES else module.rpartition(".")[0]
        for source, _ in imports(path):
            there = source if source in PACKAGES else source.rpartition(".")[0]
            nested = f"{there}.".startswith(f"{here}.") or f"{here}.".startswith(f"{there}.")
            if there in PACKAGES and not nested:
                graph[here].add(there)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"packages import each other: {error.args[1]}")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_imported_by_its_name_and_has_what_it_exports(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__name__ == package
    for name in exported(package):
        assert getattr(module, name) is not None
    for found in pkgutil.iter_modules(module.__path__):
        submodule = importlib.import_module(f"{package}.{found.name}")
        assert getattr(module, found.name) is submodule


def test_importing_brittle_loads_nothing_heavy() -> None:
    heavy = ["numba", "cv2", "torch", "PIL", "rich", "typer", "scipy"]
    code = f"import brittle, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_report_loads_nothing_of_sliders() -> None:
    code = "import brittle.report.page, sys; print([m for m in sys.modules if m.startswith('brittle.sliders')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

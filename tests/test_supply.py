"""The lock has everything CI installs, and agrees with pyproject.toml, constraints.txt and the bill of materials."""

import importlib
import json
import tomllib
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.errors import naming

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """Imports a module of the folder scripts/ by its name."""

    def load(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(ROOT / "scripts")
        return importlib.import_module(name)

    return load


def test_every_package_of_the_lock_has_a_hash_and_something_that_asks_for_it(script) -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    packages = script("lock").parse(text)
    assert len(packages) == text.count("==") > 50
    assert sum(len(package.hashes) for package in packages.values()) == text.count("--hash=sha256:")
    assert [name for name, package in packages.items() if not package.hashes] == []
    assert list(packages) == sorted(packages)
    askers = {asker for package in packages.values() for asker in package.via}
    extras = {f"brittle[{extra}]" for extra in PROJECT["project"]["optional-dependencies"]}
    assert askers - packages.keys() - extras == {"brittle", "the build"}


def test_direct_requirements_are_in_the_lock_in_a_version_they_allow(script) -> None:
    lock = script("lock")
    packages = lock.read_lock()
    for asker, text in [
        *lock.direct_requirements(PROJECT),
        *(("the build", r) for r in PROJECT["build-system"]["requires"]),
    ]:
        requirement = Requirement(text)
        package = packages[lock.canonical(requirement.name)]
        assert requirement.specifier.contains(package.version), text
        assert asker in package.via


def test_the_lock_has_the_versions_of_the_constraints(script) -> None:
    lock = script("lock")
    packages = lock.read_lock()
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    locked = {name: packages[lock.canonical(name)].version for name in pins if lock.canonical(name) in packages}
    assert locked == {name: pins[name] for name in locked}
    assert len(locked) > 25


def test_hashes_of_other_files_of_the_same_version_are_kept(script) -> None:
    lock = script("lock")
    project = {"project": {"name": "brittle", "dependencies": ["a[fast]>=1"], "optional-dependencies": {"dev": ["d"]}}}
    needs = {
        "brittle": ("0.1.0", []),
        "a": ("2.0+cpu", ["b; extra == 'fast'", "c; extra == 'slow'", "x; python_version < '3'"]),
        "b": ("1.0", []),
        "d": ("1.0", ["b"]),
        "hatchling": ("1.30", []),
        "editables": ("0.6", []),
    }
    digests = {name: f"{number:064x}" for number, name in enumerate(needs)}
    chosen = {
        name: {
            "metadata": {"name": name, "version": version, "requires_dist": asks},
            "download_info": {"archive_info": {"hashes": {"sha256": digests[name]}}},
        }
        for name, (version, asks) in needs.items()
    }
    other = "f" * 64
    before = {name: lock.Locked(name, "2.0", (other,), ()) for name in ("a", "b")}
    packages = lock.renewed(chosen, project, before)
    assert packages["a"] == lock.Locked("a", "2.0", (digests["a"], other), ("brittle",))
    assert packages["b"] == lock.Locked("b", "1.0", (digests["b"],), ("a", "d"))
    assert lock.parse("# a comment\n" + "".join(map(str, packages.values()))) == packages
    assert lock.closure(packages, ["brittle"]).keys() == {"a", "b"}
    assert lock.closure(packages, ["d"]).keys() == {"b", "d"}
    with pytest.raises(SystemExit, match=naming("nothing")):
        lock.closure(packages, ["nothing"])


def test_another_python_or_system_than_the_locks_is_named(script, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = script("lock")
    locked_for = lock.target_of(lock.LOCK.read_text(encoding="utf-8"))
    monkeypatch.setattr(lock, "this_target", lambda: locked_for)
    lock.fits()
    monkeypatch.setattr(lock, "this_target", lambda: "CPython 3.99 on a toaster")
    with pytest.raises(SystemExit, match=naming(locked_for, "CPython 3.99 on a toaster", "constraints.txt")):
        lock.fits()


CONTROL = {
    "name": "jinja2",
    "version": "2.11.2",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.11.3"], "aliases": []}],
}
SKIPPED = {"name": "torch", "skip_reason": "Dependency not found"}


def test_an_audit_without_advisories_calls_nothing_safe(script) -> None:
    audit = script("audit")
    audit.check_control([CONTROL])
    for answer, reason in (
        ([{**CONTROL, "vulns": []}], "jinja2==2.11.2"),
        ([SKIPPED], "Dependency not found"),
        ([], "jinja2"),
    ):
        with pytest.raises(audit.NotAuditedError, match=naming(reason)):
            audit.check_control(answer)
    assert audit.findings([{**CONTROL, "vulns": []}]) == []
    [advisory, passed_over] = audit.findings([CONTROL, SKIPPED])
    assert "jinja2 2.11.2" in advisory
    assert "PYSEC-1" in advisory
    assert "torch" in passed_over


@pytest.fixture
def bill(script, tmp_path: Path) -> dict:
    """The bill of materials of a wheel that asks for NumPy, and for torch with an extra."""
    wheel = tmp_path / "brittle-9.9-py3-none-any.whl"
    metadata = (
        "Metadata-Version: 2.4\nName: brittle\nVersion: 9.9\nSummary: it breaks\nLicense-Expression: Apache-2.0\n"
    )
    requires = [
        "tomli_w>=1.0",
        "torch>=2.4; extra == 'torch'",
        "pytest>=8.2; extra == 'dev'",
        "timm>=1; extra == 'timm'",
    ]
    with ZipFile(wheel, "w") as archive:
        archive.writestr(
            "brittle-9.9.dist-info/METADATA", metadata + "".join(f"Requires-Dist: {r}\n" for r in requires)
        )
    return script("sbom").bill_of_materials(wheel, script("lock").read_lock(), "CPython")


def test_the_bill_of_materials_has_what_the_wheel_and_its_extras_need(script, bill: dict) -> None:
    packages = script("lock").read_lock()
    scopes = {component["name"]: component["scope"] for component in bill["components"]}
    assert {name for name, scope in scopes.items() if scope == "required"} == {"tomli-w"}
    assert scopes.keys() == {"tomli-w", *script("lock").closure(packages, ["torch"])}
    for component in bill["components"]:
        package = packages[component["name"]]
        assert component["purl"] == f"pkg:pypi/{package.name}@{package.version}"
        assert [one["content"] for one in component["hashes"]] == list(package.hashes)
        assert [one["value"] for one in component["properties"]] == ["torch"] * (component["name"] != "tomli-w")
    references = {component["bom-ref"] for component in bill["components"]} | {"pkg:pypi/brittle@9.9"}
    depends = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert depends.keys() == references
    assert set().union(*depends.values()) == references - {"pkg:pypi/brittle@9.9"}
    assert depends["pkg:pypi/brittle@9.9"] == [f"pkg:pypi/{n}@{packages[n].version}" for n in ("tomli-w", "torch")]


def test_the_bill_of_materials_is_cyclonedx(bill: dict) -> None:
    validation = pytest.importorskip(
        "cyclonedx.validation.json", reason="cyclonedx-python-lib is not installed; `make wheel` checks it"
    )
    schema = importlib.import_module("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(bill)) is None
    assert validator.validate_str(json.dumps(bill | {"version": "one"})) is not None

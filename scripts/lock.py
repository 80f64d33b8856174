"""The lock: every package that CI installs, the indirect ones too, with the hashes of the files it may be.

    make lock                                   resolves anew and writes requirements.lock
    python scripts/lock.py fits                 fails, and says so, on a Python or system that the lock is not for
    python scripts/lock.py subset core pytest   prints the lines that the core and pytest need

Reading needs nothing but Python; resolving needs pip 22.2 or newer, and `packaging`.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
BUILD = ("hatchling", "editables")
"""What builds the project; `editables` is what an editable installation needs on top."""

NOT_LOCKED = ("timm", "docs", "all")
"""Extras that CI does not install."""

HEADER = """\
# Every package that `make test` installs where CI=true or LOCKED=1, with the hashes of the files it may be.
# For {target}; elsewhere `make` takes constraints.txt and says so.
# `make lock` writes this file from pyproject.toml and constraints.txt. Where a version stays, its hashes stay too:
# another index may offer another file of the same version (torch above all), and `make lock` there adds its hash.
"""


@dataclass(frozen=True)
class Locked:
    """A package of the lock: its version, the hashes of its files, and what asks for it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    def __str__(self) -> str:
        hashes = "".join(f" \\\n    --hash=sha256:{value}" for value in self.hashes)
        return f"{self.name}=={self.version}{hashes}\n    # via {', '.join(self.via)}\n"


Lock = dict[str, Locked]


def canonical(name: str) -> str:
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def this_target() -> str:
    """The Python and the system that this process runs on, as the lock's header names them."""
    version = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
    return f"{version} on {sysconfig.get_platform()} with {platform.libc_ver()[0] or 'another libc than glibc'}"


def target_of(text: str) -> str:
    """The Python and the system that a lock is for."""
    found = re.search(r"^# For (.+?);", text, re.M)
    if not found:
        raise SystemExit(f"{LOCK.name} does not say which Python and system it is for; `make lock` writes it anew")
    return found[1]


def parse(text: str) -> Lock:
    """The packages of a lock by name."""
    packages = {}
    for entry in re.split(r"^(?=[a-z0-9])", text, flags=re.M)[1:]:
        head, _, via = entry.partition("# via ")
        name, _, version = head.split()[0].partition("==")
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", head))
        packages[name] = Locked(name, version, hashes, tuple(via.strip().split(", ")))
    return packages


def read_lock(path: Path = LOCK) -> Lock:
    """The packages of the lock file by name."""
    return parse(path.read_text(encoding="utf-8"))


def closure(lock: Lock, roots: Iterable[str]) -> Lock:
    """What the roots need, and they themselves: `brittle` or `brittle[torch]` for what asks, or names of packages."""
    wanted = set(roots)
    unknown = {root for root in wanted - lock.keys() if not any(root in package.via for package in lock.values())}
    if unknown:
        raise SystemExit(f"{LOCK.name} has nothing for {', '.join(sorted(unknown))}")
    while more := {name for name, package in lock.items() if wanted & set(package.via)} - wanted:
        wanted |= more
    return {name: package for name, package in lock.items() if name in wanted}


def direct_requirements(project: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Who asks (`brittle`, `brittle[torch]`, `the build`) and for what, from the data of pyproject.toml."""
    name = project["project"]["name"]
    groups = {name: project["project"]["dependencies"]}
    extras = project["project"]["optional-dependencies"]
    groups |= {f"{name}[{extra}]": requirements for extra, requirements in extras.items() if extra not in NOT_LOCKED}
    for group, requirements in groups.items():
        yield from ((group, requirement) for requirement in requirements if not requirement.startswith(f"{name}["))
    yield from (("the build", requirement) for requirement in BUILD)


def edges(project: dict[str, Any], installed: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """For every package what asks for it, followed from pyproject.toml through the metadata of all packages."""
    from packaging.requirements import Requirement

    via: dict[str, set[str]] = {name: set() for name in installed}
    waiting, followed = list(direct_requirements(project)), set()
    while waiting:
        asking, text = waiting.pop()
        requirement = Requirement(text)
        name = canonical(requirement.name)
        via[name].add(asking)
        for extra in {"", *requirement.extras}:
            if (name, extra) in followed:
                continue
            followed.add((name, extra))
            for each in installed[name].get("requires_dist", []):
                marker = Requirement(each).marker
                if marker is None or marker.evaluate({"extra": extra}):
                    waiting.append((name, each))
    return via


def resolve() -> dict[str, dict[str, Any]]:
    """pip's choice for the project with its extra `dev`, with what builds it, under constraints.txt."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--report", str(report)]
        wanted = ["-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[dev]", *BUILD]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *wanted], check=True)
        chosen = loads(report.read_text(encoding="utf-8"))["install"]
    return {canonical(one["metadata"]["name"]): one for one in chosen}


def renewed(chosen: dict[str, dict[str, Any]], project: dict[str, Any], before: Lock) -> Lock:
    """The lock of pip's choice; where a version stays, the hashes known before stay beside the chosen file's."""
    del chosen[canonical(project["project"]["name"])]
    via = edges(project, {name: one["metadata"] for name, one in chosen.items()})
    packages = {}
    for name in sorted(chosen):
        version = chosen[name]["metadata"]["version"].partition("+")[0]  # 2.13.0 admits the file of 2.13.0+cpu
        hashes = {chosen[name]["download_info"]["archive_info"]["hashes"]["sha256"]}
        if name in before and before[name].version == version:
            hashes |= set(before[name].hashes)
        packages[name] = Locked(name, version, tuple(sorted(hashes)), tuple(sorted(via[name])))
    return packages


def renew() -> None:
    """Write the lock for this Python and system, and print what changed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    before = read_lock() if LOCK.exists() and target_of(LOCK.read_text(encoding="utf-8")) == this_target() else {}
    packages = renewed(resolve(), project, before)
    LOCK.write_text(HEADER.format(target=this_target()) + "".join(map(str, packages.values())), encoding="utf-8")
    for name in sorted(before.keys() | packages.keys()):
        was, now = (packages_of[name].version if name in packages_of else "none" for packages_of in (before, packages))
        if was != now and before:
            print(f"{name}: {was} → {now}")
    print(f"{LOCK.name}: {len(packages)} packages")


def fits() -> None:
    """End with an error, and a sentence, where the lock is for another Python or system than this."""
    locked_for = target_of(LOCK.read_text(encoding="utf-8"))
    if locked_for != this_target():
        raise SystemExit(
            f"{LOCK.name} is for {locked_for} and this is {this_target()}: constraints.txt is used, without hashes"
        )


def main(arguments: list[str]) -> None:
    """Do what the first argument says."""
    match arguments:
        case []:
            renew()
        case ["fits"]:
            fits()
        case ["subset", *roots] if roots:
            names = {"core": "brittle", "build": "the build"}
            print(*closure(read_lock(), [names.get(root, root) for root in roots]).values(), sep="", end="")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

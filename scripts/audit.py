"""Look every package of requirements.lock up in a database of advisories, with pip-audit.

    make audit                  the advisories of the Python Package Index
    make audit AUDIT='-s osv'   another service of pip-audit

pip-audit succeeds where an index does not know a package, or answers without advisories. So a version whose advisory is
known is looked up first: where that is not found, or any package is passed over, nothing is called safe.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lock import read_lock

CONTROL = "jinja2==2.11.2"
"""A version with an advisory from 2021 (CVE-2020-28493)."""

Answer = list[dict[str, Any]]


class NotAuditedError(Exception):
    """The service gave no answer that can be trusted."""


def ask(pins: list[str], options: list[str]) -> Answer:
    """What pip-audit says of each pinned package."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pins.txt"
        file.write_text("\n".join(pins), encoding="utf-8")
        fixed = ["--format=json", "--progress-spinner=off", "--disable-pip", "--no-deps", "-r", str(file)]
        done = subprocess.run([sys.executable, "-m", "pip_audit", *fixed, *options], capture_output=True, text=True)
    try:
        answer: Answer = json.loads(done.stdout)["dependencies"]
    except ValueError:
        raise NotAuditedError((done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]) from None
    return answer


def check_control(answer: Answer) -> None:
    """Raise unless the advisory that must be there was found."""
    if not any(package.get("vulns") for package in answer):
        reasons = [package["skip_reason"] for package in answer if "skip_reason" in package]
        raise NotAuditedError("; ".join(reasons) or f"it has no advisory on {CONTROL}, where one is known")


def findings(answer: Answer) -> list[str]:
    """A line for each advisory, and for each package that was passed over."""
    lines = []
    for package in answer:
        if "skip_reason" in package:
            lines.append(f"{package['name']}: not audited: {package['skip_reason']}")
        for advisory in package.get("vulns", []):
            fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
            names = " ".join([advisory["id"], *advisory.get("aliases", [])])
            lines.append(f"{package['name']} {package['version']}: {names}, fixed in {fixed}")
    return lines


def main(options: list[str]) -> None:
    """Ask for the control, then for the lock; succeed only if everything was answered and nothing found."""
    pins = [f"{package.name}=={package.version}" for package in read_lock().values()]
    try:
        check_control(ask([CONTROL], options))
        answer = ask(pins, options)
    except NotAuditedError as reason:
        sentence = f"None of {len(pins)} packages was audited, since no advisories could be read: {reason}"
        raise SystemExit(sentence) from None
    if len(answer) != len(pins):
        raise SystemExit(f"Only {len(answer)} of {len(pins)} packages were audited")
    if lines := findings(answer):
        raise SystemExit("\n".join(lines))
    print(f"{len(pins)} packages, no known vulnerability")


if __name__ == "__main__":
    main(sys.argv[1:])

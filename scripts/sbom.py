"""Write the bill of materials of a wheel beside it, as CycloneDX 1.6: what the core and the extras are locked to.

    make wheel

which calls `python scripts/sbom.py dist/brittle-VERSION-py3-none-any.whl`.
"""

from __future__ import annotations

import json
import re
import sys
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZipFile

from lock import LOCK, NOT_LOCKED, Lock, Locked, canonical, closure, read_lock, target_of

DEVELOPMENT = {"dev", *NOT_LOCKED}
"""Extras that the bill leaves out: tools of developers, and what is not locked."""


def bill_of_materials(wheel: Path, lock: Lock, target: str) -> dict[str, Any]:
    """The wheel, the packages of the lock that it or an extra needs, and who needs whom.

    The same wheel and lock give the same bill: its serial number is made from their hashes, and it carries no time.
    """
    with ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        fields = HeaderParser().parsestr(archive.read(metadata).decode())
    name, version, digest = fields["Name"], fields["Version"], sha256(wheel.read_bytes()).hexdigest()
    direct: dict[str, set[str]] = {}
    for requirement in fields.get_all("Requires-Dist", []):
        package, extra = re.fullmatch(r"([\w.-]+).*?(?:; extra == '(.+)')?", requirement).groups(default="")
        direct.setdefault(extra, set()).add(canonical(package))
    needed_by = {extra: closure(lock, names) for extra, names in direct.items() if extra not in DEVELOPMENT}
    core = needed_by.pop("")
    needed = set(core).union(*needed_by.values())
    packages = [package for package in lock.values() if package.name in needed]

    def component(package: Locked) -> dict[str, Any]:
        extras_of = [extra for extra, some in needed_by.items() if package.name in some]
        return {
            "type": "library",
            "bom-ref": reference(package),
            "name": package.name,
            "version": package.version,
            "scope": "required" if package.name in core else "optional",
            "purl": reference(package),
            "hashes": [{"alg": "SHA-256", "content": value} for value in package.hashes],
            "properties": [{"name": "brittle:extra", "value": extra} for extra in extras_of],
        }

    wheel_reference = f"pkg:pypi/{name}@{version}"
    roots = set[str]().union(*(names for extra, names in direct.items() if extra not in DEVELOPMENT))
    depends = {wheel_reference: sorted(reference(lock[root]) for root in roots)}
    for package in packages:
        depends[reference(package)] = sorted(reference(other) for other in packages if package.name in other.via)
    content = "".join(map(str, packages))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, digest + content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": wheel_reference,
                "name": name,
                "version": version,
                "description": fields["Summary"],
                "licenses": [{"expression": fields["License-Expression"]}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
                "purl": wheel_reference,
            },
            "properties": [{"name": "brittle:locked-for", "value": target}],
        },
        "components": [component(package) for package in packages],
        "dependencies": [{"ref": ref, "dependsOn": others} for ref, others in depends.items()],
    }


def reference(package: Locked) -> str:
    """The package URL of a locked package."""
    return f"pkg:pypi/{package.name}@{package.version}"


def main(wheel: Path) -> None:
    """Write WHEEL.cdx.json, checked against the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    bill = bill_of_materials(wheel, read_lock(), target_of(LOCK.read_text(encoding="utf-8")))
    text = json.dumps(bill, indent=1) + "\n"
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"the bill of materials is not CycloneDX: {error}")
    output = wheel.with_suffix(".cdx.json")
    output.write_text(text, encoding="utf-8")
    print(f"{output.name}: {len(bill['components'])} packages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

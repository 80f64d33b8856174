"""Calibrations on disk, one after the other as they are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._io import missing_or_damaged, replacing

if TYPE_CHECKING:
    from brittle.design import Calibration


class KeptCalibrations:
    """The calibrations found so far, in a file that belongs to one model, one data set and one wish."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self.about = path, about
        self.found: dict[str, Any] = {}
        if not missing_or_damaged(path, "the calibrations are made again"):
            stored = json.loads(path.read_text(encoding="utf-8"))
            for key, value in about.items():
                if stored.get("about", {}).get(key) != value:
                    known = stored.get("about", {}).get(key)
                    if key == "candidates":
                        differs = "of other candidates"
                    elif key in ("model", "data"):  # a name and a digest of what it stands for
                        differs = f"of another {key} than {value[0]!r} is now"
                    else:
                        differs = f"with {key} {known}, and this asks for {value}"
                    raise ValueError(f"{str(path)!r} holds calibrations {differs}; remove it or choose another output")
            self.found = stored["found"]

    def __contains__(self, corruption: str) -> bool:
        return corruption in self.found

    def __getitem__(self, corruption: str) -> Calibration:
        from brittle.design import Calibration

        one = self.found[corruption]
        looked = tuple((float(severity), float(value)) for severity, value in one["looked"])
        rest = {key: tuple(one[key]) for key in ("severities", "robustness", "reached")}
        return Calibration(corruption=corruption, looked=looked, **rest)

    def add(self, one: Calibration) -> None:
        """Keep one more, on disk too."""
        from dataclasses import asdict

        self.found[one.corruption] = asdict(one)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as part:
            part.write_text(json.dumps({"about": self.about, "found": self.found}, indent=1), encoding="utf-8")

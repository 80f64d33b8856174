"""The models of the papers, as texts that `brittle.load_model` reads: bundled, downloaded, or files with a source."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._errors import BrittleError, did_you_mean

if TYPE_CHECKING:
    from brittle.models import Model

FILE = Path(__file__).parent / "models.toml"
PLACE = "{checkpoints}"
"""Stands in a spec where the folder of checkpoint files goes."""

KEYS = ("name", "papers", "role", "spec", "file", "source", "method", "counterpart", "note")


@dataclass(frozen=True)
class PaperModel:
    """A model of some papers.

    `spec` is a text for `load_model`; with `{checkpoints}` in it, it needs `file` in a folder of checkpoints, which
    `source` gives. `role` is plain or robust, `method` the robustness intervention, `counterpart` the plain network,
    and `note` what the paper's authors or we do otherwise.
    """

    name: str
    papers: tuple[str, ...]
    role: str
    spec: str
    source: str = ""
    file: str = ""
    method: str = ""
    counterpart: str = ""
    note: str = ""

    def text(self, checkpoints: str | Path | None = None) -> str:
        """The text for `load_model`, named as in the paper."""
        spec = self.spec if checkpoints is None else self.spec.replace(PLACE, str(checkpoints))
        return f"{spec},name={self.name}"

    def is_missing(self, checkpoints: str | Path | None) -> bool:
        """Whether its file of weights is not in the folder."""
        return bool(self.file) and (checkpoints is None or not (Path(checkpoints) / self.file).exists())


def paper_models(paper: str, checkpoints: str | Path | None = None) -> list[PaperModel]:
    """The models of a paper: `syn2nat` (Table 1), `noc` (Table 4), `msd` (Tables 1 and 2) or `cns` (Table 1, Fig. 7).

    A `models.toml` in the folder of checkpoints, written like the bundled one, replaces it: with other models the
    experiments of a paper run the same way.

    >>> from brittle.papers import paper_models
    >>> [one.name for one in paper_models("noc")]
    ['ResNet-50', 'SIN+IN', 'AugMix', 'ANT3x3', 'DeepAugment']
    """
    other = None if checkpoints is None else Path(checkpoints) / FILE.name
    models = _read(FILE if other is None or not other.is_file() else other)
    papers = list(dict.fromkeys(name for one in models for name in one.papers))
    if paper not in papers:
        raise BrittleError(
            f"no models are listed for {paper!r}{did_you_mean(paper, papers)}; there are {', '.join(papers)}"
        )
    return [one for one in models if paper in one.papers]


def paper_specs(paper: str, checkpoints: str | Path | None = None) -> dict[str, str]:
    """The models of a paper as texts for `load_model`; raises in one sentence if checkpoint files are missing."""
    models = paper_models(paper, checkpoints)
    missing = [one for one in models if one.is_missing(checkpoints)]
    if missing:
        files = "; ".join(f"{one.file} ({one.name}, from {one.source})" for one in missing)
        where = "no folder was given" if checkpoints is None else f"{str(checkpoints)!r} lacks them"
        raise BrittleError(
            f"{len(missing)} of {len(models)} models of {paper} need checkpoint files that cannot be fetched by a "
            f"program, and {where}: put {files} into one folder and give it as the path of checkpoints, or give a "
            f"{FILE.name} there that lists other models"
        )
    return {one.name: one.text(checkpoints) for one in models}


def load_paper_models(paper: str, checkpoints: str | Path | None = None, *, device: str = "auto") -> list[Model]:
    """The models of a paper, loaded once a process; raises as `paper_specs` does."""
    return list(_load(tuple(paper_specs(paper, checkpoints).values()), device))


@lru_cache(maxsize=2)
def _load(specs: Sequence[str], device: str) -> tuple[Model, ...]:
    from brittle import load_model

    return tuple(load_model(spec, device=device) for spec in specs)


def _read(path: Path) -> list[PaperModel]:
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("model", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BrittleError(f"{str(path)!r} cannot be read as a list of models: {error}") from None
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise BrittleError(f"{str(path)!r} lists no models; write one [[model]] block for each")
    return [_model(one, path) for one in listed]


def _model(given: dict[str, Any], path: Path) -> PaperModel:
    name = given.get("name", "a model without a name")
    for key in given:
        if key not in KEYS:
            raise BrittleError(f"{name} in {str(path)!r} has an unknown key {key!r}; {did_you_mean(key, KEYS)}")
    for key in ("name", "papers", "role", "spec"):
        if not given.get(key):
            raise BrittleError(f"{name} in {str(path)!r} has no {key}; it needs name, papers, role and spec")
    if given["role"] not in ("plain", "robust"):
        raise BrittleError(f"the role of {name} in {str(path)!r} is plain or robust, got {given['role']!r}")
    if bool(given.get("file")) != (PLACE in given["spec"]):
        raise BrittleError(
            f"{name} in {str(path)!r} names its file in the spec, as {PLACE}/FILE, and as file; give both"
        )
    return PaperModel(**{**given, "papers": tuple(given["papers"])})

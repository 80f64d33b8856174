"""Classifiers of the bundled tiny world, by their names: `tiny:standard`, `tiny:diffusion`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brittle.models import Model

DIFFUSION = "diffusion"


def world_model(spec: str, *, device: str) -> Model | None:
    """The model that a text such as "tiny:standard" names, or None if it names none of the world."""
    scheme, colon, name = spec.partition(":")
    if scheme != "tiny" or not colon:
        return None
    from brittle.datasets.near import nearest
    from brittle.models import from_diffusion
    from brittle.sliders.world import CLASSIFIERS, JUDGE, WORLD_SAMPLING, tiny_world

    known = (*CLASSIFIERS, JUDGE, DIFFUSION)
    if name not in known:
        raise ValueError(f"the tiny world has no classifier {name!r}; {nearest(name, known)}")
    world = tiny_world()
    if name != DIFFUSION:
        return world.classifier(name, device=device)
    prompts = [WORLD_SAMPLING.words(each) for each in world.classes]
    return from_diffusion(world.folder / "pipeline", prompts, name="world-diffusion", device=device)

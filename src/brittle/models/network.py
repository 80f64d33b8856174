"""A network to train, by a short text."""

from __future__ import annotations

from typing import Any

from brittle.models.needs import needs


def build_network(spec: str, classes: int, *, seed: int = 0) -> Any:
    """A new network: "small" or "small:WIDTH" (our ResNet for small images), or "timm:NAME".

    The initial weights depend on the seed alone; torch's global generator is left as it was.
    """
    torch = needs("torch")
    kind, _, rest = spec.partition(":")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "small":
            if rest and not rest.isdecimal():
                raise ValueError(f"the width of a small network is a whole number, as in small:12; got {spec!r}")
            from brittle.models.small_resnet import WIDTH, SmallResNet

            return SmallResNet(classes, int(rest) if rest else WIDTH)
        if kind == "timm" and rest:
            from brittle.models.from_timm import from_timm

            return from_timm(rest, pretrained=False, classes=classes, device="cpu").module
    raise ValueError(f"a network to train is small, small:WIDTH or timm:NAME, got {spec!r}")

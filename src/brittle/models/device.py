"""Where a torch model computes."""

from __future__ import annotations

from brittle.models.needs import needs

KINDS = ("cpu", "cuda", "mps")


def find_device(device: str) -> str:
    """A device that is there: "auto" is CUDA if it can be had, else Apple's MPS, else the CPU."""
    torch = needs("torch")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, index = device.partition(":")
    if kind not in KINDS or (index and (not index.isdecimal() or kind != "cuda")):
        raise ValueError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"there is no CUDA device here, but {device!r} was asked for; use device='cpu' or 'auto'")
    if kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ValueError(f"there is no {device!r}; the {count} CUDA devices here are cuda:0 to cuda:{count - 1}")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError("there is no MPS device here, but 'mps' was asked for; use device='cpu' or 'auto'")
    return device

"""Two small classifiers of CIFAR-10 that come with the package."""

from __future__ import annotations

from pathlib import Path

from brittle.models.load_weights import load_into
from brittle.models.needs import needs
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD, Preprocessing
from brittle.models.torch_model import TorchModel

DEMO_MODELS = ("standard", "augmix")
DEMO_WEIGHTS = Path(__file__).parent / "demo_weights"


def demo_model(
    which: str, *, device: str = "auto", bf16: bool = False, folder: str | Path = DEMO_WEIGHTS
) -> TorchModel:
    """A bundled network for 32×32 images: "standard", trained with flips and crops, or "augmix", with AugMix as well.

    `folder` holds the weights, <which>.safetensors; by default the package's own.
    """
    if which not in DEMO_MODELS:
        raise ValueError(f"the demo models are {' and '.join(DEMO_MODELS)}, got {which!r}")
    path = Path(folder) / f"{which}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"there are no weights {str(path)!r}; is the package installed completely?")
    needs("torch")
    from brittle.models.small_resnet import SmallResNet

    network = SmallResNet()
    load_into(network, path)
    return TorchModel(network, f"demo-{which}", Preprocessing(CIFAR_MEAN, CIFAR_STD), device=device, bf16=bf16)

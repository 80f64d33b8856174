"""Models: their protocol, and how they are loaded."""

from brittle._errors import ModelError
from brittle.models.diffusion import as_pipeline, from_diffusion, load_pipeline
from brittle.models.hubs import from_timm, from_torchvision, from_transformers
from brittle.models.load import (
    from_function,
    load_model,
    model_sources,
    model_texts,
    option_value,
    options_of,
    wrap_model,
)
from brittle.models.model import Model, Scores, from_callable, model_source
from brittle.models.networks import (
    DEMO_MODELS,
    build_network,
    demo_model,
    from_weights,
    load_into,
    load_weights,
    network_key,
    network_normalisation,
    save_trained,
    save_weights,
)
from brittle.models.onnx import OnnxModel, from_onnx
from brittle.models.preprocessing import (
    CIFAR_MEAN,
    CIFAR_STD,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Preprocessing,
    preprocessing_in_words,
    resize,
)
from brittle.models.torch import TorchModel, find_device, from_torch

__all__ = [
    "CIFAR_MEAN",
    "CIFAR_STD",
    "DEMO_MODELS",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Model",
    "ModelError",
    "OnnxModel",
    "Preprocessing",
    "Scores",
    "TorchModel",
    "as_pipeline",
    "build_network",
    "demo_model",
    "find_device",
    "from_callable",
    "from_diffusion",
    "from_function",
    "from_onnx",
    "from_timm",
    "from_torch",
    "from_torchvision",
    "from_transformers",
    "from_weights",
    "load_into",
    "load_model",
    "load_pipeline",
    "load_weights",
    "model_source",
    "model_sources",
    "model_texts",
    "network_key",
    "network_normalisation",
    "option_value",
    "options_of",
    "preprocessing_in_words",
    "resize",
    "save_trained",
    "save_weights",
    "wrap_model",
]

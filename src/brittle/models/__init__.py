"""Who is tested."""

from brittle.models.batch_size import best_batch_size
from brittle.models.demo_models import DEMO_MODELS, demo_model
from brittle.models.from_callable import from_callable
from brittle.models.from_diffusion import from_diffusion
from brittle.models.from_function import from_function
from brittle.models.from_onnx import from_onnx
from brittle.models.from_timm import from_timm
from brittle.models.from_torch import from_torch
from brittle.models.from_torchvision import from_torchvision
from brittle.models.from_transformers import from_transformers
from brittle.models.from_weights import from_weights, save_trained
from brittle.models.load_model import SCHEMES, load_model
from brittle.models.load_weights import load_weights
from brittle.models.model import Model, Scores, checked_scores
from brittle.models.model_error import ModelError
from brittle.models.network import build_network
from brittle.models.onnx_model import OnnxModel
from brittle.models.predictions import read_predictions
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from brittle.models.save_weights import save_weights
from brittle.models.torch_model import TorchModel

__all__ = [
    "CIFAR_MEAN",
    "CIFAR_STD",
    "DEMO_MODELS",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "SCHEMES",
    "Model",
    "ModelError",
    "OnnxModel",
    "Preprocessing",
    "Scores",
    "TorchModel",
    "best_batch_size",
    "build_network",
    "checked_scores",
    "demo_model",
    "from_callable",
    "from_diffusion",
    "from_function",
    "from_onnx",
    "from_timm",
    "from_torch",
    "from_torchvision",
    "from_transformers",
    "from_weights",
    "load_model",
    "load_weights",
    "read_predictions",
    "save_trained",
    "save_weights",
]

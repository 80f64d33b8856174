"""CLIP and its kin: embeddings of images and of texts, in the formats of transformers and of open_clip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._optional import quiet_libraries, require
from brittle._types import Image
from brittle.models.hubs import Processor
from brittle.models.torch import find_device

Embeddings = NDArray[np.float32]
"""One unit vector for each image or text, so that inner products are cosines."""

AT_ONCE = 256
"""Prompts that are embedded at once; ImageNet has 80,000 of them with 80 templates."""


class Clip:
    """A CLIP or SigLIP in the format of transformers. CNS-Bench uses openai/clip-vit-base-patch16.

    Only safetensors weights are read, and no code that comes with them is run. With `download` a name of the hub may
    stand in place of the folder.
    """

    def __init__(self, folder: str | Path, *, device: str = "auto", download: bool = False) -> None:
        transformers = require("transformers", "transformers")
        self.name, self.device = Path(folder).name, find_device(device)
        self.network = load_pretrained(transformers.AutoModel, folder, download=download).to(self.device).eval()
        if not hasattr(self.network, "get_text_features") or not hasattr(self.network, "get_image_features"):
            raise BrittleError(f"the folder {str(folder)!r} holds a {type(self.network).__name__}, which is no CLIP")
        self.tokenizer = load_pretrained(transformers.AutoTokenizer, folder, download=download)
        self.processor = load_pretrained(transformers.AutoImageProcessor, folder, download=download, backend="pil")

    @property
    def prepare(self) -> Processor:
        """The preprocessing of images."""
        return Processor(self.processor)

    def images(self, images: Sequence[Image]) -> Embeddings:
        """Embeddings of images, preprocessed by its processor."""
        torch = require("torch")
        with torch.inference_mode():
            pixels = self.processor(list(images), return_tensors="pt", input_data_format="channels_last").to(
                self.device
            )
            return unit_vectors(pooled(self.network.get_image_features(**pixels)))

    def texts(self, prompts: Sequence[str]) -> Embeddings:
        """Embeddings of prompts; a prompt that is too long is truncated."""
        torch = require("torch")
        with torch.inference_mode():
            return _in_parts(prompts, lambda part: self.network.get_text_features(**self._tokens(part)))

    def _tokens(self, prompts: list[str]) -> Any:
        """Tokens of prompts; SigLIP was trained on texts that are padded to their full length."""
        config = self.network.config
        length = getattr(getattr(config, "text_config", None), "max_position_embeddings", None)
        padding: bool | str = "max_length" if length and str(config.model_type).startswith("siglip") else True
        tokens = self.tokenizer(prompts, padding=padding, truncation=True, max_length=length, return_tensors="pt")
        return tokens.to(self.device)


CONFIG = "open_clip_config.json"
PACKAGE = "open_clip_torch"
HUB = "hf-hub:"
"""Begins the names under which open_clip finds its models on the hub."""


class OpenClip:
    """A CLIP in the format of open_clip: its config, and open_clip_pytorch_model.safetensors or .bin.

    With `download` a name such as hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K may stand in place of the folder.
    """

    def __init__(self, folder: str | Path, *, device: str = "auto", download: bool = False) -> None:
        path = Path(folder).expanduser()
        self.name, self.device = path.name, find_device(device)
        from_hub = download and str(folder).startswith(HUB)
        if not from_hub and not (path / CONFIG).is_file():
            raise FileNotFoundError(f"{str(folder)!r} is not a folder of open_clip: it has no {CONFIG}")
        open_clip = _open_clip(str(folder))
        spec = str(folder) if from_hub else f"local-dir:{path.resolve()}"
        try:
            self.network, transform = open_clip.create_model_from_pretrained(spec, device=self.device)
            self.tokenizer = open_clip.get_tokenizer(spec, **({} if from_hub else _without_code(path)))
            config = open_clip.get_model_preprocess_cfg(self.network)
        except BrittleError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            what = "the model" if from_hub else "the folder"
            raise BrittleError(f"{what} {str(folder)!r} cannot be read by open_clip: {reason}") from error
        self.prepare = OpenClipTransform(transform, config)
        self.network.eval()

    def images(self, images: Sequence[Image]) -> Embeddings:
        """Embeddings of images, preprocessed as its config says."""
        torch = require("torch")
        with torch.inference_mode():
            inputs = torch.stack([self.prepare.transform(Pil.fromarray(np.asarray(image))) for image in images])
            return unit_vectors(self.network.encode_image(inputs.to(self.device)))

    def texts(self, prompts: Sequence[str]) -> Embeddings:
        """Embeddings of prompts; a prompt that is too long is truncated."""
        torch = require("torch")
        with torch.inference_mode():
            return _in_parts(prompts, lambda part: self.network.encode_text(self.tokenizer(part).to(self.device)))


def _without_code(folder: Path) -> dict[str, bool]:
    """Options of open_clip's tokenizer for a folder: its config may ask transformers to run code of the folder."""
    config = json.loads((folder / CONFIG).read_text("utf-8"))["model_cfg"].get("text_cfg", {})
    if (config.get("tokenizer_kwargs") or {}).get("trust_remote_code"):
        raise BrittleError(
            f"the folder {str(folder)!r} wants to run its own code for the tokenizer (trust_remote_code in {CONFIG}), "
            "and no such code is run; take that out of the file, if the tokenizer is one of transformers"
        )
    return {"trust_remote_code": False} if config.get("hf_tokenizer_name") else {}


class OpenClipTransform:
    """The preprocessing of open_clip: a transform of torchvision, and the configuration that it was made of."""

    def __init__(self, transform: Any, config: dict[str, Any]) -> None:
        self.transform, self.config = transform, config

    def to_dict(self) -> dict[str, Any]:
        """Its configuration."""
        return self.config

    @property
    def square(self) -> int | None:
        """The side of the square input of the network; None if it is not square."""
        size = self.config["size"]
        sides = {size} if isinstance(size, int) else set(size)
        return int(sides.pop()) if len(sides) == 1 else None

    @property
    def description(self) -> str:
        """Size, crop, mean and std in one line."""
        side = self.square or self.config["size"]
        steps = {"shortest": f"resized to {side}, central {side}", "longest": f"long side to {side}, filled to {side}"}
        mean, std = (" ".join(f"{number:.3g}" for number in self.config[key]) for key in ("mean", "std"))
        return f"{steps.get(str(self.config.get('resize_mode')), f'resized to {side}')}; mean {mean}, std {std}"

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input N×3×H×W."""
        torch = require("torch")
        return torch.stack([self.transform(Pil.fromarray(image)) for image in images]).to(device)


def load_clip(folder: str | Path, *, device: str = "auto", download: bool = False) -> Clip | OpenClip:
    """The CLIP in a folder that transformers or open_clip wrote; if it has both formats, that of transformers.

    With `download` also one of the Hugging Face hub: openai/clip-vit-base-patch32, or hf-hub:NAME for open_clip.
    """
    path = Path(folder).expanduser()
    is_open_clip = (path / CONFIG).is_file() and not (path / "config.json").is_file()
    if is_open_clip or (download and str(folder).startswith(HUB)):
        return OpenClip(folder, device=device, download=download)
    return Clip(folder, device=device, download=download)


def _open_clip(place: str) -> Any:
    if find_spec("open_clip") is None:
        raise ModuleNotFoundError(
            f"{place!r} is a model of open_clip, which is not installed: pip install {PACKAGE}; or give a folder "
            "of transformers",
            name="open_clip",
        )
    require("torchvision", PACKAGE)  # open_clip imports it first
    return require("open_clip", PACKAGE)


def pooled(output: Any) -> Any:
    """The pooled output of a network of transformers, else its class token, else the tensor that it is."""
    if hasattr(output, "pooler_output") and output.pooler_output is not None:
        return output.pooler_output
    return output.last_hidden_state[:, 0] if hasattr(output, "last_hidden_state") else output


def unit_vectors(features: Any) -> Embeddings:
    """Features divided by their Euclidean lengths."""
    features = features.double().cpu().numpy()
    return np.asarray(features / np.linalg.norm(features, axis=1, keepdims=True), np.float32)


def _in_parts(prompts: Sequence[str], embed: Any) -> Embeddings:
    parts = [list(prompts[start : start + AT_ONCE]) for start in range(0, len(prompts), AT_ONCE)]
    return np.concatenate([unit_vectors(pooled(embed(part))) for part in parts])


def load_pretrained(loader: Any, folder: str | Path, *, download: bool = False, **options: Any) -> Any:
    """What transformers reads from a folder by one of its Auto classes; no code beside it is run.

    Networks are read from safetensors only, and every weight must be there. With `download` a name of the hub may
    stand in place of the folder.
    """
    path = Path(folder).expanduser()
    local = path.is_dir()
    if not local and not download:
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r}; give one that transformers' save_pretrained wrote"
        )
    source = str(path if local else folder)
    is_network = loader.__name__ == "AutoModel"
    if is_network:
        options |= {"use_safetensors": True, "output_loading_info": True}
    try:
        with quiet_libraries("transformers"):
            loaded = loader.from_pretrained(source, local_files_only=local, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError, require("safetensors").SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        if local:
            raise BrittleError(f"the folder {source!r} cannot be read by {loader.__name__}: {reason}") from error
        raise OSError(f"there is no folder {source!r}, and the hub gave no model: {reason}") from error
    if not is_network:
        return loaded
    network, loading = loaded
    if loading["missing_keys"]:
        missing = ", ".join(sorted(loading["missing_keys"])[:3])
        raise BrittleError(f"the folder {source!r} holds a network without its weights {missing}")
    return network

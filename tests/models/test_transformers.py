"""Hugging Face classifiers see what their own processors show them."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from brittle import BrittleError
from brittle.models import from_transformers
from tests.errors import naming
from tests.models.networks import images

transformers.utils.logging.disable_progress_bar()

VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 32,
    "patch_size": 8,
}
SHORTEST = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}
PROCESSORS = {
    "vit": transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}),
    "vit with other numbers": transformers.ViTImageProcessorPil(
        size={"height": 32, "width": 32}, resample=3, image_mean=[0.1, 0.2, 0.3], image_std=[0.3, 0.2, 0.1]
    ),
    "vit without standardising": transformers.ViTImageProcessorPil(
        size={"height": 32, "width": 32}, do_normalize=False, rescale_factor=1 / 127.5
    ),
    "clip": transformers.CLIPImageProcessorPil(**SHORTEST),
    "dino": transformers.BitImageProcessorPil(**SHORTEST),
    "convnext": transformers.ConvNextImageProcessorPil(size={"shortest_edge": 32}, crop_pct=0.8),
    "efficientnet": transformers.EfficientNetImageProcessorPil(size={"height": 32, "width": 32}),
    "mobilenet": transformers.MobileNetV2ImageProcessorPil(**SHORTEST),
}


def save(folder: Path, processor=PROCESSORS["vit"], **options) -> Path:
    torch.manual_seed(0)
    config = transformers.ViTConfig(**VIT, num_labels=5)
    transformers.ViTForImageClassification(config).save_pretrained(folder, **options)
    processor.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("which", PROCESSORS)
@pytest.mark.parametrize("sides", [(48, 48), (40, 60), (77, 50), (20, 24)])
def test_pixels_are_those_of_the_processor(tmp_path: Path, which: str, sides: tuple) -> None:
    model = from_transformers(save(tmp_path / "net", PROCESSORS[which]), device="cpu")
    given = images(3, *sides)
    expected = PROCESSORS[which](list(given), return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(model.prepare.tensor(given, "cpu"), expected, atol=1e-6, rtol=1e-5)
    with torch.no_grad():
        logits = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "net").eval()(expected).logits
    np.testing.assert_allclose(model.scores(given), logits, atol=1e-5)


@pytest.mark.parametrize("which", PROCESSORS)
def test_images_of_the_final_size_are_only_standardised(tmp_path: Path, which: str) -> None:
    model = from_transformers(save(tmp_path / "net", PROCESSORS[which]))
    given = images(3, 32, 32)
    processor = PROCESSORS[which]
    expected = processor(list(given), do_resize=False, do_center_crop=False, return_tensors="pt")["pixel_values"]
    shown = model.prepare.tensor(given, "cpu")
    torch.testing.assert_close(shown, expected)
    low, high = (shown.permute(1, 0, 2, 3).reshape(3, -1) for shown in (shown, torch.from_numpy(given).moveaxis(-1, 1)))
    for channel in range(3):  # a straight line from grey levels to what is shown
        slope = np.polyfit(high[channel].double(), low[channel].double(), 1)
        np.testing.assert_allclose(np.polyval(slope, high[channel]), low[channel], atol=1e-4)


def test_a_residual_network_works_too(tmp_path: Path) -> None:
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=4
    )
    transformers.ResNetForImageClassification(config).save_pretrained(tmp_path)
    PROCESSORS["convnext"].save_pretrained(tmp_path)
    model = from_transformers(tmp_path, name="tiny")
    assert (model.name, model.scores(images(2, 50, 40)).shape, model.features(images(2)).shape) == (
        "tiny",
        (2, 4),
        (2, 16),
    )
    again = pickle.loads(pickle.dumps(model))
    assert again.key == model.key
    np.testing.assert_array_equal(again.scores(images(2)), model.scores(images(2)))


def test_the_key_names_weights_and_processor(tmp_path: Path) -> None:
    keys = [from_transformers(save(tmp_path / which.replace(" ", "-"), PROCESSORS[which])).key for which in PROCESSORS]
    assert len(set(keys)) == len(keys)
    assert from_transformers(tmp_path / "vit").key == keys[0]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    torch.save({}, tmp_path / "old" / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match=naming("old", ".safetensors", "save_pretrained")):
        from_transformers(tmp_path / "old")
    folder = save(tmp_path / "net")
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(OSError, match=naming("net")):
        from_transformers(folder)
    transformers.ViTModel(transformers.ViTConfig(**VIT)).save_pretrained(tmp_path / "headless")
    PROCESSORS["vit"].save_pretrained(tmp_path / "headless")
    with pytest.raises(BrittleError, match=naming("headless", "classifier.bias", "classifier.weight")):
        from_transformers(tmp_path / "headless")
    config = json.loads((tmp_path / "headless" / "config.json").read_text())
    (tmp_path / "headless" / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    with pytest.raises(BrittleError, match=naming("headless", "BertConfig")):
        from_transformers(tmp_path / "headless")


def test_an_id_without_a_network_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match=naming("nobody/nothing")):
        from_transformers("nobody/nothing")

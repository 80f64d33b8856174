"""CLIPs of open_clip as classifiers, for real, in the environment of timm; skipped aloud where it is not installed."""

import contextlib
import json
import pickle
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import brittle
from brittle import BrittleError
from brittle._optional import require
from brittle.datasets import arrays
from brittle.models import load_model
from tests.errors import naming
from tests.models.networks import images

if find_spec("open_clip") is None:
    pytest.skip("open_clip is not installed", allow_module_level=True)
require("torchvision")
open_clip = require("open_clip")

TEMPLATES = ["a photo of a {}.", "a bad photo of the {}."]
CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
PREPARED = {"mean": [0.5, 0.4, 0.3], "std": [0.3, 0.2, 0.1], "resize_mode": "shortest", "interpolation": "bicubic"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder as open_clip puts it on the hub, with random weights."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("clip") / "tiny-clip"
    root.mkdir()
    network = open_clip.CLIP(**CONFIG)
    save_file(network.state_dict(), root / "open_clip_model.safetensors")
    (root / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG, "preprocess_cfg": PREPARED}))
    return root


def test_scores_are_those_of_open_clip_with_averaged_templates(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("\n".join(TEMPLATES))
    names, given = ["tench", "goldfish", "great white shark"], images(3, 40, 50)
    model = load_model(f"clip:{folder}:{tmp_path / 'prompts.txt'}", classes=names, device="cpu")
    network, transform = open_clip.create_model_from_pretrained(f"local-dir:{folder}", device="cpu")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    with torch.no_grad():
        classes = []
        for name in names:
            texts = tokenizer([template.replace("{}", name) for template in TEMPLATES])
            classes.append(network.encode_text(texts, normalize=True).mean(0))
        weights = torch.nn.functional.normalize(torch.stack(classes), dim=1)
        shown = network.encode_image(torch.stack([transform(Image.fromarray(one)) for one in given]), normalize=True)
        expected = (network.logit_scale.exp() * shown @ weights.T).numpy()
    np.testing.assert_allclose(model.scores(given), expected, atol=2e-4)
    assert np.ptp(expected) > 0.1
    assert "central 32; mean 0.5 0.4 0.3" in model.preprocessing_text
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(given), model.scores(given))


def test_the_classes_of_the_data_are_taken(folder: Path) -> None:
    given = images(4, 32, 32)
    data = arrays(given, [0, 1, 0, 1], ["dog", "cat"], name="animals")
    results = brittle.evaluate(f"clip:{folder}", data, progress=None)
    fixed = load_model(f"clip:{folder}", classes=["dog", "cat"], device="cpu")
    np.testing.assert_array_equal(results.rows.collect()["prediction"], fixed.scores(given).argmax(1))
    assert results.runs[0].calls[0].models == {"tiny-clip": fixed.key}


@pytest.mark.parametrize("asks", [True, False])
def test_no_code_of_a_folder_is_run_for_its_tokenizer(folder: Path, tmp_path: Path, asks: bool) -> None:
    """The config may ask transformers to trust the code beside it; without that transformers would ask the user."""
    proof, place = tmp_path / "it ran", tmp_path / "clip"
    shutil.copytree(folder, place)
    text = {**CONFIG["text_cfg"], "hf_tokenizer_name": "any"}
    text |= {"tokenizer_kwargs": {"trust_remote_code": True}} if asks else {}
    config = {"model_cfg": {**CONFIG, "text_cfg": text}, "preprocess_cfg": PREPARED}
    (place / "open_clip_config.json").write_text(json.dumps(config))
    (place / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["own.Own", None]}}))
    (place / "own.py").write_text(f"import os\nos.mkdir({str(proof)!r})\nclass Own: pass\n")
    with pytest.raises(BrittleError, match=naming(str(place), "trust_remote_code" if asks else "custom code")):
        load_model(f"clip:{place}", device="cpu")
    assert not proof.exists()
    if asks:  # as open_clip would
        with contextlib.suppress(Exception):
            open_clip.get_tokenizer(f"local-dir:{place}")
        assert proof.exists()


def test_damaged_folders_are_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "open_clip_config.json").write_text("{")
    with pytest.raises(BrittleError, match=naming(str(tmp_path), "open_clip")):
        load_model(f"clip:{tmp_path}")
    (tmp_path / "open_clip_config.json").write_text((folder / "open_clip_config.json").read_text())
    with pytest.raises(BrittleError, match=naming(str(tmp_path), "weights")):
        load_model(f"clip:{tmp_path}")

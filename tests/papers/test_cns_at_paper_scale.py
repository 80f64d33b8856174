"""CNS-Bench at the paper's scale, on a handful of images: Stable Diffusion 2 by v-prediction with class tokens, CLIP,
DINOv2, ImageNet, OOD-CV and a DiT, all of them of a few thousand random weights."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle._ray import map_on_ray
from brittle.datasets import Dataset, cns_bench, load_dataset
from brittle.papers import (
    Finding,
    Setting,
    cns_checks,
    cns_ood_cv,
    cns_slides,
    cns_variants,
    reproduce,
)
from brittle.sliders import (
    ClassToken,
    Clip,
    ImageEncoder,
    class_names,
    sampling_settings,
    save_tokens,
    slider_name,
    token_text,
    training,
    trajectory_files,
)
from tests.datasets.fake_layouts import WNIDS, class_folders
from tests.datasets.test_nuisance_sets import ood_folder
from tests.errors import naming
from tests.papers.published_components import SCHEDULER, save_clip_large, save_dinov2, stable_diffusion_2
from tests.sliders import test_from_dit
from tests.sliders.cns_folder import cns_folder

SHIFTS = ["heavy_snow", "cartoon_style"]
LIMITS = {
    "AlexNet": 0.0,
    "ResNet-50": 0.5,
    "ResNet-152": 1.0,
    "ViT-B-16": 1.5,
    "DeiT-B": 1.0,
    "DeiT3-S": 1.5,
    "DeiT3-B": 2.5,
    "MAE-IN1k": 2.0,
    "DINOv2-B-reg": 2.5,
}
"""Up to which scale each model is right on all images but those of one seed, on which it fails half a scale earlier."""

NETS = """
import numpy as np
from hashlib import sha256
from pathlib import Path

KNOWN = dict(np.load(Path(__file__).with_name("known.npz"), allow_pickle=False))
FACTS = dict(zip(KNOWN["digest"].tolist(), KNOWN["facts"].tolist()))

def net(limit):
    def answer(image):
        label, scale, seed = FACTS.get(sha256(image.tobytes()).hexdigest(), (0, limit < 1, 0))
        return int(label) if scale <= limit - 0.5 * (seed == 2) * (limit > 0) else 999
    return lambda images: np.eye(1000)[[answer(image) for image in images]]
"""


def few_of_imagenet(setting: Setting, name: str, **_: Any) -> Dataset:
    return load_dataset(f"{name}:{setting.path(name)}").prepared("36,32").subset(np.arange(6))


def known_images(folder: Path, place: Path) -> None:
    """What each drawn image is, for models that know it."""
    data = cns_bench(folder)
    facts = zip(data.labels, data.columns["scale"], data.columns["seed"], strict=True)
    digests = [sha256(np.ascontiguousarray(image).tobytes()).hexdigest() for image in data.images()]
    np.savez(place, digest=digests, facts=np.array([list(map(float, fact)) for fact in facts]))


def model_list(folder: Path) -> Path:
    """Nine models of the paper that look images up."""
    functions = "".join(
        f"\ndef m{number}():\n    return net({limit})\n" for number, limit in enumerate(LIMITS.values())
    )
    (folder / "nets.py").write_text(NETS + functions)
    listed = "".join(
        f'[[model]]\nname = "{name}"\npapers = ["cns"]\nrole = "{"robust" if "IN1k" in name else "plain"}"\n'
        f'spec = "{{checkpoints}}/nets.py:m{number}"\nfile = "nets.py"\nsource = "this test"\n'
        for number, name in enumerate(LIMITS)
    )
    (folder / "models.toml").write_text(listed)
    return folder


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Everything that the scale of the paper asks for, by the name of its path."""
    root, threads = tmp_path_factory.mktemp("published"), torch.get_num_threads()
    torch.set_num_threads(1)
    pipeline = stable_diffusion_2()
    pipeline.save_pretrained(root / "sd2")
    wide = pipeline.text_encoder.get_input_embeddings().weight.shape[1]
    names = class_names()
    learned = [ClassToken(token_text(name, i), torch.randn(wide), name) for i, name in enumerate(names[:2])]
    tokens = [*learned, *(ClassToken("", None, name) for name in names[2:])]
    save_tokens(pipeline, root / "tokens", tokens)
    (root / "checkpoints").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_from_dit, "CLASSES", 1000)
        test_from_dit.tiny_dit().save_pretrained(root / "dit")
        patch.setattr(cns_slides, "CLASSES", {"paper": ("0", "1")})
        patch.setattr(cns_slides, "SEEDS", {"paper": 2})
        patch.setattr(cns_slides, "SLIDE_SCALES", (0.0, 1.0, 2.5))
        patch.setattr(cns_slides, "TPR", 0.3)
        patch.setattr(cns_slides, "SHIFTS", {"paper": SHIFTS})
        quick = {"steps": 1, "batch_size": 1, "denoising_steps": 2, "learning_rate": 0.5}
        patch.setattr(cns_slides, "training_settings", lambda _: quick)
        patch.setattr(
            cns_slides, "sampling_settings", lambda name, **more: sampling_settings(name, denoising_steps=1, **more)
        )
        patch.setattr(cns_ood_cv, "WEATHER", ("heavy_snow",))
        patch.setattr(cns_ood_cv, "NETWORK", "small:4")
        patch.setattr(cns_ood_cv, "TRAINING", {**cns_ood_cv.TRAINING, "epochs": 1, "batch_size": 4, "side": 32})
        patch.setattr(cns_checks, "TOKEN_SEEDS", {"paper": 1})
        quick_dit = {"timesteps": 2, "keep": 2, "keep_after": 1, "batch_size": 500}
        patch.setattr(cns_variants, "DIFFUSION", quick_dit)
        patch.setattr(cns_variants, "DIFFUSION_IMAGES", {"paper": 12})
        patch.setattr(Setting, "data", few_of_imagenet)
        yield {
            "stable-diffusion-2": root / "sd2",
            "imagenet-star": root / "tokens",
            "clip": save_clip_large(root / "clip"),
            "dinov2": save_dinov2(root / "dino"),
            "imagenet": class_folders(root / "imagenet" / "val", WNIDS),
            "ood-cv": ood_folder(root / "ROBINv1.1-cls-pose"),
            "dit": root / "dit",
            "checkpoints": root / "checkpoints",
            "labels": root / "labels.csv",
        }
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def found(parts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """All experiments; models and labels are made for the images that they are drawn."""
    out = tmp_path_factory.mktemp("paper")
    paths = {name: str(path) for name, path in parts.items()}
    setting = Setting(out / "cns", "paper", paths, device="cpu")
    slides = cns_slides.slides(setting)
    known_images(slides, parts["checkpoints"] / "known.npz")
    model_list(parts["checkpoints"])
    scores = cns_slides.scores_of(setting, slides)
    far = scores.filter(scores["scale"] == 2.5).sort("DINO_ref_no_head")["sample"].to_list()
    labels = {sample: "not class" if sample in far[:3] else "class" for sample in scores["sample"]}
    parts["labels"].write_text("sample,label\n" + "".join(f"{sample},{label}\n" for sample, label in labels.items()))
    done = reproduce("cns", "all", out, scale="paper", paths=paths, device="cpu")
    return {one.name: one for one in done}


PUBLISHED_CLASSES = {
    "StableDiffusionPipeline": ("stable-diffusion-2", "model_index.json"),
    "UNet2DConditionModel": ("stable-diffusion-2", "unet/config.json"),
    "AutoencoderKL": ("stable-diffusion-2", "vae/config.json"),
    "DDIMScheduler": ("stable-diffusion-2", "scheduler/scheduler_config.json"),
    "CLIPTextModel": ("stable-diffusion-2", "text_encoder/config.json"),
    "CLIPTokenizer": ("stable-diffusion-2", "tokenizer/tokenizer_config.json"),
    "CLIPModel": ("clip", "config.json"),
    "Dinov2Model": ("dinov2", "config.json"),
    "DiTPipeline": ("dit", "model_index.json"),
}
"""Of the components of the paper, each in the file that names it."""


def test_components_are_of_the_published_classes(parts: dict[str, Path]) -> None:
    for name, (part, file) in PUBLISHED_CLASSES.items():
        held = json.loads((parts[part] / file).read_text())
        found = held.get("_class_name") or held.get("tokenizer_class") or held["architectures"][0]
        assert found == name, file
    index = json.loads((parts["stable-diffusion-2"] / "model_index.json").read_text())
    assert index["text_encoder"] == ["transformers", "CLIPTextModel"]
    scheduler = json.loads((parts["stable-diffusion-2"] / "scheduler" / "scheduler_config.json").read_text())
    assert SCHEDULER.items() <= scheduler.items()
    chosen = cns_slides.named_pipeline(Setting(parts["clip"], "paper", {n: str(p) for n, p in parts.items()}))
    pipeline = chosen.base.pipeline()
    assert type(pipeline).__name__ == "StableDiffusionPipeline"
    assert pipeline.scheduler.config.prediction_type == "v_prediction"
    assert pipeline.tokenizer.model_max_length == 77


@pytest.mark.parametrize("registers", [0, 4])
def test_published_encoders_are_read(tmp_path: Path, registers: int) -> None:
    clip = Clip(save_clip_large(tmp_path / "clip"), device="cpu")
    assert type(clip.network).__name__ == "CLIPModel"
    assert clip.processor.crop_size["height"] == 224
    encoder = ImageEncoder(save_dinov2(tmp_path / "dino", registers=registers), device="cpu")
    assert type(encoder.network).__name__ == ("Dinov2WithRegistersModel" if registers else "Dinov2Model")
    assert (encoder.prepare.size, encoder.prepare.crop) == (520, 518)
    photos = list(np.random.default_rng(0).integers(0, 256, (2, 40, 50, 3), dtype=np.uint8))
    assert clip.images(photos).shape == (2, 16)
    np.testing.assert_allclose(np.linalg.norm(encoder.images(photos), axis=1), 1, rtol=1e-5)
    one, two = clip.texts(["a photo of a bag", "a photo of a sneaker in heavy snow"])
    alone = clip.texts(["a photo of a bag"])[0]  # padding after the end of a text says nothing
    np.testing.assert_allclose(one, alone, atol=1e-5)
    assert np.abs(one - two).max() > 1e-3


def test_all_of_the_paper_runs_end_to_end(found: dict[str, Finding]) -> None:
    assert len(found) == 14
    assert all(one.scale == "paper" for one in found.values())
    assert all(one.verdict and one.differs for one in found.values())


def test_table_1_stands_beside_the_printed_one(found: dict[str, Finding]) -> None:
    rows = {(row["axis"], row["model"]): row for row in found["table1"].tables["models"]}
    assert rows["architecture", "DeiT3-B"]["published rCE"] == 0.610
    assert rows["pretraining", "SUP-IN1k"]["published rCE"] == 0.926
    assert rows["pretraining", "SUP-IN1k"]["rCE"] == rows["architecture", "ViT-B/16"]["rCE"]
    assert rows["architecture", "DeiT3-B"]["rCE"] < rows["architecture", "ResNet-152"]["rCE"] <= 1
    assert [each["name"] for each in found["table1"].agreement] == ["Spearman, rCE", "mean absolute difference, rCE"]


def test_labels_choose_the_thresholds(found: dict[str, Finding]) -> None:
    [annotator] = found["filter"].tables["labels"]
    assert annotator["not class"] == 3
    assert len(found["filter"].tables["thresholds"]) == 4


def test_real_images_of_ood_cv_stand_beside_slides(found: dict[str, Finding]) -> None:
    assert [row["real images"] for row in found["fig4"].tables["real_images"]] == ["no shift", "weather"]
    assert max(row["scale"] for row in found["fig4"].tables["slides"]) == 3.0


@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_a_cluster_takes_pairs_of_class_and_shift_and_finds_the_same(
    found: dict[str, Finding], parts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: dict[str, list[str]] = {}

    def spied(ray: Any, work: Any, items: Any, *, title: Any, **how: Any) -> Any:
        tasks.setdefault(work.__name__, []).extend(title(item) for item, _ in items)
        return map_on_ray(ray, work, items, title=title, **how)

    for module in (training, trajectory_files):
        monkeypatch.setattr(module, "map_on_ray", spied)
    paths = {name: str(path) for name, path in parts.items()}
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        names = ["fig3", "fig7"]
        done = reproduce("cns", names, tmp_path, scale="paper", paths=paths, device="cpu", engine="ray")
    finally:
        ray.shutdown()
    sliders = [slider_name(shift, number) for shift in SHIFTS for number in (0, 1)]
    assert sorted(tasks["_train"]) == sorted(sliders)
    assert len(set(tasks["_drawn_files"])) >= len(sliders)
    for one in done:
        assert one.tables == found[one.name].tables
        assert one.verdict == found[one.name].verdict


def test_published_images_need_no_pipeline(parts: dict[str, Path], tmp_path: Path) -> None:
    folder = cns_folder(tmp_path / "cns_bench")
    (tmp_path / "checkpoints").mkdir()
    known_images(folder, tmp_path / "checkpoints" / "known.npz")
    paths = {"cns-bench": folder, "imagenet": parts["imagenet"], "checkpoints": model_list(tmp_path / "checkpoints")}
    found = reproduce("cns", ["table1", "fig7"], tmp_path / "out", scale="paper", paths=paths, device="cpu")
    rows = {row["model"]: row for row in found[0].tables["models"]}
    assert rows["DeiT3-B"]["rCE"] < rows["ResNet-152"]["rCE"]
    assert any("published" in text for text in found[0].differs)


def test_a_list_without_the_models_is_one_sentence(parts: dict[str, Path], tmp_path: Path) -> None:
    folder = cns_folder(tmp_path / "cns_bench")
    (tmp_path / "checkpoints").mkdir()
    known_images(folder, tmp_path / "checkpoints" / "known.npz")
    place = model_list(tmp_path / "checkpoints")
    blocks = (place / "models.toml").read_text().split("[[model]]")
    paths = {"cns-bench": folder, "imagenet": parts["imagenet"], "checkpoints": place}
    (place / "models.toml").write_text("[[model]]".join(block for block in blocks if "AlexNet" not in block))
    with pytest.raises(BrittleError, match=naming("AlexNet", "ResNet-50")):
        reproduce("cns", ["table1"], tmp_path / "out", scale="paper", paths=paths, device="cpu")
    (place / "models.toml").write_text("[[model]]".join(block for block in blocks if "DeiT3" not in block))
    with pytest.raises(BrittleError, match=naming("DeiT3-S", "DeiT3-H")):
        reproduce("cns", ["fig6"], tmp_path / "other", scale="paper", paths=paths, device="cpu")

"""A CLIP as a classifier: its scores are those of transformers, and its classes those of the data."""

import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import brittle
from brittle import BrittleError
from brittle.datasets import arrays, imagenet_names
from brittle.evaluation import with_names_of
from brittle.models import from_clip, load_model
from brittle.sliders import DEMO_CLASSES, DEMO_SAMPLING, demo_part, load_demo_pipeline
from brittle.sliders.sampling import draw_images
from tests.errors import naming
from tests.models.networks import images
from tests.sliders import tiny_world

TEMPLATES = ["a photo of a {}.", "a picture of a {}", "{}"]
CLIP = demo_part("clip")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def clothes():
    """Four pictures of each class, which the demo pipeline generates."""
    pipeline = load_demo_pipeline().pipeline(device="cpu")
    labels = np.repeat(np.arange(len(DEMO_CLASSES)), 4)
    prompts = [DEMO_SAMPLING.prompt_of(DEMO_CLASSES[label]) for label in labels]
    pixels = draw_images(pipeline, prompts, range(len(labels)), DEMO_SAMPLING)
    return arrays(pixels, labels, list(DEMO_CLASSES), name="clothes")


def of_transformers(folder: Path, given: np.ndarray, templates: list[str], names: list[str]) -> np.ndarray:
    """The logits by transformers alone, one image and one text at a time."""
    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    padding = {"padding": "max_length", "max_length": 48} if "Siglip" in type(network).__name__ else {}
    unit, classes = torch.nn.functional.normalize, []
    with torch.no_grad():
        for name in names:
            tokens = [tokenizer(text.replace("{}", name), return_tensors="pt", **padding) for text in templates]
            each = [unit(network.get_text_features(**token).pooler_output[0], dim=0) for token in tokens]
            classes.append(unit(torch.stack(each).mean(0), dim=0))
        rows = [processor(Image.fromarray(image), return_tensors="pt") for image in given]
        shown = torch.stack([unit(network.get_image_features(**row).pooler_output[0], dim=0) for row in rows])
        logits = network.logit_scale.exp() * shown @ torch.stack(classes).T
    return (logits + getattr(network, "logit_bias", torch.zeros(1))).detach().numpy()


@pytest.mark.parametrize("sides", [(32, 32), (40, 50)])
def test_scores_are_those_of_transformers_with_averaged_templates(sides: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("\n".join([*TEMPLATES, ""]))
    (tmp_path / "names.txt").write_text("t-shirt\nankle_boot\nbag\n")
    model = load_model(f"clip:{CLIP}:{tmp_path / 'prompts.txt'},classes={tmp_path / 'names.txt'}", device="cpu")
    given = images(5, *sides)
    expected = of_transformers(CLIP, given, TEMPLATES, ["t-shirt", "ankle boot", "bag"])
    np.testing.assert_allclose(model.scores(given), expected, atol=2e-4)
    assert model.classes == ("t-shirt", "ankle boot", "bag")
    assert np.ptp(expected) > 1


def test_one_template_gives_the_logits_of_the_network_itself() -> None:
    network = transformers.CLIPModel.from_pretrained(CLIP).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(CLIP)(
        [f"a photo of a {name}." for name in DEMO_CLASSES], padding=True, return_tensors="pt"
    )
    processor = transformers.AutoImageProcessor.from_pretrained(CLIP, backend="pil")
    given = images(4, 32, 32)
    with torch.no_grad():
        pixels = processor([Image.fromarray(image) for image in given], return_tensors="pt")
        expected = network(**tokens, **pixels).logits_per_image.numpy()
    model = from_clip(CLIP, classes=DEMO_CLASSES, device="cpu")
    np.testing.assert_allclose(model.scores(given), expected, atol=2e-4)


def test_siglip_has_padded_texts_and_a_bias(tmp_path: Path) -> None:
    torch.manual_seed(0)
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.SiglipConfig(
        text_config=tiny_world.text_config() | {"projection_size": 32},
        vision_config={**vision, "image_size": 16, "patch_size": 8},
    )
    network = transformers.SiglipModel(config)
    network.logit_bias.data.fill_(-3.0)
    network.logit_scale.data.fill_(2.0)
    network.save_pretrained(tmp_path)
    tiny_world.tokenizer().save_pretrained(tmp_path)
    transformers.SiglipImageProcessorPil(size={"height": 16, "width": 16}).save_pretrained(tmp_path)
    given = images(3, 24, 20)
    model = load_model(f"clip:{tmp_path}", classes=["bag", "sneaker"], templates=TEMPLATES, device="cpu")
    np.testing.assert_allclose(
        model.scores(given), of_transformers(tmp_path, given, TEMPLATES, ["bag", "sneaker"]), atol=2e-4
    )


def test_the_classes_of_the_data_are_taken_and_recognised(clothes, tmp_path: Path) -> None:
    model = load_model(f"clip:{CLIP},name=tiny clip", device="cpu")
    results = brittle.evaluate({"tiny clip": model}, clothes, None, tmp_path / "run", progress=None)
    rows = results.rows.collect()
    accuracy = (rows["prediction"] == rows["label"]).mean()
    assert accuracy > 0.5  # chance is 0.1
    bound = with_names_of([model], clothes)[0]
    pixels = np.stack(list(clothes.images()))
    assert (bound.scores(pixels).argmax(1) == clothes.labels).mean() == pytest.approx(accuracy)
    [run] = results.runs
    assert run.calls[0].models == {"tiny clip": bound.key}
    again = brittle.evaluate({"tiny clip": model}, clothes, None, tmp_path / "run", progress=None)
    assert again.runs[0].calls == run.calls  # nothing was computed again


def test_a_folder_of_photographs_names_the_classes(clothes, tmp_path: Path) -> None:
    for index in range(len(clothes)):
        folder = tmp_path / "photos" / clothes.classes[clothes.labels[index]].replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(clothes.image(index)).save(folder / f"{index}.png")
    results = brittle.evaluate(f"clip:{CLIP}", tmp_path / "photos", "cifar10-c", progress=None, folder=tmp_path / "run")
    assert results.scores()[0].clean.value > 0.5
    assert sorted(results.runs[0].classes) == sorted(name.replace(" ", "_") for name in DEMO_CLASSES)


def test_failure_points_and_features_take_it_too(clothes) -> None:
    blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1])])
    model = from_clip(CLIP, device="cpu")
    few = clothes.limited(10)
    found = brittle.evaluation.search_failure_points(model, few, blur, tolerance=0.5, progress=None)
    assert len(found) == 10
    features = model.features(clothes.image(0)[None])
    assert np.linalg.norm(features) == pytest.approx(1, abs=1e-5)


def test_the_key_covers_weights_templates_and_names(tmp_path: Path) -> None:
    keys = {
        from_clip(CLIP, device="cpu").key,
        from_clip(CLIP, classes=["a", "b"], device="cpu").key,
        from_clip(CLIP, classes=["b", "a"], device="cpu").key,
        from_clip(CLIP, classes=["a", "b"], templates=TEMPLATES, device="cpu").key,
        from_clip(CLIP, classes=["a", "b"], templates=TEMPLATES[::-1], device="cpu").key,
        from_clip(tiny_world.save_clip(tmp_path / "other"), classes=["a", "b"], device="cpu").key,
    }
    assert len(keys) == 6
    assert from_clip(CLIP, device="cpu").for_classes(["a", "b"]).key in keys


def test_a_pickle_is_the_same_model_and_takes_names() -> None:
    model = from_clip(CLIP, classes=["bag", "coat"], device="cpu")
    again = pickle.loads(pickle.dumps(model))
    given = images(2, 32, 32)
    np.testing.assert_array_equal(again.scores(given), model.scores(given))
    assert again.key == model.key
    np.testing.assert_allclose(
        again.for_classes(["coat", "bag"]).scores(given), model.scores(given)[:, ::-1], atol=1e-4
    )
    assert "'a photo of a {}.'" in model.preprocessing_text


def test_imagenets_names_are_words() -> None:
    model = from_clip(CLIP, classes="imagenet", device="cpu")
    assert len(model.classes) == 1000
    assert model.classes[0] == imagenet_names()[0]
    wnids = from_clip(CLIP, device="cpu").for_classes(["n01440764", "n01443537"])
    assert wnids.classes == ("tench", "goldfish")


def test_data_without_names_are_refused_until_names_are_given() -> None:
    data = arrays(images(4, 32, 32), [0, 1, 0, 1], name="nameless")
    with pytest.raises(BrittleError, match=naming("nameless", "clip", "classes=FILE.txt")):
        brittle.evaluate(f"clip:{CLIP}", data, progress=None)
    results = brittle.evaluate(from_clip(CLIP, classes=["bag", "coat"]), data, progress=None)
    assert results.runs[0].images == 4


def test_names_in_another_order_than_the_data_are_refused(clothes) -> None:
    swapped = [*DEMO_CLASSES[1:], DEMO_CLASSES[0]]
    with pytest.raises(BrittleError, match=naming("clothes", "another order", swapped[0], "--classes")):
        brittle.evaluate(from_clip(CLIP, classes=swapped, device="cpu"), clothes, progress=None)


def test_scores_without_names_say_what_to_give() -> None:
    with pytest.raises(BrittleError, match=naming("classes=FILE.txt", "classes=imagenet")):
        from_clip(CLIP, device="cpu").scores(images(1, 32, 32))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"a photo of a cat\n", ("prompts.txt", "{}", "'a photo of a cat'")),
        (b"a {}\n\nno slot\n", ("template 2", "'no slot'")),
        (b"", ("prompts.txt", "no prompt template")),
        (b"\n \n", ("prompts.txt", "no prompt template")),
        (b"a photo of a {} \xff\xfe", ("prompts.txt", "UTF-8")),
    ],
)
def test_files_of_templates_that_are_none(content: bytes, named: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_bytes(content)
    with pytest.raises(BrittleError, match=naming(*named)):
        load_model(f"clip:{CLIP}:{tmp_path / 'prompts.txt'}")


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"templates": "nowhere.txt"}, FileNotFoundError, ("nowhere.txt", "a photo of a {}.")),
        ({"templates": ["a cat"]}, BrittleError, ("'a cat'", "{}")),
        ({"templates": []}, BrittleError, ("no prompt template",)),
        ({"classes": "nowhere.txt"}, FileNotFoundError, ("nowhere.txt",)),
        ({"classes": ["cat"]}, BrittleError, ("1 class names", "at least two")),
        ({"size": 3}, TypeError, ("'size'", "templates", "classes")),
    ],
)
def test_options_that_make_no_classifier(options: dict, error: type[Exception], named: tuple[str, ...]) -> None:
    with pytest.raises(error, match=naming(*named)):
        load_model(f"clip:{CLIP}", **options)


def test_templates_are_given_once(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("a {}")
    with pytest.raises(BrittleError, match=naming("twice", "prompts.txt")):
        load_model(f"clip:{CLIP}:{tmp_path / 'prompts.txt'}", templates=["a {}"])


def test_folders_that_hold_no_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match=naming("nobody/nothing", "hub")):
        load_model("clip:nobody/nothing")
    folder = tiny_world.save_clip(tmp_path / "clip")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(BrittleError, match=naming("AutoModel", str(folder))):
        load_model(f"clip:{folder}")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BrittleError, match=naming(str(folder), "model.safetensors")):
        load_model(f"clip:{folder}")
    with pytest.raises(BrittleError, match=naming("Dinov2Model", "no CLIP")):
        load_model(f"clip:{tiny_world.save_dino(tmp_path / 'dino')}")


def test_open_clip_is_named_with_its_command(tmp_path: Path) -> None:
    if find_spec("open_clip") is not None:
        pytest.skip("open_clip is installed")
    (tmp_path / "open_clip_config.json").write_text("{}")
    for place in (tmp_path, "hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K"):
        with pytest.raises(ModuleNotFoundError, match=naming(str(place), "pip install open_clip_torch")):
            load_model(f"clip:{place}")

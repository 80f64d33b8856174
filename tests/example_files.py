"""What the examples of the docs name: small imitations of files that users have, and of what other verbs make."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image as Pil

from brittle.benchmarks import Benchmark, Entry, load_benchmark
from brittle.datasets import load_dataset, photo
from brittle.datasets.classes import imagenet_classes
from brittle.design import OverlapMatrix
from brittle.sliders import ClassToken, load_slider, save_tokens
from tests.cli.slide.slide_cases import publish
from tests.datasets.fake_layouts import WNIDS, cifar_batches
from tests.imitations.timm import colour
from tests.models.graphs import write
from tests.sliders import tiny_world
from tests.sliders.cns_folder import cns_folder

CLASSES = ("bird", "boat", "cat", "coffee", "dog")

MODELS = '''
import numpy as np
from brittle.models import from_callable

def load():
    """Five classes, by brightness."""
    return lambda images: -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 5))

def ten():
    return from_callable(lambda images: -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10)), name="ten")
'''

NETS = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 5))
"""

AUGMENT = """
def augment(image, draws):
    return image[:, ::-1]
"""

CATEGORIES = {
    "noises": ["noc/gaussian", "noc/salt_pepper", "noc/quantization"],
    "blurs": ["noc/blur", "noc/pixelate", "noc/thumbnail_resize"],
    "shapes": ["noc/shear", "noc/rotation", "noc/translation"],
    "lights": ["noc/brightness", "noc/contrast", "noc/backlight"],
    "colours": ["noc/hue", "noc/gray_scale", "noc/color_disortion"],
    "covers": ["noc/rain", "noc/border", "noc/obstruction"],
}


RULES = """
[[rule]]
metric = "clean accuracy"
model = "demo-augmix"
at_least = 0.2

[[rule]]
name = "usable in bad weather"
benchmark = "cifar10-c"
family = "weather"
metric = "accuracy"
model = "demo-augmix"
at_least = 0.1
"""

MAY_LOSE = """
[[rule]]
benchmark = "cifar10-c"
metric = "accuracy"
at_least = -0.5
"""


def pictures(folder: Path, names: list[str], *, side: int = 12) -> Path:
    """A plain picture in each class folder of ImageNet, in the colour that the imitation of timm knows it by."""
    for name in names:
        place = folder / name / "1.png"
        place.parent.mkdir(parents=True)
        Pil.new("RGB", (side, side), colour(WNIDS.index(name))).save(place)
    return folder


def photos(folder: Path) -> Path:
    """Two photographs of one size for each of five classes."""
    for number, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for which in ("cat", "coffee"):
            image = np.clip(photo(which, 64).astype(int) + 20 * number - 40, 0, 255).astype(np.uint8)
            Pil.fromarray(image).save(folder / name / f"{which}.jpg")
    return folder


def cifar10(folder: Path) -> Path:
    """Python batches of forty bundled images each, and 100 to test with; each third label is wrong, so all err."""
    demo = load_dataset("demo")
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        chosen = [(7 * number + i) % len(demo) for i in range(100 if name == "test_batch" else 40)]
        images = np.stack([demo.image(i) for i in chosen])
        labels = [int(demo.labels[i] + (place % 3 == 0)) % 10 for place, i in enumerate(chosen)]
        cifar_batches(folder, images, labels, key=b"labels", name=name)
    return folder


def squares(path: Path) -> None:
    """Squares of four colours, which a network learns in a moment."""
    labels = np.arange(256) % 4
    noise = np.random.default_rng(len(path.name)).normal(0, 60, (256, 16, 16, 3))
    images = np.array([colour(123 * label + 111) for label in range(4)])[labels][:, None, None] + noise
    np.savez(path, images=np.clip(images, 0, 255).astype(np.uint8), labels=labels, classes=list("abcd"))


def predictions(path: Path, data: str, recipe: str) -> None:
    """What somebody else's program said of each image."""
    ids = list(load_dataset(data).ids)
    rows = ["sample,corruption,level,prediction,confidence"]
    for cell, level in [
        ("clean", 0),
        *((cell.corruption, cell.level) for cell in load_benchmark(recipe).cells()),
    ]:
        rows += [f"{sample},{cell},{level},{number % 7},0.5" for number, sample in enumerate(ids)]
    path.write_text("\n".join(rows))


def predictions_npz(path: Path) -> None:
    text = path.with_suffix(".csv")
    predictions(text, "demo", "cifar10-c")
    head, *rows = (line.split(",") for line in text.read_text().splitlines())
    columns = {name: np.array(column) for name, column in zip(head, zip(*rows, strict=True), strict=True)}
    kinds = {"level": float, "prediction": int, "confidence": float}
    np.savez(path, **{name: column.astype(kinds.get(name, str)) for name, column in columns.items()})
    text.unlink()


def drops(path: Path, columns: list[str]) -> None:
    rng = np.random.default_rng(3)
    rows = [",".join(["model", *columns])]
    rows += [",".join([f"m{i}", *(f"{x:.4f}" for x in rng.random(len(columns)))]) for i in range(8)]
    path.write_text("\n".join(rows))


def labels(path: Path) -> None:
    """As if somebody had looked at the slides: all but the first three seeds leave their class with the shift."""
    ids = sorted(str(sample.relative_to(path.parent / "slides")) for sample in (path.parent / "slides").rglob("*.jpg"))
    stays = {i for i in ids if "_0000." in i or int(i.rpartition("seed_")[2][:4]) <= 3}
    lines = [f"{i},{'class' if i in stays else 'not class'}" for i in ids]
    path.write_text("\n".join(["sample,label", *lines]))


def via_project(path: Path) -> None:
    """The same labels, but for one, as the VGG Image Annotator keeps them, with a word of its own."""
    labels(path)
    lines = [line.rpartition(",") for line in path.read_text().splitlines()[1:]]
    images = {
        f"{name}-1": {"filename": f"slides/{name}", "file_attributes": {"label": label.replace("not class", "ooc")}}
        for name, _, label in lines[:-1]
    }
    path.write_text(json.dumps({"_via_img_metadata": images}))


def tokens(folder: Path) -> None:
    pipeline = tiny_world.pipeline()
    wide = pipeline.text_encoder.get_input_embeddings().weight.shape[1]
    texts = [f"<{row.name}-{row.number}>" for row in imagenet_classes()[:23]]
    save_tokens(pipeline, folder, [ClassToken(text, torch.ones(wide) * 0.1, "bag") for text in texts])


def categories(path: Path) -> None:
    blocks = [f'[[category]]\nname = "{name}"\nmembers = {members}' for name, members in CATEGORIES.items()]
    path.write_text("\n".join(blocks).replace("'", '"'))


def net(path: Path) -> None:
    write(path, ("n", 3, "h", "w"))


def matrix(path: Path) -> None:
    path.write_text("corruption,fog,snow,frost\nfog,1,0.25,0.1\nsnow,0.25,1,0.15\nfrost,0.1,0.15,1\n")


def telling_overlaps(folder: Path) -> None:
    """Networks of a moment overlap by chance, or not at all: their matrix gets six groups that overlap."""
    measured = OverlapMatrix.load(folder / "overlap.parquet")
    names = measured.names
    group = {name: number for number, members in enumerate(CATEGORIES.values()) for name in members}
    groups = np.array([group.get(name, place % 6) for place, name in enumerate(names)])
    scores = np.where(groups[:, None] == groups, 0.6, 0.05) + 0.01 * np.add.outer(groups, groups)
    np.fill_diagonal(scores, 1)
    OverlapMatrix(names, scores, candidates=measured.candidates).save(folder / "overlap.parquet")


def adapters(folder: Path) -> None:
    publish(load_slider(next((folder.parent / "sliders").rglob("*.safetensors")).parent), folder, 22)


def of_page(page: str, language: str) -> Callable[[Path], object]:
    """The first block of a language on a page of the docs, which says that readers save it as a file."""
    text = (Path(__file__).parents[1] / "docs" / page).read_text(encoding="utf-8")
    return lambda path: path.write_text(re.findall(rf"```{language}\n(.*?)```", text, re.S)[0])


USERS: dict[str, Callable[[Path], object]] = {
    "val": lambda path: pictures(path, WNIDS),
    "ImageNet-C": lambda path: [
        pictures(path / "imagenet-c" / entry.corruption.name / str(level), WNIDS[:2], side=224)
        for entry in load_benchmark("imagenet-c").entries
        for level in entry.levels
    ],
    "imagenet-a": lambda path: pictures(path, [row.wnid for row in imagenet_classes() if row.in_a]),
    "cns_bench": cns_folder,
    "photos": photos,
    "frost": lambda path: (path.mkdir(), Pil.fromarray(photo("coffee", 256)).save(path / "1.png")),
    "scene.npy": lambda path: np.save(path, np.full((64, 64, 13), 2000, np.uint16)),
    "photo.jpg": lambda path: Pil.fromarray(photo("cat", 256)).save(path),
    "net.onnx": net,
    "models.py": lambda path: path.write_text(MODELS),
    "nets.py": lambda path: path.write_text(NETS),
    "mine.py": lambda path: path.write_text(AUGMENT),
    "my.toml": lambda path: Benchmark("my", (Entry("fog", (1, 3)), Entry("contrast", (2,)))).save(path),
    "my_recipe.toml": lambda path: Benchmark("mine", (Entry("fog", (1, 3)), Entry("contrast", (2,)))).save(path),
    "cifar10": cifar10,
    "test.npz": squares,
    "train.npz": squares,
    "preds.csv": lambda path: predictions(path, str(path.parent / "val"), "imagenet-c"),
    "predictions.csv": lambda path: predictions(path, str(path.parent / "val"), "imagenet-c"),
    "a.npz": predictions_npz,
    "drops.csv": lambda path: drops(
        path,
        [entry.corruption.name for entry in load_benchmark("imagenet-c").entries]
        + [entry.id for entry in load_benchmark("syn2nat-candidates").entries],
    ),
    "natural.csv": lambda path: drops(path, ["imagenet-a", "imagenet-r"]),
    "m.csv": matrix,
    "categories.toml": categories,
    "rules.toml": lambda path: path.write_text(RULES),
    "may-lose.toml": lambda path: path.write_text(MAY_LOSE),
    "sd2": lambda path: tiny_world.pipeline().save_pretrained(path),
    "tokens": tokens,
    "encoder_root_imagenet": tokens,
    "lora_adapters": adapters,
    "clip": tiny_world.save_clip,
    "clip-vit-base-patch16": tiny_world.save_clip,
    "dinov2": tiny_world.save_dino,
    "dinov2-large": tiny_world.save_dino,
    "labels.csv": labels,
    "anna.csv": labels,
    "bo.csv": labels,
    "via.json": via_project,
    "vignette.py": of_page("tutorials/own-corruption.md", "python"),
    "lens.toml": of_page("tutorials/own-corruption.md", "toml"),
}
"""What users have, by its name in the examples."""

SLIDES = "brittle slide sample sd2/ sliders/ --tokens tokens/ --batch-size 6"
RUN = "brittle run -m demo:standard -m demo:augmix -m models.py:ten -d demo --limit 40"
ELSEWHERE = "brittle run -m demo:standard -m demo:augmix -m models.py:ten -d cifar10:cifar10 --limit 40 -b cifar10-c"
OVERLAP = (
    "brittle design overlap -d test.npz --train-data train.npz --candidates cifar10-noc-candidates --standard-epochs 3 "
    "--batch-size 16 --limit 64 --train-limit 64"
)

VERBS = {
    "run": tuple(f"{RUN} -b {recipe} -o run" for recipe in ("syn2nat-candidates", "cifar10-noc-candidates")),
    "other-run": (f"{RUN} -b cifar10-c -o other-run",),
    "run-a": (f"{ELSEWHERE} -o run-a",),
    "run-b": (),
    "run-r": (),
    "benchmarks.csv": ("brittle design build balanced syn2nat -n 6 -k 2 --count 20 -o benchmarks.csv",),
    "overlap": (f"{OVERLAP} -o overlap",),
    "cifar10-noc-candidates.toml": (
        "brittle design calibrate -m demo:standard -d cifar10:cifar10 --candidates noc-candidates --limit 1000 "
        "-o cifar10-noc-candidates.toml",
    ),
    "far.toml": (
        "brittle design build dissimilar --candidates cifar10-c-bar-candidates --away-from cifar10-c "
        "-m demo:standard -d cifar10:cifar10 -o far.toml",
    ),
    "five.toml": ("brittle design build non-overlapping noc-table7 -t 0.2 -o five.toml",),
    "mine.toml": (
        "brittle design build non-overlapping overlap/ -t 0.2 --levels-from cifar10-noc-candidates -o mine.toml",
    ),
    "noc.safetensors": ("brittle augment train -d cifar10:cifar10 --start demo:standard -o noc.safetensors",),
    "sliders": ("brittle slide train sd2/ --tokens tokens/ --class 22 --shift heavy_snow -o sliders",),
    "tiny-sliders": ("brittle slide train tiny --class bag,sneaker --shift heavy_fog -o tiny-sliders",),
    "slides": (f"{SLIDES} -o slides",),
    "more": (),
    "all-run": ("brittle run -m timm:resnet50 -m timm:vit_base_patch16_224 -d cns-bench:slides/ -o all-run",),
    "two": ("brittle slide sample sd2/ --two-prompts --tokens tokens/ --class 22 --shift heavy_snow -o two",),
    "measured": ("brittle slide measure slides/ --clip clip/ -o measured",),
    "filtered": (
        "brittle slide filter slides/ --clip clip/ --dino dinov2/ --labels labels.csv --tpr 0.5 --least 1 -o filtered",
    ),
}
"""What other verbs of brittle make, and how."""

COPIED_FROM = {"run": "other-run", "run-b": "run-a", "run-r": "run-a", "more": "slides"}
"""What begins as a copy of another folder, because the same command makes both."""

NEEDED_BY = {
    "lora_adapters": ["sliders"],
    "preds.csv": ["val"],
    "predictions.csv": ["val"],
    **{name: ["slides"] for name in ("labels.csv", "anna.csv", "bo.csv", "via.json")},
}
"""What an imitation is made from."""

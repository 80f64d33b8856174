"""Tiny data, candidates, models, drops and categories for the verbs that design a test."""

from pathlib import Path

import numpy as np

COLOURS = np.random.default_rng(0).integers(40, 216, (4, 3))

NETS = """
from pathlib import Path
import numpy as np
from brittle.datasets import load_dataset
from brittle.models import from_callable

DATA = load_dataset("demo").subset(range(0, 1000, 10))
KNOWN = np.stack(list(DATA.images())).reshape(100, -1)[:, ::17].astype(np.float32)
CALLS = []

def scores(images):
    CALLS.append(len(images))
    if len(CALLS) == int(Path("stop.txt").read_text()):
        raise KeyboardInterrupt
    flat = images.reshape(len(images), -1)[:, ::17].astype(np.float32)
    distance = (flat**2).sum(1)[:, None] - 2 * flat @ KNOWN.T + (KNOWN**2).sum(1)
    return np.stack([-distance[:, DATA.labels == label].min(1) for label in range(10)], 1)

def by_heart():
    return from_callable(scores, name="by-heart")

def tones(channel):
    return lambda: from_callable(
        lambda x: -np.abs(x[..., channel].mean((1, 2))[:, None] - np.linspace(60, 190, 10)), name=f"tones-{channel}"
    )

red, green, blue = tones(0), tones(1), tones(2)
"""

TRAIN = [
    "-d",
    "test.npz",
    "--train-data",
    "train.npz",
    "--candidates",
    "two.toml",
    "--network",
    "small:4",
    "--batch-size",
    32,
]


def squares(labels: np.ndarray, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 25, (len(labels), 16, 16, 3))
    return np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)


def design_files() -> None:
    """Everything, in the current folder."""
    for name, count in (("train", 256), ("test", 64)):
        labels = np.arange(count) % 4
        np.savez(f"{name}.npz", images=squares(labels, count), labels=labels, classes=list("abcd"))
    np.savez("bare.npz", images=squares(np.arange(64) % 4, 1), labels=np.arange(64) % 4)
    entries = "".join(f'[[corruption]]\nid = "noc/{name}"\n' for name in ("contrast", "gray_scale"))
    Path("two.toml").write_text(f'name = "two"\nuniform = [3, 5]\n{entries}')
    Path("nets.py").write_text(NETS)
    Path("stop.txt").write_text("-1")
    rng = np.random.default_rng(3)
    names = ["fog", "snow", "frost", "contrast"]
    for file, columns in (("drops.csv", names), ("natural.csv", ["a", "r"]), ("few.csv", ["a"])):
        rows = [",".join(["model", *columns])]
        models = 2 if file == "few.csv" else 8
        rows += [",".join([f"m{i}", *(f"{x:.4f}" for x in rng.random(len(columns)))]) for i in range(models)]
        Path(file).write_text("\n".join(rows))
    Path("groups.csv").write_text("corruption,category\nfog,haze\ncontrast,haze\nsnow,cold\nfrost,cold\n")
    Path("odd.csv").write_text("corruption,a,b\na,1,0.2\nb,0.3,1\n")

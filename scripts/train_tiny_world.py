"""Make the bundled tiny world from Fashion-MNIST: a diffusion pipeline, a CLIP, an image encoder, and classifiers.

    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist_*.deb clothes
    python scripts/train_tiny_world.py clothes/usr/share/datasets/fashion-mnist
    python scripts/measure_tiny_world.py clothes/usr/share/datasets/fashion-mnist

One core needs an hour and a half for all. What was done is skipped, and a training that was ended goes on from
its last checkpoint; `--only vae` (or unet, clip, encoder, judge, small, standard, augmix) makes one part alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tiny_world"))

import torch
from make_data import Clothes, make_data
from save_parts import save_half, save_pipeline
from train_classifiers import PLANS, train_classifier
from train_clip import save_clip, train_clip
from train_encoder import train_encoder
from train_unet import pipeline, train_unet
from train_vae import latents, train_vae

from brittle.sliders.demo_pipeline import DEMO_FOLDER

PARTS = ("vae", "unet", "clip", "encoder", *PLANS)


def main() -> None:
    """Make what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder of the four idx files of Fashion-MNIST")
    parser.add_argument("--work", type=Path, default=Path("tiny-world-training"), help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=DEMO_FOLDER, help="where the world is written")
    parser.add_argument("--only", choices=PARTS, help="make this part alone")
    how = parser.parse_args()
    torch.set_num_threads(1)
    clothes = make_data(how.data, how.work, train=True)
    for part in [how.only] if how.only else PARTS:
        make(part, clothes, how.work, how.out)


def make(part: str, clothes: Clothes, work: Path, out: Path) -> None:
    """Train one part, and write it."""
    if part == "vae":
        latents(train_vae(clothes, work), clothes, work)
    elif part == "unet":
        vae = train_vae(clothes, work)
        painter = train_unet(clothes, latents(vae, clothes, work), work)
        save_pipeline(pipeline(painter, vae), out / "pipeline")
    elif part == "clip":
        save_clip(train_clip(clothes, work), out / "clip")
    elif part == "encoder":
        save_half(train_encoder(clothes, work), out / "encoder")
    else:
        train_classifier(part, clothes, work, out / "classifiers")


if __name__ == "__main__":
    main()

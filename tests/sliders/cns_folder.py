"""A folder in the published layout of CNS-Bench, made by hand; each image says what it is in its rows of pixels."""

from pathlib import Path

import numpy as np
from PIL import Image as Pil

NAMES = {0: "tench", 2: "great white shark", 22: "bald eagle"}
SHIFTS = ("heavy_snow", "painting_style")
SCALES = (0.0, 0.5, 1.0, 2.5)
SEEDS = (1, 2, 34)

NETS = """
import numpy as np
from brittle.models import from_callable

def net(name, fails):
    def scores(images):
        rows = images.astype(float).mean((2, 3))
        label, scale, seed, shift = (np.rint(rows[:, 8 * i + 2 : 8 * i + 6].mean(1)) for i in range(4))
        wrong = fails(scale / 80, np.rint(seed), shift)
        return np.eye(1000)[np.where(wrong, 999, label.astype(int))]
    return lambda: from_callable(scores, name=name)

weak = net("weak", lambda scale, seed, shift: (scale >= 0.4 + shift / 80) | (seed == 34))
fair = net("fair", lambda scale, seed, shift: (scale >= 0.9) & (seed == 2))
strong = net("strong", lambda scale, seed, shift: (scale >= 2.4) & (shift < 40) & (seed != 1))
"""


def cns_folder(root: Path) -> Path:
    """`weak` fails at 0.5 in snow, at 2.5 in paintings, and always on seed 34."""
    for number, shift in enumerate(SHIFTS):
        for label, name in NAMES.items():
            folder = root / shift / f"{label:03}_{name}"
            folder.mkdir(parents=True)
            for seed in SEEDS:
                for scale in SCALES:
                    picture = np.zeros((32, 32, 3), np.uint8)
                    for place, value in enumerate((label, 80 * scale, seed, 80 * number)):
                        picture[8 * place : 8 * place + 8] = round(value)
                    path = folder / f"seed_{seed:04}_scale_{round(1000 * scale):04}.jpg"
                    Pil.fromarray(picture).save(path, quality=100, subsampling=0)
    return root

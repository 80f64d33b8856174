"""Measure the bundled tiny world, and write the figures into its card.

    python scripts/measure_tiny_world.py clothes/usr/share/datasets/fashion-mnist

`--only real`, `generated`, `sliders` or `filter` measures one part alone; the others' figures stay as they were.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tiny_world"))

import torch
from make_data import make_data
from measure_filter import measure_filter
from measure_generated import measure_generated
from measure_real import measure_classifiers, measure_clip, measure_encoder
from measure_sliders import measure_sliders
from write_card import write_card

from brittle.sliders.demo_pipeline import DEMO_FOLDER, load_demo_pipeline

PARTS = ("real", "generated", "sliders", "filter")
LABELLED = Path(__file__).parent.parent / "tests" / "sliders" / "tiny_world_filter.csv.gz"
"""What the filter was measured with, kept for a test and for the figures of the docs."""


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder of the four idx files of Fashion-MNIST")
    parser.add_argument("--work", type=Path, default=Path("tiny-world-training"), help="where images are kept")
    parser.add_argument("--world", type=Path, default=DEMO_FOLDER)
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    how = parser.parse_args()
    torch.set_num_threads(1)
    how.work.mkdir(parents=True, exist_ok=True)
    world, file = load_demo_pipeline(how.world), how.work / "measured.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for part in [how.only] if how.only else PARTS:
        if part == "real":
            clothes = make_data(how.data, how.work, train=False)
            found["classifiers"] = measure_classifiers(world, clothes)
            found["CLIP"] = measure_clip(world, clothes)
            found["encoder"] = measure_encoder(world, clothes)
        elif part == "generated":
            found["generated"] = measure_generated(world, sheet=how.work / "generated.png")
        elif part == "filter":
            found["filter"] = measure_filter(world, how.work, LABELLED)
        else:
            found["sliders"] = measure_sliders(world, how.work)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))
    write_card(found, how.world)


if __name__ == "__main__":
    main()

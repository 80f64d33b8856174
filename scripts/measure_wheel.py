"""Write what fills a wheel into docs/explanation/packaging.md.

    make wheel

which calls `python scripts/measure_wheel.py dist/brittle-VERSION-py3-none-any.whl`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "packaging.md"
MARKS = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.S)
MB = 1e6
LARGEST = 10

PARTS = {
    "brittle/sliders/tiny_world/pipeline/": "demo pipeline: UNet, autoencoder and text encoder",
    "brittle/sliders/tiny_world/encoder/": "demo pipeline: image encoder",
    "brittle/sliders/tiny_world/clip/": "demo pipeline: CLIP",
    "brittle/sliders/tiny_world/classifiers/": "demo pipeline: four classifiers",
    "brittle/sliders/tiny_world/": "demo pipeline: model card and thresholds",
    "brittle/datasets/demo_images/": "1,000 CIFAR-10 images",
    "brittle/models/demo_weights/": "two demo models",
    "brittle/corruptions/imagenet_c/frost_textures/": "frost textures",
    "brittle/datasets/photos/": "two photographs",
    "brittle/datasets/tables/": "class names of ImageNet and ObjectNet",
    "brittle/metrics/published/": "published tables",
    "brittle/benchmarks/recipes/": "recipes",
    "brittle/report/": "report: code, style and script",
}
"""Parts by the folder they are in; a file belongs to the first that fits, and else to the code or the metadata."""


def part_of(name: str) -> str:
    """The part of the wheel that a file belongs to."""
    fitting = (part for folder, part in PARTS.items() if name.startswith(folder))
    return next(fitting, "metadata and licences" if ".dist-info/" in name else "code outside the report")


def measured(wheel: Path) -> str:
    """The sizes as Markdown."""
    packed, unpacked, files = Counter[str](), Counter[str](), Counter[str]()
    with ZipFile(wheel) as archive:
        for info in archive.infolist():
            part = part_of(info.filename)
            packed[part] += info.compress_size
            unpacked[part] += info.file_size
            files[part] += 1
    head = f"The wheel has **{wheel.stat().st_size / MB:.1f} MB**, and {unpacked.total() / MB:.1f} MB once installed"
    demo = sum(size for part, size in packed.items() if part.startswith("demo pipeline"))
    lines = [
        f"{head}, in {files.total()} files. The demo pipeline of the sliders is {demo / MB:.1f} MB of it.",
        "",
        f"The {LARGEST} largest parts:",
        "",
        "| part | files | MB in the wheel | MB installed |",
        "|---|---:|---:|---:|",
    ]
    for part, size in packed.most_common(LARGEST):
        lines.append(f"| {part} | {files[part]} | {size / MB:.2f} | {unpacked[part] / MB:.2f} |")
    return "\n".join(lines)


def main(wheel: Path) -> None:
    """Replace what stands between the marks of the page."""
    sizes = measured(wheel)
    page, replaced = MARKS.subn(lambda marks: f"{marks[1]}\n{sizes}\n\n{marks[2]}", PAGE.read_text(encoding="utf-8"))
    if replaced != 1:
        raise SystemExit(f"{PAGE} needs one pair of the marks <!-- measured --> and <!-- end -->, and has {replaced}")
    PAGE.write_text(page, encoding="utf-8")
    print(sizes.partition("\n")[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))

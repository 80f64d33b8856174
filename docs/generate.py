"""Write the pages and pictures that come from the registry: docs/sets/ (a page per corruption set) and docs/images/.

Run by `make docs`. A new corruption appears here without a change to this file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

import brittle
from brittle.corruptions import FAMILIES, Corruption
from brittle.datasets import photo
from brittle.report import contact_sheet

DOCS = Path(__file__).parent
SETS, IMAGES = DOCS / "sets", DOCS / "images"
THUMB, GAP = 148, 6
SIDES = (224, 32, 64, 299)
CONTINUOUS = (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)


def main() -> None:
    """Write everything."""
    SETS.mkdir(exist_ok=True)
    IMAGES.mkdir(exist_ok=True)
    for source in dict.fromkeys(c.source for c in brittle.list_corruptions()):
        write_set(source)
    continuous_strip(("fog", "snow", "defocus_blur", "imagenet-c/elastic_transform")).save(
        IMAGES / "severity.jpg", quality=88
    )
    film_strip(("rotate", "tilt", "scale", "snow", "brightness")).save(IMAGES / "films.jpg", quality=88)
    sizes_strip("defocus_blur", 5, (32, 64, 128, 224, 448)).save(IMAGES / "sizes.jpg", quality=90)
    sheet = contact_sheet(
        photo("cat", 224), [e.id for e in brittle.load_benchmark("imagenet-c").entries], seed=11, thumb=96
    )
    sheet.convert("RGB").save(IMAGES / "imagenet-c.jpg", quality=88)


def write_set(source: str) -> None:
    """The page of one published set: gallery, then family by family each corruption."""
    members = brittle.list_corruptions(source=source)
    for picture in ("cat", "coffee"):
        sheet = contact_sheet(photo(picture, 224), members, thumb=88)
        sheet.convert("RGB").save(SETS / f"{source}-{picture}.jpg", quality=88)
    lines = [f"# {source}", "", about(members[0]), "", f"{len(members)} corruptions.", ""]
    lines += [f"![Every corruption of {source} at five severities]({source}-{p}.jpg)" for p in ("cat", "coffee")]
    for family in FAMILIES:
        chosen = [c for c in members if c.family == family]
        lines += [f"\n## {family.capitalize()}"] if chosen else []
        for corruption in chosen:
            lines += section(corruption)
    (SETS / f"{source}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def about(member: Corruption) -> str:
    """What the folder of the set says about it."""
    package = __import__(member.function.__module__.rpartition(".")[0], fromlist=["_"])
    return (package.__doc__ or "").strip()


def section(corruption: Corruption) -> list[str]:
    """A picture, the docs and the parameters of one corruption."""
    name = f"{corruption.source}-{corruption.name}.jpg"
    levels = [corruption.max_severity * step / 5 for step in range(6)]
    pictures = [brittle.corrupt(photo("cat", 224), corruption, s) for s in levels]
    strip(pictures, [f"{s:g}" for s in levels]).save(SETS / name, quality=86)
    return [
        f"\n### {corruption.name}\n",
        f"![{corruption.name} at six severities from 0 to {corruption.max_severity}]({name})\n",
        corruption.docs,
        "",
        *(parameter_table(corruption) if corruption.levels else []),
    ]


def parameter_table(corruption: Corruption) -> list[str]:
    """One row per parameter and published size."""
    largest = corruption.max_severity
    severities = range(1, largest + 1) if largest <= 5 else range(2, largest + 1, 2)
    rows = [f"| parameter | size | {' | '.join(map(str, severities))} |", "|---|---|" + "---|" * len(severities)]
    for parameter, level in corruption.levels.items():
        unit = {-1: " (1/px)", 0: "", 1: " (px)", 2: " (px²)"}[level.px]
        for side in (s for s in SIDES if s in level.tables):
            values = " | ".join(f"{corruption.parameters(s, side)[parameter]:g}" for s in severities)
            rows.append(f"| {parameter}{unit} | {side} | {values} |")
    return rows


def strip(pictures: list[np.ndarray], labels: list[str] | None = None, thumb: int = THUMB) -> Pil.Image:
    """Pictures side by side, with labels above if there are any."""
    head = 20 if labels else 0
    canvas = Pil.new("RGB", (len(pictures) * (thumb + GAP) - GAP, thumb + head), "white")
    for i, picture in enumerate(pictures):
        enlarge = picture.shape[0] < thumb
        method = Pil.Resampling.NEAREST if enlarge else Pil.Resampling.LANCZOS
        canvas.paste(Pil.fromarray(picture).resize((thumb, thumb), method), (i * (thumb + GAP), head))
        if labels:
            font = ImageFont.load_default(14)
            ImageDraw.Draw(canvas).text((i * (thumb + GAP) + 2, 1), labels[i], fill="#444444", font=font)
    return canvas


def stack(strips: list[Pil.Image]) -> Pil.Image:
    """Strips below each other."""
    height = sum(s.height + GAP for s in strips) - GAP
    canvas = Pil.new("RGB", (strips[0].width, height), "white")
    top = 0
    for each in strips:
        canvas.paste(each, (0, top))
        top += each.height + GAP
    return canvas


def continuous_strip(names: tuple[str, ...]) -> Pil.Image:
    """Real-valued severities, half a level apart: the same draw grows."""
    rows = []
    for i, name in enumerate(names):
        pictures = [brittle.corrupt(photo("cat", 224), name, severity) for severity in CONTINUOUS]
        rows.append(strip(pictures, [f"{s:g}" for s in CONTINUOUS] if i == 0 else None, thumb=104))
    return stack(rows)


def film_strip(names: tuple[str, ...]) -> Pil.Image:
    """Nine frames of each film."""
    films = [brittle.sequence(photo("cat", 256), name, crop=224) for name in names]
    return stack([strip([film[len(film) * i // 9] for i in range(9)], thumb=128) for film in films])


def sizes_strip(name: str, severity: float, sides: tuple[int, ...]) -> Pil.Image:
    """One corruption at several image sizes."""
    pictures = [brittle.corrupt(photo("cat", side), name, severity) for side in sides]
    return strip(pictures, [f"{side} px" for side in sides], thumb=176)


if __name__ == "__main__":
    main()

"""Write the pages and pictures that come from the code: the folders of docs/reference/, and docs/images/.

Run by `make docs`. A new corruption, verb, option, model source or public name appears without a change to this file.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

import brittle
from brittle.cli import EXIT_CODES, app
from brittle.corruptions import FAMILIES, Corruption
from brittle.datasets import photo
from brittle.models import model_sources
from brittle.report import contact_sheet

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SETS, CLI, API = (DOCS / "reference" / name for name in ("corruptions", "cli", "api"))
ROOMS = (
    *("corruptions", "transforms", "benchmarks", "datasets", "models", "metrics", "evaluation"),
    *("training", "distance", "design", "sliders", "plots", "report", "publish", "papers", "explorer"),
)
THUMB, GAP = 148, 6
SIDES = (224, 32, 64, 299)
CONTINUOUS = (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)


def main() -> None:
    """Write everything."""
    for folder in (SETS, CLI, API, IMAGES):
        folder.mkdir(parents=True, exist_ok=True)
    for source in dict.fromkeys(c.source for c in brittle.list_corruptions()):
        write_set(source)
    write_page(SETS / "gallery.md", gallery())
    write_page(SETS / "support.md", support())
    root = typer.main.get_command(app)
    write_page(CLI / "brittle.md", command_page(root))
    for name, group in root.commands.items():  # type: ignore[attr-defined]
        if hasattr(group, "commands"):
            write_page(CLI / f"{name}.md", group_page(f"brittle {name}", group))
    write_page(API / "front-door.md", api_page("brittle"))
    for room in ROOMS:
        write_page(API / f"{room}.md", api_page(f"brittle.{room}"))
    draw_images()


def write_page(path: Path, lines: list[str]) -> None:
    """Write a page if it changed, so that `mkdocs serve` is not disturbed."""
    text = "\n".join(lines) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def draw_images() -> None:
    """The pictures of hand-written pages."""
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
    write_page(SETS / f"{source}.md", lines)


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
        f"\n### {corruption.name} {{: #{anchor(corruption)} }}\n",
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


def anchor(corruption: Corruption) -> str:
    """The place of a corruption on the page of its set; families may have the same name."""
    return f"{corruption.source}-{corruption.name}"


def gallery() -> list[str]:
    """Every corruption, family by family across the sets: a middle and the largest severity, with a link."""
    lines = [
        "# Gallery by family",
        "",
        "Every corruption on one photograph, at three fifths of its largest severity and at the largest. Click on one "
        "for its definition, its parameters and the severities between.",
    ]
    for family in FAMILIES:
        members = brittle.list_corruptions(family=family)
        lines += [f"\n## {family.capitalize()}\n", f"{len(members)} corruptions.\n"]
        for corruption in members:
            name, largest = f"thumb-{anchor(corruption)}.jpg", corruption.max_severity
            levels = (0.6 * largest, largest)
            pictures = [brittle.corrupt(photo("cat", 224), corruption, s) for s in levels]
            strip(pictures, [corruption.id, ""], thumb=THUMB).save(SETS / name, quality=84)
            lines.append(
                f"[![{corruption.id}]({name}){{ loading=lazy }}]({corruption.source}.md#{anchor(corruption)})"
                f'{{ title="{corruption.summary.replace(chr(34), chr(39))}" }}'
            )
    return lines


def inputs() -> dict[str, tuple[Any, dict[str, Any]]]:
    """The bundled photograph as every type of image that is accepted, and the options that it needs."""
    rgb = photo("cat", 32)
    grey = np.asarray(Pil.fromarray(rgb).convert("L"))
    alpha = np.concatenate([rgb, np.full_like(rgb[..., :1], 200)], axis=2)
    bands = np.concatenate([rgb, rgb[::-1], rgb[:, ::-1, :1]], axis=2)
    return {
        "uint8 RGB": (rgb, {}),
        "float RGB": ((rgb / 255).astype(np.float32), {}),
        "grey": (grey, {}),
        "RGBA": (alpha, {}),
        "7 bands": (bands, {}),
        "uint16": (rgb.astype(np.uint16) * 257, {"data_range": 65535}),
        "float of any range": (bands[..., 4:] * np.float32(0.2) - 10, {"data_range": (-10, 41)}),
        "PIL RGB": (Pil.fromarray(rgb), {}),
        "batch": (np.stack([rgb, rgb]), {}),
        "1×1": (rgb[:1, :1], {}),
    }


def depth(corruption: Corruption) -> str:
    """How many values a ramp of 16 bits still has, tried out: "full", or "8 bit" for 256 at most."""
    ramp = np.linspace(6000, 60000, 64 * 64).astype(np.uint16).reshape(64, 64)
    image = np.stack([ramp, ramp.T, ramp[::-1]], axis=2)
    values = max(len(np.unique(corruption(image, s, data_range=65535))) for s in (0.1, 1, corruption.max_severity))
    tried = "full" if values > 256 else "8 bit"
    if (tried == "full") != corruption.full_depth:
        raise AssertionError(f"{corruption.id} leaves {values} values, and is registered with {corruption.full_depth=}")
    return tried


def verdict(corruption: Corruption, image: Any, options: dict[str, Any]) -> str:
    """What becomes of one input, tried out: ✓, or that nothing changes, or that it is refused."""
    try:
        changed = corruption(image, corruption.max_severity, **options)
    except brittle.BrittleError:
        return "refused"
    before, after = np.asarray(image), np.asarray(changed)
    if type(changed) is not type(image) or after.shape != before.shape or after.dtype != before.dtype:
        raise AssertionError(f"{corruption.id} gave {after.shape} {after.dtype} for {before.shape} {before.dtype}")
    if np.array_equal(before, after):
        return "no effect"
    return "✓ as RGB" if before.ndim == 2 and corruption.channels == "rgb" else "✓"


def support() -> list[str]:
    """Inputs × corruptions, tried out, and models × devices, from the signatures of their sources."""
    kinds = inputs()
    lines = [
        "# Support matrix",
        "",
        "Each cell of the first table was tried when this page was built, on a 32 px photograph at the largest "
        "severity: ✓ means that the result differs from the input and has its type and shape. *No effect*: it is "
        "accepted and comes back as it was, such as a colour shift on a grey image. Alpha is kept as it is.",
        "",
        "*Refused*: the corruption means colour, and bands of data have none. **Depth**: what is left of a ramp of 16 "
        "bits with `data_range=`. *Full* keeps the depth; *8 bit* has 256 levels at most. See [images that are not "
        "8-bit RGB](../../how-to/other-images.md).",
        "",
        "*As RGB*: a grey image is shown to the corruption as RGB, and the luminance of the result is returned. "
        "**Moves pixels**: masks, boxes and keypoints do not fit afterwards, so `brittle.Transform` refuses them.",
    ]
    for source in dict.fromkeys(c.source for c in brittle.list_corruptions()):
        lines += [
            f"\n## {source}\n",
            f"| corruption | {' | '.join(kinds)} | depth | severity | monotone | moves pixels |",
            "|---|" + "---|" * (len(kinds) + 4),
        ]
        for corruption in brittle.list_corruptions(source=source):
            cells = [verdict(corruption, image, options) for image, options in kinds.values()]
            cells += [
                depth(corruption),
                f"0–{corruption.max_severity}",
                "yes" if corruption.monotone else "no",
                "yes" if corruption.moves_pixels else "no",
            ]
            lines.append(f"| [{corruption.name}]({source}.md#{anchor(corruption)}) | {' | '.join(cells)} |")
    lines += [
        "\n## Models and devices\n",
        "`device` is `cpu`, `cuda`, `cuda:1`, `mps` or `auto`, the best there is. Tests run on the CPU; CUDA and MPS "
        "go through the same code of torch or onnxruntime, and are not tested by the project.\n",
        "| model | what it is | `device` | `bf16` | `mean`, `std`, `size`, `crop` |",
        "|---|---|---|---|---|",
    ]
    for scheme, build in sorted(model_sources().items()):
        options = inspect.signature(build).parameters
        words = (inspect.getdoc(build) or "").partition("\n\n")[0].replace("\n", " ")
        has = ["yes" if name in options else "no" for name in ("device", "bf16", "mean")]
        lines.append(f"| `{scheme}:` | {words} | {' | '.join(has)} |")
    return lines


def command_page(root: Any) -> list[str]:
    """All verbs that are no groups, panel by panel, after the options of the whole command line."""
    lines = [
        "# brittle",
        "",
        (root.help or "").strip(),
        "",
        "Also as `brittle VERB --help`. The groups [design](design.md), [augment](augment.md) and [slide](slide.md) "
        "have pages of their own.",
        "",
        *parameters("brittle", root),
        "",
        EXIT_CODES,
    ]
    panels: dict[str, list[str]] = {}
    for name, command in root.commands.items():
        if not hasattr(command, "commands"):
            panels.setdefault(command.rich_help_panel, []).append(name)
    for panel, names in panels.items():
        lines += [f"\n## {panel}"]
        for name in names:
            lines += verb(f"brittle {name}", root.commands[name], "###")
    return lines


def group_page(name: str, group: Any) -> list[str]:
    """The verbs of a group, and of groups in it."""
    lines = [f"# {name}", "", paragraphs(group.help)]
    for path, command in verbs(name, group):
        lines += verb(path, command, "##")
    return lines


def verbs(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    """All verbs below a group with their full names."""
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from verbs(f"{name} {part}", command)
        else:
            yield f"{name} {part}", command


def verb(name: str, command: Any, heading: str) -> list[str]:
    """What a verb does, its arguments and options, and its examples."""
    examples = re.findall(r"\[bold cyan\](.*?)\[/\]\s*\[dim\](.*?)\[/\]", command.epilog or "", re.S)
    return [
        f"\n{heading} {name}\n",
        paragraphs(command.help),
        "",
        *parameters(name, command),
        *(
            ["", "```sh", *(f"{line}  # {' '.join(words.split())}" for line, words in examples), "```"]
            if examples
            else []
        ),
    ]


def parameters(name: str, command: Any) -> list[str]:
    """A table of the arguments and options of a verb."""
    context = command.make_context(name, [], resilient_parsing=True)
    rows = ["| option | value | meaning | default |", "|---|---|---|---|"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is None:
            continue
        kind = re.search(r"(<.*>|[A-Z…][\w,=.…]*)$", record[0])
        value = kind.group(1).strip("<>") if kind and not getattr(parameter, "is_flag", False) else ""
        flags = [*parameter.opts, *parameter.secondary_opts]
        flags = flags if flags[0].startswith("-") else [record[0].split()[0]]
        words, _, default = record[1].partition("  [")
        default = default.rstrip("]").replace("default: ", "").strip("()")
        cells = (", ".join(f"`{flag}`" for flag in flags), f"`{value}`" if value else "", words, default)
        rows.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return rows if len(rows) > 2 else []


def paragraphs(text: str | None) -> str:
    """A help text as Markdown."""
    return re.sub(r"\[/?[a-z ]*\]", "", inspect.cleandoc(text or "").replace("\b", ""))


def api_page(name: str) -> list[str]:
    """A room with all names that it exports, for mkdocstrings."""
    module = importlib.import_module(name)
    listed = sorted((n for n in module.__all__ if not n.startswith("__")), key=kind_of(module))
    members = [f"        - {member}" for member in listed]
    return [f"# {name}", "", f"::: {name}", "    options:", "      members:", *members]


def kind_of(module: Any) -> Callable[[str], tuple[int, str]]:
    """Classes come first, then functions, then constants, each by name."""

    def key(name: str) -> tuple[int, str]:
        value = getattr(module, name)
        return (0 if inspect.isclass(value) else 1 if callable(value) else 2), name.lower()

    return key


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

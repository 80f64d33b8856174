"""What the README, the docs and every --help show is true: their Python runs, and so does each of their commands.

The examples are collected, so new ones are run without a word here. What they name and no earlier line of the same page
makes is an imitation of `example_files`; the options in `LESS` keep them small where a line does not set them itself.
"""

import fcntl
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image as Pil
from typer.testing import CliRunner

import brittle
from brittle.cli import app
from brittle.corruptions import registry
from brittle.datasets import cifar as demo_set
from brittle.sliders import Sampling
from brittle.sliders import demo_pipeline as world
from tests.example_files import COPIED_FROM, NEEDED_BY, USERS, VERBS, telling_overlaps

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [page for place in ("*.md", "*/*.md") for page in sorted((ROOT / "docs").glob(place))]  # deeper: generated
PYTHON = {page.name: re.findall(r"```python\n(.*?)```", page.read_text(), re.S) for page in PAGES}

LESS = {
    "--limit": 8,
    "--feature-images": 6,
    "--samples": 10,
    "--corruption-samples": 2,
    "--train-limit": 200,
    "--epochs": 1,
    "--standard-epochs": 1,
    "--datasets": 200,
    "--steps": 2,
    "--denoising-steps": 2,
    "--seeds": 3,
    "--draws": 1,
    "--batch-size": 8,
}
"""Options that a line gets where its verb has them and it does not set them."""

LESS_OF = {
    "show": {"--image-size": 32, "--thumb": 32},
    "import": {"--limit": None},
    "augment train": {"--train-limit": 40},
    "design build dissimilar": {"--limit": 40, "--repeats": 1},
    "design overlap": {"--limit": 100, "--batch-size": 50},
    "slide sample": {"--scales": "0,1,2.5", "--seeds": 14},
}
"""The same for one verb; None leaves an option out."""

MOST = {"calibrate": {"--limit": "16"}, "dissimilar": {"--limit": "40", "--repeats": "1"}}
"""What a line that calibrates or seeks dissimilar corruptions sets, it gets no more of."""

PARTIAL = ("imagenet-c:", "imagenet-a:")
"""Sets that are imitated with a few of their classes, which --partial allows for."""

ELSEWHERE = {
    "brittle fetch": "fetches 170 MB; tests/datasets/test_fetch.py fetches from a server of its own",
    "correlate run run-p": "shows 40 × 10 sequences to three models; tests/cli/test_sequence_verbs.py does it with 6",
    "brittle explore": "runs until it is ended; tests/explorer/test_server.py starts and ends it",
    "imagenet-100:imagenet": "wants ImageNet; tests/cli/test_photograph_training.py trains on a few photographs",
    "imagenet:imagenet/": "wants ImageNet; tests/training/test_generated_training.py mixes in a few photographs",
    "overlap -d cifar10:cifar10 --mode scratch": "24 networks; tests/design/test_measure_overlap.py trains some",
    "--tpr 0.95": "keeps nothing of what untrained networks draw; tests/cli/slide/test_slide_filter.py keeps some",
    "--steps 300": "trains a token for 300 steps; another example trains two for fewer",
    "--feature-model demo:augmix": "scans with two networks; tests/cli/test_dissimilar_verb.py does on fewer images",
    "--steps 100": "trains two sliders for 100 steps; other examples train one for 2",
    "slide demo --class trouser,sneaker,bag": "takes half an hour, as it says; the same demo runs with its defaults",
    "--reference alexnet": "is for an overlap on ImageNet; tests/cli/test_training_verbs.py gives references",
    "design balance overlap/ -b cifar10-noc": "networks of a moment lose nothing; see tests/cli/test_training_verbs.py",
    "weights=head.pt": "weights of a network of the reader's; tests/models/test_load_model.py reads some",
    "checkpoint=net.pt": "weights of a network with six classes; tests/models/test_load_model.py reads checkpoints",
    "-m clip:": "wants a CLIP of the hub or of the reader's; tests/models/test_zero_shot.py runs the bundled one",
    "design balance overlap -b mine.toml": "the same, for the benchmark that is built from them",
    "design agree overlap-resnet/": "wants overlaps of two networks; tests/cli/test_categories_verb.py has some",
    "design agree resnet densenet": "wants two overlaps on ImageNet; tests/cli/test_categories_verb.py has some",
    "build non-overlapping resnet": "wants an overlap on ImageNet; other examples build from one on CIFAR-10",
    **{
        f"brittle reproduce {paper}": f"takes minutes to half an hour; tests/papers/test_{paper}.py is on tiny data"
        for paper in ("noc", "syn2nat", "msd", "cns")
    },
    "--engine ray --address auto": "wants a cluster that runs already; tests/on_ray/test_evaluate.py begins one",
}
"""Examples that are not run here, and why."""


def commands(text: str) -> list[str]:
    """The lines of a page that call brittle, in blocks and in the last column of a table, without their comments."""
    blocks = [block.replace("\\\n", " ") for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.S)]
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    rows = re.findall(r"^\|[^|]*\| (`brittle .*)\|$", text, re.M)  # of a table: what one asks, and the command
    lines += [line for row in rows for line in re.findall(r"`(brittle [^`]*)`", row)]
    return [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith("brittle ")]


def helps(command: Any, name: str = "brittle") -> Iterator[tuple[str, str]]:
    """Every example of every --help, with the verb it stands under."""
    for line in re.findall(r"\[bold cyan\](.*?)\[/\]", command.epilog or ""):
        yield name, line
    for verb, part in getattr(command, "commands", {}).items():
        yield from helps(part, f"{name} {verb}")


def verb_of(words: list[str]) -> tuple[list[str], Any]:
    """The verb of a line, which may have two words, and its command."""
    command, path = CLICK, []
    while hasattr(command, "commands"):  # a group of verbs
        path.append(words[len(path)])
        command = command.commands[path[-1]]
    return path, command


CLICK = typer.main.get_command(app)
OF_VERBS = {line: f"{verb}: {line}" for verb, line in helps(CLICK)}
OF_PAGES = {page.name: lines for page in PAGES if (lines := commands(page.read_text()))}


RECIPE = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "explanation" / "recipes.md").read_text(), re.S)[0]


MADE_BY = {lines[0]: name for name, lines in VERBS.items() if len(lines) == 1}
"""Lines that make what lies on the shelf, each alone."""


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example registers is gone after it."""
    brittle.list_corruptions()  # finds the bundled ones, once
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))


@pytest.mark.parametrize("page", [name for name, blocks in PYTHON.items() if blocks and name != "CONTRIBUTING.md"])
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page alone, from nothing: it imports and makes all that it uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "winter-road.toml").write_text(RECIPE)
    (tmp_path / "our_frost_photos").mkdir()
    shutil.copyfile(ROOT / "src/brittle/datasets/photos/coffee.jpg", tmp_path / "our_frost_photos" / "a.jpg")
    names: dict[str, object] = {"__name__": "example"}
    for block in PYTHON[page]:
        exec(block, names)


def test_every_corruption_has_a_table_for_its_page() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)  # type: ignore[union-attr]
    for corruption in brittle.list_corruptions():
        rows = generate.parameter_table(corruption)
        assert len(rows) == 2 + sum(len(level.tables) for level in corruption.levels.values())


@pytest.fixture(scope="session")
def few_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first forty of the thousand bundled images."""
    place, whole = tmp_path_factory.mktemp("demo_images"), demo_set.FOLDER
    with Pil.open(whole / "images.png") as sheet:
        sheet.crop((0, 0, 32 * demo_set.ACROSS, 32)).save(place / "images.png")
    lines = (whole / "samples.csv").read_text().splitlines()
    (place / "samples.csv").write_text("\n".join(lines[: demo_set.ACROSS + 1]))
    return place


@pytest.fixture
def shelf(tmp_path_factory: pytest.TempPathFactory, few_images: Path, monkeypatch: pytest.MonkeyPatch) -> "Shelf":
    """What examples need; meanwhile there are few bundled images, and sliders are quick."""
    monkeypatch.setattr(demo_set, "FOLDER", few_images)
    monkeypatch.setattr(world, "DEMO_SAMPLING", Sampling(steps=2, side=32))
    monkeypatch.setattr(world, "DEMO_TRAINING", {"steps": 2, "batch_size": 1, "denoising_steps": 2})
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shelf"
    folder.mkdir(exist_ok=True)
    return Shelf(folder)


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """One process at a time makes what goes to a path."""
    with path.with_name(f".{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Shelf:
    """Imitations and what verbs make, each made once for all processes and copied to where an example is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def follow(self, line: str, place: Path) -> None:
        """Run a line in a folder; what several pages make by the very same line is made once, and copied."""
        if line in MADE_BY:
            self.put(MADE_BY[line], place, line)
        else:
            self.provide(line, place)
            run(line, place)

    def provide(self, line: str, place: Path) -> None:
        """Put what a line names, and is not there, into the folder it is run in."""
        words = shlex.split(line)
        words = words[1 + len(verb_of(words[1:])[0]) :]
        if "imagenet:val" in line and (place / "val" / "bird").is_dir():
            shutil.rmtree(place / "val")  # what an earlier line corrupted
        made = {Path(word).parts[0] for flag, word in pairwise(words) if flag in ("-o", "--output")}
        for word in words:
            for text in re.split(r"[:=,]", word):
                name = Path(text).parts[0] if text and not text.startswith("/") else ""
                if name and name not in made and (place == self.folder or not (place / name).exists()):
                    self.put(name, place, line)

    def put(self, name: str, place: Path, line: str) -> None:
        if place == self.folder:
            self.get(name)
        elif name == "val" and "corrupt" in line:
            shutil.copytree(self.get("photos"), place / name)  # all thousand classes would be written 75 times
        elif name == "val" and "--clean" in line:
            shutil.copytree(next(self.get("ImageNet-C").rglob("n01440764")).parent, place / name)
        elif name in USERS or name in VERBS:
            source = self.get("tiny-sliders" if name == "sliders" and " tiny " in line else name)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place / name)

    def get(self, name: str) -> Path:
        path = self.folder / name
        with alone_with(path):
            if path.exists():
                return path
            for needed in NEEDED_BY.get(name, ()):
                self.get(needed)
            if name in USERS:
                USERS[name](path)
            if name in COPIED_FROM:
                shutil.copytree(self.get(COPIED_FROM[name]), path)
            for line in VERBS.get(name, ()):
                self.provide(line, self.folder)
                run(line, self.folder)
            return path


def run(line: str, place: Path) -> None:
    """Call brittle in a folder with the words of a line, and with less of all that it leaves open."""
    words = shlex.split(line)[1:]
    path, command = verb_of(words)
    known = {flag: option.opts for option in command.params for flag in option.opts}
    less = LESS | LESS_OF.get(" ".join(path), {})
    if "--start" in words:  # a network that is good already; any other sees a little more, so that it is right at times
        for flag in {"--limit", "--train-limit"} & set(words):
            words[words.index(flag) + 1] = "16"
        less |= {"--standard-epochs": None, "--limit": 16, "--train-limit": 16, "--batch-size": 16, "--lr": 1e-4}
    elif "--network" not in words:
        less |= {"--network": "small:4"}
    for flag, most in MOST.get(path[-1], {}).items():
        if flag in words:
            words[words.index(flag) + 1] = most
    if "--labels" in words:
        less |= {"--least": 1}
    if "--two-prompts" in words:
        less |= {"--scales": None}
    if "scratch" in words:
        less |= {"--standard-epochs": None}
    if "batchnorm" in words:
        less |= {"--epochs": None}
    if any(word.startswith((*PARTIAL, "cns-bench:")) for word in words):
        less |= {"--limit": None}
    more = [
        word
        for flag, value in less.items()
        if flag in known and value is not None and not set(known[flag]) & set(words)
        for word in (flag, str(value))
    ]
    if any(word.startswith(PARTIAL) for word in words) and "--partial" in known:
        more.append("--partial")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("COLUMNS", "200")
        if "timm:" in line:  # only here: transformers would take the imitation of torchvision for the real one
            patch.syspath_prepend(Path(__file__).parent / "imitations")
            for name in ("timm", "timm.data", "torchvision"):
                patch.delitem(sys.modules, name, raising=False)
        result = CliRunner().invoke(app, [*words, *more])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, f"brittle {shlex.join([*words, *more])}\n{result.output}"
    if path == ["design", "overlap"] and "--from-table" not in words:
        telling_overlaps(place / words[words.index("-o") + 1])


@pytest.mark.parametrize("line", OF_VERBS, ids=OF_VERBS.get)
def test_examples_of_help(line: str, shelf: Shelf, tmp_path: Path) -> None:
    for part, reason in ELSEWHERE.items():
        if part in line:
            pytest.skip(reason)
    shelf.follow(line, tmp_path)


@pytest.mark.parametrize("page", OF_PAGES)
def test_commands_of_a_page_run_one_after_the_other(page: str, shelf: Shelf, tmp_path: Path) -> None:
    for line in OF_PAGES[page]:
        if line not in OF_VERBS and not any(part in line for part in ELSEWHERE):
            shelf.follow(line, tmp_path)

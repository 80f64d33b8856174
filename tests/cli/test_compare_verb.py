"""What run and compare print about single corruptions, references and published numbers."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil
from typer.testing import Result

import brittle
from brittle.datasets import arrays
from brittle.datasets.cifar import CIFAR10
from brittle.evaluation.cell import CellRows, plan
from brittle.evaluation.store import Store

Run = Callable[..., Result]


@dataclass(frozen=True)
class Named:
    name: str
    key: str = "0" * 16


def fill(folder: Path, recipe: str, models: dict[str, float], images: int = 10_000) -> Path:
    """A run of models that are wrong so often under the first corruption, and less and less under the others."""
    labels = np.arange(images) % 10
    data = arrays(np.zeros((images, 1, 1, 3), np.uint8), labels, CIFAR10, name="cifar10")
    store, rng = Store(folder), np.random.default_rng(0)
    store.claim_for(data)
    store.keep_recipe(brittle.load_benchmark(recipe))
    cells = plan(brittle.load_benchmark(recipe))
    for name, wrong in models.items():
        store.keep_model(Named(name), 1)
        for place, cell in enumerate(cells):
            share = 0.05 if cell.is_clean else wrong * (1 - place / 2 / len(cells))
            store.write(
                Named(name),
                cell,
                CellRows(
                    list(map(str, range(images))),
                    labels,
                    np.where(rng.random(images) < share, (labels + 1) % 10, labels),
                    np.full(images, 0.5),
                ),
            )
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the CIFAR-10 test set."""
    return fill(tmp_path_factory.mktemp("whole") / "run", "cifar10-c", {"good": 0.3, "a-network-of-a-long-name": 0.5})


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "/" not in line)  # paths are not broken
    return result.stdout


def flat(text: str) -> str:
    return " ".join(text.split())


def test_published_rows_have_full_names_sources_and_a_heading(run: Run, whole: Path) -> None:
    text = good(run("compare", whole))
    assert "published by others" in text
    assert re.search(r"^ AutoAugment, WideResNet-40-2 +19\.4 +1 *$", text, re.MULTILINE)
    assert "1: Mintun et al., Table 1 (2021)" in flat(text)
    assert "reference-cifar10-c" in text
    assert "released arrays" in text
    assert "published by others" not in good(run("compare", whole, "--no-published"))
    found = json.loads(run("compare", whole, "--json").stdout)["cifar10-c"]
    assert {"who": "AugMix, WideResNet-40-2", "metric": "unnormalised error", "value": 0.111,
            "source": "Mintun et al., Table 1", "year": 2021} in found["published"]  # fmt: skip
    assert found["reference"].startswith("reference-cifar10-c")
    assert found["why_not_comparable"] is None


def test_every_corruption_is_listed_worst_first(run: Run, whole: Path) -> None:
    text = good(run("compare", whole))
    table = text.split("worst first")[1]
    order = [entry.corruption.name for entry in brittle.load_benchmark("cifar10-c").entries]
    assert re.findall(r"^ ([a-z]\w+) +\d", table, re.MULTILINE) == order
    assert "CE" in table
    found = json.loads(run("compare", whole, "--json").stdout)["cifar10-c"]["models"][0]
    assert [own["corruption"] for own in found["corruptions"]] == [f"imagenet-c/{name}" for name in order]
    worst = found["corruptions"][0]
    assert worst["accuracy"]["low"] < worst["accuracy"]["value"] < worst["accuracy"]["high"]
    assert worst["corruption_error"]["value"] > 0
    sentence = rf"good is worst on gaussian_noise: accuracy {100 * worst['accuracy']['value']:.1f} % \[.*?\] against"
    assert re.search(sentence, flat(text))


def test_many_models_fit_and_the_rest_is_counted(run: Run, tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", "cifar10-c-bar", {f"model-{i}": 0.2 + i / 20 for i in range(7)}, images=50)
    assert "the other 2 models" in flat(good(run("compare", folder)))


def test_a_part_of_the_images_gets_no_published_numbers_and_one_line_why(run: Run, tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", "cifar10-c", {"m": 0.4}, images=100)
    text = good(run("compare", folder))
    assert "this run has 100 images" in flat(text)
    assert "-d cifar10:FOLDER" in text
    assert "--reference MODEL" in text
    assert "AutoAugment" not in text
    found = json.loads(run("compare", folder, "--json").stdout)["cifar10-c"]
    assert (found["models"][0]["mce"], found["reference"], found["published"]) == (None, None, [])
    assert "100 images" in found["why_not_comparable"]
    own = good(run("compare", folder, "--reference", "m"))
    assert "divided by the errors of m" in flat(own)
    assert "No mCE" not in own


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Six classes of four photographs, and a model for them."""
    (tmp_path / "net.py").write_text(
        "import numpy as np\nfrom brittle.models import from_callable\n\n"
        "def net():\n    return from_callable(lambda x: -np.abs(x.mean((1, 2, 3))[:, None] - np.arange(6) * 40), "
        "name='net')\n\n"
        "def wide():\n    return from_callable(lambda x: np.tile(x.mean((1, 2)), (1, 334))[:, :1000], name='wide')\n"
    )
    rng = np.random.default_rng(0)
    for folder, names in {"photos": "abcdef", "wnids": ("n01440764", "n01443537")}.items():
        for name in names:
            (tmp_path / folder / name).mkdir(parents=True)
            for i in range(2):
                Pil.fromarray(rng.integers(0, 255, (32, 32, 3), np.uint8)).save(tmp_path / folder / name / f"{i}.png")
    return tmp_path


def test_photographs_of_other_classes_get_no_mce_from_alexnet(run: Run, photographs: Path) -> None:
    for model, data, words in (("net", "photos", "12 images of 6 other classes"), ("wide", "wnids", "4 images of 2")):
        how = ["-b", "imagenet-c", "--batch-size", 8, "-o", photographs / f"run-{data}"]
        text = good(run("run", "-m", f"{photographs / 'net.py'}:{model}", "-d", photographs / data, *how))
        assert words in flat(text)
        assert "alexnet" not in text.lower()
        text = good(run("compare", photographs / f"run-{data}"))
        assert words in flat(text)
        assert "ResNet-50" not in text


def test_a_recipe_that_is_merely_called_so_gets_no_mce(run: Run, photographs: Path) -> None:
    recipe = photographs / "mine.toml"
    recipe.write_text('name = "cifar10-c"\nlevels = [1]\n[[corruption]]\nid = "imagenet-c/fog"\n')
    out = photographs / "run"
    text = good(
        run("run", "-m", f"{photographs / 'net.py'}:net", "-d", photographs / "photos", "-b", recipe, "-o", out)
    )
    assert "'cifar10-c' is not the bundled cifar10-c" in flat(text)
    assert json.loads(run("compare", out, "--json").stdout)["cifar10-c"]["models"][0]["mce"] is None


def test_what_was_just_run_comes_first_and_textures_are_named(run: Run, photographs: Path) -> None:
    how = ["-m", f"{photographs / 'net.py'}:net", "-d", photographs / "photos", "-o", photographs / "run", "-s", "1"]
    good(run("run", *how, "-b", "imagenet-c", "-c", "fog"))
    text = good(run("run", *how, "-b", "imagenet-noc", "-c", "hue,rain"))
    assert text.index("imagenet-noc-custom") < text.index("imagenet-c-custom")
    assert text.count("worst first") == 1
    out = ["-o", photographs / "released", "-b", "imagenet-c-released", "-c", "frost"]
    assert "bundled textures" in flat(good(run("run", *how[:4], *out)))
    out[1] = photographs / "textured"
    textures = ["--textures", photographs / "photos" / "a"]
    text = good(run("run", *how[:4], *out, *textures))
    assert "bundled textures" not in flat(text)
    [recipe] = brittle.load_results(photographs / "textured").benchmarks()
    assert recipe.storage == "jpeg85"
    assert recipe.entry("frost").options["textures"] == str(photographs / "photos" / "a")
    refused = run("run", *how[:4], "-o", photographs / "no", *textures)
    assert refused.exit_code == 2
    assert "--textures" in refused.stderr


def test_the_report_names_the_reference_and_what_others_published(run: Run, whole: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    good(run("report", whole, "-o", page))
    text = page.read_text()
    assert "reference-cifar10-c" in text
    assert "AutoAugment, WideResNet-40-2" in text
    assert "Mintun et al., Table 1 (2021)" in text
    good(run("report", whole, "-o", page, "--reference", "good"))
    assert "divided by the errors of good" in page.read_text()
    some = fill(tmp_path / "some", "cifar10-c", {"m": 0.4}, images=50)
    good(run("report", some, "-o", page))
    assert "this run has 50 images" in page.read_text()
    assert "AutoAugment" not in page.read_text()

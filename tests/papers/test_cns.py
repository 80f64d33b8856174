"""CNS-Bench at small scale: every experiment from end to end, by sliders that were trained for a few steps."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.evaluation import load_results, trajectories
from brittle.metrics import published_table, shift_rce
from brittle.papers import (
    Finding,
    Setting,
    cns_checks,
    cns_ood_cv,
    cns_runs,
    cns_slides,
    cns_variants,
    find_experiments,
    paper_models,
    reproduce,
)
from brittle.papers.cns_runs import Recipe
from brittle.sliders import DEMO_TRAINING, sampling_settings
from tests.datasets.fake_layouts import idx
from tests.errors import naming

SHIFTS = ["heavy_snow", "cartoon_style"]
NAMES = [
    *("fig1", "fig2", "fig3", "filter", "fig4", "tokens", "fig5", "table1", "fig6", "rankings", "failure-points"),
    *("fig7", "diffusion", "imagenet-c"),
]
CLASSIFIERS = {
    "width-4": Recipe("small:4", images=120),
    "width-8": Recipe("small:6", images=120),
    "images-500": Recipe("small:4", images=70),
    "augmix": Recipe("small:4", "augmix", 120),
}


def fashion(folder: Path) -> Path:
    """Clothes of a class are bars at its place."""
    folder.mkdir(exist_ok=True)
    for part, count in (("train", 160), ("t10k", 80)):
        labels = (np.arange(count) // 2 % 10).astype(np.uint8)
        images = np.random.default_rng(0).integers(0, 60, (count, 28, 28), np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[:, 2 * label : 2 * label + 4] = 220
        idx(folder / f"{part}-images-idx3-ubyte", images)
        idx(folder / f"{part}-labels-idx1-ubyte", labels)
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Finding]]]:
    """All experiments, in a folder of their own."""
    root = tmp_path_factory.mktemp("cns")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    quick = {**DEMO_TRAINING, "steps": 4, "batch_size": 2, "learning_rate": 0.1, "denoising_steps": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cns_slides, "CLASSES", {"small": ("sneaker", "bag")})
        patch.setattr(cns_slides, "SEEDS", {"small": 2})
        patch.setattr(cns_slides, "LABELLED_SEEDS", 2)
        patch.setattr(cns_slides, "LABELLED_SCALES", (0.0, 2.0, 6.0))
        patch.setattr(cns_slides, "SLIDE_SCALES", (0.0, 1.0, 2.5))
        patch.setattr(cns_slides, "TPR", 0.5)
        patch.setattr(cns_slides, "SHIFTS", {"small": SHIFTS})
        patch.setattr(cns_slides, "training_settings", lambda _: quick)
        patch.setattr(
            cns_slides, "sampling_settings", lambda name, **more: sampling_settings(name, denoising_steps=6, **more)
        )
        patch.setattr(cns_ood_cv, "WEATHER", ("heavy_snow",))
        patch.setattr(cns_checks, "TOKEN_TRAINING", {"steps": 1, "batch_size": 1, "lr": 0.02})
        patch.setattr(cns_checks, "TOKEN_SEEDS", {"small": 2})
        patch.setattr(cns_runs, "TEST_IMAGES", 80)
        patch.setattr(cns_runs, "CLASSIFIERS", CLASSIFIERS)
        patch.setitem(cns_runs.BASELINE, "small", "world-small")  # that was trained for longer than an epoch
        axes = {"architecture": ("width-8", "width-4", "world-standard"), "size": ("width-4", "width-8")}
        patch.setattr(cns_runs, "SMALL_AXES", {**axes, "pretraining": ("images-500", "width-8")})
        patch.setattr(cns_variants, "DIFFUSION_IMAGES", {"small": 12})
        paths = {"fashion-mnist": fashion(root / "clothes")}
        training = {"epochs": 1}
        done = reproduce("cns", "all", root / "out", paths=paths, training=training, device="cpu")
        yield root, {one.name: one for one in done}
    torch.set_num_threads(threads)


def test_every_figure_and_table_is_an_experiment(found: tuple[Path, dict[str, Finding]]) -> None:
    _, findings = found
    assert list(findings) == NAMES == [one.name for one in find_experiments("cns")]
    for one in findings.values():
        assert one.verdict
        assert one.differs
        assert all(len(rows) for rows in one.tables.values()), one.name
        assert one.figures or one.name == "tokens"


def test_the_page_has_all_of_them(found: tuple[Path, dict[str, Finding]]) -> None:
    root, findings = found
    page = (root / "out" / "index.html").read_text()
    for name in NAMES:
        assert f'id="cns-{name}"' in page
        assert all((root / "out" / "cns" / name / file).is_file() for file in findings[name].figures)


def test_images_are_drawn_once_and_shared(found: tuple[Path, dict[str, Finding]]) -> None:
    [work] = (found[0] / "out" / "cns" / "work").iterdir()
    slides = cns_bench(work / "slides")
    assert len(slides) == 2 * 2 * 2 * 3
    assert sorted(set(slides.columns["shift"])) == sorted(SHIFTS)
    assert len(cns_bench(work / "two-prompts")) == 2 * 2 * 2 * 2
    assert len(list((work / "sliders").iterdir())) == 4
    assert min(cns_bench(work / "labelled").columns["seed"]) > max(slides.columns["seed"])


def test_published_numbers_stand_beside_ours(found: tuple[Path, dict[str, Finding]]) -> None:
    _, findings = found
    first, *rest = findings["filter"].tables["filters"]
    assert (first["published TPR"], first["published FPR"], first["published accuracy"]) == (87.9, 12.0, 88.0)
    assert next(row for row in rest if row["filter"] == "CLIP_class")["published FPR"] == 35.7
    drops = [row["published mean drop"] for row in findings["diffusion"].tables["models"]]
    assert drops == [0.106, 0.07, 0.05]
    by_names, by_tokens, on_real = findings["tokens"].tables["accuracy"]
    assert (by_names["published ResNet-50"], by_tokens["published DeiT"]) == (68.2, 79.1)
    assert on_real["published DeiT"] is None
    assert len(findings["table1"].tables["published"]) == len(published_table("cns-table1"))
    known = [row["published drop of ViT-B/16"] for row in findings["rankings"].tables["vit"]]
    assert known == [None] * len(known)  # neither snow nor the cartoon is among those that could be read


def test_rce_is_that_of_the_errors(found: tuple[Path, dict[str, Finding]]) -> None:
    root, findings = found
    parts = trajectories(load_results(Setting(root / "out" / "cns", training={"epochs": 1}).work("run-slides")))
    errors, models = [1 - part.correct.mean(1) for part in parts], parts[0].models
    base, better = models.index(cns_runs.BASELINE["small"]), models.index("world-standard")
    expected = np.mean([float(shift_rce(error[better], error[base])) for error in errors])
    assert expected > 0
    row = next(row for row in findings["table1"].tables["models"] if row["model"] == "world-standard")
    assert row["rCE"] == pytest.approx(expected)


def test_failure_points_and_drops_agree_with_each_other(found: tuple[Path, dict[str, Finding]]) -> None:
    _, findings = found
    rows = findings["failure-points"].tables["shifts"]
    assert [row["shift"] for row in rows] == ["cartoon style", "heavy snow"]
    assert rows[0]["published most fail at"] == 1.5
    assert {row["axis"] for row in findings["fig6"].tables["drops"]} == {"architecture", "size", "pretraining"}
    slopes = findings["fig7"].tables["slopes"]
    assert {row["models"] for row in slopes} <= {6}
    assert not any(row["scale"] == 0 for row in slopes)


def test_what_is_finished_is_not_done_again(found: tuple[Path, dict[str, Finding]]) -> None:
    root, findings = found
    again = reproduce(
        "cns", ["fig3"], root / "out", paths={"fashion-mnist": root / "clothes"}, training={"epochs": 1}, device="cpu"
    )
    assert again == [findings["fig3"]]


def test_the_models_of_the_paper() -> None:
    models, table = paper_models("cns"), published_table("cns-table1")
    names = [one.name for one in models]
    assert len(names) == len(set(names))
    assert {cns_runs.SAME.get(label, label) for label in table.text("model_label")} <= set(names)
    assert [one.role for one in models].count("plain") == 16
    inferred = published_table("cns-models")
    fits = inferred.numbers("inferred_member_of_16_model_slope_fit")
    expected = {name for name, fit in zip(inferred.text("result_name"), fits, strict=True) if fit}
    assert {one.spec.partition(",")[0].removeprefix("timm:") for one in models if one.role == "plain"} == expected
    assert cns_runs.BASELINE["paper"] in names
    assert {*cns_runs.PAIR["paper"], *cns_checks.TOKEN_MODELS["paper"], *cns_variants.DISCRIMINATIVE["paper"]} <= {
        *names
    }


@pytest.mark.parametrize(
    ("names", "paths", "values"),
    [
        (["table1"], (), ("cns/table1", "stable-diffusion-2", "imagenet-star", "clip", "dinov2", "checkpoints")),
        (["table1"], ("cns-bench",), ("cns/table1", "imagenet", "checkpoints")),
        (["filter"], ("cns-bench", "clip", "dinov2"), ("cns/filter", "labels")),
        (["fig4"], ("stable-diffusion-2",), ("cns/fig4", "ood-cv")),
        (["fig6d"], (), ("cns", "'fig6d'", "fig6")),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, names: list[str], paths: tuple[str, ...], values: tuple[str, ...]
) -> None:
    given = dict.fromkeys(paths, tmp_path)
    with pytest.raises(BrittleError, match=naming(*values)) as error:
        reproduce("cns", names, tmp_path / "new", scale="paper", paths=given)
    if "cns-bench" in paths:
        assert "stable-diffusion-2" not in str(error.value)
    assert not (tmp_path / "new").exists()

"""`brittle run` and `brittle report` on slides, as a user calls them."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from brittle.datasets import cns_bench
from brittle.sliders.demo_pipeline import DEMO_CLASSES
from tests.cli.slide.slide_cases import Run, good, refusal
from tests.errors import unnamed

NETS = [word for name in ("weak", "fair", "strong") for word in ("-m", f"nets.py:{name}")]


def page(run: Run) -> str:
    return Path(good(run("report", "run")).split()[0]).read_text()


def test_run_reads_a_published_folder(run: Run, cns: Path) -> None:
    """`_scale_1000.jpg` is scale 1, `022_bald eagle` is class 22, and the report shows where each model fails."""
    words = good(run("run", *NETS, "-d", f"cns-bench:{cns}", "-o", "run"))
    assert "18 trajectories" in words
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert sorted(rows["level"].unique()) == [0, 0.5, 1, 2.5]
    assert sorted(rows["label"].unique()) == [0, 2, 22]
    weak = rows.filter((pl.col("model") == "weak") & pl.col("correct"))
    right = weak.group_by("corruption", "level").len().sort("corruption", "level").rows()
    assert right == [
        ("cns/heavy_snow", 0.0, 6),
        ("cns/painting_style", 0.0, 6),
        ("cns/painting_style", 0.5, 6),
        ("cns/painting_style", 1.0, 6),
    ]
    shown = page(run)
    for title in ("Accuracy along the scales", "Failure points", "Ranks", "ID/OOD slopes", "rCE"):
        assert title in shown
    assert "heavy snow: strong loses 66.7 points at scale 2.5" in shown


def test_the_report_shows_slides_while_their_folder_is_there(run: Run, cns: Path) -> None:
    good(run("run", *NETS, "-d", f"cns-bench:{cns}", "-o", "run"))
    shown = page(run)
    assert shown.count('<div class="shots">') == 2  # a strip for each shift, of four scales
    assert shown.count("<img ") == 8
    assert 'alt="great_white_shark, heavy snow, scale 0.5"' in shown or 'alt="tench, heavy snow, scale 0.5"' in shown
    broken = next((cns / "painting_style").rglob("seed_0001_scale_0000.jpg"))
    for path in (cns / "painting_style").rglob("*.jpg"):
        path.write_bytes(broken.read_bytes()[:40])
    assert page(run).count('<div class="shots">') == 1
    shutil.rmtree(cns)
    gone = page(run)
    assert "<img " not in gone
    assert ">Slides<" not in gone
    assert "Accuracy along the scales" in gone


def test_a_corrupt_image_drops_its_trajectory_and_is_told(run: Run, cns: Path) -> None:
    broken = cns / "heavy_snow" / "022_bald eagle" / "seed_0034_scale_0500.jpg"
    broken.write_bytes(broken.read_bytes()[:40])
    words = good(run("run", "-m", "nets.py:fair", "-d", f"cns-bench:{cns}", "-o", "run"))
    assert "17 trajectories, 1 incomplete ones left out" in words
    assert "unreadable images, left out: 1" in words
    assert "1 trajectory of heavy_snow" in page(run)


def test_slides_without_scale_0_are_said(run: Run, cns: Path) -> None:
    for path in cns.rglob("*_scale_0000.jpg"):
        path.unlink()
    words = refusal(run("run", "-m", "nets.py:fair", "-d", f"cns-bench:{cns}", "-o", "run"))
    assert unnamed(words, "'heavy_snow'", "[0.5, 1.0, 2.5]", "scale 0") == []


def test_kept_samples_alone_are_run(run: Run, cns: Path) -> None:
    keep = [str(sample) for sample in cns_bench(cns).ids if "seed_0002" in str(sample)]
    pl.DataFrame({"sample": keep}).write_csv("kept.csv")
    call = ("run", "-m", "nets.py:fair", "-o", "run", "--keep", "kept.csv")
    good(run(*call, "-d", f"cns-bench:{cns}"))
    assert sorted(pl.scan_parquet("run/**/*.parquet").collect()["sample"]) == sorted(keep)
    assert "--keep" in refusal(run(*call, "-d", "demo"))
    Path("kept.csv").write_text("name\nx\n")
    assert "sample" in refusal(run(*call, "-d", f"cns-bench:{cns}"))


def test_accuracy_on_clean_images_is_the_id_axis(run: Run, cns: Path) -> None:
    """`weak` sees scale 0.5 in its clean images, `fair` and `strong` see no difference."""
    clean = Path("clean")
    for number, wnid in enumerate(("n01440764", "n01484850", "n01614925")):  # classes 0, 2 and 22
        source = sorted(cns.glob("heavy_snow/*"))[number]
        for seed, scale in ((1, "0000"), (2, "0500"), (34, "0000")):
            (clean / wnid).mkdir(parents=True, exist_ok=True)
            shutil.copy(source / f"seed_{seed:04}_scale_{scale}.jpg", clean / wnid / f"{seed}.jpg")
    call = ("run", *NETS, "-d", f"cns-bench:{cns}")
    good(run(*call, "-o", "run"))
    plain = good(run("compare", "run", "--format", "markdown"))
    assert "on accuracy at scale 0 over 3 models" in plain
    assert "Rank of each model by accuracy drop at each scale" in plain
    good(run(*call, "--clean", "imagenet:clean", "--partial", "--prepare", "none", "-o", "with-clean"))
    assert "on accuracy on clean images over 3 models" in good(run("compare", "with-clean", "--format", "markdown"))
    good(run("run", *NETS, "-d", "imagenet:clean", "--partial", "--prepare", "none", "-o", "val-run"))
    words = good(run("compare", "run", "--id-accuracy", "val-run"))
    assert "on accuracy on other images over 3 models" in words
    assert "imagenet:val" in refusal(run("compare", "run", "--id-accuracy", "run"))
    assert unnamed(refusal(run(*call, "--clean", "demo", "-o", "other")), "demo", 10, 1000) == []


@pytest.mark.usefixtures("slides")
def test_a_diffusion_model_classifies(run: Run, parts: Path) -> None:
    model = f"diffusion:{parts / 'pipeline'}"
    call = ("run", "-d", "cns-bench:slides", "-o", "run", "--batch-size", 4)
    assert "diffusion:FOLDER:PROMPTS.txt" in refusal(run(*call, "-m", model))
    Path("prompts.txt").write_text("".join(f"a picture of a {name}\n" for name in DEMO_CLASSES))
    good(run(*call, "-m", f"{model}:prompts.txt"))
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert len(rows) == 6
    assert rows["model"].unique().to_list() == ["diffusion-pipeline"]
    assert "'nowhere'" in refusal(run(*call, "-m", "diffusion:nowhere"))

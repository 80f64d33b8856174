"""slide train, sample, measure, filter and demo, and running models on slides, as a user calls them."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "sliders"))

import tiny_world
from cns_folder import NETS, cns_folder

from brittle.cli import app
from brittle.datasets import cns_bench
from brittle.models.from_weights import save_trained
from brittle.models.network import build_network
from brittle.sliders import load_slider
from brittle.sliders.world import CLASSIFIERS, JUDGE, WORLD_CLASSES

Run = Callable[..., Result]
TRAINING = ("--steps", 2, "--batch-size", 1, "--denoising-steps", 2)
SAMPLING = ("--scale", "0,1,2.5", "--seeds", 2, "--steps", 2, "--format", "png")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The networks are too small to share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of untrained networks in the folders of the bundled one."""
    place = tmp_path_factory.mktemp("parts")
    tiny_world.pipeline().save_pretrained(place / "pipeline")
    tiny_world.save_clip(place / "clip")
    tiny_world.save_dino(place / "encoder")
    for seed, name in enumerate((*CLASSIFIERS, JUDGE)):
        network = build_network("small:4", 10, seed=seed)
        file = place / "classifiers" / f"{name}.safetensors"
        save_trained(network, file, "small:4", WORLD_CLASSES, (0.5,) * 3, (0.5,) * 3)
    (place / "names.txt").write_text("".join(f"{name}\n" for name in WORLD_CLASSES))
    return place


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def good(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def told(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


def train(run: Run, parts: Path, *more: object, out: str = "sliders") -> Result:
    names = ("--names", parts / "names.txt")
    return run("slide", "train", parts / "pipeline", "-c", "8", "-s", "heavy_snow", *names, *TRAINING, "-o", out, *more)


def sample(run: Run, parts: Path, *more: object, out: str = "slides") -> Result:
    names = ("--names", parts / "names.txt")
    return run("slide", "sample", parts / "pipeline", *names, *SAMPLING, "-o", out, *more)


@pytest.fixture(scope="module")
def made(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slider and its images, made once by the command line."""
    place = tmp_path_factory.mktemp("made")

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    good(train(run, parts, out=str(place / "sliders")))
    good(sample(run, parts, place / "sliders", out=str(place / "slides")))
    return place


@pytest.fixture
def slides(made: Path, folder: Path) -> Path:
    """A copy of them."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder / "slides"


def test_train_sample_measure_filter_and_run(run: Run, parts: Path, slides: Path) -> None:
    slider = load_slider("sliders/heavy_snow_class_008")
    assert (slider.prompt, slider.shift, len(slider.losses), slider.rank) == ("bag", "heavy snow", 2, 4)
    assert not list(Path("sliders").rglob("training.pt"))
    data = cns_bench(slides)
    assert data.ids[1] == "heavy_snow/008_bag/seed_0001_scale_1000.png"
    assert data.labels.tolist() == [8] * 6
    assert list(data.classes) == list(WORLD_CLASSES)
    assert json.loads((slides / "annotations_cns.json").read_text())["shifts"] == ["heavy_snow"]

    words = good(run("slide", "measure", "slides", "--clip", parts / "clip", "-o", "measured"))
    assert "ΔCLIP shift" in words
    curves = pl.read_csv("measured/curves.csv")
    assert curves.filter(pl.col("scale") == 0)["value"].to_list() == [0, 0]
    scores = pl.read_csv("measured/scores.csv")
    rise = scores.sort("seed", "scale")["CLIP_shift"].to_numpy().reshape(2, 3)
    shown = curves.filter(pl.col("measure") == "ΔCLIP shift").sort("scale")["value"].to_numpy()
    np.testing.assert_allclose(shown, (rise - rise[:, :1]).mean(0), atol=1e-9)
    assert "<svg" in Path("measured/curves.svg").read_text()

    eyes = ("--clip", parts / "clip", "--dino", parts / "encoder")
    gentle = ("--tpr", 0.5, "--least", 1)
    liked = scores.group_by("seed").agg(pl.col("CLIP_class").min()).sort("CLIP_class")["seed"][-1]
    labels = ["class" if f"seed_{liked:04}" in sample else "not class" for sample in data.ids]
    pl.DataFrame({"sample": list(map(str, data.ids)), "label": labels}).write_csv("labels.csv")
    words = good(run("slide", "filter", "slides", *eyes, "--labels", "labels.csv", *gentle, "-o", "out"))
    filtered = pl.read_csv("out/filtered.csv")
    kept = pl.read_csv("out/kept.csv")
    assert kept["sample"].to_list() == filtered.filter(pl.col("kept"))["sample"].to_list()
    assert f"{kept['seed'].n_unique()} of 2 trajectories kept, {len(kept)} of 6 images" in words
    quality = pl.read_csv("out/quality.csv")
    assert quality["filter"].to_list() == ["1 of 4", "CLIP_class", "CLIP_class_shift", "CLIP_ref", "DINO_ref_no_head"]
    assert (quality["tpr"][1:] >= 0.5).all()
    quick = ("--scores", "out/scores.csv", "--labels", "labels.csv", *gentle)
    assert "trajectories kept" in good(run("slide", "filter", "slides", *quick, "-o", "b"))
    assert pl.read_csv("b/kept.csv").equals(kept)

    model = str(parts / "classifiers" / "small.safetensors")
    good(run("run", "-m", model, "-d", "cns-bench:slides", "--keep", "out/kept.csv", "-o", "run", "--batch-size", 8))
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert sorted(rows["sample"]) == sorted(kept["sample"])
    assert "accuracy drop" in Path(good(run("report", "run")).split()[0]).read_text()


@pytest.mark.usefixtures("slides")
def test_published_thresholds_need_all_four_scores(run: Run, parts: Path) -> None:
    eyes = ("--clip", parts / "clip")
    assert "give --dino" in told(run("slide", "filter", "slides", *eyes, "--published", "-o", "out"))
    result = run("slide", "filter", "slides", *eyes, "--dino", parts / "encoder", "--published", "-o", "out")
    words = told(result) if result.exit_code else good(result)  # untrained networks may keep nothing
    assert "no trajectory is left" in words or "CLIP_class > 28.74" in words


@pytest.mark.usefixtures("slides")
def test_the_labelling_page_comes_first(run: Run) -> None:
    words = good(run("slide", "filter", "slides", "--page", "label.html", "-o", "out"))
    assert "label with the keys 1, 2, 3" in words
    assert Path("label.html").read_text().count("seed_0001") == 3
    assert "--labels FILE, --published" in told(run("slide", "filter", "slides", "-o", "out"))


@pytest.mark.usefixtures("slides")
def test_a_second_call_does_nothing_again(run: Run, parts: Path) -> None:
    before = {path: path.stat().st_mtime_ns for place in ("sliders", "slides") for path in Path(place).rglob("*.*")}
    assert "0 sliders trained, 1 were there" in good(train(run, parts))
    assert "0 images drawn, 6 were there" in good(sample(run, parts, "sliders"))
    same = {path for path, when in before.items() if path.stat().st_mtime_ns == when}
    assert before.keys() - same <= {Path("slides/annotations_cns.json"), Path("slides/classes.txt")}
    assert "holds a slider trained with rank = 4 and not 8" in told(train(run, parts, "--rank", 8))
    assert "holds images made with another active" in told(sample(run, parts, "sliders", "--active", 0.5))
    next(Path("slides").rglob("seed_0002_scale_1000.png")).unlink()
    assert "1 images drawn, 5 were there" in good(sample(run, parts, "sliders"))


def test_an_interrupted_training_goes_on_and_gives_the_same(
    run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["brittle.sliders.train_sliders"]
    whole = module.train_slider

    def stopping(*given, progress, **how):
        def tick(now, *rest):
            progress(now, *rest)
            if now == 1:
                raise KeyboardInterrupt

        return whole(*given, progress=tick, checkpoint_every=1, **how)

    good(train(run, parts, out="straight"))
    monkeypatch.setattr(module, "train_slider", stopping)
    result = train(run, parts, out="cut")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert list(Path("cut").rglob("*")) == [
        Path("cut/heavy_snow_class_008"),
        Path("cut/heavy_snow_class_008/training.pt"),
    ]
    monkeypatch.setattr(module, "train_slider", whole)
    good(train(run, parts, out="cut"))
    one, other = (load_slider(f"{name}/heavy_snow_class_008").weights for name in ("straight", "cut"))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_two_prompts_need_no_slider(run: Run, parts: Path) -> None:
    words = good(sample(run, parts, "--two-prompts", "-c", "bag", "-s", "heavy_fog", out="two"))
    assert "4 images drawn" in words
    assert cns_bench("two").columns["scale"].tolist() == [0, 1, 0, 1]
    assert "need a --class and a --shift" in told(sample(run, parts, "--two-prompts", "-c", "bag"))


@pytest.mark.usefixtures("slides")
def test_published_adapters_are_drawn_too(run: Run, parts: Path, folder: Path) -> None:
    """The same weights under the published names of layers give the same images."""
    slider = load_slider("sliders/heavy_snow_class_008")
    state = {}
    for key, value in slider.weights.items():
        layer, _, which = key.removesuffix(".weight").rpartition(".")
        bare = "lora_unet_" + layer.replace(".", "_")
        state[f"{bare}.{'lora_down' if which == 'lora_A' else 'lora_up'}.weight"] = value
        state[f"{bare}.alpha"] = torch.tensor(1.0)
    name = "heavy_snow_class_008_alpha1.0_rank4_noxattn"
    (folder / "adapters" / name).mkdir(parents=True)
    torch.save(state, folder / "adapters" / name / f"{name}_last.pt")
    torch.save({}, folder / "adapters" / name / f"{name}_100steps.pt")
    good(sample(run, parts, "adapters", out="published"))
    ours, theirs = (np.stack(list(cns_bench(place).images())) for place in ("slides", "published"))
    np.testing.assert_array_equal(ours, theirs)


def test_the_demo_goes_the_whole_way(run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.sliders import Sampling, world

    monkeypatch.setattr(world, "WORLD_SAMPLING", Sampling(steps=2, side=32))
    monkeypatch.setattr(world, "WORLD_TRAINING", {"steps": 2, "batch_size": 1, "denoising_steps": 2})
    call = ("slide", "demo", "--world", parts, "-c", "bag", "-s", "heavy_snow", "--seeds", 3, "-o", "d")
    words = good(run(*call))
    for number in range(1, 7):
        assert f"{number}/6" in words
    assert "Real labels are made by hand" in words
    assert "a judge says what images show" in words
    assert "world-standard" in Path("d/report.html").read_text()
    assert "18 images drawn" in words
    assert "0 images drawn, 18 were there" in good(run(*call))


@pytest.fixture
def cns(folder: Path) -> Path:
    (folder / "nets.py").write_text(NETS)
    return cns_folder(folder / "cns")


def test_run_reads_a_published_folder(run: Run, cns: Path) -> None:
    """`_scale_1000.jpg` is scale 1, `022_bald eagle` is class 22, and the report shows where each model fails."""
    nets = [word for name in ("weak", "fair", "strong") for word in ("-m", f"nets.py:{name}")]
    words = good(run("run", *nets, "-d", f"cns-bench:{cns}", "-o", "run"))
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
    page = Path(good(run("report", "run")).split()[0]).read_text()
    for title in ("Accuracy along the scales", "Failure points", "Ranks", "ID/OOD slopes", "rCE"):
        assert title in page
    assert "heavy snow: strong loses 66.7 points at scale 2.5" in page


def test_a_corrupt_image_drops_its_trajectory_and_is_told(run: Run, cns: Path) -> None:
    broken = cns / "heavy_snow" / "022_bald eagle" / "seed_0034_scale_0500.jpg"
    broken.write_bytes(broken.read_bytes()[:40])
    words = good(run("run", "-m", "nets.py:fair", "-d", f"cns-bench:{cns}", "-o", "run"))
    assert "17 trajectories, 1 incomplete ones left out" in words
    assert "1 images could not be read and were left out" in words
    page = Path(good(run("report", "run")).split()[0]).read_text()
    assert "1 trajectory of heavy_snow" in page


def test_kept_samples_alone_are_run(run: Run, cns: Path) -> None:
    keep = [str(sample) for sample in cns_bench(cns).ids if "seed_0002" in str(sample)]
    pl.DataFrame({"sample": keep}).write_csv("kept.csv")
    call = ("run", "-m", "nets.py:fair", "-o", "run", "--keep", "kept.csv")
    good(run(*call, "-d", f"cns-bench:{cns}"))
    assert sorted(pl.scan_parquet("run/**/*.parquet").collect()["sample"]) == sorted(keep)
    assert "--keep belongs to slides" in told(run(*call, "-d", "demo"))
    Path("kept.csv").write_text("name\nx\n")
    assert "a file of samples has one called sample" in told(run(*call, "-d", f"cns-bench:{cns}"))


@pytest.mark.usefixtures("slides")
def test_a_diffusion_model_classifies(run: Run, parts: Path) -> None:
    model = f"diffusion:{parts / 'pipeline'}"
    call = ("run", "-d", "cns-bench:slides", "-o", "run", "--batch-size", 4)
    assert "with a prompt for each class; write diffusion:FOLDER:PROMPTS.txt" in told(run(*call, "-m", model))
    Path("prompts.txt").write_text("".join(f"a picture of a {name}\n" for name in WORLD_CLASSES))
    good(run(*call, "-m", f"{model}:prompts.txt"))
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert len(rows) == 6
    assert rows["model"].unique().to_list() == ["diffusion-pipeline"]
    assert "there is no folder 'nowhere'" in told(run(*call, "-m", "diffusion:nowhere"))


BAD: dict[str, tuple[str, Callable]] = {
    "no pipeline": (
        "there is no folder 'nowhere'",
        lambda r, _: r("slide", "train", "nowhere", "-c", "22", "-s", "heavy_snow", "-o", "x"),
    ),
    "a folder that is no pipeline": (
        "is no diffusers pipeline, since it has no model_index.json",
        lambda r, p: r("slide", "train", p / "clip", "-c", "22", "-s", "heavy_snow", "-o", "x"),
    ),
    "an unknown shift": (
        "there is no published shift 'heavy_snwo'; did you mean 'heavy_snow'?",
        lambda r, p: train(r, p, "-s", "heavy snwo"),
    ),
    "an unknown class": ("there is no class 'bagg'; did you mean 'bag'?", lambda r, p: train(r, p, "-c", "bagg")),
    "a class out of range": ("there is no class 10; classes are numbered 0 to 9", lambda r, p: train(r, p, "-c", "10")),
    "no steps": ("steps is a whole number of at least 1, got 0", lambda r, p: train(r, p, "--steps", 0)),
    "an unknown engine": ("there is no engine 'slurm'", lambda r, p: train(r, p, "--engine", "slurm")),
    "an address without ray": ("the local engine has no address", lambda r, p: train(r, p, "--address", "auto")),
    "no cluster": (
        "there is no Ray cluster at 'ray://127.0.0.1:9'",
        lambda r, p: train(r, p, "--engine", "ray", "--address", "ray://127.0.0.1:9"),
    ),
    "no sliders": ("say where the sliders are", lambda r, p: sample(r, p)),
    "a folder without sliders": ("has no sliders: no folder with slider.json", lambda r, p: sample(r, p, p / "clip")),
    "a slider that is not there": (
        "there is no slider for 'heavy_fog' in 'sliders'; did you mean 'heavy_snow'?",
        lambda r, p: (good(train(r, p)), sample(r, p, "sliders", "-s", "heavy_fog"))[1],
    ),
    "scales without 0": (
        "scales must have 0, the image that all others are compared with",
        lambda r, p: (
            good(train(r, p)),
            r("slide", "sample", p / "pipeline", "sliders", "--scale", "1,2", "-o", "x"),
        )[1],
    ),
    "seeds that are none": (
        "seeds are a number such as 50, or 3,7,10-12; got 'many'",
        lambda r, p: (good(train(r, p)), sample(r, p, "sliders", "--seeds", "many"))[1],
    ),
    "an unknown scheduler": ("there is no scheduler 'dddim'", lambda r, p: sample(r, p, "x", "--scheduler", "dddim")),
    "no slides": (
        "there is no folder of slides 'nowhere'",
        lambda r, p: r("slide", "measure", "nowhere", "--clip", p / "clip", "-o", "x"),
    ),
    "no CLIP": ("say which --clip sees the images", lambda r, _: r("slide", "measure", "nowhere", "-o", "x")),
    "an open_clip folder without open_clip": (
        "written by open_clip, which is not installed: pip install open_clip_torch",
        lambda r, _: r("slide", "measure", cns_folder(Path("c")), "--clip", open_clip(), "-o", "x"),
    ),
    "too few labels": (
        "2 images labelled out of class are too few to choose a threshold of CLIP_class for a TPR of 0.9; label at "
        "least 10",
        lambda r, p: r("slide", "filter", few_labels(), "--clip", p / "clip", "--labels", "few.csv", "-o", "x"),
    ),
    "no labels": (
        "there is no file of labels 'nowhere.csv'",
        lambda r, _: r("slide", "filter", "x", "--labels", "nowhere.csv", "-o", "x"),
    ),
    "no world": ("has no folder 'pipeline'", lambda r, _: r("slide", "demo", "--world", ".", "-o", "x")),
}


def open_clip() -> Path:
    Path("oc").mkdir()
    Path("oc/open_clip_config.json").write_text("{}")
    return Path("oc")


def few_labels() -> Path:
    place = cns_folder(Path("c"))
    ids = [str(sample) for sample in cns_bench(place).ids[:2]]
    pl.DataFrame({"sample": ids, "label": ["not class"] * 2}).write_csv("few.csv")
    return place


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    sentence, call = BAD[case]
    assert sentence in told(call(run, parts))


def test_a_missing_extra_names_the_command(run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    words = told(run("slide", "train", parts / "pipeline", "-c", "0", "-s", "heavy_rain", "-o", "y"))
    assert "diffusers, which is not installed: pip install 'brittle[sliders]'" in words

"""`evaluate` takes what people have: names, modules, functions, arrays, datasets of torch and Hugging Face."""

import gc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image as Pil
from torch.utils.data import DataLoader, TensorDataset

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays
from brittle.evaluation import evaluate
from brittle.evaluation.inputs import as_benchmark, as_dataset, as_models
from brittle.models import from_callable, wrap_model
from tests.errors import naming

FOG = Benchmark("fog", (Entry("fog", (1, 3)),))
LABELS = np.array([0, 1, 2, 3])
IMAGES = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)


def channels(images: np.ndarray) -> np.ndarray:
    return np.tile(images.mean((1, 2)), (1, 4))[:, :10]


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 10))


class Sequence:
    """A model of somebody's own, whose name is fixed."""

    key = "1"

    @property
    def name(self) -> str:
        return "fixed"

    def scores(self, images: np.ndarray) -> np.ndarray:
        return channels(images)


class Split:
    """As much of a Hugging Face split as is looked at."""

    column_names = ("img", "label")
    features = None

    def __len__(self) -> int:
        return len(LABELS)

    def __getitem__(self, at: int | str) -> object:
        return list(LABELS) if at == "label" else {"img": Pil.fromarray(IMAGES[at]), "label": LABELS[at]}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("demo:standard", ["demo-standard"]),
        (network(), ["Sequential"]),
        (channels, ["channels"]),
        (lambda images: channels(images), ["function"]),
        (partial(channels), ["channels"]),
        (from_callable(channels, name="mine"), ["mine"]),
        (Sequence(), ["fixed"]),
        ([channels, "demo:augmix"], ["channels", "demo-augmix"]),
        (
            {"a": network(), "b": network(), "c": channels, "d": "demo:standard", "fixed": Sequence()},
            ["a", "b", "c", "d", "fixed"],
        ),
        ({"new": from_callable(channels, name="old")}, ["new"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_models(given: object, names: list[str]) -> None:
    models = as_models(given)
    assert [model.name for model in models] == names
    assert all(model.key for model in models)


def test_a_model_of_another_name_is_the_same_model() -> None:
    old = from_callable(channels, name="old")
    new = wrap_model(old, name="new")
    assert (old.name, new.name, old.key) == ("old", "new", new.key)
    np.testing.assert_array_equal(new.scores(IMAGES), old.scores(IMAGES))


@pytest.mark.parametrize(
    ("given", "error", "values"),
    [
        (3, TypeError, ("'demo:standard'", "torch.nn.Module", 3, "int")),
        (None, TypeError, ("'demo:standard'", "NoneType")),
        (torch.nn.Linear, TypeError, ("Linear", "Linear()")),
        ("resnet50", ValueError, ("'resnet50'", "demo:standard")),
        ({"other": Sequence()}, ValueError, ("'fixed'", "'other'")),
        ({3: channels}, TypeError, (3, "int")),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_model(given: object, error: type[Exception], values: tuple) -> None:
    with pytest.raises(error, match=naming(*values)):
        as_models(given)


def photo_folder(folder: Path) -> Path:
    for label, image in zip(LABELS, IMAGES, strict=True):
        (folder / str(label)).mkdir(parents=True)
        Pil.fromarray(image).save(folder / str(label) / "a.png")
    return folder


@pytest.mark.parametrize(
    "kind",
    [
        *("arrays", "list of arrays", "pairs", "tensors", "split", "folder", "text", "file", "dataset"),
        *("floats", "doubles", "tensor first", "tensor last", "float tensor", "list of images", "Hugging Face"),
    ],
)
def test_data(kind: str, tmp_path: Path) -> None:
    if kind == "Hugging Face":
        hugging_face = pytest.importorskip("datasets")
        columns = {"image": [Pil.fromarray(image) for image in IMAGES], "label": LABELS.tolist()}
        features = hugging_face.Features(
            image=hugging_face.Image(), label=hugging_face.ClassLabel(names=["a", "b", "c", "d"])
        )
    tensor = torch.from_numpy(IMAGES)
    np.savez(tmp_path / "four.npz", images=IMAGES, labels=LABELS)
    given = {
        "arrays": (IMAGES, LABELS),
        "list of arrays": [IMAGES, list(LABELS)],
        "pairs": [(Pil.fromarray(image), int(label)) for image, label in zip(IMAGES, LABELS, strict=True)],
        "tensors": TensorDataset(torch.from_numpy(IMAGES).permute(0, 3, 1, 2), torch.from_numpy(LABELS)),
        "split": Split(),
        "folder": photo_folder(tmp_path / "photos"),
        "text": str(tmp_path / "photos"),
        "file": tmp_path / "four.npz",
        "dataset": arrays(IMAGES, LABELS),
        "floats": ((IMAGES / 255).astype(np.float32), LABELS.tolist()),
        "doubles": (IMAGES / 255, LABELS.astype(np.uint8)),
        "tensor first": (tensor.permute(0, 3, 1, 2), torch.from_numpy(LABELS)),
        "tensor last": (tensor, torch.from_numpy(LABELS)),
        "float tensor": (tensor.permute(0, 3, 1, 2).float() / 255, torch.from_numpy(LABELS)),
        "list of images": ([Pil.fromarray(image) for image in IMAGES], LABELS.tolist()),
        "Hugging Face": kind == "Hugging Face" and hugging_face.Dataset.from_dict(columns, features=features),
    }[kind]
    data = as_dataset(given)
    np.testing.assert_array_equal(data.labels, LABELS)
    np.testing.assert_array_equal(np.stack(list(data.images())), IMAGES)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (IMAGES, ("(images, labels)", "(4, 32, 32, 3)")),
        ((IMAGES, LABELS, LABELS), ("(images, labels)", 3)),
        ((), ("(images, labels)", "nothing")),
        (DataLoader(TensorDataset(torch.zeros(2, 3, 8, 8))), ("DataLoader", ".dataset")),
        (iter([1]), ("'demo'", "list_iterator")),
        ({"train": 1}, ("'demo'", "dict")),
        (3, ("'demo'", "int")),
        (("demo", LABELS), ("(images, labels)", "str, ndarray")),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_are_no_data(given: object, values: tuple) -> None:
    with pytest.raises(TypeError, match=naming(*values)):
        as_dataset(given)


def test_benchmarks(tmp_path: Path) -> None:
    FOG.save(tmp_path / "fog.toml")
    assert as_benchmark(None) is None
    assert as_benchmark(FOG) is FOG
    assert as_benchmark(tmp_path / "fog.toml") == as_benchmark(str(tmp_path / "fog.toml")) == FOG
    assert as_benchmark("imagenet-c").name == "imagenet-c"
    with pytest.raises(BrittleError, match=naming("'imagenet-d'", "'imagenet-c'", ".toml")):
        as_benchmark("imagenet-d")
    with pytest.raises(TypeError, match=naming("['fog']", "list", "'imagenet-c'")):
        as_benchmark(["fog"])


def test_without_a_folder_the_results_live_as_long_as_they_are_held() -> None:
    results = evaluate({"mine": channels}, (IMAGES, LABELS), FOG, threads=1)
    folder = results.runs[0].folder
    assert len(results.rows.collect()) == 3 * 4
    assert (folder / "run.toml").is_file()
    del results
    gc.collect()
    assert not folder.exists()


def test_a_run_that_fails_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError):
        evaluate(lambda images: images / None, (IMAGES, LABELS), FOG, threads=1)
    assert not list(tmp_path.iterdir())


def test_plain_python_gives_the_numbers_of_the_nouns(tmp_path: Path) -> None:
    recipe = tmp_path / "fog.toml"
    FOG.save(recipe)
    plain = brittle.evaluate({"net": network(), "b": "demo:standard"}, (IMAGES, LABELS), recipe, tmp_path / "run")
    nouns = evaluate(as_models({"net": network(), "b": "demo:standard"}), arrays(IMAGES, LABELS), FOG)
    assert plain.accuracy().equals(nouns.accuracy())
    assert plain.models == ["b", "net"]


def test_two_models_of_one_name_are_refused_by_name() -> None:
    with pytest.raises(BrittleError, match=naming("Sequential, Sequential", "{name: model}")):
        evaluate([network(), network()], (IMAGES, LABELS), FOG)


def test_images_without_labels_are_told_the_layout(tmp_path: Path) -> None:
    Pil.fromarray(IMAGES[0]).save(tmp_path / "a.png")
    with pytest.raises(BrittleError, match=naming("labels", f"{tmp_path.name}/dog/1.jpg")):
        evaluate(channels, tmp_path, FOG)


def test_progress_is_shown_in_a_terminal_and_nowhere_else(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(channels, (IMAGES, LABELS), FOG)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    evaluate(channels, (IMAGES, LABELS), FOG)
    out, err = capfd.readouterr()
    assert (out, "12/12" in err) == ("", True)
    evaluate(channels, (IMAGES, LABELS), FOG, progress=None)
    assert capfd.readouterr() == ("", "")


MODELS = {
    "name": "demo:standard",
    "module": network(),
    "function": channels,
    "model": from_callable(channels, name="mine"),
    "list": ["demo:standard", channels],
    "dictionary": {"a": network(), "b": channels},
}
DATA = {
    "name": "demo",
    "arrays": (IMAGES, LABELS),
    "tensors": (torch.from_numpy(IMAGES).permute(0, 3, 1, 2).float() / 255, torch.from_numpy(LABELS)),
    "torch dataset": TensorDataset(torch.from_numpy(IMAGES).permute(0, 3, 1, 2), torch.from_numpy(LABELS)),
    "dataset": arrays(IMAGES, LABELS),
}


@pytest.mark.parametrize("folder", [None, "run"], ids=["in memory", "in a folder"])
@pytest.mark.parametrize("benchmark", [None, "recipe", FOG], ids=["clean", "path", "Benchmark"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("model", MODELS)
def test_every_combination(model: str, data: str, benchmark: object, folder: str | None, tmp_path: Path) -> None:
    given = brittle.load_dataset("demo").limited(4) if data == "name" else DATA[data]  # the whole of it takes minutes
    if benchmark == "recipe":
        benchmark = tmp_path / "fog.toml"
        FOG.save(benchmark)
    place = None if folder is None else tmp_path / folder
    results = brittle.evaluate(MODELS[model], given, benchmark, place)
    models = 2 if model in ("list", "dictionary") else 1
    assert len(results.models) == models
    assert len(results.rows.collect()) == models * 4 * (1 if benchmark is None else 3)
    assert (place is None) or place.is_dir()


def test_one_line_each() -> None:
    """What the guide promises, as it is written there."""
    images, labels = IMAGES.repeat(3, axis=0), LABELS.tolist() * 3
    net = brittle.evaluate(network(), (images, labels), "cifar10-c")
    assert (net.models, len(net.cells)) == (["Sequential"], 76)
    both = brittle.evaluate({"a": channels, "b": network()}, arrays(IMAGES, LABELS))
    assert (both.models, len(both.cells)) == (["a", "b"], 1)


def unlabelled(kind: str) -> object:
    images = torch.from_numpy(IMAGES).permute(0, 3, 1, 2)
    return {"dataset": arrays(IMAGES), "images alone": IMAGES, "torch": list(images)}[kind]


@pytest.mark.parametrize("kind", ["dataset", "images alone", "torch"])
def test_data_without_labels_are_refused(kind: str) -> None:
    with pytest.raises(BrittleError, match=naming("labels")):
        brittle.evaluate(channels, unlabelled(kind), FOG)


@pytest.mark.parametrize(
    ("model", "data", "values"),
    [
        (channels, (IMAGES, LABELS[:3]), (4, "(3,)")),
        (channels, (IMAGES, LABELS.reshape(2, 2)), ("(2, 2)",)),
        (channels, (IMAGES, [0, 1, 2, -1]), (-1,)),
        (channels, (IMAGES, [0.0, 1.0, 2.0, 3.0]), ("float64",)),
        (channels, (IMAGES, ["a", "b", "c", "d"]), ("<U1",)),
        (channels, (IMAGES[0], LABELS), ("(32, 32, 3",)),
        (channels, (IMAGES[..., :2], LABELS), ("(4, 32, 32, 2)",)),
        (channels, (IMAGES.transpose(0, 3, 1, 2), LABELS), ("(4, 3, 32, 32)",)),
        (channels, (IMAGES.astype(np.int64), LABELS), ("int64", "uint8")),
        (channels, (IMAGES / 127, LABELS), ("[0, 1]", "float64")),
        (channels, (torch.from_numpy(IMAGES).float() - 100, torch.from_numpy(LABELS)), ("[0, 1]", "float32")),
        (channels, ([IMAGES[0], IMAGES[1, :9]], [0, 1]), ("(32, 32, 3)", "(9, 32, 3)")),
        (network(), (IMAGES, [0, 1, 2, 10]), (10, "Sequential")),
        (lambda images: channels(images)[:, :3], (IMAGES, LABELS), (3,)),
        ("timm:resnet50,checkpiont=x", (IMAGES, LABELS), ("checkpiont", "checkpoint")),
        ("demo:standrad", (IMAGES, LABELS), ("standrad", "standard")),
        ("tim:resnet50", (IMAGES, LABELS), ("tim", "timm")),
        ("demo:standard", "dmeo", ("dmeo",)),
        ("demo:standard", "cifar11:data", ("cifar11", "cifar10")),
        ("demo:standard", "nowhere/photos", ("nowhere/photos",)),
    ],
)
def test_bad_input_is_one_sentence_that_names_it(model: object, data: object, values: tuple[object, ...]) -> None:
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)) as raised:
        brittle.evaluate(model, data, FOG)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("benchmark", "values"), [("cifar10c", ("cifar10c", "cifar10-c")), ("no.toml", ("no.toml",))])
def test_an_unknown_benchmark_is_named(benchmark: str, values: tuple[str, ...]) -> None:
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        brittle.evaluate(channels, (IMAGES, LABELS), benchmark)


def test_a_wrapped_module_sees_what_it_was_told() -> None:
    seen = []

    class Watch(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(images)
            return images.mean((2, 3))

    model = brittle.wrap_model(Watch(), name="plain", mean=(0, 0, 0), std=(1, 1, 1))
    model.scores(IMAGES)
    np.testing.assert_allclose(seen[-1].numpy().transpose(0, 2, 3, 1), IMAGES / 255, atol=1e-6)
    with pytest.raises(BrittleError, match=naming("maen", "mean")):
        brittle.wrap_model(Watch(), maen=(0, 0, 0))
    with pytest.raises(BrittleError, match=naming("mean", "version")):
        brittle.wrap_model(channels, mean=(0, 0, 0))


def test_a_probe_and_a_search_take_the_same(tmp_path: Path) -> None:
    Pil.fromarray(IMAGES[0]).save(tmp_path / "a.png")
    searches = [
        brittle.probe(model, image, FOG, draws=1, tolerance=0.5)
        for model in (channels, from_callable(channels, name="channels"))
        for image in (IMAGES[0], Pil.fromarray(IMAGES[0]), tmp_path / "a.png", str(tmp_path / "a.png"))
    ]
    assert len({repr(one) for one in searches}) == 1
    kept = brittle.search_failure_points({"a": channels}, (IMAGES, LABELS), FOG, tmp_path / "run", tolerance=0.5)
    freely = brittle.search_failure_points({"a": channels}, arrays(IMAGES, LABELS), FOG, tolerance=0.5)
    assert kept.equals(freely)
    with pytest.raises(BrittleError, match=naming(None, "imagenet-c")):
        brittle.search_failure_points(channels, (IMAGES, LABELS), None)

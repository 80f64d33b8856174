"""Training on generated images: which are kept, how they are numbered and mixed, and what weights to start from say."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner, Result

from brittle import BrittleError
from brittle.cli import app
from brittle.datasets import arrays, cns_bench, load_mixed_set, load_training_set
from brittle.datasets.classes import imagenet_classes
from brittle.models import build_network, load_model, save_trained
from brittle.training import train_network, training_config
from brittle.training.mixing import MixedImages
from brittle.training.starts import find_start
from tests.errors import naming, unnamed
from tests.sliders.cns_folder import NAMES, cns_folder

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def cns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Generated images of three classes of ImageNet, in a folder to be in; and one thread."""
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield cns_folder(tmp_path / "cns")
    torch.set_num_threads(before)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr or result.exception
    return " ".join(result.stdout.split())


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.stdout
    return " ".join(result.stderr.split())


def keep_seed(cns: Path, seed: int) -> list[str]:
    kept = [str(sample) for sample in cns_bench(cns).ids if f"seed_{seed:04}" in str(sample)]
    pl.DataFrame({"sample": kept}).write_csv("kept.csv")
    return kept


def photographs(root: Path, numbers: list[int], count: int, *, by_name: bool = False) -> Path:
    """Folders of some classes of ImageNet, with plain pictures."""
    from PIL import Image as Pil

    for number in numbers:
        folder = root / (imagenet_classes()[number].name if by_name else imagenet_classes()[number].wnid)
        folder.mkdir(parents=True)
        for index in range(count):
            pixels = np.full((32, 32, 3), 10 * index, np.uint8)
            Pil.fromarray(pixels).save(folder / f"{index}.png")
    return root


def test_kept_images_have_imagenets_numbers(cns: Path) -> None:
    kept = keep_seed(cns, 2)
    training = load_training_set(f"cns-bench:{cns}", keep="kept.csv")
    assert sorted(map(str, training.ids)) == sorted(kept)
    assert len(training.classes) == 1000
    assert set(training.labels.tolist()) == set(NAMES)
    with pytest.raises(BrittleError, match=naming("train_data")):
        load_training_set(f"cns-bench:{cns}", held_out=True)  # nothing of them was put aside to test
    with pytest.raises(TypeError, match=naming("demo", "keep")):
        load_training_set("demo", "demo", keep="kept.csv")
    pl.DataFrame({"sample": ["elsewhere.jpg"]}).write_csv("kept.csv")
    with pytest.raises(BrittleError, match=naming(1, "cns")):
        load_training_set(f"cns-bench:{cns}", keep="kept.csv")


def test_photographs_are_numbered_as_the_generated_images(cns: Path, tmp_path: Path) -> None:
    training, wanted = cns_bench(cns), [22, 517, 2]  # 517 is a crane; so is 134
    mixed = load_mixed_set(photographs(tmp_path / "ids", wanted, 2), training)
    assert {(str(name).split("/")[0], label) for name, label in zip(mixed.ids, mixed.labels, strict=True)} == {
        (imagenet_classes()[number].wnid, number) for number in wanted
    }
    named = load_mixed_set(photographs(tmp_path / "names", [22, 2], 2, by_name=True), training)
    assert sorted(named.labels.tolist()) == [2, 2, 22, 22]
    with pytest.raises(BrittleError, match=naming("'crane'")):
        load_mixed_set(photographs(tmp_path / "cranes", [517], 2, by_name=True), training)  # which of the two?


def test_an_epoch_has_all_of_the_first_and_a_share_of_the_others() -> None:
    first, others = (np.zeros((count, 8, 8, 3), np.uint8) for count in (30, 25))
    mixed = MixedImages(first, others, 0.25)
    assert mixed.per_epoch == 40
    orders = [mixed.order(epoch, 0) for epoch in range(5)]
    for order in orders:
        assert sorted(order[order < 30]) == list(range(30))
    seen = np.concatenate([order[order >= 30] for order in orders])
    assert np.bincount(seen - 30).tolist() == [2] * 25  # 50 of 25: none a third time before all were seen twice
    assert (orders[0] != orders[1]).any()
    assert (mixed.order(1, 0) == orders[1]).all()
    assert MixedImages(first, others[:2], 0.5).per_epoch == 60  # fewer others are seen more often
    for share in (0.0, 1.0, 50.0):
        with pytest.raises(BrittleError, match=naming(f"mix_share={share:g}")):
            MixedImages(first, others, share)


def test_mixed_images_change_what_is_learnt_and_resume_exactly(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    one, two = (
        arrays(rng.integers(0, 256, (24, 8, 8, 3), np.uint8), np.arange(24) % 2, names) for names in ("ab", "ba")
    )
    config = training_config(epochs=2, batch_size=8)
    for name, more in (("alone", {}), ("mixed", {"mix": two}), ("again", {"mix": two})):
        trained = train_network(one, tmp_path / f"{name}.safetensors", config, network="small:4", **more)
        assert trained.images == (24 if name == "alone" else 48)
    alone, mixed, again = (
        load_model(tmp_path / f"{name}.safetensors").module.state_dict() for name in ("alone", "mixed", "again")
    )
    assert all(torch.equal(mixed[key], again[key]) for key in mixed)
    assert any(not torch.equal(mixed[key], alone[key]) for key in mixed)
    with pytest.raises(BrittleError, match=naming("'c'")):
        train_network(
            one,
            tmp_path / "x.safetensors",
            config,
            network="small:4",
            mix=arrays(np.zeros((8, 8, 8, 3), np.uint8), np.zeros(8, int), ["c"]),
        )


def test_weights_say_how_their_images_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network, normalisation, size and order of classes are those of the weights, without being repeated."""
    names = ["b", "a"]
    images = arrays(np.zeros((16, 8, 8, 3), np.uint8) + 7, np.arange(16) % 2, ["a", "b"])
    settings = training_config(epochs=1, batch_size=8, mean=(0.1, 0.2, 0.3), std=(0.5, 0.5, 0.5))
    train_network(images.with_classes(names), tmp_path / "first.safetensors", settings, network="small:5")
    start = tmp_path / "first.safetensors"
    config = training_config(start=start, batch_size=8)
    trained = train_network(images, tmp_path / "second.safetensors", config, start=start)
    model = load_model(trained.path)
    assert model.classes == tuple(names)
    assert model.prepare.mean == (0.1, 0.2, 0.3)
    assert find_start("tiny:standard").network == "small:10"
    assert find_start("demo:standard").network == "small"
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "imitations")
    published = find_start("timm:resnet50")
    assert published.normalisation == ((0.5, 0.5, 0.5), (1.0, 1.0, 1.0))
    assert published.sides == (256, 224)
    save_trained(build_network("small:4", 2), "code.safetensors", "nets.py:make", names, (0, 0, 0), (1, 1, 1))
    with pytest.raises(BrittleError, match=naming("'code.safetensors'", "nets.py:make")):
        find_start("code.safetensors")  # a file of weights does not make code run
    with pytest.raises(BrittleError, match=naming("timm:resnet50", "small")):
        find_start("timm:resnet50", "small")


def test_the_command_of_the_issue(cns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "imitations")
    keep_seed(cns, 2)
    photographs(tmp_path / "photos", [0, 2, 22], 4)
    call = ["augment", "train", "-d", f"cns-bench:{cns}", "--keep", "kept.csv", "--start", "timm:resnet50"]
    words = good(run(*call, "--mix", "photos", "--mix-share", 0.2, "--batch-size", 8, "-o", "tuned.safetensors"))
    assert "1 epoch over 30 images, 20 % of them of photos" in words
    model = load_model("tuned.safetensors")
    assert len(model.classes) == 1000
    assert model.prepare.mean == (0.5, 0.5, 0.5)  # as the imitation of timm has it
    assert model.prepare.square == 224
    good(run("run", "-m", "tuned.safetensors", "-d", f"cns-bench:{cns}", "-o", "run"))
    wrong = refused(run(*call, "--mix", "photos", "--mix-share", 50, "-o", "x.safetensors"))
    assert unnamed(wrong, "--mix-share", "50") == []

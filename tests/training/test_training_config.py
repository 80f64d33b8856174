"""The settings of a training: the papers' own under their names, and what each knob does."""

from dataclasses import make_dataclass, replace

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle._identity import as_data, digest
from brittle.corruptions import Draws
from brittle.design import Plan, training_plan
from brittle.models.small_resnet import SmallResNet
from brittle.training import (
    PRESETS,
    TrainingConfig,
    deviations,
    deviations_text,
    normalised,
    read_settings,
    train,
    training_config,
)
from brittle.training.augmentation import AugMix, scheme_by_name
from brittle.training.augmentation.operations import BASES, TRUNCATED
from tests.errors import naming

IMAGES = np.random.default_rng(0).integers(0, 256, (48, 16, 16, 3), np.uint8)
LABELS = np.arange(48) % 3

PUBLISHED = {
    "noc": {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "momentum": 0.9,
        "nesterov": False,
        "weight_decay": 1e-4,
        "epochs": 40,
        "batch_size": 256,
        "flip": True,
        "crop_kind": "none",
        "warm_up": 0,
        "jsd": 0,
    },
    "msd-cifar": {
        "learning_rate": 0.1,
        "nesterov": True,
        "weight_decay": 5e-4,
        "epochs": 100,
        "batch_size": 128,
        "schedule": "cosine",
        "crop_kind": "padding",
        "crop": 4,
        "warm_up": 0,
    },
    "augmix-imagenet": {
        "nesterov": True,
        "weight_decay": 1e-4,
        "epochs": 100,
        "batch_size": 256,
        "crop_kind": "resized",
        "area": (0.08, 1.0),
        "side": 224,
        "jsd": 12,
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
    },
}
RATES = {
    "noc": {0: 0.1, 19: 0.1, 20: 0.01, 29: 0.01, 30: 0.001, 39: 0.001},
    "msd-cifar": {epoch: 0.05 * (1 + np.cos(np.pi * epoch / 100)) for epoch in (0, 1, 50, 99)},
    "augmix-imagenet": {0: 0.1, 29: 0.1, 30: 0.01, 59: 0.01, 60: 0.001, 90: 0.0001},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_are_what_the_papers_print(name: str) -> None:
    config = training_config(name)
    assert {key: getattr(config, key) for key in PUBLISHED[name]} == PUBLISHED[name]
    for epoch, rate in RATES[name].items():
        assert config.rate(epoch / config.epochs) == pytest.approx(rate)
    assert deviations(config, name) == {}


def test_every_preset_has_an_augmentation_and_the_smallest_is_the_default() -> None:
    for name, preset in PRESETS.items():
        scheme_by_name(preset.augmentation)
        assert preset.source, name
    assert training_config() == TrainingConfig() == PRESETS["cifar-small"].config


def test_weights_to_start_from_make_it_a_short_training_unless_a_preset_says_otherwise() -> None:
    short = training_config(start="demo:standard")
    assert (short.epochs, short.learning_rate, short.batch_size) == (1, 0.02, 128)
    assert short.normalisation == "network"
    assert training_config(start="demo:standard", mean=(0.5, 0.5, 0.5)).normalisation == "given"
    assert training_config("noc", start="demo:standard") == training_config("noc")
    changed = training_config(start="demo:standard", lr=0.3, optimizer="adamw", warm_up=0.0, seed=4)
    settings = {"epochs": 1, "learning_rate": 0.3, "optimizer": "adamw", "warm_up": 0.0, "seed": 4}
    assert changed == TrainingConfig(**settings, normalisation="network")
    with pytest.raises(BrittleError, match=naming("learning_rate", 0.3, 0.2)):
        training_config(lr=0.3, learning_rate=0.2)


def test_a_plan_by_a_preset_fine_tunes_on_images_as_the_first_training_sees_them() -> None:
    assert training_plan() == Plan()
    plan = training_plan(preset="noc", settings={"flip": False}, standard_epochs=2, epochs=3)
    assert plan.standard == training_config("noc", flip=False, epochs=2)
    assert (plan.tuning.epochs, plan.tuning.learning_rate, plan.tuning.batch_size) == (3, 0.05, 256)
    assert (plan.tuning.flip, plan.tuning.crop_kind, plan.tuning.mean) == (False, "none", (0, 0, 0))
    assert training_plan(preset="noc", batch_size=64).tuning.batch_size == 64
    with pytest.raises(BrittleError, match=naming("'flap'", "flip")):
        training_plan(settings={"flap": False})
    with pytest.raises(BrittleError, match="normalise"):
        Plan(standard=training_config("noc"))


def test_deviations_are_listed_with_both_values() -> None:
    changed = training_config("noc", epochs=3, nesterov=True, seed=7, crop=9)
    assert deviations(changed, "noc") == {"epochs": (3, 40), "nesterov": (True, False)}
    assert "epochs 3 (not 40)" in deviations_text(changed, "noc")
    default = Plan().standard
    assert default == TrainingConfig(epochs=40, schedule="step", learning_rate=0.1, warm_up=0.025)
    assert set(deviations(default, "noc")) == {
        *("batch_size", "warm_up", "weight_decay", "nesterov", "crop_kind", "mean", "std")
    }


def test_new_settings_with_defaults_change_no_key() -> None:
    longer = make_dataclass("TrainingConfig", [("mixup", float, 0.0)], bases=(TrainingConfig,), frozen=True)
    old = {"kind": "TrainingConfig", "epochs": 6, "batch_size": 32, "learning_rate": 0.05, "crop": 0}
    config = TrainingConfig(epochs=6, batch_size=32, learning_rate=0.05, crop=0)
    assert as_data(config) == old
    assert digest(longer(epochs=6, batch_size=32, learning_rate=0.05, crop=0)) == digest(config) == digest(old)
    assert digest(longer(mixup=0.2)) != digest(longer())


@pytest.mark.parametrize(
    "wrong",
    [
        {"optimizer": "lion"},
        {"crop_kind": "square"},
        {"normalisation": "none"},
        {"precision": "fp8"},
        {"milestones": (0.75, 0.5)},
        {"area": (0.5, 2.0)},
        {"std": (1.0, 1.0, 0.0)},
        {"momentum": 1.0},
        {"ema": 1.0},
    ],
)
def test_impossible_settings_are_named(wrong: dict) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(BrittleError, match=naming(name, value)):
        TrainingConfig(**wrong)
    with pytest.raises(BrittleError, match="did you mean 'weight_decay'"):
        training_config("noc", weight_decai=1)
    with pytest.raises(BrittleError, match="did you mean 'noc'"):
        training_config("nocc")


def test_settings_are_read_from_texts() -> None:
    texts = {"weight_decay": "1e-4", "nesterov": "false", "area": "0.25,1", "epochs": "3", "precision": "bf16"}
    values = {"weight_decay": 1e-4, "nesterov": False, "area": (0.25, 1.0), "epochs": 3, "precision": "bf16"}
    assert read_settings(texts) == values
    for key, text in (("epochs", "many"), ("nesterov", "maybe"), ("mean", "a,b,c"), ("momentum", "x")):
        with pytest.raises(BrittleError, match=naming(key, text)):
            read_settings({key: text})
    with pytest.raises(BrittleError, match="momentum"):
        read_settings({"momentun": "0.9"})


def weights_after(config: TrainingConfig, **how: object) -> np.ndarray:
    torch.manual_seed(0)
    network = SmallResNet(classes=3, width=4)
    train(network, IMAGES, LABELS, config, **how)  # type: ignore[arg-type]
    return np.concatenate([value.detach().numpy().ravel() for value in network.state_dict().values()])


BASE = TrainingConfig(epochs=2, batch_size=16, learning_rate=0.05, crop=2)


@pytest.mark.parametrize(
    "knob",
    [
        {"nesterov": False},
        {"momentum": 0.0},
        {"weight_decay": 0.1},
        {"schedule": "step"},
        {"rate_per_epoch": True},
        {"crop_kind": "none"},
        {"crop_kind": "resized", "side": 16},
        {"flip": False},
        {"normalisation": "dataset"},
        {"precision": "bf16"},
        {"ema": 0.5},
    ],
    ids=str,
)
def test_every_knob_changes_the_weights(knob: dict) -> None:
    assert (weights_after(replace(BASE, **knob)) != weights_after(BASE)).any()


def test_plain_momentum_is_that_of_its_definition() -> None:
    """Two steps of SGD with momentum and decay by hand, against the trainer's."""
    config = TrainingConfig(
        epochs=1,
        batch_size=24,
        learning_rate=0.1,
        nesterov=False,
        weight_decay=0.01,
        warm_up=0.0,
        schedule="step",
        crop_kind="none",
        flip=False,
        milestones=(0.9,),
    )
    network, twin = (torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3)) for _ in range(2))
    twin.load_state_dict(network.state_dict())
    from brittle.training.loading import batches

    velocity = [torch.zeros_like(weight) for weight in twin.parameters()]
    for chosen, batch in batches(IMAGES, config, None, 0):
        inputs = torch.from_numpy(batch).permute(0, 3, 1, 2)
        loss = torch.nn.functional.cross_entropy(twin(inputs), torch.from_numpy(LABELS[chosen]))
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        with torch.no_grad():
            for weight, speed, gradient in zip(twin.parameters(), velocity, gradients, strict=True):
                speed.mul_(0.9).add_(gradient + 0.01 * weight)
                weight.sub_(0.1 * speed)
    train(network, IMAGES, LABELS, config)
    for weight, expected in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(weight, expected)


def test_half_precision_needs_a_gpu_and_channels_last_is_a_format_only() -> None:
    with pytest.raises(BrittleError, match=naming("fp16", "CPU")):
        weights_after(replace(BASE, precision="fp16"))
    plain, last = (weights_after(replace(BASE, channels_last=value)) for value in (False, True))
    np.testing.assert_allclose(plain, last, atol=2e-2)


def test_normalisation_of_the_network_or_the_data_becomes_numbers() -> None:
    ours = normalised(replace(BASE, normalisation="network"), IMAGES, "wide-resnet-40-2")
    assert (ours.mean, ours.std, ours.normalisation) == (BASE.mean, BASE.std, "given")
    vision = normalised(replace(BASE, normalisation="network"), IMAGES, "torchvision:resnet18")
    assert vision.mean == (0.485, 0.456, 0.406)
    with pytest.raises(BrittleError, match="network"):
        normalised(replace(BASE, normalisation="network"), IMAGES)
    with pytest.raises(BrittleError, match=r"nets\.py:make"):
        normalised(replace(BASE, normalisation="network"), IMAGES, "nets.py:make")
    assert normalised(BASE, IMAGES) is BASE
    with pytest.raises(BrittleError, match="tuning"):
        Plan("finetune", standard=training_config("noc"))
    Plan("scratch", standard=training_config("noc"))


@pytest.mark.parametrize(
    ("spec", "scheme"),
    [
        ("augmix", AugMix()),
        ("augmix-imagenet", AugMix(severity=1.0, truncated=True)),
        ("augmix,severity=1.5", AugMix(severity=1.5)),
        ("augmix:rotate+shear_x,severity=2", AugMix(("shear_x", "rotate"), severity=2.0)),
        ("augmix-imagenet,severity=3", AugMix(severity=3.0, truncated=True)),
    ],
)
def test_augmix_has_the_severity_of_its_name(spec: str, scheme: AugMix) -> None:
    assert scheme_by_name(spec) == scheme


def test_a_wrong_severity_of_augmix_is_named_and_defaults_keep_their_key() -> None:
    for text in ("augmix,severity=high", "augmix,severity=0"):
        with pytest.raises(BrittleError, match="severity"):
            scheme_by_name(text)
    assert as_data(AugMix()) == {"kind": "AugMix"}


@pytest.mark.parametrize("side", [32, 224])
def test_truncated_bases_move_by_whole_pixels_and_degrees(side: int) -> None:
    """At severity 1 and 224 px rotations are of 0, 1 or 2°, and translations of 0 to 7 px."""
    from PIL import Image as Pil

    image = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
    levels = [Draws(0, "levels", i).uniform("level", 0.1, 1.0) for i in range(40)]
    for level in levels:
        pixels, degrees = int(level * side / 30), int(3 * level)
        assert 0 <= pixels <= side // 30
        assert 0 <= degrees <= 2
        moved = TRUNCATED["translate_x"](image, level, 1.0)
        np.testing.assert_array_equal(moved[:, : side - pixels], image[:, pixels:])
        assert not moved[:, side - pixels :].any()
        turned = np.asarray(Pil.fromarray(image).rotate(degrees, Pil.Resampling.BILINEAR))
        assert np.abs(TRUNCATED["rotate"](image, level, 1.0).astype(int) - turned).max() <= 1
    for name in set(BASES) - {"translate_x", "translate_y", "rotate"}:
        assert TRUNCATED[name] is BASES[name]

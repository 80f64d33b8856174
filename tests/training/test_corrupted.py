"""Training on corruptions: half of the images, each with its own draw, in every mode."""

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import Draws
from brittle.models.small_resnet import SmallResNet
from brittle.training import Corrupted, TrainingConfig, adapt_batchnorm, build_network, train
from tests.errors import naming

RECIPE = Benchmark("two", (Entry("noc/brightness", ((1, 5),)), Entry("noc/blur", ((2, 4),))))
IMAGE = np.random.default_rng(0).integers(60, 200, (16, 16, 3), np.uint8)


def test_half_of_the_images_are_corrupted_each_in_its_own_way() -> None:
    augment = Corrupted(RECIPE, ["noc/brightness"])
    seen = [augment(IMAGE, Draws(0, "epoch 3", i)) for i in range(400)]
    changed = [image for image in seen if (image != IMAGE).any()]
    assert 160 < len(changed) < 240
    shifts = {round(float(image.mean() - IMAGE.mean())) for image in changed}
    assert len(shifts) > 30
    np.testing.assert_array_equal(seen[0], augment(IMAGE, Draws(0, "epoch 3", 0)))


def test_all_corruptions_of_a_benchmark_or_some() -> None:
    everything = Corrupted(RECIPE, share=1.0)
    seen = np.stack([everything(IMAGE, Draws(0, "epoch 0", i)) for i in range(60)])
    spread = seen.reshape(60, -1).std(1)
    assert (spread < 0.8 * IMAGE.std()).any()  # blurred
    assert (np.abs(seen.mean((1, 2, 3)) - IMAGE.mean()) > 30).any()  # brighter or darker
    with pytest.raises(BrittleError, match=naming("two")):
        Corrupted(RECIPE, ["noc/hue"])
    with pytest.raises(BrittleError, match=naming(0, 1, 2)):
        Corrupted(RECIPE, share=2)


def test_batchnorm_takes_the_statistics_of_what_it_sees() -> None:
    images = np.random.default_rng(1).integers(0, 256, (64, 16, 16, 3), np.uint8)
    recipe = TrainingConfig(epochs=1, batch_size=16, flip=False, crop=0)
    torch.manual_seed(0)
    net = SmallResNet(classes=3, width=4)
    before = {name: value.clone() for name, value in net.named_parameters()}
    adapt_batchnorm(net, images, recipe)
    assert all((value == before[name]).all() for name, value in net.named_parameters())
    first = next(layer for layer in net.modules() if isinstance(layer, torch.nn.BatchNorm2d))
    shown = (
        torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - torch.tensor(recipe.mean).view(1, 3, 1, 1)
    ) / (torch.tensor(recipe.std).view(1, 3, 1, 1))
    with torch.inference_mode():
        expected = net.body[0][0](shown).mean((0, 2, 3))
    torch.testing.assert_close(first.running_mean, expected, rtol=1e-4, atol=1e-4)
    assert not net.training
    with pytest.raises(BrittleError, match=naming("Linear")):
        adapt_batchnorm(torch.nn.Linear(3, 3), images, recipe)


def test_networks_by_name() -> None:
    state = torch.random.get_rng_state()
    a, b, c = (build_network("small:6", 7, seed=seed) for seed in (0, 0, 1))
    assert (torch.random.get_rng_state() == state).all()
    assert (a.head.weight == b.head.weight).all()
    assert (a.head.weight != c.head.weight).any()
    assert a.head.weight.shape == (7, 48)
    for bad in ("small:wide", "resnet50", "timm:"):
        with pytest.raises(BrittleError, match=naming("small", repr(bad))):
            build_network(bad, 10)


@pytest.mark.parametrize("how", [{"optimizer": "adamw", "learning_rate": 0.01}, {"ema": 0.9}])
def test_other_optimisers_and_averages_learn_too(how: dict) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(64) % 2
    images = np.clip(rng.normal(0, 30, (64, 16, 16, 3)) + labels[:, None, None, None] * 180, 0, 255).astype(np.uint8)
    net = build_network("small:4", 2)
    losses = train(net, images, labels, TrainingConfig(**{"epochs": 4, "batch_size": 16, "learning_rate": 0.05, **how}))
    assert losses[-1] < losses[0]

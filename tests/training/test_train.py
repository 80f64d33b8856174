"""The trainer learns, resumes exactly, and depends on its recipe alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from brittle.corruptions.draws import Draws
from brittle.models.small_resnet import SmallResNet
from brittle.training import Recipe, train
from brittle.training.augmentation import BASES, COLOUR, GEOMETRIC, AugMix, powerset
from brittle.training.batches import batches

RNG = np.random.default_rng(0)
LABELS = np.arange(96) % 3
IMAGES = np.clip(RNG.normal(0, 40, (96, 16, 16, 3)) + np.eye(3)[LABELS][:, None, None] * 200, 0, 255).astype(np.uint8)
RECIPE = Recipe(epochs=3, batch_size=16, learning_rate=0.05, crop=2)


def network() -> SmallResNet:
    torch.manual_seed(0)
    return SmallResNet(classes=3, width=4)


def weights(net: torch.nn.Module) -> np.ndarray:
    return np.concatenate([value.detach().numpy().ravel() for value in net.state_dict().values()])


def test_the_loss_falls_and_the_colours_are_learnt() -> None:
    net = network()
    losses = train(net, IMAGES, LABELS, RECIPE, augment=AugMix())
    assert losses[-1] < 0.5 * losses[0]
    from brittle.models import from_torch

    model = from_torch(net, name="net", mean=RECIPE.mean, std=RECIPE.std)
    assert (model.scores(IMAGES).argmax(1) == LABELS).mean() > 0.95


def test_the_same_recipe_gives_the_same_weights() -> None:
    a, b, other = network(), network(), network()
    train(a, IMAGES, LABELS, RECIPE)
    train(b, IMAGES, LABELS, RECIPE)
    train(other, IMAGES, LABELS, Recipe(**{**RECIPE.__dict__, "seed": 1}))
    np.testing.assert_array_equal(weights(a), weights(b))
    assert (weights(a) != weights(other)).any()


def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole, halved = network(), network()
    losses = train(whole, IMAGES, LABELS, RECIPE)
    steps = len(IMAGES) // RECIPE.batch_size

    def stop(done: int, _total: int, _loss: float) -> None:
        if done == 2 * steps - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(halved, IMAGES, LABELS, RECIPE, checkpoint=tmp_path / "state.pt", progress=stop)
    fresh = network()
    assert train(fresh, IMAGES, LABELS, RECIPE, checkpoint=tmp_path / "state.pt") == losses
    np.testing.assert_array_equal(weights(fresh), weights(whole))
    with pytest.raises(ValueError, match="holds a training with another recipe"):
        train(network(), IMAGES, LABELS, Recipe(epochs=9, batch_size=16), checkpoint=tmp_path / "state.pt")


def test_each_image_is_flipped_and_cropped_by_its_own_draws() -> None:
    first = {
        i: image for chosen, shown in batches(IMAGES, RECIPE, None, 0) for i, image in zip(chosen, shown, strict=True)
    }
    again = {
        i: image
        for chosen, shown in batches(IMAGES, Recipe(**{**RECIPE.__dict__, "batch_size": 48}), None, 0)
        for i, image in zip(chosen, shown, strict=True)
    }
    assert sorted(first) == sorted(again) == list(range(96))
    for i, image in first.items():
        np.testing.assert_array_equal(image, again[i])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"schedule": "linear"}, "schedule must be one of cosine, step, got 'linear'"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"batch_size": 500}, "96 images do not fill a batch of 500"),
    ],
)
def test_a_bad_recipe_is_named(how: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(network(), IMAGES, LABELS, Recipe(**how))


def test_schedules_end_where_they_should() -> None:
    step = Recipe(schedule="step", learning_rate=0.1)
    assert [round(step.rate(p), 5) for p in (0, 0.49, 0.5, 0.74, 0.75, 0.99)] == [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]
    cosine = Recipe(learning_rate=0.1)
    assert cosine.rate(0) == pytest.approx(0.01)
    assert cosine.rate(cosine.warm_up) == pytest.approx(0.1)
    assert cosine.rate(1) == pytest.approx(0)


def test_augmix_is_one_fixed_transform_for_equal_draws() -> None:
    image = IMAGES[0]
    mix = AugMix()
    np.testing.assert_array_equal(mix(image, Draws(0, "a", 1)), mix(image, Draws(0, "a", 1)))
    assert (mix(image, Draws(0, "a", 1)) != mix(image, Draws(0, "a", 2))).any()
    assert mix(image, Draws(0, "a", 1)).dtype == np.float32
    np.testing.assert_array_equal(AugMix(())(image, Draws(0, "a", 1)), image)
    assert set(COLOUR) | set(GEOMETRIC) == set(BASES)
    assert len(BASES) == 9
    schemes = powerset()
    assert len(set(schemes)) == 512
    assert schemes[0].bases == ()
    with pytest.raises(ValueError, match="there is no augmentation blur"):
        AugMix(("blur",))


def test_base_augmentations_do_what_their_tables_say() -> None:
    from PIL import Image

    grey = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)[..., None].repeat(3, 2))
    level = 3.0
    solarized = np.asarray(BASES["solarize"](grey, level, 1.0))[..., 0].ravel()
    assert solarized[179] == 179
    assert solarized[180] == 75  # 256 − ⌊25.6 · 3⌋ = 180, and from there on 255 − x
    assert set(np.unique(np.asarray(BASES["posterize"](grey, 2.5, 1.0)))) == set(range(0, 256, 32))
    assert set(np.unique(np.asarray(BASES["posterize"](grey, 2.4, 1.0)))) == set(range(0, 256, 16))
    white = Image.new("RGB", (30, 30), (255, 255, 255))
    moved = np.asarray(BASES["translate_x"](white, level, 1.0))
    assert (moved[:, -3:] == 0).all()
    assert (moved[:, :-3] == 255).all()

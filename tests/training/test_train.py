"""The trainer learns, resumes exactly, and depends on its recipe alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle._identity import as_data
from brittle._io import DamagedFile
from brittle.corruptions import Draws
from brittle.datasets import arrays
from brittle.models import load_weights
from brittle.models.small_resnet import SmallResNet
from brittle.training import TrainingConfig, adapt_batchnorm, train, train_network
from brittle.training.augmentation import BASES, COLOUR, GEOMETRIC, AugMix, jsd_loss, powerset, some_schemes
from brittle.training.loading import batches
from tests.errors import naming

RNG = np.random.default_rng(0)
LABELS = np.arange(96) % 3
IMAGES = np.clip(RNG.normal(0, 40, (96, 16, 16, 3)) + np.eye(3)[LABELS][:, None, None] * 200, 0, 255).astype(np.uint8)
RECIPE = TrainingConfig(epochs=3, batch_size=16, learning_rate=0.05, crop=2)


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
    train(other, IMAGES, LABELS, TrainingConfig(**{**RECIPE.__dict__, "seed": 1}))
    np.testing.assert_array_equal(weights(a), weights(b))
    assert (weights(a) != weights(other)).any()


def test_fewer_images_than_a_batch_are_one_batch() -> None:
    net, few = network(), TrainingConfig(**{**RECIPE.__dict__, "batch_size": 256})
    seen: list[tuple[int, int]] = []
    assert len(train(net, IMAGES, LABELS, few, progress=lambda done, total, _loss: seen.append((done, total)))) == 3
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [len(chosen) for chosen, _ in batches(IMAGES, few, None, 0)] == [96]
    adapt_batchnorm(net, IMAGES, few)
    layers = [layer for layer in net.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    assert all((layer.running_var != 1).any() for layer in layers)
    with pytest.raises(BrittleError, match=naming("2", "1")):
        train(net, IMAGES[:1], LABELS[:1], few)


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
    with pytest.raises(BrittleError, match=naming("state.pt", '"epochs":3')):
        train(network(), IMAGES, LABELS, TrainingConfig(epochs=9, batch_size=16), checkpoint=tmp_path / "state.pt")


def test_a_training_cut_off_before_its_checkpoint_was_removed_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = arrays(IMAGES, LABELS, classes=list("abc"), name="colours")
    output = tmp_path / "net.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        train_network(data, output, RECIPE, network="small:4")
    assert len(list(tmp_path.glob("net.*.pt"))) == 1
    written = load_weights(output)
    train_network(data, output, RECIPE, network="small:4")
    assert [path.name for path in tmp_path.iterdir()] == ["net.safetensors"]
    assert all(torch.equal(value, written[name]) for name, value in load_weights(output).items())
    with pytest.raises(BrittleError, match=naming("net.safetensors")):
        train_network(data, output, RECIPE, network="small:4")


def test_each_image_is_flipped_and_cropped_by_its_own_draws() -> None:
    first = {
        i: image for chosen, shown in batches(IMAGES, RECIPE, None, 0) for i, image in zip(chosen, shown, strict=True)
    }
    again = {
        i: image
        for chosen, shown in batches(IMAGES, TrainingConfig(**{**RECIPE.__dict__, "batch_size": 48}), None, 0)
        for i, image in zip(chosen, shown, strict=True)
    }
    assert sorted(first) == sorted(again) == list(range(96))
    for i, image in first.items():
        np.testing.assert_array_equal(image, again[i])


JSD = TrainingConfig(**{**RECIPE.__dict__, "jsd": 12.0})


def test_the_jsd_loss_learns_and_resumes_exactly(tmp_path: Path) -> None:
    whole, halved, fresh = network(), network(), network()
    losses = train(whole, IMAGES, LABELS, JSD, augment=AugMix())
    assert losses[-1] < 0.6 * losses[0]

    def stop(done: int, _total: int, _loss: float) -> None:
        if done == len(IMAGES) // JSD.batch_size + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(halved, IMAGES, LABELS, JSD, augment=AugMix(), checkpoint=tmp_path / "state.pt", progress=stop)
    assert train(fresh, IMAGES, LABELS, JSD, augment=AugMix(), checkpoint=tmp_path / "state.pt") == losses
    np.testing.assert_array_equal(weights(fresh), weights(whole))
    with pytest.raises(BrittleError, match=naming("state.pt", '"jsd":12')):
        train(network(), IMAGES, LABELS, RECIPE, augment=AugMix(), checkpoint=tmp_path / "state.pt")


def test_jsd_makes_predictions_agree_across_augmentations() -> None:
    plain, consistent = network(), network()
    hard = RNG.permutation(LABELS)  # what cannot be learned is decided by small things
    train(plain, IMAGES, hard, RECIPE, augment=AugMix())
    train(consistent, IMAGES, hard, JSD, augment=AugMix())
    (_, shown) = next(iter(batches(IMAGES, JSD, AugMix(), 99)))
    views = torch.from_numpy(shown).permute(0, 3, 1, 2)

    def divergence(net: torch.nn.Module) -> float:
        with torch.no_grad():
            return float(jsd_loss(*net(views).chunk(3), weight=1.0))

    assert divergence(consistent) < 0.5 * divergence(plain)


def test_jsd_shows_clean_and_two_other_views_of_the_same_crop() -> None:
    (chosen, shown) = next(iter(batches(IMAGES, JSD, AugMix(), 1)))
    (also, clean) = next(iter(batches(IMAGES, RECIPE, None, 1)))
    np.testing.assert_array_equal(chosen, also)
    first, second, third = np.split(shown, 3)
    np.testing.assert_array_equal(first, clean)
    assert all((a != b).any() for a, b in ((first, second), (second, third)))
    alike = np.split(next(iter(batches(IMAGES, JSD, AugMix(()), 1)))[1], 3)
    np.testing.assert_array_equal(alike[0], alike[2])


def test_jsd_needs_an_augmentation_and_leaves_other_recipes_as_they_were() -> None:
    with pytest.raises(BrittleError, match=naming("jsd", 12, "augment", "AugMix()")):
        train(network(), IMAGES, LABELS, JSD)
    with pytest.raises(BrittleError, match=naming(0)):
        TrainingConfig(jsd=-1)
    assert as_data(TrainingConfig()) == {"kind": "TrainingConfig"}
    assert as_data(JSD)["jsd"] == 12


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"schedule": "linear"}, ("schedule", "cosine", "step", "linear")),
        ({"epochs": 0}, ("epochs", 1, 0)),
        ({"learning_rate": 0}, ("learning_rate", 0)),
        ({"batch_size": 1}, ("batch_size", 2, 1)),
    ],
)
def test_a_bad_recipe_is_named(how: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        train(network(), IMAGES, LABELS, TrainingConfig(**how))


def test_schedules_end_where_they_should() -> None:
    step = TrainingConfig(schedule="step", learning_rate=0.1, warm_up=0.0)
    assert [round(step.rate(p), 5) for p in (0, 0.49, 0.5, 0.74, 0.75, 0.99)] == [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]
    cosine = TrainingConfig(learning_rate=0.1)
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
    with pytest.raises(BrittleError, match=naming("blur", "autocontrast", "rotate")):
        AugMix(("blur",))


def test_some_schemes_always_hold_the_four_corners() -> None:
    chosen = some_schemes(12, seed=3)
    assert list(chosen)[:4] == ["none", "+".join(GEOMETRIC), "+".join(COLOUR), "+".join(BASES)]
    assert len({frozenset(scheme.bases) for scheme in chosen.values()}) == 12
    assert list(some_schemes(20, seed=3))[:12] == list(chosen)  # more of them begin with these
    assert list(some_schemes(12, seed=4)) != list(chosen)
    assert len(some_schemes(512)) == 512
    with pytest.raises(BrittleError, match=naming(4, 512)):
        some_schemes(3)


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


def test_a_loss_that_blows_up_is_told() -> None:
    broken = network()
    with torch.no_grad():
        broken.head.weight.fill_(float("nan"))
    with pytest.raises(BrittleError, match=naming(1, "learning_rate")):
        train(broken, IMAGES, LABELS, RECIPE)


def test_the_rate_warms_up_in_every_schedule() -> None:
    steps = TrainingConfig(schedule="step", warm_up=0.1, learning_rate=1.0)
    assert [round(steps.rate(x), 3) for x in (0, 0.05, 0.1, 0.49, 0.5, 0.75)] == [0.1, 0.55, 1, 1, 0.1, 0.01]
    assert TrainingConfig(schedule="step", warm_up=0.0, learning_rate=1.0).rate(0) == 1


@pytest.mark.parametrize("kept", [0, 1000])
def test_a_checkpoint_that_a_crash_cut_is_named_and_training_starts_anew(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "state.pt"
    losses = train(network(), IMAGES, LABELS, RECIPE, checkpoint=path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.warns(DamagedFile, match=r"state\.pt"):
        assert train(network(), IMAGES, LABELS, RECIPE, checkpoint=path) == losses

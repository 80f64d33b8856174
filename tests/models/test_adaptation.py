"""Models that adapt: batch normalisation by the statistics of test images, and models with a reset."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle._errors import BrittleTypeError
from brittle.models import AdaptiveModel, BatchNormAdapted, TorchModel, from_torch, load_model, wrap_model
from tests.errors import naming

torch = pytest.importorskip("torch")
IMAGES = np.random.default_rng(0).integers(0, 256, (24, 32, 32, 3), np.uint8)


@pytest.fixture(scope="module")
def standard() -> TorchModel:
    model = load_model("demo:standard", device="cpu")
    assert isinstance(model, TorchModel)
    return model


def test_without_a_prior_it_is_batch_normalisation_in_training(standard: TorchModel) -> None:
    before = standard.scores(IMAGES)
    adapted = BatchNormAdapted(standard)
    network = copy.deepcopy(standard.module).train()
    with torch.no_grad():
        expected = network(standard.prepare.tensor(IMAGES, "cpu")).numpy()
    np.testing.assert_allclose(adapted.scores(IMAGES), expected, atol=1e-4)
    assert np.abs(adapted.scores(IMAGES) - before).max() > 0.1
    np.testing.assert_array_equal(standard.scores(IMAGES), before)  # the network that was given is as it was


def test_prior_and_memory_mix_statistics() -> None:
    norm = torch.nn.BatchNorm2d(3)
    norm.running_mean[:], norm.running_var[:] = 2.0, 9.0
    network = torch.nn.Sequential(norm, torch.nn.Flatten())
    model = from_torch(network, name="norm", mean=(0, 0, 0), std=(1, 1, 1), device="cpu")
    batches = [IMAGES[:8] / 255.0, IMAGES[8:24] / 255.0]
    stats = [(b.mean((0, 1, 2)), b.var((0, 1, 2))) for b in batches]
    adapted = BatchNormAdapted(model, prior=16, memory=0.25)
    adapted.scores(IMAGES[:8])
    got = adapted.scores(IMAGES[8:24])
    mean, var = (0.25 * old + 0.75 * new for old, new in zip(*stats, strict=True))
    mean, var = 0.5 * 2 + 0.5 * mean, 0.5 * 9 + 0.5 * var  # 16 images of training, and 16 in the batch
    expected = ((batches[1] - mean) / np.sqrt(var + norm.eps)).transpose(0, 3, 1, 2).reshape(16, -1)
    np.testing.assert_allclose(got, expected, atol=1e-4)
    adapted.reset()
    np.testing.assert_allclose(adapted.scores(IMAGES[8:24]), BatchNormAdapted(model, prior=16).scores(IMAGES[8:24]))


def test_texts_keys_and_pickles(standard: TorchModel) -> None:
    adapted = load_model("bn-adapt:demo:standard,prior=16", device="cpu")
    assert isinstance(adapted, AdaptiveModel)
    assert adapted.name == "demo-standard-bn-adapt-prior-16"
    assert len({adapted.key, standard.key, BatchNormAdapted(standard).key}) == 3
    assert adapted.key == BatchNormAdapted(standard, prior=16).key
    expected = adapted.scores(IMAGES)
    again = pickle.loads(pickle.dumps(adapted))
    again.reset()
    np.testing.assert_allclose(again.scores(IMAGES), expected, atol=1e-5)


def test_what_cannot_adapt_is_refused(standard: TorchModel) -> None:
    plain = from_torch(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10)), name="plain", device="cpu")
    with pytest.raises(BrittleError, match=naming("plain", "batch normalisation")):
        BatchNormAdapted(plain)
    with pytest.raises(BrittleTypeError, match="torch"):
        BatchNormAdapted(wrap_model(lambda images: np.zeros((len(images), 2)), name="f"))  # type: ignore[arg-type]
    for option, value in (("prior", -1.0), ("memory", 1.0)):
        with pytest.raises(BrittleError, match=naming(option, value)):
            BatchNormAdapted(standard, **{option: value})  # type: ignore[arg-type]
    with pytest.raises(BrittleError, match=naming("prior", "much")):
        load_model("bn-adapt:demo:standard,prior=much")


class Counter:
    """Says how many batches it has seen since it was reset, as a class."""

    def __init__(self) -> None:
        self.batches = self.resets = 0

    def __call__(self, images: Any) -> Any:
        scores = np.eye(10)[[min(self.batches, 9)] * len(images)]
        self.batches += 1
        return scores

    def reset(self) -> None:
        self.batches, self.resets = 0, self.resets + 1


def test_cells_do_not_depend_on_each_other() -> None:
    data = brittle.load_dataset("demo").limited(30)
    recipe = brittle.Benchmark("two", (brittle.benchmarks.Entry("fog", (1, 2)),))
    counter = Counter()
    model = wrap_model(counter, name="counter")
    assert isinstance(model, AdaptiveModel)
    rows = brittle.evaluate([model, "demo:standard"], data, recipe, batch_size=10).rows.collect()
    counted = rows.filter(model="counter").sort("corruption", "level", maintain_order=True)
    assert counted["prediction"].to_list() == 3 * ([0] * 10 + [1] * 10 + [2] * 10)
    assert counter.resets >= 3

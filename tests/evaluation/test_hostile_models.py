"""Models that exit, raise what loops swallow, give what is no score, or round coarsely."""

import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import registry
from brittle.corruptions.images import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels
from brittle.evaluation import evaluate
from brittle.evaluation.cell import probabilities
from brittle.models import ModelError
from tests.errors import naming
from tests.evaluation.test_run_folders import squares


def raising(error: BaseException) -> Callable[[np.ndarray], np.ndarray]:
    def model(_: np.ndarray) -> np.ndarray:
        raise error

    return model


ERRORS = [
    *(StopIteration("now"), SystemExit(3), SystemExit(), GeneratorExit(), KeyError("k"), RecursionError("deep")),
    *(CancelledError(), BaseException("odd"), ValueError("caf\udce9")),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_a_model_raises_is_named(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(ModelError, match=naming("model", "clean images")) as raised:
        evaluate({"model": raising(error)}, squares(), folder=tmp_path / "run")
    assert raised.value.__cause__ is error


def test_scores_are_real_numbers() -> None:
    with pytest.raises(BrittleError, match=naming("complex128")):
        evaluate(lambda images: np.eye(4, dtype=complex)[[0] * len(images)], squares())
    with pytest.raises(BrittleError, match=naming("complex64")):
        evaluate(lambda images: torch.eye(4, dtype=torch.complex64)[[0] * len(images)], squares())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_probabilities_of_any_precision_are_recognised(dtype: torch.dtype, classes: int) -> None:
    logits = torch.randn(400, classes, generator=torch.Generator().manual_seed(0)) * 4
    given = logits.softmax(1).to(dtype).float().numpy()
    assert np.array_equal(probabilities(given), given)
    for row in range(0, 400, 7):  # whatever the batch
        assert np.array_equal(probabilities(given[row : row + 1])[0], given[row])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_logits_are_not_taken_for_probabilities(dtype: torch.dtype) -> None:
    logits = torch.rand(64, 10, generator=torch.Generator().manual_seed(0)).to(dtype).float()
    np.testing.assert_allclose(probabilities(logits.numpy()), logits.softmax(1).numpy(), rtol=1e-5)


def test_a_tensor_of_bfloat16_is_a_score(tmp_path: Path) -> None:
    def model(images: np.ndarray) -> torch.Tensor:
        logits = torch.from_numpy(images.reshape(len(images), -1)[:, :4].astype(np.float32) / 64)
        return logits.softmax(1).to(torch.bfloat16)

    confidences = [
        evaluate({"half": model}, squares(), folder=tmp_path / str(size), batch_size=size).rows.collect()["confidence"]
        for size in (1, 7, 20)
    ]
    assert confidences[0].equals(confidences[1])
    assert confidences[0].equals(confidences[2])


@pytest.fixture
def random_step() -> Iterator[str]:
    @corruption(family="noise", source="hostile-test", step=levels(10, clean=0))
    def random_step(image: Image, rng: Draws, *, step: float) -> Image:  # noqa: ARG001
        """Noise that nobody can draw again."""
        return np.random.default_rng().integers(0, int(step), image.shape).astype(np.uint8)

    yield "hostile-test/random_step"
    del registry._by_id["hostile-test/random_step"]


def test_a_corruption_that_is_random_is_refused(random_step: str) -> None:
    with pytest.raises(BrittleError, match=naming(random_step, "rng")):
        evaluate(lambda images: np.eye(4)[[0] * len(images)], squares(), Benchmark("b", (Entry(random_step, (1,)),)))


def test_a_file_named_like_a_module_does_not_take_its_place(tmp_path: Path) -> None:
    from brittle.cli.console import import_file

    before = sys.modules["random"]
    (tmp_path / "random.py").write_text("VALUE = 1\n")
    import_file(str(tmp_path / "random.py"))
    assert sys.modules["random"] is before


@pytest.mark.parametrize(
    "code", ["raise ValueError('boom')", "import sys; sys.exit(4)", "import no_such_thing", "1/0", "open('none.txt')"]
)
def test_a_file_of_imports_that_fails_is_named(tmp_path: Path, code: str) -> None:
    from brittle.cli.console import import_file

    path = tmp_path / "extra.py"
    path.write_text(code)
    with pytest.raises(BrittleError, match=naming(str(path))):
        import_file(str(path))

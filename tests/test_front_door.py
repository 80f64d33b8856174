"""`import brittle` is enough: what it lists, what it says to a wrong name, and how its nouns look in a notebook."""

import subprocess
import sys

import numpy as np
import pytest

import brittle
from brittle.models import from_torch
from tests.errors import naming


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(brittle) == sorted(brittle.__all__)
    assert len(dir(brittle)) <= 26
    assert {"evaluate", "Results", "load_results", "load_model", "load_dataset", "load_benchmark"} < set(dir(brittle))
    assert not {"Any", "LAZY", "TYPE_CHECKING", "import_module", "annotations", "arrays"} & set(dir(brittle))
    for name in dir(brittle):
        assert getattr(brittle, name) is not None


def test_rooms_need_no_import_of_their_own() -> None:
    code = "import brittle; print(brittle.metrics.failure_points, brittle.models.from_torch, brittle.datasets.photo)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(("wrong", "meant"), [("evalute", "evaluate"), ("load_results_", "load_results")])
def test_a_wrong_name_is_answered_by_the_one_that_was_meant(wrong: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=naming(repr(wrong), repr(meant))):
        getattr(brittle, wrong)


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(AttributeError, match=naming("'xyzzy'", "evaluate", "load_model")):
        _ = brittle.xyzzy
    with pytest.raises(AttributeError, match=naming("'_repr_png_'")):
        _ = brittle._repr_png_


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: brittle.evalute, "brittle has no 'evalute'; did you mean 'evaluate'?"),
        (lambda: brittle.get_corruption("fogg"), "there is no corruption 'fogg'; did you mean 'imagenet-c/fog'?"),
        (lambda: brittle.load_model("tim:resnet50"), "there is no model scheme 'tim'; did you mean 'timm'?"),
        (lambda: brittle.load_dataset("cifer10:x"), "there is no dataset scheme 'cifer10'; did you mean 'cifar10'?"),
        (
            lambda: brittle.corrupt(np.zeros((8, 8, 3), np.uint8), "fog", 9),
            "severity must lie between 0 (clean) and 5, got 9",
        ),
    ],
)
def test_the_first_sentences_that_a_user_meets_are_as_they_are_documented(call, sentence: str) -> None:
    """The one place that pins wording, on purpose: all other tests of errors ask for values (tests/errors.py)."""
    with pytest.raises((brittle.BrittleError, AttributeError)) as caught:
        call()
    assert str(caught.value) == sentence


def test_nouns_show_themselves_in_a_line_or_three() -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 10))
    model = from_torch(network, name="tiny", device="cpu")
    images, labels = np.zeros((3, 8, 8, 3), np.uint8), [0, 1, 2]
    results = brittle.evaluate({"first": model, "<b>": model}, (images, labels), "imagenet-c-extra", threads=1)
    for noun, told in [
        (results, ("2 models", "first", "21 cells", "3 images")),
        (model, ("'tiny'", "Sequential", "40 parameters", "cpu")),
        (brittle.load_benchmark("cifar10-c"), ("'cifar10-c'", "15 corruptions", "75 cells")),
        (brittle.load_dataset("demo"), ("'demo'", "1,000 images", "10 classes")),
    ]:
        text = repr(noun)
        assert all(part in text for part in told), text
        assert text.count("\n") <= 2
        assert " at 0x" not in text
    html = results._repr_html_()
    assert "<b>" not in html.partition("</pre>")[0]
    assert "accuracy" in html

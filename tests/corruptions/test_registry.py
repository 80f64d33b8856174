import json

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle._types import Image
from brittle.corruptions import Draws, corruption, levels, registry
from tests.errors import naming


def test_all_nineteen_are_there_in_their_families() -> None:
    corruptions = brittle.list_corruptions(source="imagenet-c")
    families = {
        family: [c.name for c in corruptions if c.family == family]
        for family in ("noise", "blur", "weather", "digital")
    }
    assert sum(map(len, families.values())) == len(corruptions) >= 19
    assert all(len(names) >= 4 for names in families.values())
    assert [c.id for c in brittle.list_corruptions(source="imagenet-c", family="noise")] == [
        f"imagenet-c/{name}_noise" for name in ("gaussian", "impulse", "shot", "speckle")
    ]


def test_a_corruption_knows_itself() -> None:
    fog = brittle.get_corruption("fog")
    assert fog is brittle.get_corruption("imagenet-c/fog") is brittle.get_corruption(fog)
    assert (fog.id, fog.name, fog.family, fog.source, fog.max_severity) == (
        "imagenet-c/fog", "fog", "weather", "imagenet-c", 5,
    )  # fmt: skip
    assert fog.parameters(1.5, 224) == {"strength": 1.75, "decay": 2}
    assert "plasma" in fog.docs
    assert fog.summary.startswith("A cloud of plasma")
    assert fog.table_sides == (32, 64, 224, 299)


@pytest.mark.parametrize("c", brittle.list_corruptions(), ids=lambda c: c.id)
def test_every_corruption_is_documented(c: brittle.Corruption) -> None:
    assert len(c.summary) > 30
    assert c.summary.endswith(".")


def test_calling_it_is_corrupting() -> None:
    image = np.full((9, 9, 3), 70, np.uint8)
    np.testing.assert_array_equal(
        brittle.get_corruption("snow")(image, 2, seed=3, sample="a"),
        brittle.corrupt(image, "snow", 2, seed=3, sample="a"),
    )


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("fogg", ("'imagenet-c/fog'",)),
        ("gaussian-noise", ("'imagenet-c/gaussian_noise'",)),
        ("Defocus Blur", ("'imagenet-c/defocus_blur'",)),
        ("xyzzy", ("`brittle list`",)),
        ("imagenet-c/fgo", ("'imagenet-c/fog'",)),
        ("imagenet_c/fog", ("'imagenet-c/fog'",)),
        ("motion blur", ("'imagenet-c/motion_blur'", "'syn2nat/motion_blur'")),
        ("noc", ("`brittle list --source noc`",)),
    ],
)
def test_unknown_names_get_a_hint(name: str, hints: tuple[str, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(repr(name), *hints)):
        brittle.get_corruption(name)


@pytest.mark.parametrize("name", [c.name for c in brittle.list_corruptions(source="imagenet-c")])
def test_a_bare_name_means_imagenet_c(name: str) -> None:
    assert brittle.get_corruption(name).id == f"imagenet-c/{name}"


def test_a_name_that_only_other_sets_share_is_refused_with_the_choices() -> None:
    with pytest.raises(BrittleError, match=naming("'blur'", "noc/blur", "syn2nat/blur")):
        brittle.get_corruption("blur")


def test_names_are_strings() -> None:
    with pytest.raises(TypeError, match=naming("fog", -2)):
        brittle.get_corruption(-2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"source": "x"}, ("source", "'x'", "imagenet-c", "c-bar", "noc", "syn2nat")),
        ({"family": "y"}, ("family", "'y'", "noise", "occlusion")),
    ],
)
def test_unknown_sources_and_families_are_named(given: dict[str, str], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        brittle.list_corruptions(**given)  # type: ignore[arg-type]


def test_unknown_options_are_named() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(TypeError, match=naming("c/fog", "strength")):
        brittle.corrupt(image, "fog", 1, strength=3)
    with pytest.raises(TypeError, match=naming("c/frost", "texture")):
        brittle.corrupt(image, "frost", 1, texture="x")


@pytest.fixture
def own_corruption() -> str:
    @corruption(family="colour", source="mine", channels="rgb", amount=levels(10, 20, 40, clean=0))
    def reddish(image: Image, rng: Draws, *, amount: float, bonus: int = 0) -> Image:  # noqa: ARG001
        """More red than there was, for all to see."""
        out = image.copy()
        out[..., 0] = np.minimum(out[..., 0] + int(amount) + bonus, 255)
        return out

    yield "mine/reddish"
    del registry._by_id["mine/reddish"]


def test_a_new_corruption_is_one_function(own_corruption: str) -> None:
    image = np.full((4, 4, 3), 100, np.uint8)
    assert brittle.corrupt(image, "reddish", 1.5)[0, 0].tolist() == [115, 100, 100]
    assert brittle.corrupt(image, own_corruption, 3, bonus=5)[0, 0].tolist() == [145, 100, 100]
    assert brittle.corrupt(image[..., 0], "reddish", 3)[0, 0] == round(0.299 * 140 + 0.701 * 100)
    assert brittle.get_corruption("reddish") in brittle.list_corruptions(source="mine")
    with pytest.raises(BrittleError, match=naming(0, 3, 4)):
        brittle.corrupt(image, "reddish", 4)


@pytest.mark.parametrize(
    ("answer", "returned"),
    [
        (lambda image: image * 0.5, "float64 of shape (6, 5, 3)"),
        (lambda image: image[:2], "uint8 of shape (2, 5, 3)"),
        (lambda _: None, "NoneType"),
    ],
)
def test_a_function_that_returns_something_else_is_named(answer, returned: str) -> None:
    @corruption(family="colour", source="mine", amount=levels(1, clean=0))
    def odd(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
        return answer(image)

    try:
        with pytest.raises(TypeError, match=naming("mine/odd", "uint8 of shape (6, 5, 3)", returned)):
            brittle.corrupt(np.ones((6, 5, 3), np.uint8), "mine/odd", 1)
    finally:
        del registry._by_id["mine/odd"]


def test_a_function_that_writes_to_its_input_does_no_harm() -> None:
    @corruption(family="colour", source="mine", amount=levels(1, clean=0))
    def rude(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
        image[:] = 0
        return image

    given = np.full((6, 5, 3), 9, np.uint8)
    try:
        assert not brittle.corrupt(given, "mine/rude", 1).any()
        assert (given == 9).all()
    finally:
        del registry._by_id["mine/rude"]


def test_a_published_name_cannot_be_taken() -> None:
    with pytest.raises(BrittleError, match=naming("imagenet-c/fog")):

        @corruption(family="weather", source="imagenet-c", amount=levels(1, clean=0))
        def fog(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
            return image


def test_a_wrong_declaration_is_refused() -> None:
    with pytest.raises(TypeError, match=naming("wrong", "radius", "sigma")):

        @corruption(family="blur", source="mine", sigma=levels(1, clean=0))
        def wrong(image: Image, rng: Draws, *, radius: float) -> Image:  # noqa: ARG001
            return image

    with pytest.raises(BrittleError, match=naming("family", "funny", "noise", "occlusion")):
        corruption(family="funny", source="mine", sigma=levels(1, clean=0))
    with pytest.raises(BrittleError, match=naming("a", "b", 1, 2)):
        corruption(family="blur", source="mine", a=levels(1, clean=0), b=levels(1, 2, clean=0))
    with pytest.raises(BrittleError, match=naming("{224: (1.0, 2.0), 32: (1.0,)}")):
        levels(1, 2, clean=0, at32=(1,))


def test_a_corruption_is_known_by_its_description_until_its_code_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run keeps of a user's own corruption is enough for tables, and says what is missing for pictures."""
    fog = brittle.get_corruption("imagenet-c/fog")
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    about = json.loads(json.dumps({**registry.describe(fog), "id": "mine/haze", "source": "mine"}))
    registry.stand_in(about)
    described = brittle.get_corruption("mine/haze")
    assert not described.loaded
    assert fog.loaded
    assert (described.family, described.max_severity, described.table_sides) == (
        fog.family,
        fog.max_severity,
        fog.table_sides,
    )
    assert described.parameters(2.5, 64) == fog.parameters(2.5, 64)
    with pytest.raises(BrittleError, match=naming("mine/haze")):
        described(np.zeros((32, 32, 3), np.uint8), 3, sample=0)

    @corruption(family="weather", source="mine")
    def haze(image: Image, rng: Draws) -> Image:
        """White."""
        del rng
        return np.full_like(image, 255)

    assert brittle.get_corruption("mine/haze").loaded
    registry.stand_in(about)  # code that is here stays
    assert brittle.get_corruption("mine/haze").loaded

"""Everything on the page can be read, light or dark."""

import pytest

from brittle.plots import (
    DARK,
    FAMILY_COLOURS,
    HEAT,
    LIGHT,
    MODEL_COLOURS,
    SHIFT,
    colour_scale,
    contrast_ratio,
    on_dark,
    on_light,
    readable_on,
)
from brittle.report import theme_css

AA = 4.5


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast_ratio("#000000", "#ffffff") == pytest.approx(21)
    assert contrast_ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # a well-known grey just below AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["ground", "panel"])
@pytest.mark.parametrize("ink", ["ink", "soft", "accent", "good", "bad"])
def test_text_can_be_read(theme: dict[str, str], ground: str, ink: str) -> None:
    assert contrast_ratio(theme[ink], theme[ground]) >= AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_chosen_buttons_can_be_read(theme: dict[str, str]) -> None:
    assert contrast_ratio(theme["ground"], theme["accent"]) >= AA
    assert contrast_ratio(theme["ink"], theme["sunk"]) >= AA


@pytest.mark.parametrize("colour", [*FAMILY_COLOURS.values(), *MODEL_COLOURS])
def test_families_and_models_can_be_read(colour: str) -> None:
    assert contrast_ratio(on_light(colour), LIGHT["ground"]) >= AA
    assert contrast_ratio(on_dark(colour), DARK["ground"]) >= AA
    assert colour in theme_css() or on_light(colour) in theme_css()
    assert on_dark(colour) in theme_css()


@pytest.mark.parametrize("anchors", [*HEAT, *SHIFT])
def test_numbers_in_heat_maps_can_be_read(anchors: tuple[str, ...]) -> None:
    for colour in colour_scale(anchors):
        assert contrast_ratio(colour, readable_on(colour)) >= AA, colour

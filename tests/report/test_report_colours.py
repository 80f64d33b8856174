"""Everything on the page can be read, light or dark."""

import pytest

from brittle.report.html import (
    DARK,
    FAMILY_COLOURS,
    HEAT,
    LIGHT,
    MODELS,
    SHIFT,
    contrast,
    on_dark,
    on_light,
    readable_on,
    scale,
    theme_css,
)

AA = 4.5


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the well-known grey that just fails AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["ground", "panel"])
@pytest.mark.parametrize("ink", ["ink", "soft", "accent", "good", "bad"])
def test_text_can_be_read(theme: dict[str, str], ground: str, ink: str) -> None:
    assert contrast(theme[ink], theme[ground]) >= AA


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_chosen_buttons_can_be_read(theme: dict[str, str]) -> None:
    assert contrast(theme["ground"], theme["accent"]) >= AA
    assert contrast(theme["ink"], theme["sunk"]) >= AA


@pytest.mark.parametrize("colour", [*FAMILY_COLOURS.values(), *MODELS])
def test_families_and_models_can_be_read(colour: str) -> None:
    assert contrast(on_light(colour), LIGHT["ground"]) >= AA
    assert contrast(on_dark(colour), DARK["ground"]) >= AA
    assert colour in theme_css() or on_light(colour) in theme_css()
    assert on_dark(colour) in theme_css()


@pytest.mark.parametrize("anchors", [*HEAT, *SHIFT])
def test_numbers_in_heat_maps_can_be_read(anchors: tuple[str, ...]) -> None:
    for colour in scale(anchors):
        assert contrast(colour, readable_on(colour)) >= AA, colour

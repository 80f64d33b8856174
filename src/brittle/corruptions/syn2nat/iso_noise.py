from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.pixel_noise import sensor_noise
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="noise",
    source="syn2nat",
    channels="rgb",
    least_shift=evenly(0.2, clean=0),
    most_shift=evenly(0.5, clean=0),
    least_intensity=evenly(0.5, clean=0),
    most_intensity=evenly(1, clean=0),
)
def iso_noise(
    image: Image, rng: Draws, *, least_shift: float, most_shift: float, least_intensity: float, most_intensity: float
) -> Image:
    """Coloured grain of a sensor at high sensitivity: lightness is lifted by Poisson noise, hue trembles.

    Both are in HLS. Quirks kept: the Poisson rate follows the standard deviation of the picture's lightness, so a
    flat picture gets none; the noise only brightens; and the hue of σ = shift·intensity·360°, up to half the
    circle, is nearly any hue. Grey pixels have no hue to lose.
    """
    intensity = rng.uniform("intensity", least_intensity, most_intensity)
    shift = rng.uniform("shift", least_shift, most_shift)
    return sensor_noise(image, rng.key("noise"), rate=intensity, hue=shift * intensity * 360)

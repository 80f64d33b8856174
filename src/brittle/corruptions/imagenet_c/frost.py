from pathlib import Path

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.blend import weighted_sum
from brittle.corruptions.kernels.textures import crop_texture, find_textures
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels

BUNDLED = Path(__file__).parent / "frost_textures"


@corruption(
    family="weather",
    source="imagenet-c",
    monotone=False,
    image_weight=levels(
        *(1, 0.8, 0.7, 0.65, 0.6),
        at32=(1, 1, 0.9, 0.85, 0.75),
        at64=(1, 0.9, 0.8, 0.75, 0.7),
        at299=(1, 0.8, 0.7, 0.65, 0.6),
        clean=1,
    ),
    frost_weight=levels(
        *(0.4, 0.6, 0.7, 0.7, 0.75),
        at32=(0.2, 0.3, 0.4, 0.4, 0.45),
        at64=(0.3, 0.4, 0.45, 0.5, 0.55),
        at299=(0.4, 0.6, 0.7, 0.7, 0.75),
        clean=0,
    ),
    texture_scale=levels(
        *(1, 1, 1, 1, 1),
        at32=(0.2, 0.2, 0.2, 0.2, 0.2),
        at64=(0.3, 0.3, 0.3, 0.3, 0.3),
        at299=(1, 1, 1, 1, 1),
        clean=None,
        px=1,
    ),
)
def frost(
    image: Image,
    rng: Draws,
    *,
    image_weight: float,
    frost_weight: float,
    texture_scale: float,
    textures: str | Path | None = None,
) -> Image:
    """Hoar frost on a window: a weighted sum of the image and a random crop of a frost texture, saturated.

    The five bundled textures are drawn by our own program to look like, and to have the statistics of, the
    published photographs, whose licence is not known; `textures=` names a folder with others (the photographs
    come with the package imagecorruptions). Quirks kept: the weights add up to more than 1; of the six
    published photographs the last is never drawn, and the second and third are the same picture, so the bundled
    set has two textures of that one's kind.
    """
    choices = find_textures(BUNDLED if textures is None else textures)
    texture = choices[rng.integer("texture", len(choices))]
    crop = crop_texture(texture, image.shape, texture_scale, rng.uniform("row"), rng.uniform("column"))
    return weighted_sum(image, crop, image_weight, frost_weight)

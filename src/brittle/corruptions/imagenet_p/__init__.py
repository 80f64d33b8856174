"""ImageNet-P (Hendrycks & Dietterich, 2019): short sequences in which a perturbation changes frame by frame.

Ten perturbations make the test, four more are for validation. Parameters are those of the creation scripts of
hendrycks/robustness (Apache-2.0) for 224 px (ImageNet), 64 px (Tiny-ImageNet), 32 px (CIFAR) and 299 px; an image of
another size takes the nearest of the first three.
"""

from brittle.corruptions.imagenet_p.perturbation import (
    Perturbation,
    Sequence,
    find_perturbation,
    perturbations,
    sequence,
)

__all__ = ["Perturbation", "Sequence", "find_perturbation", "perturbations", "sequence"]

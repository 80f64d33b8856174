"""The consistency loss of AugMix."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from brittle._errors import BrittleError

WEIGHT = 12.0
LEAST = 1e-7


def jsd_loss(
    clean: Tensor, first: Tensor, second: Tensor, labels: Tensor | None = None, *, weight: float = WEIGHT
) -> Tensor:
    """Weight times the Jensen–Shannon divergence of three predictions, plus the clean view's cross-entropy.

    `clean`, `first` and `second` are logits, images × classes, of the same images: clean, and under two
    independent samples of AugMix. With M the mean of the three distributions, clipped to [1e-7, 1], it is
    weight · ⅓ Σ KL(pᵢ ‖ M), averaged over the images (Hendrycks et al. 2020). Without labels the
    cross-entropy is left out.
    """
    if not clean.shape == first.shape == second.shape or clean.ndim != 2:
        raise BrittleError(
            "the three logits are images × classes of one shape, got "
            f"{tuple(clean.shape)}, {tuple(first.shape)} and {tuple(second.shape)}"
        )
    log_probabilities = log_softmax(torch.stack([clean, first, second]), dim=-1)
    probabilities = log_probabilities.exp()
    mean = probabilities.mean(0).clamp(LEAST, 1).log()
    divergence = (probabilities * (log_probabilities - mean)).sum(-1).mean()
    consistency: Tensor = weight * divergence
    return consistency if labels is None else cross_entropy(clean, labels) + consistency

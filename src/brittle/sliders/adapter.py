"""Put a slider on a pipeline, and turn it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from brittle.models.load_pipeline import EXTRA
from brittle.models.needs import needs
from brittle.sliders.placement import slider_layers
from brittle.sliders.slider import Slider

NAME = "slider"


class Adapter:
    """A LoRA that sits on a UNet. It can be off, on, or on at another scale for each image of a batch."""

    def __init__(self, unet: Any) -> None:
        self.unet = unet
        self.factors: Any = None
        self.layers = [module for module in unet.modules() if hasattr(module, "lora_B") and NAME in module.lora_B]

    def off(self) -> None:
        """The UNet as if nothing were there, to the bit."""
        self.unet.disable_lora()

    def on(self, scales: Sequence[float] | None = None) -> None:
        """Scale 1, or one scale for each image of the batch; guidance, which doubles the batch, is allowed for."""
        torch = needs("torch")
        where = self.unet.device
        self.factors = None if scales is None else torch.tensor(list(scales), dtype=torch.float32, device=where)
        self.unet.enable_lora()

    def parameters(self) -> list[Any]:
        """The adapter's own numbers, in the order of the layers."""
        return [layer[NAME].weight for module in self.layers for layer in (module.lora_A, module.lora_B)]

    def weights(self) -> dict[str, Any]:
        """Copies of them on the CPU, by name."""
        state = needs("peft", EXTRA).get_peft_model_state_dict(self.unet, adapter_name=NAME)
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def load(self, weights: Any) -> None:
        """Take the numbers of a slider; every layer must fit."""
        wanted = self.weights()
        if wanted.keys() != weights.keys() or any(wanted[k].shape != weights[k].shape for k in wanted):
            odd = sorted(k for k in wanted.keys() | weights.keys() if k not in wanted or k not in weights)
            odd = odd or sorted(k for k in wanted if wanted[k].shape != weights[k].shape)
            raise ValueError(f"the slider is for another network: {odd[0]} does not fit ({len(odd)} layers in all)")
        needs("peft", EXTRA).set_peft_model_state_dict(self.unet, dict(weights), adapter_name=NAME)

    def _turn(self, _module: Any, _inputs: Any, output: Any) -> Any:
        if self.factors is None:
            return output
        factors = self.factors.to(output).repeat(len(output) // len(self.factors))
        return output * factors.view(-1, *[1] * (output.ndim - 1))

    @contextmanager
    def turning(self) -> Iterator[Adapter]:
        """While it lasts, `on` with scales has an effect."""
        hooks = [module.lora_B[NAME].register_forward_hook(self._turn) for module in self.layers]
        try:
            yield self
        finally:
            for hook in hooks:
                hook.remove()


@contextmanager
def adapter_on(pipeline: Any, *, rank: int, alpha: float, layers: Sequence[str] | None = None) -> Iterator[Adapter]:
    """A fresh adapter on a pipeline's UNet, in float32; afterwards the UNet is what it was."""
    unet = pipeline.unet
    if getattr(unet, "peft_config", None):
        raise ValueError("the pipeline has adapters already; call pipeline.unload_lora_weights() first")
    torch, peft = needs("torch"), needs("peft", EXTRA)
    trainable = {name: parameter.requires_grad for name, parameter in unet.named_parameters()}
    training = unet.training
    targets = list(slider_layers(unet) if layers is None else layers)
    unknown = sorted(set(targets) - {name for name, _ in unet.named_modules()})
    if unknown:
        raise ValueError(f"the slider is for another network: it turns {unknown[0]!r}, which this UNet does not have")
    try:
        config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets)
        with torch.random.fork_rng(devices=[]):  # peft draws weights that are replaced at once
            unet.add_adapter(config, adapter_name=NAME)
        adapter = Adapter(unet.eval())
        for parameter in adapter.parameters():
            parameter.data = parameter.data.float()
        with adapter.turning():
            yield adapter
    finally:
        if getattr(unet, "peft_config", None):
            unet.enable_lora()
            unet.unload_lora()
        unet.train(training)
        for name, parameter in unet.named_parameters():
            parameter.requires_grad_(trainable[name])


@contextmanager
def slider_on(pipeline: Any, slider: Slider) -> Iterator[Adapter]:
    """A slider on a pipeline's UNet."""
    with adapter_on(pipeline, rank=slider.rank, alpha=slider.alpha, layers=slider.layers) as adapter:
        adapter.load(slider.weights)
        yield adapter


@contextmanager
def late(adapter: Adapter, scales: Sequence[float], *, active: float, timesteps: int) -> Iterator[None]:
    """One scale for each image of a batch, and off while the timestep is above `active` times all timesteps."""
    last = active * timesteps

    def decide(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        now = float(args[1] if len(args) > 1 else kwargs["timestep"])
        if active > 0 and now <= last and any(scales):
            adapter.on(scales)
        else:
            adapter.off()

    hook = adapter.unet.register_forward_pre_hook(decide, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()

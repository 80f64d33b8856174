"""Sliders: LoRA adapters that increase one shift for one class; load, save and apply them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._io import atomic_write
from brittle._optional import require
from brittle._texts import read_json_file
from brittle.models.networks import load_weights
from brittle.sliders.pipeline import shift_folder

ADAPTED_BLOCKS = ("Attention", "ResnetBlock2D", "Downsample2D", "Upsample2D", "DownBlock2D", "UpBlock2D")
SKIPPED_LAYERS = ("attn2", "time_embed")
LAYER_TYPES = ("Linear", "Conv2d")


def slider_layers(unet: Any) -> list[str]:
    """The paths of the layers that get an adapter: "noxattn, c3lier" of concept sliders, as in CNS-Bench.

    Linear and Conv2d inside self-attention, residual blocks and the layers that change resolution; neither
    cross-attention nor time embedding, so that the use of prompt and timestep stays unchanged. The projection of the
    time embedding inside residual blocks (`time_emb_proj`) is not called time_embed, and has an adapter.
    """
    layers = set()
    for path, block in unet.named_modules():
        if type(block).__name__ not in ADAPTED_BLOCKS:
            continue
        for relative, layer in block.named_modules():
            name = f"{path}.{relative}" if path else relative
            if type(layer).__name__ in LAYER_TYPES and not any(skipped in name for skipped in SKIPPED_LAYERS):
                layers.add(name)
    if not layers:
        raise BrittleError(
            f"a {type(unet).__name__} has no layers for a slider; give a UNet2DConditionModel of diffusers"
        )
    return sorted(layers)


NAME = "slider"


class Adapter:
    """A LoRA adapter on a UNet: off, on, or on with one scale for each image of a batch."""

    def __init__(self, unet: Any) -> None:
        self.unet = unet
        self.factors: Any = None
        self.layers = [module for module in unet.modules() if hasattr(module, "lora_B") and NAME in module.lora_B]

    def off(self) -> None:
        """Disable the adapter: the UNet computes as without it, bit for bit."""
        self.unet.disable_lora()

    def on(self, scales: Sequence[float] | None = None) -> None:
        """Enable the adapter at scale 1, or at one scale per image; guidance, which doubles the batch, is handled."""
        torch = require("torch")
        device = self.unet.device
        self.factors = None if scales is None else torch.tensor(list(scales), dtype=torch.float32, device=device)
        self.unet.enable_lora()

    def parameters(self) -> list[Any]:
        """The adapter's weights, in the order of the layers."""
        return [layer[NAME].weight for module in self.layers for layer in (module.lora_A, module.lora_B)]

    def weights(self) -> dict[str, Any]:
        """Copies of the weights on the CPU, by name."""
        state = require("peft", "sliders").get_peft_model_state_dict(self.unet, adapter_name=NAME)
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def load(self, weights: Any) -> None:
        """Load the weights of a slider; raise unless all layers match."""
        expected = self.weights()
        if expected.keys() != weights.keys() or any(expected[k].shape != weights[k].shape for k in expected):
            mismatched = sorted(k for k in expected.keys() | weights.keys() if k not in expected or k not in weights)
            mismatched = mismatched or sorted(k for k in expected if expected[k].shape != weights[k].shape)
            raise BrittleError(
                f"the slider is for another network: {mismatched[0]} does not match ({len(mismatched)} layers in all)"
            )
        require("peft", "sliders").set_peft_model_state_dict(self.unet, dict(weights), adapter_name=NAME)

    def _scale_output(self, _module: Any, _inputs: Any, output: Any) -> Any:
        if self.factors is None:
            return output
        factors = self.factors.to(output).repeat(len(output) // len(self.factors))
        return output * factors.view(-1, *[1] * (output.ndim - 1))

    @contextmanager
    def scaling(self) -> Iterator[Adapter]:
        """Register the hooks that apply the scales of `on`, inside the block."""
        hooks = [module.lora_B[NAME].register_forward_hook(self._scale_output) for module in self.layers]
        try:
            yield self
        finally:
            for hook in hooks:
                hook.remove()


@contextmanager
def adapter_on(pipeline: Any, *, rank: int, alpha: float, layers: Sequence[str] | None = None) -> Iterator[Adapter]:
    """Add a new adapter in float32 to a pipeline's UNet inside the block; the UNet is restored afterwards."""
    unet = pipeline.unet
    if getattr(unet, "peft_config", None):
        raise BrittleError("the pipeline has adapters already; call pipeline.unload_lora_weights() first")
    torch, peft = require("torch"), require("peft", "sliders")
    trainable = {name: parameter.requires_grad for name, parameter in unet.named_parameters()}
    training = unet.training
    targets = list(slider_layers(unet) if layers is None else layers)
    unknown = sorted(set(targets) - {name for name, _ in unet.named_modules()})
    if unknown:
        raise BrittleError(
            f"the slider is for another network: it adapts {unknown[0]!r}, which this UNet does not have"
        )
    try:
        config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets)
        with torch.random.fork_rng(devices=[]):  # peft initialises weights at random, which are replaced at once
            unet.add_adapter(config, adapter_name=NAME)
        adapter = Adapter(unet.eval())
        for parameter in adapter.parameters():
            parameter.data = parameter.data.float()
        with adapter.scaling():
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
    """Add an adapter with the weights of a slider to a pipeline's UNet inside the block."""
    with adapter_on(pipeline, rank=slider.rank, alpha=slider.alpha, layers=slider.layers) as adapter:
        adapter.load(slider.weights)
        yield adapter


@contextmanager
def scheduled_scales(adapter: Adapter, scales: Sequence[float], *, active: float, timesteps: int) -> Iterator[None]:
    """Apply one scale per image of a batch, and switch the adapter off above timestep `active` × `timesteps`."""
    last_active = active * timesteps

    def switch(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        timestep = float(args[1] if len(args) > 1 else kwargs["timestep"])
        if active > 0 and timestep <= last_active and any(scales):
            adapter.on(scales)
        else:
            adapter.off()

    hook = adapter.unet.register_forward_pre_hook(switch, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


WEIGHTS = "pytorch_lora_weights.safetensors"
CARD = "slider.json"
CHECKPOINT = "training.pt"
"""The checkpoint in the folder of a slider whose training was interrupted."""


@dataclass(frozen=True, eq=False)
class Slider:
    """A trained LoRA adapter.

    Attributes:
        prompt: the class it was trained for, as a name or a token such as "<bald eagle-22>".
        shift: the shift as in prompts, such as "heavy snow".
        weights: "<layer>.lora_A.weight" (down) and "<layer>.lora_B.weight" (up) to tensors on the CPU.
        rank: of the adapter, which is multiplied by `alpha`/`rank` at scale 1.
        training: the training settings.
        losses: the loss of each training step.
    """

    prompt: str
    shift: str
    weights: Mapping[str, Any]
    rank: int = 4
    alpha: float = 1.0
    training: Mapping[str, Any] = field(default_factory=dict)
    losses: tuple[float, ...] = ()

    @property
    def layers(self) -> list[str]:
        """The paths of the adapted layers."""
        return sorted({name.rpartition(".lora_")[0] for name in self.weights})

    def save(self, folder: str | Path) -> Path:
        """Write it as a LoRA of diffusers and peft, with a small card `slider.json`.

        `pipeline.load_lora_weights(folder)` of diffusers reads it too; `load_slider` reads it back.
        """
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        lora = {"r": self.rank, "lora_alpha": self.alpha, "target_modules": self.layers, "peft_type": "LORA"}
        lora_metadata = json.dumps({f"unet.{key}": value for key, value in lora.items()}, indent=2, sort_keys=True)
        tensors = {f"unet.{name}": value.detach().cpu().contiguous() for name, value in self.weights.items()}
        with atomic_write(root / WEIGHTS) as part:
            metadata = {"format": "pt", "lora_adapter_metadata": lora_metadata}
            require("safetensors.torch").save_file(tensors, part, metadata=metadata)
        card = {
            "prompt": self.prompt,
            "shift": self.shift,
            "rank": self.rank,
            "alpha": self.alpha,
            "training": dict(self.training),
            "losses": list(self.losses),
        }
        with atomic_write(root / CARD) as part:
            part.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return root


PUBLISHED_PREFIX = "lora_unet_"
PUBLISHED_SUFFIXES = {".lora_down.weight": "lora_A", ".lora_up.weight": "lora_B"}
PUBLISHED_NAME = re.compile(r"(?P<shift>.+?)_class_(?P<number>\d+)(?:_alpha.*)?")
"""`cartoon_style_class_002_alpha1.0_rank4_noxattn`."""


def load_slider(folder: str | Path) -> Slider:
    """A slider that `Slider.save` wrote; its `slider.json` must be beside the weights."""
    root = Path(folder).expanduser()
    for name in (WEIGHTS, CARD):
        if not (root / name).is_file():
            raise FileNotFoundError(
                f"{str(folder)!r} is no slider, since it has no {name}; give the folder that Slider.save wrote, "
                "or read a published .pt file with load_published_slider"
            )
    try:
        card = read_json_file(root / CARD)
        prompt, shift, rank, alpha = (card[key] for key in ("prompt", "shift", "rank", "alpha"))
    except (ValueError, KeyError, TypeError) as error:
        raise BrittleError(f"the card {str(root / CARD)!r} is damaged: {error!r}") from error
    weights = {name.removeprefix("unet."): value for name, value in load_weights(root / WEIGHTS).items()}
    return Slider(prompt, shift, weights, rank, alpha, card.get("training", {}), tuple(card.get("losses", ())))


def load_published_slider(path: str | Path, pipeline: Any, *, prompt: str, shift: str | None = None) -> Slider:
    """A `.pt` adapter of CNS-Bench or of concept sliders, such as `cartoon_style_class_002_…_last.pt`.

    Layer names in such a file have no dots, so the pipeline it was trained on is needed to identify the layers. Only
    tensors are read: a file that holds code is refused.

    Args:
        path: the file; its layers are `lora_unet_<layer>.lora_down.weight`, `.lora_up.weight` and `.alpha`.
        pipeline: a Stable Diffusion 2 pipeline, for the published ones.
        prompt: the class the adapter is for, a token such as "<tiger shark-3>".
        shift: by default taken from the file name.
    """
    require("torch")
    file = Path(path)
    if shift is None:
        match = PUBLISHED_NAME.match(file.stem)
        if match is None:
            raise BrittleError(
                f"the name {file.name!r} does not say which shift it is, as heavy_snow_class_002 does; give shift="
            )
        shift = match["shift"].replace("_", " ")
    state = load_weights(file)
    paths = {PUBLISHED_PREFIX + path.replace(".", "_"): path for path in slider_layers(pipeline.unet)}
    weights: dict[str, Any] = {}
    alphas, ranks = set(), set()
    for name, value in state.items():
        layer, dot, suffix = name.partition(".")
        if layer not in paths:
            raise BrittleError(
                f"{str(path)!r} is no slider of this pipeline: it adapts {layer!r}, which is none of the UNet's "
                f"{len(paths)} layers; load the pipeline it was trained on"
            )
        if suffix == "alpha":
            alphas.add(float(value))
        elif dot + suffix in PUBLISHED_SUFFIXES:
            weights[f"{paths[layer]}.{PUBLISHED_SUFFIXES[dot + suffix]}.weight"] = value.float()
            ranks.add(int(value.shape[0] if suffix.startswith("lora_down") else value.shape[1]))
        else:
            raise BrittleError(f"{str(path)!r} holds {name!r}; a slider holds lora_down, lora_up and alpha only")
    if len(ranks) != 1 or len(alphas) > 1:
        raise BrittleError(
            f"{str(path)!r} mixes ranks {sorted(ranks)} or alphas {sorted(alphas)}; a slider has one each"
        )
    [rank] = ranks
    return Slider(prompt, shift, weights, rank, alphas.pop() if alphas else float(rank), {"file": file.name})


@dataclass(frozen=True)
class SliderFile:
    """A slider on disk: a folder written by `Slider.save`, or a published .pt file."""

    path: str
    shift: str
    number: int

    def load(self, pipeline: Any, prompt: str) -> Slider:
        """Load the slider; `prompt` is the class, for published files, which do not store it."""
        if Path(self.path).is_dir():
            return load_slider(self.path)
        return load_published_slider(self.path, pipeline, prompt=prompt, shift=self.shift.replace("_", " "))


def find_sliders(folder: str | Path, *, shifts: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[SliderFile]:
    """All sliders below a folder, sorted by shift and class; `shifts` and `numbers` (class numbers) select.

    `folder` may also be a single slider. Folders and files are named as the published ones, `heavy_snow_class_022…`.
    Of the published checkpoints of one adapter the last is used.
    """
    root = Path(folder).expanduser()
    if not root.exists():
        raise FileNotFoundError(f"there is no folder of sliders {str(folder)!r}; `brittle slide train` makes one")
    paths = [card.parent for card in sorted(root.rglob(CARD))]
    if root.suffix == ".pt":
        paths.append(root)
    else:
        paths += _last_checkpoints(sorted(path for path in root.rglob("*.pt") if path.name != CHECKPOINT))
    if not paths:
        raise BrittleError(f"{str(folder)!r} has no sliders: no folder with {CARD}, and no .pt file")
    sliders: dict[tuple[str, int], SliderFile] = {}
    for path in paths:
        slider = _slider_at(path)
        first = sliders.setdefault((slider.shift, slider.number), slider)
        if first is not slider:
            raise BrittleError(
                f"{first.path!r} and {slider.path!r} are both for class {slider.number} in {slider.shift}"
            )
    selected = [shift_folder(shift) for shift in shifts]
    available = sorted({shift for shift, _ in sliders})
    for shift in selected:
        if shift not in available:
            raise BrittleError(f"there is no slider for {shift!r} in {str(folder)!r}; {did_you_mean(shift, available)}")
    classes = sorted({number for _, number in sliders})
    for number in numbers:
        if number not in classes:
            numbers_text = ", ".join(map(str, classes))
            raise BrittleError(f"there is no slider for class {number} in {str(folder)!r}; there are: {numbers_text}")
    return [
        slider
        for (s, n), slider in sorted(sliders.items())
        if s in (selected or available) and n in (numbers or classes)
    ]


def _slider_at(path: Path) -> SliderFile:
    match = PUBLISHED_NAME.match(path.stem if path.suffix == ".pt" else path.resolve().name)
    if match is None:
        raise BrittleError(f"{str(path)!r} does not say for which shift and class it is, as heavy_snow_class_022 does")
    shift = match["shift"]
    if path.is_dir():
        try:
            shift = shift_folder(read_json_file(path / CARD)["shift"])
        except (ValueError, KeyError, TypeError) as error:
            raise BrittleError(f"the card {str(path / CARD)!r} is damaged: {error!r}") from error
    return SliderFile(str(path), shift, int(match["number"]))


def _last_checkpoints(files: list[Path]) -> list[Path]:
    """One file for each adapter: its `…_last.pt`, if it has one beside earlier checkpoints."""
    last = {_adapter_key(path) for path in files if path.stem.endswith("_last")}
    return [path for path in files if path.stem.endswith("_last") or _adapter_key(path) not in last]


def _adapter_key(path: Path) -> tuple[Path, tuple[str, ...] | None]:
    match = PUBLISHED_NAME.match(path.stem)
    return path.parent, None if match is None else match.groups()

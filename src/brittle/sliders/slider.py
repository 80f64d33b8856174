"""A slider: a LoRA adapter that turns one shift up for one class."""

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
from brittle.models.networks import load_weights
from brittle.sliders.pipeline import shift_folder

INSIDE = ("Attention", "ResnetBlock2D", "Downsample2D", "Upsample2D", "DownBlock2D", "UpBlock2D")
SKIPPED = ("attn2", "time_embed")
KINDS = ("Linear", "Conv2d")


def slider_layers(unet: Any) -> list[str]:
    """The paths of the layers that get an adapter: "noxattn, c3lier" of concept sliders, as in CNS-Bench.

    Linear and Conv2d inside self-attention, residual blocks and the layers that change resolution; neither
    cross-attention nor time embedding, so that what the prompt says and when stays as it was. The projection of the
    time embedding inside residual blocks (`time_emb_proj`) is not called time_embed, and has an adapter.
    """
    found = set()
    for path, block in unet.named_modules():
        if type(block).__name__ not in INSIDE:
            continue
        for below, layer in block.named_modules():
            whole = f"{path}.{below}" if path else below
            if type(layer).__name__ in KINDS and not any(word in whole for word in SKIPPED):
                found.add(whole)
    if not found:
        raise BrittleError(
            f"a {type(unet).__name__} has no layers a slider could turn; give a UNet2DConditionModel of diffusers"
        )
    return sorted(found)


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
        torch = require("torch")
        where = self.unet.device
        self.factors = None if scales is None else torch.tensor(list(scales), dtype=torch.float32, device=where)
        self.unet.enable_lora()

    def parameters(self) -> list[Any]:
        """The adapter's own numbers, in the order of the layers."""
        return [layer[NAME].weight for module in self.layers for layer in (module.lora_A, module.lora_B)]

    def weights(self) -> dict[str, Any]:
        """Copies of them on the CPU, by name."""
        state = require("peft", "sliders").get_peft_model_state_dict(self.unet, adapter_name=NAME)
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def load(self, weights: Any) -> None:
        """Take the numbers of a slider; every layer must fit."""
        wanted = self.weights()
        if wanted.keys() != weights.keys() or any(wanted[k].shape != weights[k].shape for k in wanted):
            odd = sorted(k for k in wanted.keys() | weights.keys() if k not in wanted or k not in weights)
            odd = odd or sorted(k for k in wanted if wanted[k].shape != weights[k].shape)
            raise BrittleError(f"the slider is for another network: {odd[0]} does not fit ({len(odd)} layers in all)")
        require("peft", "sliders").set_peft_model_state_dict(self.unet, dict(weights), adapter_name=NAME)

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
        raise BrittleError("the pipeline has adapters already; call pipeline.unload_lora_weights() first")
    torch, peft = require("torch"), require("peft", "sliders")
    trainable = {name: parameter.requires_grad for name, parameter in unet.named_parameters()}
    training = unet.training
    targets = list(slider_layers(unet) if layers is None else layers)
    unknown = sorted(set(targets) - {name for name, _ in unet.named_modules()})
    if unknown:
        raise BrittleError(f"the slider is for another network: it turns {unknown[0]!r}, which this UNet does not have")
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


WEIGHTS = "pytorch_lora_weights.safetensors"
CARD = "slider.json"
CHECKPOINT = "training.pt"
"""In the folder of a slider whose training was interrupted."""


@dataclass(frozen=True, eq=False)
class Slider:
    """A trained LoRA adapter.

    Attributes:
        prompt: the class it was trained for, in words or as a token such as "<bald eagle-22>".
        shift: the words of the shift.
        weights: "<layer>.lora_A.weight" (down) and "<layer>.lora_B.weight" (up) to tensors on the CPU.
        rank: of the adapter; `alpha`/`rank` is multiplied to it at scale 1.
        training: how it was trained.
        losses: of each training step.
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
        """The paths of the layers it turns."""
        return sorted({name.rpartition(".lora_")[0] for name in self.weights})

    def save(self, folder: str | Path) -> Path:
        """Write it as a LoRA of diffusers and peft, with a small card `slider.json`.

        `pipeline.load_lora_weights(folder)` of diffusers reads it too; `load_slider` reads it back.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        lora = {"r": self.rank, "lora_alpha": self.alpha, "target_modules": self.layers, "peft_type": "LORA"}
        packed = json.dumps({f"unet.{key}": value for key, value in lora.items()}, indent=2, sort_keys=True)
        tensors = {f"unet.{name}": value.detach().cpu().contiguous() for name, value in self.weights.items()}
        with atomic_write(place / WEIGHTS) as part:
            metadata = {"format": "pt", "lora_adapter_metadata": packed}
            require("safetensors.torch").save_file(tensors, part, metadata=metadata)
        card = {
            "prompt": self.prompt,
            "shift": self.shift,
            "rank": self.rank,
            "alpha": self.alpha,
            "training": dict(self.training),
            "losses": list(self.losses),
        }
        with atomic_write(place / CARD) as part:
            part.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return place


PREFIX = "lora_unet_"
ENDS = {".lora_down.weight": "lora_A", ".lora_up.weight": "lora_B"}
LOAD_SLIDER_NAME = re.compile(r"(?P<shift>.+?)_class_(?P<number>\d+)(?:_alpha.*)?")
"""`cartoon_style_class_002_alpha1.0_rank4_noxattn`."""


def load_slider(folder: str | Path) -> Slider:
    """A slider that `Slider.save` wrote; its `slider.json` must be beside the weights."""
    place = Path(folder).expanduser()
    for name in (WEIGHTS, CARD):
        if not (place / name).is_file():
            raise FileNotFoundError(
                f"{str(folder)!r} is no slider, since it has no {name}; give the folder that Slider.save wrote, "
                "or read a published .pt file with load_published_slider"
            )
    try:
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
        prompt, shift, rank, alpha = (card[key] for key in ("prompt", "shift", "rank", "alpha"))
    except (ValueError, KeyError, TypeError) as error:
        raise BrittleError(f"the card {str(place / CARD)!r} is damaged: {error!r}") from error
    weights = {name.removeprefix("unet."): value for name, value in load_weights(place / WEIGHTS).items()}
    return Slider(prompt, shift, weights, rank, alpha, card.get("training", {}), tuple(card.get("losses", ())))


def load_published_slider(path: str | Path, pipeline: Any, *, prompt: str, shift: str | None = None) -> Slider:
    """A `.pt` adapter of CNS-Bench or of concept sliders, such as `cartoon_style_class_002_…_last.pt`.

    Names in such a file have lost their dots, so the pipeline it was trained on is needed to find the layers again.
    Only numbers are read: a file that holds code is refused.

    Args:
        path: the file; its layers are `lora_unet_<layer>.lora_down.weight`, `.lora_up.weight` and `.alpha`.
        pipeline: a Stable Diffusion 2 pipeline, for the published ones.
        prompt: the class the adapter is for, a token such as "<tiger shark-3>".
        shift: by default what the file's name says.
    """
    require("torch")
    file = Path(path)
    if shift is None:
        found = LOAD_SLIDER_NAME.match(file.stem)
        if found is None:
            raise BrittleError(
                f"the name {file.name!r} does not say which shift it is, as heavy_snow_class_002 does; give shift="
            )
        shift = found["shift"].replace("_", " ")
    state = load_weights(file)
    paths = {PREFIX + path.replace(".", "_"): path for path in slider_layers(pipeline.unet)}
    weights: dict[str, Any] = {}
    alphas, ranks = set(), set()
    for name, value in state.items():
        bare, dot, end = name.partition(".")
        if bare not in paths:
            raise BrittleError(
                f"{str(path)!r} is no slider of this pipeline: it turns {bare!r}, which is none of the UNet's "
                f"{len(paths)} layers; load the pipeline it was trained on"
            )
        if end == "alpha":
            alphas.add(float(value))
        elif dot + end in ENDS:
            weights[f"{paths[bare]}.{ENDS[dot + end]}.weight"] = value.float()
            ranks.add(int(value.shape[0] if end.startswith("lora_down") else value.shape[1]))
        else:
            raise BrittleError(f"{str(path)!r} holds {name!r}; a slider holds lora_down, lora_up and alpha only")
    if len(ranks) != 1 or len(alphas) > 1:
        raise BrittleError(
            f"{str(path)!r} mixes ranks {sorted(ranks)} or alphas {sorted(alphas)}; a slider has one each"
        )
    [rank] = ranks
    return Slider(prompt, shift, weights, rank, alphas.pop() if alphas else float(rank), {"file": file.name})


@dataclass(frozen=True)
class FoundSlider:
    """A slider on disk: a folder of ours, or a published .pt file."""

    path: str
    shift: str
    number: int

    def load(self, pipeline: Any, prompt: str) -> Slider:
        """Its weights; `prompt` is the class for a published one, which does not say it."""
        if Path(self.path).is_dir():
            return load_slider(self.path)
        return load_published_slider(self.path, pipeline, prompt=prompt, shift=self.shift.replace("_", " "))


def find_sliders(folder: str | Path, *, shifts: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[FoundSlider]:
    """All sliders below a folder, or the one it is, by shift and class; `shifts` and `numbers` choose.

    Folders and files are called as the published ones, `heavy_snow_class_022…`. Of the published checkpoints of one
    adapter the last is taken.
    """
    root = Path(folder).expanduser()
    if not root.exists():
        raise FileNotFoundError(f"there is no folder of sliders {str(folder)!r}; `brittle slide train` makes one")
    paths = [card.parent for card in sorted(root.rglob(CARD))]
    paths += [root] if root.suffix == ".pt" else _last(sorted(p for p in root.rglob("*.pt") if p.name != CHECKPOINT))
    if not paths:
        raise BrittleError(f"{str(folder)!r} has no sliders: no folder with {CARD}, and no .pt file")
    found: dict[tuple[str, int], FoundSlider] = {}
    for path in paths:
        one = _named(path)
        before = found.setdefault((one.shift, one.number), one)
        if before is not one:
            raise BrittleError(f"{before.path!r} and {one.path!r} are both for class {one.number} in {one.shift}")
    wanted = [shift_folder(shift) for shift in shifts]
    there = sorted({shift for shift, _ in found})
    for shift in wanted:
        if shift not in there:
            raise BrittleError(f"there is no slider for {shift!r} in {str(folder)!r}; {did_you_mean(shift, there)}")
    classes = sorted({number for _, number in found})
    for number in numbers:
        if number not in classes:
            known = ", ".join(map(str, classes))
            raise BrittleError(f"there is no slider for class {number} in {str(folder)!r}; there are: {known}")
    return [one for (s, n), one in sorted(found.items()) if s in (wanted or there) and n in (numbers or classes)]


def _named(path: Path) -> FoundSlider:
    said = LOAD_SLIDER_NAME.match(path.stem if path.suffix == ".pt" else path.resolve().name)
    if said is None:
        raise BrittleError(f"{str(path)!r} does not say for which shift and class it is, as heavy_snow_class_022 does")
    shift = said["shift"]
    if path.is_dir():
        try:
            shift = shift_folder(json.loads((path / CARD).read_text(encoding="utf-8"))["shift"])
        except (ValueError, KeyError, TypeError) as error:
            raise BrittleError(f"the card {str(path / CARD)!r} is damaged: {error!r}") from error
    return FoundSlider(str(path), shift, int(said["number"]))


def _last(files: list[Path]) -> list[Path]:
    """One file for each adapter: its `…_last.pt`, if that is there beside earlier checkpoints."""
    last = {_adapter(path) for path in files if path.stem.endswith("_last")}
    return [path for path in files if path.stem.endswith("_last") or _adapter(path) not in last]


def _adapter(path: Path) -> tuple[Path, tuple[str, ...] | None]:
    said = LOAD_SLIDER_NAME.match(path.stem)
    return path.parent, None if said is None else said.groups()

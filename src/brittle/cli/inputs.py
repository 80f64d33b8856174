"""What verbs share: options of several verbs, and the models, data and training that they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import console
from brittle.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan
    from brittle.distance import FeatureImages
    from brittle.models import Model
    from brittle.training import Preset, TrainingConfig

MODEL = Annotated[
    list[str],
    option("--model"),
]
DATA = Annotated[str, option("--data")]
PARTIAL = Annotated[bool, option("--partial")]
PREPARE = Annotated[
    str | None,
    option("--prepare", show_default="what ImageNet and photographs of different sizes need"),
]
CLASSES = Annotated[
    Path | None,
    option("--classes", show_default="the sorted class folders"),
]
MEAN = Annotated[
    str | None,
    option("--mean"),
]
STD = Annotated[str | None, option("--std")]
SIZE = Annotated[str | None, option("--size")]
CROP = Annotated[str | None, option("--crop")]
THREADS = Annotated[
    int | None,
    option("--workers", show_default="by the number of processors"),
]
OVERWRITE = Annotated[
    bool,
    option("--overwrite"),
]
PRESET = Annotated[str | None, option("--preset")]
SETTINGS = Annotated[list[str] | None, option("--set")]
CACHE = Annotated[str | None, option("--cache", show_default="beside the output")]
ALL_CLASSES = Annotated[bool, option("--all-classes")]
DEVICE = Annotated[str, option("--device")]
IMAGES = Annotated[int, option("--feature-images")]
CORRUPTION_SAMPLES = Annotated[int, option("--corruption-samples")]
SEED = Annotated[int, option("--seed")]
BATCH = Annotated[int, option("--batch-size")]


def load_models(
    specs: list[str],
    *,
    device: str,
    bf16: bool,
    mean: str | None = None,
    std: str | None = None,
    size: str | None = None,
    crop: str | None = None,
) -> list[Model]:
    """The models of a command line, in its order; mean, std, size and crop are for those that take them."""
    from brittle.models import load_model
    from brittle.models.load import model_texts, option_value, options_of

    given = {"mean": mean, "std": std, "size": size, "crop": crop}
    shown = {option: option_value(option, text) for option, text in given.items() if text is not None}
    texts = list(dict.fromkeys(text for spec in specs for text in model_texts(spec)))
    loaded, taken = [], set()
    for text in texts:
        takes = {key: shown[key] for key in shown if key in options_of(text)}
        taken |= set(takes)
        loaded.append(load_model(text, device=device, bf16=bf16, **takes))
    for name in shown:
        if name not in taken:
            raise BrittleError(f"--{name} does not apply: {', '.join(texts)} prepare images in a way of their own")
    return loaded


def load_data(data: str, limit: int | None, prepare: str | None, options: dict[str, Any], *, tell: bool = True) -> Any:
    """The dataset of a command line; a limit takes images evenly, so that every class is there.

    Says what is done to photographs of different sizes, unless `tell` is false.
    """
    from brittle.datasets import load_dataset

    dataset = load_dataset(data, prepare=prepare, **options).limited(limit)
    if tell:
        _tell_prepared(dataset)
    return dataset


def fit_data(dataset: Any, models: list[Model], folder: Path) -> Any:
    """The dataset at the size and with the numbers of classes that the models have; says what is done to it."""
    from brittle.evaluation.inputs import fitted

    fits = fitted(dataset, models, folder)
    _tell_prepared(fits)
    if fits.classes != dataset.classes:
        console().print(f"[dim]{fits.name}: classes are numbered as the model's {len(fits.classes):,} outputs[/]")
    return fits


def _tell_prepared(dataset: Any) -> None:
    if dataset.prepared_in_words is not None:
        console().print(f"[dim]{dataset.name}: {dataset.prepared_in_words} (--prepare none leaves them)[/]")


def tell_models(models: list[Model]) -> None:
    """Say what each model does to images before its network sees them."""
    from brittle.models.preprocessing import preprocessing_in_words

    for model in models:
        console().print(f"[dim]{model.name}: {preprocessing_in_words(model)}[/]")


def follow(bar: Any, unit: str | None = None) -> Callable[[str, int, int | None], None]:
    """A callback that moves a progress bar; `unit` names what is counted, such as images, and shows their speed."""
    task = bar.add_task("starting", total=None, unit=unit)

    def progress(what: str, done: int, total: int | None) -> None:
        bar.update(task, description=f"{what:<24.24}", completed=done, total=total)

    return progress


@dataclass(frozen=True)
class TrainingData:
    """What a command line says of the images that networks are trained and tested on.

    Args:
        data: the text of --data.
        training: that of --train-data.
        prepare: that of --prepare; by default photographs are prepared as the preset does, or as ImageNet.
        partial: whether classes may be missing.
        all_classes: train a network for all 1000 classes of ImageNet, even if some have no folder.
        preset: the name of the preset that is trained by.
    """

    data: str
    training: str | None = None
    prepare: str | None = None
    partial: bool = False
    all_classes: bool = False
    preset: str | None = None

    @property
    def is_split(self) -> bool:
        """Whether the data are folders without a training part: some of their images are tested then."""
        from brittle.datasets import dataset_options, has_training_part

        return self.training is None and "train" in dataset_options(self.data) and not has_training_part(self.data)

    def trained(self, images: int | None, config: TrainingConfig, *, whole: bool = False) -> Dataset:
        """The training data: named, the training part of the data, or most of a folder without one (`whole`: all)."""
        from brittle.datasets import dataset_options, split

        if self.training is None and "train" not in dataset_options(self.data):
            raise BrittleError(f"{self.data!r} has no training part of its own; name one by --train-data")
        options = {} if self.training is not None or self.is_split else {"train": True}
        dataset = self._load(self.training or self.data, options)
        if self.is_split:
            part = "all images are trained on, so test on others" if whole else "of each class a fifth is tested"
            console().print(f"[dim]{dataset.name}: there are no folders train and val; {part}[/]")
            dataset = dataset if whole else split(dataset)[0]
        dataset = dataset.limited(images)
        if not dataset.classes:
            raise BrittleError(
                f"{dataset.name!r} does not name its classes, so a network cannot be made; give an .npz `classes`"
            )
        self._tell(dataset, config)
        return dataset if self.all_classes else dataset.present_classes()

    def tested(self, limit: int | None, trained: Dataset, config: TrainingConfig) -> Dataset:
        """The test data, prepared and numbered as the training data are."""
        from brittle.datasets import split
        from brittle.training import prepared_for_test

        dataset = self._load(self.data, {})
        dataset = (split(dataset)[1] if self.is_split else dataset).limited(limit)
        dataset = prepared_for_test(dataset, config)
        return dataset if dataset.classes == trained.classes else dataset.with_classes(trained.classes)

    def _load(self, text: str, options: dict[str, Any]) -> Dataset:
        options = {**options, "partial": True} if self.partial else options
        dataset: Dataset = load_data(text, None, self.prepare, options, tell=False)
        usual = None if self.preset is None else _preset(self.preset).prepare
        if self.prepare is None and usual is not None and dataset.preparation != "none":
            return dataset.prepared(usual)
        return dataset

    def _tell(self, dataset: Dataset, config: TrainingConfig) -> None:
        from brittle.datasets.images import in_words

        if config.crop_kind == "resized" and not dataset.in_memory:
            low, high = (f"{100 * share:g}" for share in config.area)
            part = f"a random part of each image, {low} to {high} % of it, is resized to {config.side}×{config.side}"
            console().print(f"[dim]{dataset.name}: {part}[/]")
        elif dataset.prepared_in_words is not None:
            _tell_prepared(dataset)
        elif self.prepare is None and dataset.preparation != "none":
            why = f", as {self.preset} does" if self.preset is not None and _preset(self.preset).prepare else ""
            console().print(f"[dim]{dataset.name}: images are {in_words(dataset.preparation)}{why} (--prepare)[/]")


def _preset(name: str) -> Preset:
    from brittle.training import preset

    return preset(name)


def settings_of(texts: Sequence[str] | None) -> dict[str, Any]:
    """The settings of a training that a command line gives by --set NAME=VALUE."""
    from brittle.training import read_settings

    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise BrittleError(f"--set takes NAME=VALUE, such as weight_decay=1e-4; got {text!r}")
        pairs[name.strip()] = value.strip()
    return read_settings(pairs)


def tell_deviations(config: TrainingConfig, preset: str) -> None:
    """Say in one line how a training differs from a published one."""
    from rich.text import Text

    from brittle.training import deviations_in_words

    console().print(Text(deviations_in_words(config, preset), "dim"))


def weights_of(start: str, network: str, training: Dataset) -> Path:
    """The file of weights, once it is sure that they fit the network."""
    from brittle.models import build_network
    from brittle.models.networks import DEMO_WEIGHTS, load_into

    scheme, _, which = start.partition(":")
    path = DEMO_WEIGHTS / f"{which}.safetensors" if scheme == "demo" and which else Path(start)
    load_into(build_network(network, len(training.classes)), path)
    return path


SHOWN = (
    *("flip", "crop", "crop_kind", "side", "area", "normalisation", "mean", "std"),
    *("precision", "channels_last"),
)
"""The settings that say how a network is shown images: fine-tuning keeps those of the first training."""


def plan_of(
    mode: str,
    network: str,
    epochs: int | None,
    standard_epochs: int | None,
    images: int | None,
    batch_size: int | None,
    seed: int,
    *,
    started: bool,
    rate: float | None = None,
    control: bool = True,
    preset: str | None = None,
    settings: dict[str, Any] | None = None,
    flag: str = "--train-limit",
) -> Plan:
    """The plan of a command line; `epochs` are those of the models that learn, `flag` is what says their `images`.

    `settings` are those of the standard model and of all models from scratch; fine-tuning takes those over that say how
    images are shown.
    """
    from dataclasses import replace

    from brittle.design import Plan
    from brittle.training import training_config

    usual = Plan(mode, network)
    standard = replace(usual.standard if preset is None else training_config(preset), **(settings or {}))
    tuning = replace(usual.tuning, **{name: getattr(standard, name) for name in SHOWN})
    batch_size = standard.batch_size if batch_size is None else batch_size
    if standard_epochs is not None and (mode == "scratch" or started):
        why = "is trained as all others, so use --epochs" if mode == "scratch" else "is there already by --start"
        raise BrittleError(f"--standard-epochs {standard_epochs} does not apply: the standard model {why}")
    if epochs is not None and mode == "batchnorm":
        raise BrittleError(f"batchnorm takes one pass over the images and no --epochs, got {epochs}; use {flag}")
    if images is not None and images < batch_size:
        raise BrittleError(f"{flag} {images} do not fill a batch of {batch_size}; lower --batch-size or take more")
    if mode != "finetune" and rate is not None:
        raise BrittleError(f"--lr {rate:g} is that of fine-tuning, and --mode is {mode}; leave it out")
    full = epochs if mode == "scratch" else standard_epochs
    short = epochs if mode == "finetune" else None
    shared: dict[str, Any] = {"batch_size": batch_size, "seed": seed}
    changed: dict[str, Any] = {} if rate is None else {"learning_rate": rate}
    return replace(
        usual,
        standard=replace(standard, epochs=standard.epochs if full is None else full, **shared),
        tuning=replace(tuning, epochs=tuning.epochs if short is None else short, **shared, **changed),
        tuning_images=images or usual.tuning_images,
        control=control,
    )


def check_counts(**counts: int | None) -> None:
    """Raise if a number of things that were asked for is below 1, before anything is computed."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BrittleError(f"--{name.replace('_', '-')} must be at least 1, got {count}")


def check_features(model: Any, images: FeatureImages) -> None:
    """Raise if a model shows no features, before anything is computed."""
    from brittle.distance.features import check_extractor

    check_extractor(model).features(images.pixels[:1])


def training_part(data: str, prepare: str | None = None) -> Any:
    """The training images of the data, or all of them if it does not know of any."""
    from brittle.datasets import has_training_part

    return load_data(data, None, prepare, {"train": True} if has_training_part(data) else {})


def save_table(table: Any, path: Path) -> Path:
    """A table as CSV, whole or not at all."""
    from brittle._io import atomic_write

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        table.write_csv(part)
    return path

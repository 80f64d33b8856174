"""Options that several verbs have, and the models, data and training plan of a command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import hint
from brittle.cli.options import Mode, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan
    from brittle.distance import Extractor, FeatureImages
    from brittle.models import Model
    from brittle.training import TrainingConfig

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
OVERWRITE = Annotated[
    bool,
    option("--overwrite"),
]
DEVICE = Annotated[str, option("--device")]
FEATURE_IMAGES = Annotated[int, option("--feature-images")]
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
    from brittle.models import load_models

    return load_models(specs, device=device, bf16=bf16, mean=mean, std=std, size=size, crop=crop)


def load_data(
    data: str,
    *,
    limit: int | None = None,
    prepare: str | None = None,
    partial: bool = False,
    classes: Path | None = None,
    quiet: bool = False,
) -> Dataset:
    """The dataset of a command line; a limit takes images evenly, so that every class is among them.

    Unless it is `quiet`, a line says how photographs of different sizes are prepared.
    """
    from brittle.datasets import load_dataset

    options: dict[str, Any] = {
        **({"partial": True} if partial else {}),
        **({} if classes is None else {"classes": classes}),
    }
    dataset = load_dataset(data, prepare=prepare, **options).limited(limit)
    if not quiet:
        tell_prepared(dataset)
    return dataset


def load_training(
    data: str, train_data: str | None = None, *, train_limit: int | None = None, **options: Any
) -> Dataset:
    """The training images of a command line, with a line on how they are prepared; `load_training_set` says which."""
    from brittle.datasets import load_training_set

    dataset = load_training_set(data, train_data, train_limit=train_limit, **options)
    tell_prepared(dataset)
    return dataset


def fit_data(dataset: Dataset, models: list[Model], folder: Path) -> tuple[Dataset, list[Model]]:
    """The dataset at the size and with the class numbers of the models, and the models with the names of its classes.

    A line says how it is prepared.
    """
    from brittle.evaluation import fitted, with_names_of

    fits = fitted(dataset, models, folder)
    tell_prepared(fits)
    if fits.classes != dataset.classes:
        hint(f"{fits.name}: classes are numbered as the model's {len(fits.classes):,} outputs", wrap=True)
    return fits, with_names_of(models, fits)


def tell_prepared(dataset: Dataset) -> None:
    """Print how photographs of different sizes are brought to one, if they are."""
    if dataset.preparation_text is not None:
        hint(f"{dataset.name}: {dataset.preparation_text} (--prepare none leaves them)", wrap=True)


def tell_models(models: list[Model]) -> None:
    """Print how each model prepares images for its network."""
    from brittle.models import preprocessing_text

    for model in models:
        hint(f"{model.name}: {preprocessing_text(model)}", wrap=True)


def follow(bar: Any, unit: str | None = None) -> Callable[[str, int, int | None], None]:
    """A callback that moves a progress bar; `unit` names what is counted, such as images, and shows their speed."""
    task = bar.add_task("starting", total=None, unit=unit)

    def progress(what: str, done: int, total: int | None) -> None:
        bar.update(task, description=f"{what:<24.24}", completed=done, total=total)

    return progress


@dataclass(frozen=True)
class TrainingData:
    """The options of verbs that train: which images, and by which settings."""

    preset: Annotated[str | None, option("--preset")] = None
    settings: Annotated[list[str] | None, option("--set")] = None
    train_data: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None
    prepare: PREPARE = None
    partial: PARTIAL = False
    all_classes: Annotated[bool, option("--all-classes")] = False
    cache: Annotated[str | None, option("--cache", show_default="beside the output")] = None

    def named_settings(self) -> dict[str, Any]:
        """The settings of --set NAME=VALUE."""
        from brittle.training import read_settings

        pairs = {}
        for text in self.settings or ():
            name, equals, value = text.partition("=")
            if not equals:
                raise BrittleError(f"--set takes NAME=VALUE, such as weight_decay=1e-4; got {text!r}")
            pairs[name.strip()] = value.strip()
        return read_settings(pairs)

    def training_part(
        self,
        data: str,
        config: TrainingConfig,
        *,
        train_limit: int | None = None,
        held_out: bool = True,
        keep: Path | None = None,
    ) -> Dataset:
        """The images to train with; lines say how they are prepared, and which are left out to test."""
        from brittle.datasets import is_split, load_training_set

        dataset = load_training_set(
            data,
            self.train_data,
            train_limit=train_limit,
            held_out=held_out,
            all_classes=self.all_classes,
            keep=keep,
            **self._preparation(),
        )
        if is_split(data, self.train_data):
            part = "of each class a fifth is tested" if held_out else "all images are trained on, so test on others"
            hint(f"{dataset.name}: there are no folders train and val; {part}", wrap=True)
        self._tell_images(dataset, config)
        if len(dataset) < config.batch_size:
            hint(
                f"{dataset.name}: its {len(dataset)} images are one batch, less than {config.batch_size} (--batch-size)"
            )
        return dataset

    def mixed_part(self, mix: str, training: Dataset) -> Dataset:
        """The images to mix with those of `training`."""
        from brittle.datasets import load_mixed_set

        return load_mixed_set(mix, training, prepare=self.prepare, partial=self.partial)

    def test_part(self, data: str, training: Dataset, config: TrainingConfig, *, limit: int | None) -> Dataset:
        """The images to test with, prepared and numbered as the training images are."""
        from brittle.datasets import load_test_set
        from brittle.training import prepared_for_test

        test = load_test_set(data, training, self.train_data, limit=limit, **self._preparation())
        return prepared_for_test(test, config)

    def _preparation(self) -> dict[str, Any]:
        from brittle.training import find_preset

        published = None if self.preset is None else find_preset(self.preset).prepare
        return {"prepare": self.prepare, "photo_prepare": published, "partial": self.partial}

    def _tell_images(self, dataset: Dataset, config: TrainingConfig) -> None:
        from brittle.datasets import preparation_text

        if config.crop_kind == "resized" and not dataset.in_memory:
            low, high = (f"{100 * share:g}" for share in config.area)
            part = f"a random part of each image, {low} to {high} % of it, is resized to {config.side}×{config.side}"
            hint(f"{dataset.name}: {part}", wrap=True)
        elif dataset.preparation_text is not None:
            tell_prepared(dataset)
        elif self.prepare is None and dataset.preparation != "none":
            reason = "" if self._preparation()["photo_prepare"] is None else f", as {self.preset} does"
            text = f"images are {preparation_text(dataset.preparation)}{reason}"
            hint(f"{dataset.name}: {text} (--prepare)", wrap=True)


def tell_deviations(config: TrainingConfig, preset: str) -> None:
    """Print in one line how a training differs from a published one."""
    from brittle.training import deviations_text

    hint(deviations_text(config, preset), wrap=True)


@dataclass(frozen=True)
class TrainingOptions(TrainingData):
    """The options of verbs that train many models: which network, on what, and how long."""

    mode: Annotated[Mode, option("--mode")] = "finetune"
    network: Annotated[str, option("--network")] = "small"
    start: Annotated[str | None, option("--start")] = None
    epochs: Annotated[int | None, option("--epochs", show_default="1 of fine-tuning, 40 from scratch")] = None
    standard_epochs: Annotated[int | None, option("--standard-epochs", show_default="40")] = None
    train_limit: Annotated[int | None, option("--train-limit", show_default="all, 10,000 of fine-tuning")] = None
    limit: Annotated[int | None, option("--limit", show_default="all")] = None
    batch_size: Annotated[int | None, option("--batch-size", show_default="128, or the preset's")] = None
    seed: Annotated[int, option("--seed")] = 0

    def plan(self, *, lr: float | None = None, control: bool = True, repeats: int = 1) -> Plan:
        """The plan of the trainings; a line says how that of the standard model differs from a published one."""
        from brittle.design.plans import training_plan

        plan = training_plan(
            mode=self.mode,
            network=self.network,
            epochs=self.epochs,
            standard_epochs=self.standard_epochs,
            train_limit=self.train_limit,
            batch_size=self.batch_size,
            lr=lr,
            control=control,
            repeats=repeats,
            seed=self.seed,
            start=self.start,
            preset=self.preset,
            settings=self.named_settings(),
        )
        if self.start is None or self.mode == "scratch":
            tell_deviations(plan.standard, self.preset or "noc")
        return plan

    def training_set(self, data: str, plan: Plan) -> Dataset:
        """The images to train with; fine-tuning takes its number of them from the plan."""
        limit = self.train_limit if self.mode == "scratch" else None
        return self.training_part(data, plan.standard, train_limit=limit)

    def test_set(self, data: str, training: Dataset, plan: Plan) -> Dataset:
        """The images to test with."""
        return self.test_part(data, training, plan.standard, limit=self.limit)

    def weights(self, training: Dataset) -> Path | None:
        """The file of weights to start from, once it is sure that they fit the network."""
        from brittle.models import find_weights

        return None if self.start is None else find_weights(self.start, self.network, len(training.classes))


def check_features(model: Any, images: FeatureImages) -> Extractor:
    """The model, or a BrittleError if it gives no features, before anything is computed."""
    from brittle.distance import check_extractor

    extractor = check_extractor(model)
    extractor.features(images.pixels[:1])
    return extractor


def save_table(table: Any, path: Path) -> Path:
    """Write a table as CSV, atomically."""
    from brittle._io import atomic_write

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        table.write_csv(part)
    return path

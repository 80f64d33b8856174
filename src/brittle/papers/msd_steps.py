"""What the experiments of the MSD paper share: its two scales, its networks, and the study over schemes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle import design, distance, training
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.models import TorchModel, find_weights
from brittle.papers.experiments import plain_name
from brittle.papers.msd_tables import places
from brittle.training import augmentation
from brittle.training.augmentation import AugMix, Scheme

if TYPE_CHECKING:
    from brittle.papers.experiments import Setting


@dataclass(frozen=True)
class Scale:
    """The numbers that a scale consists of; None takes all there are, or what the preset says.

    `mode` is "scratch" or "finetune". `start` are the weights of the standard network, which is trained by the preset,
    or for `standard_epochs`, without them; `tuning_images` and `lr` are those of fine-tuning. `second` is the network
    of a run that gives features alone, and `second_training` what differs in its training from the preset. `choices`
    are the numbers of augmentations of appendix A.
    """

    network: str
    preset: str
    mode: str
    start: str | None
    tuning_images: int
    test_images: int | None
    severities: tuple[float, ...] | None
    schemes: int
    samples: int
    corruption_samples: int
    feature_images: int
    shares: tuple[float, ...]
    choices: tuple[int, ...]
    seeds: int
    second: str
    second_images: int | None
    second_training: Mapping[str, Any]
    runs: int
    scanned_images: int | None
    scan_samples: int
    table_images: int | None
    epochs: int | None = None
    batch_size: int | None = None
    standard_epochs: int | None = None
    lr: float | None = None


SCALES = {
    "small": Scale(
        network="small:8",
        preset="cifar-small",
        mode="finetune",
        start=None,
        tuning_images=10_000,
        test_images=500,
        severities=(1.0, 3.0, 5.0),
        schemes=20,
        samples=400,
        corruption_samples=15,
        feature_images=50,
        shares=(1.0, 0.5, 0.1, 0.01, 0.0),
        choices=(5, 75),
        seeds=2,
        second="small:8",
        second_images=10_000,
        second_training={"epochs": 5},
        runs=2,
        scanned_images=150,
        scan_samples=5,
        table_images=100,
        standard_epochs=6,
        lr=0.02,
    ),
    "paper": Scale(
        network="wide-resnet-40-2",
        preset="msd-cifar",
        mode="scratch",
        start=None,
        tuning_images=50_000,
        test_images=None,
        severities=None,
        schemes=512,
        samples=100_000,
        corruption_samples=100,
        feature_images=100,
        shares=(1.0, 0.75, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001, 0.0),
        choices=(1, 10, 100, 1000, 10_000, 99_990),
        seeds=10,
        second="wide-resnet-40-2",
        second_images=None,
        second_training={},
        runs=10,
        scanned_images=None,
        scan_samples=100,
        table_images=None,
    ),
}
"""The scale of the paper (section 4.1, appendices A to D and the authors' code), and one for two cores."""

ALL_BASES = "+".join(augmentation.BASES)
REAL = {"Patch Gaussian": "patch-gaussian", "AutoAugment": "autoaugment-cifar10", "AugMix": ALL_BASES}
"""The augmentations of the literature in Figure 5, by their names in a study; AugMix is the scheme of all bases."""


def scale_of(setting: Setting) -> Scale:
    """The numbers of a setting's scale."""
    return SCALES[setting.scale]


def differs_at(setting: Setting, *more: str) -> list[str]:
    """What the small scale does otherwise than the paper, for every experiment that trains."""
    if not setting.small:
        return list(more)
    scale = scale_of(setting)
    return [
        f"a network of nine layers ({scale.network}) is trained for {scale.standard_epochs} epochs, and tuned with "
        f"each augmentation for one epoch over {scale.tuning_images:,} images; "
        "the paper trains WideResNet-40-2 from scratch for 100 epochs",
        *more,
    ]


def plan_of(setting: Setting, *, mode: str | None = None, seed: int | None = None, jsd: float = 0.0) -> design.Plan:
    """How networks are trained; `jsd` is the weight of AugMix's consistency loss."""
    scale = scale_of(setting)
    mode = mode or scale.mode
    plan = design.training_plan(
        mode=mode,
        network=scale.network,
        epochs=None if mode == "batchnorm" else scale.epochs,
        batch_size=scale.batch_size,
        train_limit=None if mode == "scratch" else scale.tuning_images,
        standard_epochs=None if mode == "scratch" or scale.start else scale.standard_epochs,
        lr=scale.lr if mode == "finetune" else None,
        start=scale.start,
        preset=scale.preset,
        seed=setting.seed if seed is None else seed,
    )
    return replace(plan, standard=replace(plan.standard, jsd=jsd), tuning=replace(plan.tuning, jsd=jsd))


def standard_model(setting: Setting) -> TorchModel:
    """The network with default augmentation only, through which all distances are measured."""
    scale = scale_of(setting)
    start = None if scale.start is None else find_weights(scale.start, scale.network, 10)
    data = setting.data("cifar10", train=True)
    models = design.scheme_models({}, data, setting.work("standard"), plan_of(setting), start=start, **places(setting))
    return models["standard"]


def standard_weights(setting: Setting) -> Path:
    """The file of that network."""
    standard_model(setting)
    return setting.work("standard") / "standard.safetensors"


def second_network(setting: Setting, number: int = 0) -> TorchModel:
    """Another network with default augmentation only, trained from other initial weights."""
    scale = scale_of(setting)
    config = training.training_config(scale.preset, seed=setting.seed + 1 + number, **scale.second_training)
    plan = design.Plan("scratch", scale.second, standard=config)
    data = setting.data("cifar10", train=True, limit=scale.second_images)
    models = design.scheme_models({}, data, setting.work(f"second-{number}"), plan, **places(setting))
    model = models["standard"]
    model.name = f"second network {number}"
    return model


def corruptions_of(setting: Setting, benchmark: str = "cifar10-c") -> Benchmark:
    """A benchmark at the severities of the scale; all five of C-bar's, which are other numbers."""
    whole, severities = load_benchmark(benchmark), scale_of(setting).severities
    if severities is None:
        return whole
    return whole.cut(severities=severities) if benchmark == "cifar10-c" else whole


def images_of(setting: Setting) -> distance.FeatureImages:
    """D_S: the training images whose features represent a transform."""
    count = scale_of(setting).feature_images
    return distance.feature_images(setting.data("cifar10", train=True), count, seed=setting.seed)


def powerset_schemes(setting: Setting) -> dict[str, AugMix]:
    """The augmentation powerset, or so many of it: none, all of a kind, all, each base alone (Figure 1), and others."""
    whole = augmentation.some_schemes(512, seed=setting.seed)  # in this order, but for the single bases
    first = [*list(whole)[:4], *augmentation.BASES]
    names = list(dict.fromkeys([*first, *whole]))[: scale_of(setting).schemes]
    return {name: whole[name] for name in names}


@dataclass(frozen=True)
class PowersetStudy:
    """Figure 3's study: MSD, MMD and error of every scheme, with the names of the powerset's."""

    points: pl.DataFrame
    powerset: tuple[str, ...]
    folder: Path

    @property
    def cloud(self) -> pl.DataFrame:
        """The points of the powerset alone."""
        return self.points.filter(pl.col("scheme").is_in(self.powerset))

    @property
    def correlations(self) -> pl.DataFrame:
        """Spearman's correlation of distance and error over the powerset, for each corruption."""
        return design.scheme_correlations(self.cloud)


def powerset_study(setting: Setting, mode: str | None = None) -> PowersetStudy:
    """Train a network with each scheme of the powerset and of the literature, test all, and measure all distances."""
    scale, plan = scale_of(setting), plan_of(setting, mode=mode)
    powerset = powerset_schemes(setting)
    real = augmentation.schemes_by_name([name for name in REAL.values() if name != ALL_BASES])
    folder = setting.work(f"study-{plan.mode}")
    study = design.distance_study(
        {**powerset, **real},
        setting.data("cifar10", train=True),
        setting.data("cifar10", limit=scale.test_images),
        corruptions_of(setting),
        folder,
        plan,
        start=standard_weights(setting),
        images=images_of(setting),
        samples=scale.samples,
        corruption_samples=scale.corruption_samples,
        features=setting.work("features"),
        seed=setting.seed,
        **places(setting),
    )
    return PowersetStudy(study.points, tuple(powerset), folder)


def scheme_distances(
    setting: Setting, schemes: Mapping[str, Scheme], model: Any, benchmark: Benchmark
) -> tuple[dict[str, distance.TransformFeatures], distance.CorruptionFeatures]:
    """Features of schemes and of a benchmark through a network, in the folder that all experiments share."""
    scale, images, folder = scale_of(setting), images_of(setting), setting.work("features")
    features = design.scheme_features(
        schemes, model, images, folder, samples=scale.samples, seed=setting.seed, progress=setting.progress
    )
    cells = distance.corruption_features(model, images, benchmark, samples=scale.corruption_samples, folder=folder)
    return features, cells


def figure_1_schemes() -> list[str]:
    """Each base alone, and all of a kind, by their names in a study."""
    return [*augmentation.BASES, "+".join(augmentation.GEOMETRIC), "+".join(augmentation.COLOUR)]


def study_differs(setting: Setting) -> list[str]:
    """What a study at small scale leaves out."""
    scale = scale_of(setting)
    if not setting.small:
        return []
    severities = ", ".join(f"{severity:g}" for severity in scale.severities or ())
    return [
        f"{scale.schemes} of the 512 schemes, {scale.samples} samples of each (the paper: 100,000), "
        f"{scale.corruption_samples} of each corruption (100), {scale.feature_images} images (100)",
        f"severities {severities}, {scale.test_images} test images",
    ]


def no_augmentation() -> AugMix:
    """The scheme that changes nothing."""
    return AugMix(())


def containing(schemes: Sequence[str], base: str) -> list[str]:
    """The schemes of the powerset that contain a base."""
    return [name for name in schemes if base in name.split("+")]


def with_and_without(cloud: pl.DataFrame, base: str, corruption: str) -> dict[str, Any]:
    """The mean MSD to a corruption of schemes with a base and without it; the scheme of no base is left out."""
    rows = cloud.filter(pl.col("corruption").str.ends_with(corruption) & (pl.col("scheme") != "none"))
    within = pl.col("scheme").is_in(containing(cloud["scheme"].unique().to_list(), base))
    mine, others = rows.filter(within), rows.filter(~within)
    means = [float(np.mean(part["msd"].to_numpy())) for part in (mine, others)]
    return {
        "base": base,
        "corruption": corruption,
        "MSD with it": means[0],
        "MSD without it": means[1],
        "MSD lowered by (%)": 100 * (1 - means[0] / means[1]),
        "error with it": 100 * float(np.mean(mine["error"].to_numpy())),
        "error without it": 100 * float(np.mean(others["error"].to_numpy())),
    }


SIMILAR = {
    **dict.fromkeys(("gaussian_noise", "shot_noise", "impulse_noise", "glass_blur"), "Patch Gaussian"),
    **dict.fromkeys(("contrast", "defocus_blur"), "AutoAugment"),
}
"""The similarities that section 4.2 names: by the corruption, the augmentation with low MSD to it."""


def place_in_cloud(study: PowersetStudy, corruption: str) -> dict[str, Any]:
    """The MSD and error of the real augmentations, and how many of the powerset are farther, and err more (%)."""
    rows = study.points.filter(pl.col("corruption") == corruption)
    cloud = rows.filter(pl.col("scheme").is_in(study.powerset))
    found: dict[str, Any] = {"corruption": plain_name(corruption)}
    for title, name in REAL.items():
        mine = rows.filter(pl.col("scheme") == name).row(0, named=True)
        found |= {
            f"{title}: MSD": mine["msd"],
            f"{title}: nearer than": 100 * float(np.mean(cloud["msd"].to_numpy() > mine["msd"])),
            f"{title}: error": 100 * mine["error"],
            f"{title}: better than": 100 * float(np.mean(cloud["error"].to_numpy() > mine["error"])),
        }
    return found


def other_extractor(setting: Setting) -> TorchModel:
    """Another architecture for features: VGG-16 at the paper's scale, the second network at small scale."""
    if setting.small:
        return second_network(setting)
    config = training.training_config(scale_of(setting).preset, seed=setting.seed, learning_rate=0.05)
    plan = design.Plan("scratch", "timm:vgg16_bn", standard=config)
    data = setting.data("cifar10", train=True)
    return design.scheme_models({}, data, setting.work("vgg"), plan, **places(setting))["standard"]


def msd_table(setting: Setting, schemes: Mapping[str, Scheme], model: Any, benchmark: Benchmark) -> FloatArray:
    """MSD through a network, schemes × corruptions."""
    features, cells = scheme_distances(setting, schemes, model, benchmark)
    return np.stack([cells.over_levels(distance.msd_to(rows, cells.means)) for rows in features.values()])


def distance_noise(setting: Setting, benchmark: Benchmark, *, repeats: int = 4, augmentations: int = 20) -> float:
    """The standard deviation of a distance over other images and draws, as a share of its mean, over all pairs.

    A distance is that of one augmentation to the mean of a corruption, at the middle severity.
    """
    scale, model = scale_of(setting), standard_model(setting)
    middle = load_benchmark("cifar10-c").cut([entry.id for entry in benchmark.entries], severities=[3])
    tables = []
    for repeat in range(repeats):
        data, seed = setting.data("cifar10", train=True), setting.seed + 100 + repeat
        images = distance.feature_images(data, scale.feature_images, seed=seed)
        options: dict[str, Any] = {"folder": setting.work("features")}
        rows = distance.transform_features(model, images, AugMix(), samples=augmentations, seed=setting.seed, **options)
        other = replace(middle, seed=middle.seed + repeat)
        cells = distance.corruption_features(model, images, other, samples=scale.corruption_samples, **options)
        tables.append(distance.sample_distances(rows, cells.means))
    drawn = np.stack(tables)
    return float((drawn.std(0, ddof=1) / drawn.mean(0)).mean())


def pairs_of_networks(setting: Setting) -> tuple[list[TorchModel], list[TorchModel]]:
    """For each run of C-bar's construction one network for errors, and one for features."""
    scale = scale_of(setting)
    if scale.mode == "finetune":
        return [standard_model(setting)], [second_network(setting)]
    networks = [second_network(setting, number) for number in range(2 * scale.runs)]
    return networks[: scale.runs], networks[scale.runs :]

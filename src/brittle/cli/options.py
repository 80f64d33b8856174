"""Every option of the command line, in one table: a name has one meaning, whichever verb takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import typer

Engine = Literal["local", "ray"]
Mode = Literal["finetune", "scratch", "batchnorm"]
OverlapForm = Literal["ratio", "accuracy"]
OverlapAveraging = Literal["ratios", "gains"]
ClusteringMethod = Literal["k-means", "hierarchical"]
Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "step"]
ImageFormat = Literal["jpeg", "png"]
Download = Literal["archive", "npm", "debian"]
Dtype = Literal["auto", "float32", "bfloat16"]
Scheduler = Literal["ddim", "unipc", "dpm++", "euler"]
CurvesBy = Literal["shift", "name", "all"]
TableFormat = Literal["table", "csv", "markdown", "latex"]
CorruptionMeasure = Literal["error", "CE", "relative-CE", "accuracy", "R"]
RankBy = Literal["severity", "corruption"]
PaperScale = Literal["small", "paper"]
Prompts = Literal["words", "paper", "code"]
PartialLabels = Literal["class", "not class", "skip"]
UnlabelledAs = Literal["class", "not class"]
MergeRule = Literal["agree", "majority", "any-ooc"]


class Meaning(NamedTuple):
    """What an option means: its help, a short name, what stands for its value in the help, and its choices."""

    help: str
    short: str = ""
    metavar: str = ""
    choices: Any = None

    @property
    def text(self) -> str:
        """The help, with the choices that there are."""
        return self.help + (f" One of {', '.join(get_args(self.choices))}." if self.choices else "")


OPTIONS = {
    # what is tested
    "--model": Meaning(
        "Model: `demo:standard`, `timm:NAME`, `transformers:FOLDER`, `clip:FOLDER`, `FILE.onnx`, `FILE.pt2`, "
        "`FILE.keras`, `FILE.py:FUNCTION` …, with options "
        "such as `timm:resnet50,checkpoint=FILE`; repeatable in verbs that compare several.",
        "-m",
        "MODEL",
    ),
    "--data": Meaning(
        "Images with labels: `demo`, a folder of class folders, an .npz file, `cifar10:FOLDER` …; verbs that train "
        "take its training part.",
        "-d",
        "DATA",
    ),
    "--benchmark": Meaning("Benchmark: a recipe's name or its .toml file.", "-b", "RECIPE"),
    "--corruption": Meaning("Corruptions by name, repeated or with commas.", "-c", "NAME"),
    "--severity": Meaning("Severities, real numbers from 0, repeated or with commas.", "-s", "S"),
    "--output": Meaning("Where the result is written.", "-o"),
    "--limit": Meaning("Number of test images to use, evenly over the data.", metavar="N"),
    "--partial": Meaning("Accept a data set with some of its classes missing."),
    "--prepare": Meaning(
        "Preparation of images: `imagenet`, short side to 256 px and central 224×224; `342,299`, other sizes; "
        "`224x224`, resize to that; or `none`."
    ),
    "--classes": Meaning(
        "Text file with one class name or WordNet id per line, in the order of the model's outputs.", metavar="FILE"
    ),
    "--mean": Meaning("Mean of each channel for normalisation, such as `0.5,0.5,0.5`."),
    "--std": Meaning("Standard deviation of each channel for normalisation."),
    "--size": Meaning("Side in pixels that models resize images to; with --crop, the shorter side."),
    "--crop": Meaning("Side in pixels of the central crop that models get."),
    "--clean": Meaning("Clean images that belong to published corrupted ones, or of the classes of generated ones."),
    "--keep": Meaning(
        "Use only these samples of cns-bench: kept.csv of `brittle slide filter` or `label`.", metavar="FILE"
    ),
    "--textures": Meaning("Frost textures, such as the published photographs.", metavar="FOLDER"),
    "--model-name": Meaning("Name of the model in the results."),
    # how it is computed
    "--seed": Meaning("Seed of all random draws."),
    "--batch-size": Meaning("Number of images per batch of a model."),
    "--device": Meaning("Device of the networks: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`, the best one."),
    "--bf16": Meaning("Compute in bfloat16: half the memory, fast on devices that support it."),
    "--engine": Meaning(
        "Run on this machine, or distribute the work over a Ray cluster.", metavar="ENGINE", choices=Engine
    ),
    "--address": Meaning("Address of the Ray cluster."),
    "--overwrite": Meaning("Remove the results of an earlier call from the output folder, and start again."),
    "--beyond": Meaning(
        "Search above the strongest published level too, if a corruption's parameters can be extended."
    ),
    "--tolerance": Meaning("Precision of the severity that is found."),
    "--search-step": Meaning("Step of severity of the upward search before bisection."),
    "--difficulty": Meaning(
        "Difficulty of sequences, 1 to 3: distance of the compared frames; noise also becomes stronger."
    ),
    "--draws": Meaning("Number of random draws; the table shows their median and range."),
    # what comes out
    "--report": Meaning("Also write the report to report.html in the run's folder."),
    "--figure": Meaning("File of the figure: PDF, PNG or SVG, by its ending.", metavar="FILE"),
    "--picture": Meaning("File of the picture of images, such as a .png.", metavar="FILE"),
    "--json": Meaning("Print JSON instead of tables."),
    "--log": Meaning(
        "Log accuracies and scores to `tensorboard:FOLDER`, `mlflow`, `mlflow:URI` or `wandb:PROJECT`; repeatable.",
        metavar="LOGGER",
    ),
    "--title": Meaning("Title of the page."),
    "--reference": Meaning(
        "Reference whose errors divide CE and mCE: a model of the runs, the folder of another run on the same images "
        "(or FOLDER:MODEL), or a published baseline such as `alexnet`; of slides, the model "
        "whose errors divide rCE.",
        metavar="MODEL",
    ),
    "--no-published": Meaning("Leave out published results."),
    "--per-corruption": Meaning("Table of every model under every corruption, for a paper."),
    "--measure": Meaning("Measure in the table of every corruption.", metavar="MEASURE", choices=CorruptionMeasure),
    "--ranks": Meaning("Table of ranks, with Kendall's τ between severities and between benchmarks."),
    "--calibration": Meaning("Table of calibration and selection: ECE, Brier, NLL, AURC and more."),
    "--rank-by": Meaning("Rank models at each severity or under each corruption.", metavar="WHAT", choices=RankBy),
    "--table": Meaning("Bundled published table, with or without runs; `list` names all; repeatable.", metavar="NAME"),
    "--format": Meaning("Format of tables for a paper.", metavar="FORMAT", choices=TableFormat),
    "--no-intervals": Meaning("Leave 95 % intervals out of tables."),
    "--rules": Meaning("File of the rules that are checked.", metavar="FILE.toml"),
    "--against": Meaning(
        "Another run on the same images: bounds then apply to paired differences to it.", metavar="RUN"
    ),
    "--strict": Meaning("Fail also if a rule is undecided."),
    "--junit": Meaning("File of the outcomes as JUnit XML.", metavar="FILE"),
    "--markdown": Meaning(
        "File of a summary in Markdown; it is also appended to $GITHUB_STEP_SUMMARY if that is set.", metavar="FILE"
    ),
    # publishing
    "--dataset-id": Meaning(
        "Repository of the images on the Hugging Face Hub, such as uoft-cs/cifar10.", metavar="OWNER/NAME"
    ),
    "--task-id": Meaning("Task in the leaderboard of that repository.", metavar="TASK"),
    "--publish-as": Meaning("Name under which the model is published.", metavar="NAME"),
    "--source-url": Meaning("Web address of the published evaluation.", metavar="URL"),
    "--paper": Meaning("File with the link, title, authors, venue and architecture of a paper.", metavar="FILE.toml"),
    "--fix": Meaning("Rename damaged files, and remove half-written files of killed processes."),
    "--quick": Meaning("Use only 100 images."),
    # lists and pictures of corruptions
    "--source": Meaning("Only the corruptions of one published set."),
    "--family": Meaning("Only the corruptions of one family: noise, blur, weather, digital …", "-f"),
    "--image-size": Meaning("Side in pixels of the images that are corrupted or generated."),
    "--thumb": Meaning("Side in pixels of each displayed picture."),
    "--image-format": Meaning(
        "Format of written images: JPEG of quality 85, as published, or PNG, the exact pixels.",
        metavar="FORMAT",
        choices=ImageFormat,
    ),
    "--array-labels": Meaning("Labels of the images of an .npy array, another .npy file.", metavar="FILE"),
    "--sample": Meaning(
        "Sample id of one picture, which determines its random numbers; with a data set, the image to corrupt.",
        metavar="ID",
    ),
    "--data-range": Meaning(
        "Values of black and white of a 16-bit or float image, as LOW,HIGH, or only that of white, such as 4095.",
        metavar="VALUES",
    ),
    "--bands": Meaning("Treat all channels of an image as bands of data, not as RGB or RGBA."),
    "--mirror": Meaning("Source of the download.", metavar="PLACE", choices=Download),
    # the explorer
    "--port": Meaning("Port that the server listens on.", metavar="PORT"),
    "--host": Meaning("Address that the server listens on; by default only this machine can reach it."),
    "--no-browser": Meaning("Print the address, and do not open a browser."),
    # designing benchmarks
    "--candidates": Meaning(
        "Candidate corruptions: a recipe, or names with commas, each with the range of NOC's or Syn2Nat's candidates."
    ),
    "--levels-from": Meaning("Recipe that gives the corruptions their levels, options and seed.", metavar="RECIPE"),
    "--away-from": Meaning("Recipe to be far from, with five levels each.", "", "RECIPE"),
    "--members": Meaning("Number of corruptions in the benchmark; an even number up to 10."),
    "--threshold": Meaning("Overlap score from which two corruptions count as overlapping.", "-t"),
    "--sweep": Meaning("Other thresholds to try, with commas."),
    "--sweep-table": Meaning("Table of the sizes and members at each threshold.", metavar="FILE.csv"),
    "--of": Meaning("Corruptions that should be covered: a recipe, or names with commas."),
    "--clusters": Meaning("Number of categories, instead of a correlation."),
    "--min-correlation": Meaning("Split until the vectors of a category correlate on average more than this."),
    "--method": Meaning(
        "Clustering method: k-means as in Syn2Nat, or hierarchical.", metavar="METHOD", choices=ClusteringMethod
    ),
    "--categories": Meaning("Categories: a file of `brittle design categories`, or `syn2nat`, the published ones."),
    "--nk": Meaning("Benchmarks with K corruptions of each of N categories; repeatable.", metavar="N,K"),
    "--per-category": Meaning("Number of corruptions from each category.", "-k"),
    "--represented": Meaning("Number of categories that are represented.", "-n"),
    "--count": Meaning("Number of different benchmarks to draw."),
    "--substitutions": Meaning(
        "Also test less balanced benchmarks, after 1 to N substitutions, grouped by imbalance.",
        metavar="N",
    ),
    "--natural": Meaning(
        "Run of the same models on a natural shift, with a name for it; after a comma a run on clean images of "
        "the same classes, such as imagenet-a-clean; repeatable.",
        "",
        "NAME=RUN",
    ),
    "--natural-csv": Meaning("Accuracy drops on natural shifts: a .csv file with columns model, SHIFT, …", "", "FILE"),
    "--robustness": Meaning("Shares of clean accuracy at the two ends of the range, with a comma."),
    "--name": Meaning("Name of the recipe."),
    "--form": Meaning(
        "Overlap from ratios of accuracies, as in the papers, or from accuracies, as in Syn2Nat's code.",
        metavar="FORM",
        choices=OverlapForm,
    ),
    "--averaging": Meaning(
        "Average the ratios of both directions, as in the papers, or the gains before the division.",
        metavar="OVER",
        choices=OverlapAveraging,
    ),
    "--no-control": Meaning("Do not train the standard model further with clean images, as a control."),
    "--from-table": Meaning("Use a published table instead of training: noc-table7 or noc-table8."),
    "--repeats": Meaning("Number of repetitions with different images and random numbers, which are averaged."),
    "--datasets": Meaning("Number of sampled data sets in each run."),
    "--error-tolerance": Meaning("Relative tolerance around the target error."),
    # training and augmentations
    "--augmentation": Meaning(
        "Augmentation: `none`, `augmix`, `augmix-imagenet`, `autoaugment-cifar10`, `patch-gaussian`, "
        "`corruptions:RECIPE`, which corrupts half of the images, `FILE.py:FUNCTION` …",
        "-a",
    ),
    "--network": Meaning(
        "Network to train: `small`, `small:WIDTH`, `wide-resnet-40-2`, `timm:NAME`, `torchvision:NAME` or "
        "`FILE.py:FUNCTION`."
    ),
    "--preset": Meaning(
        "Published training settings: `noc`, `msd-cifar`, `augmix-imagenet` or `cifar-small`; differences by other "
        "options are printed.",
        metavar="NAME",
    ),
    "--set": Meaning(
        "Setting of the training by its name in TrainingConfig, such as `weight_decay=1e-4` or `precision=bf16`; "
        "repeatable.",
        metavar="NAME=VALUE",
    ),
    "--cache": Meaning(
        "Folder for decoded photographs, if they are too many for memory; `none` decodes them in every epoch.",
        metavar="FOLDER",
    ),
    "--all-classes": Meaning("Train for all 1000 classes of ImageNet, even if some have no folder."),
    "--start": Meaning(
        "Weights to start from: a file, `demo:standard`, or, for one training, the published weights of a network "
        "of timm or torchvision, `timm:resnet50`."
    ),
    "--mix": Meaning(
        "Other images of the same classes to mix in, such as real images for generated ones.",
        metavar="DATA",
    ),
    "--mix-share": Meaning("Share of the mixed images in each epoch, between 0 and 1."),
    "--train-data": Meaning("Training images, instead of the training part of the data."),
    "--train-limit": Meaning("Number of training images."),
    "--epochs": Meaning("Number of training epochs of each model."),
    "--standard-epochs": Meaning("Number of training epochs of the standard model."),
    "--lr": Meaning("Learning rate of the training."),
    "--optimizer": Meaning("Optimizer of the training.", metavar="NAME", choices=Optimizer),
    "--schedule": Meaning("Schedule of the learning rate; `step` is that of NOC.", metavar="NAME", choices=Schedule),
    "--jsd": Meaning("Weight of AugMix's consistency loss, 12 as published; 0 is none."),
    "--ema": Meaning("Decay of the moving average of the weights; 0 is none."),
    "--mode": Meaning(
        "Fine-tune the standard model, train from scratch, or adapt batch normalisation alone.",
        metavar="MODE",
        choices=Mode,
    ),
    "--feature-images": Meaning("Number of images whose features represent a transform."),
    "--samples": Meaning("Number of sampled augmentations of each scheme; the paper: 100,000."),
    "--corruption-samples": Meaning("Number of sampled corruptions of each level; the paper: 100."),
    "--feature-model": Meaning("Network for features; the model at the same position gives the errors; repeatable."),
    "--draw-per-image": Meaning(
        "Draw a separate corruption for each feature image, as in ImageNet-C-bar: 10,000 images × 1 draw."
    ),
    "--msd-precision": Meaning("Stop sampling when every mean MSD is known to ± this share, such as 0.05."),
    "--results": Meaning(
        "Run to score with and without the leaked corruptions, or on the labelled images.", metavar="RUN"
    ),
    "--neutral": Meaning("Reference augmentations that are known not to leak."),
    "--margin": Meaning(
        "A corruption is leaked if its distance is below this share of the distance of every reference augmentation."
    ),
    "--alpha": Meaning("Family-wise false-positive rate of the test."),
    # papers
    "--list": Meaning(
        "List the tables and figures of the papers, with their requirements, times and whether they are done."
    ),
    "--scale": Meaning(
        "`small`: minutes on two cores; `paper`: the paper's data, networks and schedule.",
        metavar="SCALE",
        choices=PaperScale,
    ),
    "--path": Meaning("Path of a data set, such as imagenet=/data/imagenet; repeatable.", metavar="NAME=PATH"),
    # generated shifts
    "--class": Meaning(
        "Classes by number or name, repeated or with commas; or `all`, or `random:100`, drawn by --seed."
    ),
    "--shift": Meaning("Shifts by their published names, repeated or with commas; or `all`."),
    "--any-shift": Meaning("Accept shifts in any words, not only the published ones."),
    "--tokens": Meaning("Trained class tokens: a folder such as encoder_root_imagenet.", metavar="FOLDER"),
    "--steps": Meaning("Number of training steps."),
    "--denoising-steps": Meaning("Number of denoising steps."),
    "--strength": Meaning("Strength η: multiple of the difference between the prompts that the slider learns."),
    "--lora-rank": Meaning("Rank of the LoRA adapter."),
    "--lora-alpha": Meaning("Alpha of the LoRA adapter; alpha / rank scales it."),
    "--dtype": Meaning(
        "Number format of the diffusion model; `auto`: bfloat16 on GPUs that support it.",
        metavar="DTYPE",
        choices=Dtype,
    ),
    "--scales": Meaning("Scales of the shift, with commas; 0 must be one of them."),
    "--seeds": Meaning("Trajectories of each slider: their number, from seed 1 on, or their seeds: 3,7,10-12."),
    "--two-prompts": Meaning("Baseline without sliders: the shift in the prompt, at scale 1 only."),
    "--baseline": Meaning("Images of --two-prompts, to compare with those of sliders.", metavar="SLIDES"),
    "--active": Meaning("Share of the noise schedule, at its end, in which the slider is active."),
    "--guidance": Meaning("Strength of classifier-free guidance; 1 is none."),
    "--scheduler": Meaning("Scheduler of the denoising.", metavar="NAME", choices=Scheduler),
    "--output-size": Meaning("Side in pixels of written images."),
    "--clip": Meaning("CLIP model of transformers or open_clip, or `tiny`, the bundled one.", metavar="FOLDER"),
    "--dino": Meaning("Image encoder of transformers, or `tiny`, the bundled one.", metavar="FOLDER"),
    "--by": Meaning(
        "Draw one curve for each shift, for each class name, or for all images.", metavar="WHAT", choices=CurvesBy
    ),
    "--prompts": Meaning(
        "Wording of the prompts; `paper` and `code` as published there.", metavar="WORDING", choices=Prompts
    ),
    "--scores": Meaning("Scores of an earlier call, scores.csv.", metavar="FILE"),
    "--labels": Meaning(
        "Labels made by people, on the labelling page or with VIA; to merge annotators, one file for each.",
        metavar="FILE",
    ),
    "--id-accuracy": Meaning("Run on clean images that gives the ID accuracy for the slopes of slides.", metavar="RUN"),
    "--slope-models": Meaning(
        "Text file with the models, one per line, to which the slopes of slides are fitted.", metavar="FILE"
    ),
    "--model-axes": Meaning(
        "Table that groups models, with columns model, architecture, size …, for the drops of groups.",
        metavar="FILE.csv",
    ),
    "--class-counts": Meaning(
        "Numbers of classes, with commas: a table of the drops on random subsets of so many classes.",
        metavar="N,N…",
    ),
    "--rule": Meaning("Rule that merges the labels of several annotators.", metavar="RULE", choices=MergeRule),
    "--word": Meaning("Another word for a label, such as ooc='not class'; repeatable.", metavar="WORD=LABEL"),
    "--unlabelled": Meaning("Label of images that have none.", metavar="LABEL", choices=UnlabelledAs),
    "--right": Meaning("Number of models that must be correct on an image to leave it out."),
    "--filtered": Meaning("Images that the filter kept, kept.csv, to compare with labels.", metavar="FILE"),
    "--tpr": Meaning("Share of out-of-class images that each threshold removes."),
    "--published-thresholds": Meaning("Use the published thresholds, for CLIP ViT-B/16 and DINOv2 ViT-L/14."),
    "--thresholds": Meaning("Thresholds of an earlier filter, thresholds.json, or `tiny`.", metavar="FILE"),
    "--least": Meaning("Number of scores above their thresholds that an image needs to pass."),
    "--partial-as": Meaning("Label as which `partial` counts.", metavar="LABEL", choices=PartialLabels),
    "--page": Meaning("Labelling page to write.", metavar="FILE.html"),
    "--demo-pipeline": Meaning(
        "Another demo pipeline, in the format of scripts/train_tiny_world.py.", metavar="FOLDER"
    ),
}
"""The meaning of each option, its help in every verb."""


def option(name: str, *, help: str | None = None, **more: Any) -> Any:  # noqa: A002 - Typer's word
    """The option of this name, such as `--limit`.

    Verbs say only what differs between them, such as `show_default`; `help` is for `--output` alone, which is a run's
    folder for one verb and a picture for another.
    """
    meaning = OPTIONS[name]
    if help is not None and name != "--output":
        raise ValueError(f"{name} has its one meaning in OPTIONS; only --output says what it is")
    settings = {"help": help or meaning.text, **({"metavar": meaning.metavar} if meaning.metavar else {}), **more}
    complete = COMPLETIONS.get(name)
    if complete is not None:
        settings["autocompletion"] = complete
    return typer.Option(name, *([meaning.short] if meaning.short else []), **settings)


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb have groups of options: each parameter that is a dataclass stands for the options that it lists."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        kinds = get_type_hints(groups[name], include_extras=True) if name in groups else {}
        parts = fields(groups[name]) if name in groups else ()
        options += [
            parameter.replace(
                name=part.name,
                annotation=kinds[part.name],
                default=inspect.Parameter.empty if part.default is MISSING else part.default,
                kind=inspect.Parameter.KEYWORD_ONLY,
            )
            for part in parts
        ]
        if not parts:
            options.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(verb)
    def flat(**values: Any) -> None:
        grouped = {
            name: group(**{part.name: values.pop(part.name) for part in fields(group)})
            for name, group in groups.items()
        }
        verb(**values, **grouped)

    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


def _benchmarks(incomplete: str) -> list[str]:
    from brittle.benchmarks import list_benchmarks

    return [name for name in list_benchmarks() if name.startswith(incomplete)]


def _corruptions(incomplete: str) -> list[str]:
    from brittle.corruptions import list_corruptions

    done, comma, begun = incomplete.rpartition(",")
    known = {name for corruption in list_corruptions() for name in (corruption.id, corruption.name)}
    return [f"{done}{comma}{name}" for name in sorted(known) if name.startswith(begun)]


def _models(incomplete: str) -> list[str]:
    from brittle.models import model_sources
    from brittle.models.networks import DEMO_WEIGHTS

    demo = [f"demo:{path.stem}" for path in sorted(DEMO_WEIGHTS.glob("*.safetensors"))]
    return [text for text in (*demo, *(f"{scheme}:" for scheme in model_sources())) if text.startswith(incomplete)]


def _datasets(incomplete: str) -> list[str]:
    from brittle.datasets import dataset_sources

    return [text for text in ("demo", *(f"{scheme}:" for scheme in dataset_sources())) if text.startswith(incomplete)]


COMPLETIONS: dict[str, Callable[[str], list[str]]] = {
    "--benchmark": _benchmarks,
    "--levels-from": _benchmarks,
    "--away-from": _benchmarks,
    "--candidates": _benchmarks,
    "--corruption": _corruptions,
    "--model": _models,
    "--data": _datasets,
}
"""What shells may complete, once `brittle --install-completion` was called."""

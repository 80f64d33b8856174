"""The same operations in brittle, albumentations, kornia and torchvision: images a second, as their benchmark has it.

    python perf/libraries.py [operation …]

Runs in the environment of `make interop`. Writes perf/libraries.json and a section of docs/explanation/speed.md.

Every operation runs in the workers of a torch DataLoader, one for each core, each with one thread, on decoded images of
224 px in the form that a library works on: arrays H×W×3 of uint8 for brittle and albumentations, tensors of uint8 for
torchvision, of float32 for kornia. What comes out is dropped in the worker, so that passing it on is not counted. The
numbers are of processor time: what the machine does if nothing else runs. Libraries take turns, round by round.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from marked import write_section

KEPT = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "speed.md"
LIBRARIES = ("brittle", "albumentations", "kornia", "torchvision")
CORES = len(os.sched_getaffinity(0))
ROUNDS, SECONDS = 3, 0.1

OPERATIONS: dict[str, tuple[str, float, str, str, str, str]] = {
    # name: our corruption and severity, what it does, and the same in albumentations, kornia and torchvision
    "GaussianNoise": (
        "gaussian_noise", 3, "σ 0.18 on every value",
        "GaussNoise(std_range=(0.18, 0.18))", "RandomGaussianNoise(std=0.18)", "GaussianNoise(sigma=0.18)",
    ),
    "ShotNoise": ("shot_noise", 3, "12 photons", "ShotNoise(scale_range=(1 / 12, 1 / 12))", "", ""),
    "MultiplicativeNoise": (
        "syn2nat/multiplicative_noise", 3, "a factor of 0.82 … 1.18 for every pixel",
        "MultiplicativeNoise(multiplier=(0.82, 1.18), elementwise=True)", "", "",
    ),
    "ISONoise": (
        "syn2nat/iso_noise", 3, "colour shift 0.12 … 0.3, intensity 0.3 … 0.6",
        "ISONoise(color_shift=(0.12, 0.3), intensity=(0.3, 0.6))", "", "",
    ),
    "SaltAndPepper": (
        "impulse_noise", 3, "9 % of all values; of all pixels in the others",
        "SaltAndPepper(amount=(0.09, 0.09), salt_vs_pepper=(0.5, 0.5))",
        "RandomSaltAndPepperNoise(amount=0.09, salt_vs_pepper=0.5)", "",
    ),
    "GaussianBlur": (
        "gaussian_blur", 3, "σ 3, kernel of 25 px",
        "GaussianBlur(blur_limit=(25, 25), sigma_limit=(3, 3))", "RandomGaussianBlur((25, 25), (3.0, 3.0))",
        "GaussianBlur(25, (3, 3))",
    ),
    "Blur": (
        "syn2nat/blur", 5, "a box of 5, 7 or 9 px; 7 in kornia",
        "Blur(blur_limit=(5, 9))", "RandomBoxBlur((7, 7))", "",
    ),
    "MedianBlur": (
        "syn2nat/median_blur", 5, "5, 7, 9 or 11 px; 7 in kornia",
        "MedianBlur(blur_limit=(5, 11))", "RandomMedianBlur((7, 7))", "",
    ),
    "MotionBlur": (
        "motion_blur", 3, "kernel of 31 px, up to ± 45°; ours is a Gaussian trail",
        "MotionBlur(blur_limit=(31, 31), angle_range=(0, 45))", "RandomMotionBlur(31, 45.0, 0.0)", "",
    ),
    "Defocus": ("defocus_blur", 3, "radius 6, rim 0.5", "Defocus(radius=(6, 6), alias_blur=(0.5, 0.5))", "", ""),
    "GlassBlur": (
        "glass_blur", 3, "σ 1, 2 px, 3 iterations",
        "GlassBlur(sigma=1, max_delta=2, iterations=3, mode='exact')", "", "",
    ),
    "ZoomBlur": (
        "zoom_blur", 3, "11 layers up to 1.2", "ZoomBlur(max_factor=(1.2, 1.2), step_factor=(0.02, 0.02))", "", "",
    ),
    "Fog": (
        "syn2nat/random_fog", 5, "patches of haze and a blur, density 0.8 … 1",
        "RandomFog(fog_coef_range=(0.8, 1), alpha_coef=0.08)", "", "",
    ),
    "Rain": (
        "syn2nat/random_rain", 5, "84 streaks of 20 px, a blur of 7 px; kornia without the blur",
        "RandomRain(drop_length=20, drop_width=1, blur_value=7, brightness_coefficient=0.7)",
        "RandomRain(number_of_drops=(84, 84), drop_height=(20, 20), drop_width=(1, 2))", "",
    ),
    "Snow": (
        "syn2nat/random_snow", 5, "dark places 2.5 times as light",
        "RandomSnow(snow_point_range=(0.1, 0.3), brightness_coeff=2.5)",
        "RandomSnow(snow_coefficient=(0.1, 0.3), brightness=(2.5, 2.5))", "",
    ),
    "Shadow": ("syn2nat/random_shadow", 5, "2 to 4 polygons", "RandomShadow(num_shadows_limit=(2, 4))", "", ""),
    "SunFlare": ("syn2nat/random_sun_flare", 5, "radius 200 px", "RandomSunFlare(src_radius=200)", "", ""),
    "Brightness": (
        "syn2nat/random_brightness", 3, "± 0.54 of the grey scale; a factor of 0.46 … 1.54 in torchvision",
        "RandomBrightnessContrast(brightness_limit=0.54, contrast_limit=0)", "RandomBrightness((0.46, 1.54))",
        "ColorJitter(brightness=0.54)",
    ),
    "Contrast": (
        "contrast", 3, "a factor of 0.2, towards the mean of each channel; towards grey or black in the others",
        "ColorJitter(brightness=(1, 1), contrast=(0.2, 0.2), saturation=(1, 1), hue=(0, 0))",
        "RandomContrast((0.2, 0.2))", "ColorJitter(contrast=(0.2, 0.2))",
    ),
    "Saturation": (
        "saturate", 3, "a factor of 2, of HSV; towards grey in the others",
        "ColorJitter(brightness=(1, 1), contrast=(1, 1), saturation=(2, 2), hue=(0, 0))",
        "RandomSaturation((2.0, 2.0))", "ColorJitter(saturation=(2, 2))",
    ),
    "Hue": (
        "noc/hue", 3, "a turn by 0.275 of the circle",
        "HueSaturationValue(hue_shift_limit=(50, 50), sat_shift_limit=0, val_shift_limit=0)",
        "RandomHue((0.275, 0.275))", "ColorJitter(hue=(0.275, 0.275))",
    ),
    "ColorJitter": (
        "syn2nat/color_jitter", 3, "brightness, contrast, saturation and hue up to 0.42",
        "ColorJitter(0.42, 0.42, 0.42, 0.42)", "ColorJitter(0.42, 0.42, 0.42, 0.42)",
        "ColorJitter(0.42, 0.42, 0.42, 0.42)",
    ),
    "HSV": (
        "syn2nat/hue_saturation_value", 3, "shifts up to 60, 90 and 60 grey levels",
        "HueSaturationValue(hue_shift_limit=60, sat_shift_limit=90, val_shift_limit=60)", "", "",
    ),
    "Gamma": (
        "syn2nat/random_gamma", 3, "γ 2.2 … 6.4",
        "RandomGamma(gamma_limit=(220, 640))", "RandomGamma((2.2, 6.4))", "",
    ),
    "RGBShift": (
        "syn2nat/rgb_shift", 3, "up to ± 120 grey levels",
        "RGBShift(120, 120, 120)", "RandomRGBShift(0.47, 0.47, 0.47)", "",
    ),
    "ChannelDropout": ("syn2nat/channel_dropout", 5, "one channel", "ChannelDropout()", "RandomChannelDropout()", ""),
    "Grayscale": ("noc/gray_scale", 5, "all colour is gone", "ToGray()", "RandomGrayscale()", "Grayscale(3)"),
    "Sepia": ("syn2nat/to_sepia", 5, "shades of brown", "ToSepia()", "", ""),
    "Invert": ("syn2nat/invert_img", 5, "255 − x", "InvertImg()", "RandomInvert()", "RandomInvert()"),
    "Posterize": (
        "syn2nat/posterize", 5, "2 bits", "Posterize(num_bits=2)", "RandomPosterize(2.0)", "RandomPosterize(2)",
    ),
    "Solarize": (
        "syn2nat/solarize", 5, "from 200 grey levels on",
        "Solarize(threshold_range=(0.784, 0.784))", "RandomSolarize((0.784, 0.784), (0.0, 0.0))", "RandomSolarize(200)",
    ),
    "Sharpen": (
        "syn2nat/sharpen", 5, "0.3 … 0.6 of a 3×3 kernel",
        "Sharpen(alpha=(0.3, 0.6), lightness=(0.6, 1))", "RandomSharpness((1.3, 1.6))", "RandomAdjustSharpness(1.5)",
    ),
    "Emboss": ("syn2nat/emboss", 5, "3×3, strength 0.2 … 0.7", "Emboss(alpha=(1, 1), strength=(0.2, 0.7))", "", ""),
    "JpegCompression": (
        "jpeg_compression", 3, "quality 15",
        "ImageCompression(quality_range=(15, 15))", "RandomJPEG((15.0, 15.0))", "JPEG(15)",
    ),
    "Pixelate": (
        "pixelate", 3, "to 0.4 of the side by averages, and back by repetition",
        "Downscale(scale_range=(0.4, 0.4), interpolation_pair={'downscale': 3, 'upscale': 0})", "", "",
    ),
    "Elastic": (
        "elastic_transform", 3, "α 12.2, σ 2.44; ours has an affine map before it",
        "ElasticTransform(alpha=12.2, sigma=2.44)",
        "RandomElasticTransform(kernel_size=(21, 21), sigma=(2.44, 2.44), alpha=(12.2, 12.2))",
        "ElasticTransform(alpha=12.2, sigma=2.44)",
    ),
    "Rotate": (
        "noc/rotation", 3, "by 29°, nearest pixels",
        "Rotate(limit=(29, 29), interpolation=0, border_mode=0)", "RandomRotation((29.0, 29.0), resample='nearest')",
        "RandomRotation((29, 29))",
    ),
    "Shear": (
        "noc/shear", 3, "by 26°, nearest pixels",
        "Affine(shear={'x': (26, 26), 'y': (0, 0)}, interpolation=0)",
        "RandomShear((26.0, 26.0), resample='nearest')", "RandomAffine(0, shear=(26, 26))",
    ),
    "Perspective": (
        "syn2nat/perspective", 3, "corners moved by 0.06 … 0.18 of the sides, bilinear",
        "Perspective(scale=(0.06, 0.18))", "RandomPerspective(0.36)", "RandomPerspective(0.36)",
    ),
    "GridDistortion": (
        "syn2nat/grid_distortion", 3, "5 steps, up to 0.6", "GridDistortion(num_steps=5, distort_limit=0.6)", "", "",
    ),
    "OpticalDistortion": (
        "syn2nat/optical_distortion", 3, "k up to ± 2.4", "OpticalDistortion(distort_limit=2.4)", "", "",
    ),
    "GridShuffle": ("syn2nat/random_grid_shuffle", 5, "4 × 4 tiles", "RandomGridShuffle((4, 4))", "", ""),
    "CoarseDropout": (
        "syn2nat/coarse_dropout", 5, "16 to 48 squares of 8 px",
        "CoarseDropout(num_holes_range=(16, 48), hole_height_range=(8, 8), hole_width_range=(8, 8))", "", "",
    ),
}  # fmt: skip

PREFIX = {"albumentations": "A.", "kornia": "K.", "torchvision": "v2."}
MODULE = {
    "albumentations": "albumentations",
    "kornia": "kornia.augmentation",
    "torchvision": "torchvision.transforms.v2",
}
NO_PROBABILITY = ("RandomRotation", "RandomAffine")
"""Operations of torchvision that always run, as all do whose name does not begin with Random."""


def prepared(library: str, name: str) -> Callable[[int], Any] | None:
    """The function of an index that runs the operation once; None if the library has none."""
    import torch

    from brittle._optional import require
    from brittle.datasets import photo

    photos = [photo(which, 224) for which in ("cat", "coffee")]
    corruption, severity, _, *texts = OPERATIONS[name]
    if library == "brittle":
        import brittle

        return lambda index: brittle.corrupt(photos[index % 2], corruption, severity, sample=index)
    text = texts[LIBRARIES.index(library) - 1]
    if not text:
        return None
    made = eval(_call(library, text), vars(require(MODULE[library])))
    if library == "albumentations":
        return lambda index: made(image=photos[index % 2])["image"]
    tensors = [torch.from_numpy(image.transpose(2, 0, 1).copy()) for image in photos]
    if library == "kornia":
        tensors = [tensor.float() / 255 for tensor in tensors]
    return lambda index: made(tensors[index % 2])


def _call(library: str, text: str) -> str:
    """The call with `p=1` where it takes that."""
    if library == "torchvision" and (not text.startswith("Random") or text.startswith(NO_PROBABILITY)):
        return text
    return f"{text[:-1]}, p=1)".replace("(, ", "(")


class Timed:
    """A dataset of processor times: reading it runs an operation for a while, and gives seconds an image."""

    def __init__(self, library: str, name: str) -> None:
        self.library, self.name = library, name
        self.operation: Callable[[int], Any] | None = None

    def __len__(self) -> int:
        return CORES

    def __getitem__(self, index: int) -> float:
        import cv2
        import torch

        if self.operation is None:
            cv2.setNumThreads(1)
            torch.set_num_threads(1)
            self.operation = prepared(self.library, self.name)
            assert self.operation is not None
            for warm in range(3):
                self.operation(warm)
        start, count = time.thread_time(), 0
        while time.thread_time() - start < SECONDS:
            self.operation(1000 * index + count)
            count += 1
        return (time.thread_time() - start) / count


def measured(name: str) -> dict[str, Any]:
    """For each library that has the operation, images a second in each round, and the error of those that cannot."""
    from torch.utils.data import DataLoader

    loaders, rates = {}, {}
    for library in LIBRARIES:
        try:
            operation = prepared(library, name)
            if operation is None:
                continue
            operation(0)
        except Exception as error:  # any error of another library becomes a line of the page
            rates[library] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        more: dict[str, Any] = {"persistent_workers": True, "multiprocessing_context": "fork", "num_workers": CORES}
        more["timeout"] = 300
        loaders[library] = DataLoader(Timed(library, name), batch_size=None, **more)
        rates[library] = []
    for library, loader in loaders.items():
        list(loader)  # the first pass of each is not counted
        del library
    for _ in range(ROUNDS):
        for library, loader in loaders.items():
            rates[library].append(CORES / statistics.mean(float(seconds) for seconds in loader))
    return rates


def page(found: dict[str, Any]) -> list[str]:
    """The lines of the section."""
    titles = [f"{library} {version(library)} [img/s]" for library in LIBRARIES[1:]]
    loads = [each["load"] for each in found.values()]
    lines = [
        "## Beside albumentations, kornia and torchvision",
        "",
        f"Images a second on {CORES} cores, in the format of albumentations' own benchmark: mean ± standard deviation "
        f"of {ROUNDS} rounds, the fastest in bold. Each operation runs in {CORES} workers of a torch `DataLoader`, "
        "with one thread each, on decoded photographs of 224 px in the form that the library works on: uint8 arrays, "
        "uint8 tensors for torchvision, float32 tensors for kornia. Transferring images is not counted. The numbers "
        "are of processor time, because the machine was shared (load "
        f"{min(loads):.1f} to {max(loads):.1f}); libraries took turns.",
        "",
        f"| Transform | brittle [img/s] | {' | '.join(titles)} | Speedup (brittle / fastest other) |",
        "|:---|:---|:---|:---|:---|:---|",
    ]
    ratios = []
    for name, each in found.items():
        rates = each["found"]
        means = {library: statistics.mean(values) for library, values in rates.items() if isinstance(values, list)}
        best = max(means, key=lambda library: means[library])
        cells = [_cell(rates.get(library), library == best and len(means) > 1) for library in LIBRARIES]
        others = [mean for library, mean in means.items() if library != "brittle"]
        ratios += [means["brittle"] / max(others)] if others else []
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{ratios[-1]:.2f}x' if others else 'N/A'} |")
    fastest = sum(ratio > 1 for ratio in ratios)
    lines += [
        "",
        f"brittle is the fastest in {fastest} of {len(ratios)}; the median is "
        f"{statistics.median(ratios):.1f} times the fastest other library. albumentations is faster mostly where "
        "an operation is one look-up in a table, or one warp, by OpenCV. The compared operations, on every "
        "image (`p=1`):",
        "",
        "| Transform | brittle | what it does | others |",
        "|:---|:---|:---|:---|",
    ]
    for name in found:
        corruption, severity, what, *texts = OPERATIONS[name]
        others = [f"`{PREFIX[lib]}{text}`" for lib, text in zip(LIBRARIES[1:], texts, strict=True) if text]
        lines.append(f"| {name} | `{corruption}` {severity:g} | {what} | {', '.join(others)} |")
    failed = [(n, lib, v) for n, e in found.items() for lib, v in e["found"].items() if isinstance(v, str)]
    if failed:
        lines += ["", "Not measured: " + "; ".join(f"{n} in {lib} ({v})" for n, lib, v in failed) + "."]
    return lines


def _cell(values: Any, best: bool) -> str:
    if not isinstance(values, list):
        return "-"
    text = f"{statistics.mean(values):.0f} ± {statistics.stdev(values):.0f}"
    return f"**{text}**" if best else text


def main() -> None:
    """Measure all operations, or those that are named, and write what was found."""
    import cv2
    import torch

    cv2.setNumThreads(1)  # before any worker is forked: a pool of threads does not survive that
    torch.set_num_threads(1)
    found = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name in sys.argv[1:] or OPERATIONS:
        rates = measured(name)
        found[name] = {"load": round(os.getloadavg()[0], 1), "found": rates}
        shown = {lib: v if isinstance(v, str) else round(float(np.mean(v))) for lib, v in rates.items()}
        print(name, shown, flush=True)
        kept = {name: found[name] for name in OPERATIONS if name in found}
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_section(PAGE, "perf/libraries.py", page({name: found[name] for name in OPERATIONS if name in found}))


if __name__ == "__main__":
    main()

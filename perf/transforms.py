"""What the adapters of brittle.transforms cost, and how well they use all cores.

    python perf/transforms.py [overhead] [batch] [loader]

Runs where torch is (`make transforms` takes the environment of `make interop`). Writes perf/transforms.json, and a
section of docs/explanation/speed.md. All that is compared runs in one process and takes turns. Where a machine is
shared, processor time says more than the clock; both are kept.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from marked import write_section

KEPT = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "speed.md"
CHEAP, SEVERITY, SAMPLE = "contrast", 3.0, 7
ROUNDS, CALLS = 100, 10
BATCH = 64
IMAGES = 4500
CORES = len(os.sched_getaffinity(0))

Call = Callable[[], Any]


def overhead() -> dict[str, Any]:
    """Microseconds of processor time that each adapter adds to `brittle.corrupt` of an image of the same kind."""
    import torch

    torch.set_num_threads(1)
    return {str(side): _overhead(side) for side in (32, 224)}


def _overhead(side: int) -> dict[str, float]:
    import torch
    from PIL import Image as Pil

    import brittle
    from brittle.transforms import as_albumentations, as_huggingface, as_maite, as_torchvision

    array = brittle.datasets.photo("cat", side)
    planes = torch.from_numpy(array.transpose(2, 0, 1).copy())
    last = torch.from_numpy(array).permute(2, 0, 1)
    pil, real = Pil.fromarray(array), (array / 255).astype(np.float32)
    real_planes = torch.from_numpy(real.transpose(2, 0, 1).copy())
    module, maite = as_torchvision(CHEAP, SEVERITY), as_maite(CHEAP, SEVERITY)
    column, transform = as_huggingface(CHEAP, SEVERITY), brittle.Transform(CHEAP, SEVERITY)
    bases: dict[str, Call] = {
        kind: partial(brittle.corrupt, image, CHEAP, SEVERITY, sample=SAMPLE)
        for kind, image in (("array", array), ("PIL image", pil), ("float32", real))
    }
    calls: dict[tuple[str, str], Call] = {
        ("`brittle.Transform`, array", "array"): partial(transform.apply, array, SAMPLE),
        ("`brittle.Transform`, tensor", "array"): partial(transform.apply, planes, SAMPLE),
        ("`as_torchvision`, tensor", "array"): partial(module, planes, sample=SAMPLE),
        ("`as_torchvision`, tensor with channels last in memory", "array"): partial(module, last, sample=SAMPLE),
        ("`as_torchvision`, tensor without an id", "array"): partial(module, planes),
        ("`as_torchvision`, float32 tensor", "float32"): partial(module, real_planes, sample=SAMPLE),
        ("`as_torchvision`, PIL image", "PIL image"): partial(module, pil, sample=SAMPLE),
        ("`as_maite`, tensor", "array"): partial(maite, ([planes], [0], [{"id": SAMPLE}])),
        ("`as_huggingface`, PIL image", "PIL image"): partial(column, {"image": [pil], "sample": [SAMPLE]}),
    }
    try:
        import albumentations
    except ModuleNotFoundError:
        print("albumentations is not installed: left out")
    else:
        alone = as_albumentations(CHEAP, SEVERITY)
        compose = albumentations.Compose([as_albumentations(CHEAP, SEVERITY)])
        calls["`as_albumentations`", "array"] = partial(alone, image=array, sample=SAMPLE)
        calls["`as_albumentations` in an `A.Compose`", "array"] = partial(compose, image=array, sample=SAMPLE)
    added: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for call in (*bases.values(), *calls.values()):
        call()
    for _ in range(ROUNDS):
        for key, call in calls.items():
            before = _microseconds(bases[key[1]])
            added[key].append(_microseconds(call) - before)
    found = {name: float(np.median(each)) for (name, _), each in added.items()}
    found["`brittle.corrupt` of the array"] = float(np.median([_microseconds(bases["array"]) for _ in range(ROUNDS)]))
    return found


def _microseconds(call: Call) -> float:
    start = time.thread_time()
    for _ in range(CALLS):
        call()
    return (time.thread_time() - start) / CALLS * 1e6


def batch() -> dict[str, Any]:
    """How many times faster all cores corrupt a batch of tensors than one, on the clock."""
    import torch

    from brittle._parallel import use_threads
    from brittle.transforms import as_torchvision

    torch.set_num_threads(1)
    found = {}
    for side in (32, 224):
        images = torch.from_numpy(np.stack(_photos(side) * (BATCH // 2)).transpose(0, 3, 1, 2).copy())
        call = partial(as_torchvision(_names()), images, sample=range(BATCH))
        alone = torch.stack([as_torchvision(_names())(image, sample=i) for i, image in enumerate(images)])
        assert torch.equal(call(), alone)
        spent: dict[int, list[float]] = {1: [], CORES: []}
        for _ in range(15):
            for threads, times in spent.items():
                use_threads(threads)
                call()  # a processor that was idle takes some milliseconds to wake
                start = time.perf_counter()
                for _ in range(CALLS):
                    call()
                times.append((time.perf_counter() - start) / CALLS)
        use_threads(CORES)
        one, all_cores = (np.array(times) for times in spent.values())
        found[str(side)] = {
            "images a second, one thread": BATCH / float(np.median(one)),
            "images a second, all cores": BATCH / float(np.median(all_cores)),
            "speed-up": float(np.median(one / all_cores)),
        }
    return found


def _photos(side: int) -> list[np.ndarray]:
    import brittle

    return [brittle.datasets.photo(name, side) for name in ("cat", "coffee")]


def _names() -> list[str]:
    import brittle

    return [entry.corruption.id for entry in brittle.load_benchmark("imagenet-c").entries]


class Photographs:
    """Decoded photographs of 224 px, each read through a transform."""

    def __init__(self, transform: Any) -> None:
        import torch

        self.images = [torch.from_numpy(image).permute(2, 0, 1) for image in _photos(224)]
        self.transform = transform

    def __len__(self) -> int:
        return IMAGES

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.images[index % 2])


ALONE, TOGETHER = "`brittle.corrupt` by one thread", "`brittle.corrupt` by {} threads"
THREADS, WORKERS = "loader, `Indexed(…, threads={})`", "loader, {} workers"
PASSING = "loader, {} workers, without corruptions"


def loader() -> dict[str, Any]:
    """The 15 corruptions of ImageNet-C through DataLoaders, beside threads that do nothing but corrupt."""
    import torch

    import brittle
    from brittle.transforms import Indexed, as_torchvision

    torch.set_num_threads(1)
    drawn = brittle.Transform(_names())
    arrays = _photos(224)
    jobs = [(i, *(drawn.draw(i) or ("", 0.0))) for i in range(IMAGES)]

    def corrupt(part: list[Any]) -> None:
        for i, name, severity in part:
            brittle.corrupt(arrays[i % 2], name, severity, sample=i)

    def together() -> None:
        with ThreadPoolExecutor(CORES) as pool:
            list(pool.map(corrupt, (jobs[start : start + 16] for start in range(0, len(jobs), 16))))

    dataset = Photographs(as_torchvision(_names()))
    by_workers, passing = (_loader(Indexed(each), CORES) for each in (dataset, Photographs(lambda image: image)))
    by_threads = _loader(Indexed(dataset, threads=CORES), 0)
    calls: dict[str, tuple[Call, Any]] = {
        ALONE: (partial(corrupt, jobs), None),
        TOGETHER.format(CORES): (together, None),
        THREADS.format(CORES): (partial(_read, by_threads), by_threads),
        WORKERS.format(CORES): (partial(_read, by_workers), by_workers),
        PASSING.format(CORES): (partial(_read, passing), passing),
    }
    for call, _ in calls.values():
        call()
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(7):
        for name, (call, loader) in calls.items():
            clock, start = time.perf_counter(), _processor_time(loader)
            call()
            rounds[name].append((time.perf_counter() - clock, _processor_time(loader) - start))
    print({name: np.round(times, 2).tolist() for name, times in rounds.items()}, flush=True)
    alone = np.array(rounds[ALONE])[:, 0]
    found = {}
    for name, times in rounds.items():
        clock, processor = np.array(times).T
        found[name] = {
            "images a second": IMAGES / float(np.median(clock)),
            "times one thread": float(np.median(alone / clock)),
            "processor time an image, µs": float(np.median(processor)) / IMAGES * 1e6,
        }
    return found


def _read(loader: Any) -> None:
    assert sum(len(images) for images in loader) == IMAGES


def _loader(dataset: Any, workers: int) -> Any:
    from torch.utils.data import DataLoader

    more = {"persistent_workers": True, "multiprocessing_context": "fork"} if workers else {}
    return DataLoader(dataset, BATCH, num_workers=workers, **more)


def _processor_time(loader: Any) -> float:
    """The processor time that this process and the workers of a loader have taken."""
    ticks = 0
    for worker in getattr(getattr(loader, "_iterator", None), "_workers", ()):
        fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def page(found: dict[str, Any]) -> list[str]:
    """The lines of the section."""
    lines = ["## Inside other pipelines"]
    parts = {"overhead": _overhead_table, "batch": _batch_table, "loader": _loader_table}
    for name, part in parts.items():
        if name in found:
            lines += ["", *part(found[name]["found"], f" (load of the machine: {found[name]['load']:.1f})")]
    if any(each["load"] > CORES for each in found.values()):
        busy = (
            f"Where the load is above {CORES}, other work had most of the {CORES} cores: such numbers are a first look."
        )
        lines += ["", f"{busy} `make transforms` measures them anew."]
    return lines


def _overhead_table(found: dict[str, Any], load: str) -> list[str]:
    small, large = found["32"], found["224"]
    call = "`brittle.corrupt` of the array"
    return [
        "Microseconds of processor time that an adapter adds to `brittle.corrupt` of one image, measured in turns"
        f"{load}. The corruption is `{CHEAP}`, whose own call takes {small[call]:.0f} µs at 32 px and "
        f"{large[call]:.0f} µs at 224 px. Without an id there is a checksum of the "
        "pixels.",
        "",
        "| adapter | 32 px | 224 px |",
        "|---|---:|---:|",
        *(f"| {name} | {small[name]:.0f} | {large[name]:.0f} |" for name in small if name != call),
    ]


def _batch_table(found: dict[str, Any], load: str) -> list[str]:
    lines = [
        f"A batch of {BATCH} tensors through `as_torchvision` of the 15 corruptions of ImageNet-C, by one thread and "
        f"by {CORES}, images a second on the clock{load}:",
        "",
        "| side | one thread | all cores | speed-up |",
        "|---:|---:|---:|---:|",
    ]
    for side, each in found.items():
        one, every, ratio = each.values()
        lines.append(f"| {side} px | {one:.0f} | {every:.0f} | {ratio:.2f} |")
    return lines


def _loader_table(found: dict[str, Any], load: str) -> list[str]:
    lines = [
        f"The 15 corruptions at 224 px, severities 1 to 5, through a torch `DataLoader` with batches of {BATCH}, "
        f"beside threads that do nothing but corrupt{load}. The extra cost of workers is torch's transfer "
        "between processes through shared memory, as the last row shows; threads avoid it.",
        "",
        "| | images a second | times one thread | processor time an image, µs |",
        "|---|---:|---:|---:|",
    ]
    for name, each in found.items():
        rate, times, processor = each.values()
        lines.append(f"| {name} | {rate:.0f} | {times:.2f} | {processor:.0f} |")
    return lines


def main() -> None:
    """Measure what is wanted and write it."""
    import cv2

    cv2.setNumThreads(1)
    freed = np.ones(3_750_000)  # from now on the allocator keeps what is freed, as in any process that frees batches
    del freed
    found = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name in sys.argv[1:] or ["overhead", "batch", "loader"]:
        result = globals()[name]()
        found[name] = {"load": round(os.getloadavg()[0], 1), "found": result}
        print(name, json.dumps(found[name], indent=1, ensure_ascii=False), flush=True)
        KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_section(PAGE, "perf/transforms.py", page(found))


if __name__ == "__main__":
    main()

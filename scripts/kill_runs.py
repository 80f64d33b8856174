"""Kill every long verb inside its work, hard, and see that it ends as if it had been left in peace.

    python scripts/kill_runs.py [VERB …] [--times 5] [--seed 0]

A verb is run once in peace. Then it is started again and again in another folder, each time ended by SIGKILL, with its
workers, a moment after it has written something; the last call may finish. What it has written is compared byte by byte
with what it wrote in peace, all but records of times. A kill counts only if something had been written by that call.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

TRAINING = "-d test.npz --train-data train.npz --network small:4 --batch-size 32"
TINY = "--classes names.txt"
RECORDS = ("calls/", "command.toml", "run.toml", ".lock", "findings.json", "index.html", "findings.md")
"""Parts of paths of what holds times, durations or the command that was given."""


@dataclass(frozen=True)
class Verb:
    """A call, in a folder of prepared files; `{out}` is what it writes, `{parts}` the demo pipeline.

    After its end it may be given again, unless it refuses to write over a file.
    """

    call: str
    repeatable: bool = True


VERBS = {
    "run": Verb("run -m demo:standard -d demo --limit 120 -b cifar10-c --corruption fog,contrast,snow -j 1 -o {out}"),
    "corrupt (folder)": Verb("corrupt photos {out} -c fog,contrast -j 1"),
    "corrupt (array)": Verb("corrupt test.npz {out} -c fog,contrast,snow,frost,gaussian_noise -j 1"),
    "failure-points": Verb(
        "failure-points -m demo:standard -d demo --limit 60 -c fog,contrast,snow,frost -j 1 -o {out}"
    ),
    "augment train": Verb(f"augment train {TRAINING} --epochs 12 -o {{out}}/n.safetensors", repeatable=False),
    "augment distance": Verb(
        "augment distance -a augmix -b three.toml -m own.py:net -d test.npz --feature-images 24 --samples 200 "
        "--corruption-samples 8 -o {out}"
    ),
    "augment leak": Verb(
        "augment leak -a augmix -b three.toml -m own.py:net -d test.npz --feature-images 24 --samples 200 "
        "--corruption-samples 8 -o {out}"
    ),
    "design overlap": Verb(
        f"design overlap {TRAINING} --mode scratch --epochs 3 --candidates fog,contrast,gaussian_noise -o {{out}}"
    ),
    "design calibrate": Verb(
        "design calibrate -m demo:standard -d demo --limit 200 --candidates three.toml -o {out}/levels.toml"
    ),
    "slide train": Verb(
        "slide train {parts}/pipeline --class 1 --class 8 --shift heavy_snow --shift heavy_fog --steps 40 "
        "--batch-size 1 --denoising-steps 4 " + TINY + " -o {out}"
    ),
    "slide sample": Verb(
        "slide sample {parts}/pipeline sliders --scales 0,1,2.5 --seeds 6 --denoising-steps 4 --image-format png "
        + TINY
        + " -o {out}"
    ),
    "slide measure": Verb("slide measure slides --clip {parts}/clip -o {out}"),
    "slide filter": Verb(
        "slide filter slides --clip {parts}/clip --dino {parts}/encoder --published-thresholds -o {out}"
    ),
    "reproduce": Verb("reproduce noc fig2 fig1 --path cifar10=cifar10 --set epochs=1 -o {out}"),
}

PREPARED = {
    "slide sample": "slide train {parts}/pipeline --class 8 --shift heavy_snow --steps 2 --batch-size 1 "
    "--denoising-steps 2 " + TINY + " -o sliders",
    "slide measure": "slide sample {parts}/pipeline sliders --scales 0,1 --seeds 4 --denoising-steps 2 "
    + TINY
    + " -o slides",
}
"""What must exist before a verb can be tried; the list is gone through in this order."""


def main(verbs: list[str], times: int, seed: int) -> int:
    """Try all of them; print a table."""
    rng, failed = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="brittle-kills-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        prepare(folder)
        print("| verb | kills | in its work | calls in all | identical |\n|---|---|---|---|---|", flush=True)
        for name in verbs or VERBS:
            for needed in PREPARED if name.startswith("slide") else ():
                if not (folder / PREPARED[needed].rpartition(" ")[2]).exists():
                    call(folder, PREPARED[needed], Path("unused"))
            line = killed(folder, VERBS[name], name, times, rng)
            failed += [] if line.endswith("| yes |") else [name]
            print(line, flush=True)
    return 1 if failed else 0


def killed(folder: Path, verb: Verb, name: str, times: int, rng: random.Random) -> str:
    """One verb, in peace and killed, as a row of the table."""
    stem = "".join(letter for letter in name if letter.isalnum())
    calm, torn = folder / "calm" / stem, folder / "torn" / stem  # of one name: a data sheet has its folder's as title
    call(folder, verb.call, calm)
    steps = len(contents(calm))
    kills = placed = calls = 0
    while calls < 3 * times and kills < times:
        process, before = start(folder, verb.call, torn), state(torn)
        calls += 1
        wanted = rng.randint(1, max(1, steps // times))
        seen, began = before, time.monotonic()
        while process.poll() is None and time.monotonic() - began < 300:
            now = state(torn)
            if now != seen:
                seen, wanted = now, wanted - max(1, len(now - seen))
            if wanted <= 0:
                time.sleep(rng.uniform(0, 0.15))
                break
            time.sleep(0.01)
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        placed += seen != before
    call(folder, verb.call, torn)
    same = contents(torn) == contents(calm)
    if not same:
        print(differences(calm, torn), file=sys.stderr)
    return f"| {name} | {kills} | {placed} | {calls + 1} | {'yes' if same else 'NO'} |"


def command(text: str, out: Path) -> list[str]:
    """The words of a call."""
    from brittle.sliders.demo_pipeline import DEMO_FOLDER

    return [sys.executable, "-m", "brittle", *text.format(out=out, parts=DEMO_FOLDER).split(" ")]


def start(folder: Path, text: str, out: Path) -> subprocess.Popen[bytes]:
    """Start a verb in a process group of its own."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(text, out), cwd=folder, stdout=quiet, stderr=quiet, start_new_session=True)


def call(folder: Path, text: str, out: Path) -> None:
    """Run a verb to its end."""
    ended = subprocess.run(command(text, out), cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{text}\n{ended.stdout[-2000:]}{ended.stderr[-3000:]}")


def state(folder: Path) -> frozenset[tuple[str, int, int]]:
    """All files with size and time, to see that something was written."""
    found = set()
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118 - asked often
            except OSError:
                continue
            found.add((f"{place}/{name}", status.st_size, status.st_mtime_ns))
    return frozenset(found)


def contents(folder: Path) -> dict[str, str]:
    """The digests of all files but records."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: sha256(READERS.get(path.name, READERS.get(path.suffix, Path.read_bytes))(path)).hexdigest()
        for name, path in names.items()
        if not is_record(name)
    }


def is_record(name: str) -> bool:
    """Whether a file holds times, durations or the command that was given."""
    return any(part in name for part in RECORDS) or ("models/" in name and name.endswith(".toml"))


def weights(path: Path) -> bytes:
    """What a file of weights holds: safetensors writes the same metadata in another order each time."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    return json.dumps(json.loads(content[8:end]), sort_keys=True).encode() + content[end:]


def untimed(path: Path) -> bytes:
    """What an experiment found, without the seconds that it took."""
    return json.dumps({**json.loads(path.read_bytes()), "seconds": None}).encode()


READERS = {".safetensors": weights, "finding.json": untimed}
"""How files that hold more than results are compared, by their suffix or name."""


def differences(calm: Path, torn: Path) -> list[str]:
    """The names of files that differ."""
    a, b = contents(calm), contents(torn)
    return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))


def prepare(folder: Path) -> None:
    """Small data, a model and a recipe."""
    from PIL import Image as Pil

    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    (folder / "names.txt").write_text("\n".join(names) + "\n")

    rng = np.random.default_rng(0)
    tints = rng.integers(40, 216, (4, 3))
    for name, count in (("train", 160), ("test", 64)):
        labels = np.arange(count) % 4
        images = np.clip(tints[labels][:, None, None] + rng.normal(0, 25, (count, 32, 32, 3)), 0, 255).astype(np.uint8)
        np.savez(folder / f"{name}.npz", images=images, labels=labels, classes=list("abcd"))
    for number in range(48):
        place = folder / "photos" / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Pil.fromarray(rng.integers(0, 256, (96, 96, 3), np.uint8)).save(place / f"{number}.png")
    code = "from brittle.models import build_network, from_torch\n\n\ndef net():\n"
    code += '    network = build_network("small:4", 4)\n'
    (folder / "own.py").write_text(code + '    return from_torch(network, name="net", device="cpu")\n')
    entries = "".join(
        f'[[corruption]]\nid = "imagenet-c/{name}"\n' for name in ("gaussian_noise", "contrast", "brightness")
    )
    (folder / "three.toml").write_text(f'name = "three"\nlevels = [1, 3, 5]\n{entries}')
    small_cifar10(folder / "cifar10")


def small_cifar10(folder: Path) -> None:
    """The bundled images as batches of CIFAR-10, which the paper's experiments train on."""
    from brittle.datasets import load_dataset

    folder.mkdir()
    demo = load_dataset("demo")
    images, labels = np.stack(list(demo.images())), np.asarray(demo.labels)
    order = np.random.default_rng(0).permutation(len(images))
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    for name, part in zip(names, np.split(order, [160, 320, 480, 640, 800]), strict=True):
        data = images[part].transpose(0, 3, 1, 2).reshape(len(part), 3072)
        (folder / name).write_bytes(pickle.dumps({b"data": data, b"labels": labels[part].tolist()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", choices=[*VERBS, []], metavar="VERB")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(main(**vars(parser.parse_args())))

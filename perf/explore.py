"""How fast does the explorer answer? Starts it as a user does, asks as its page does, and writes the page about it.

    python perf/explore.py [STEPS] [EACH]

drags STEPS times for the memory, and asks for EACH severities of each corruption.

The server is a process of its own; what is measured is how long its client waits for each whole answer.
Run it on a quiet machine.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import cv2
import numpy as np
from speed import machine

import brittle
from brittle.datasets import photo, square
from brittle.explorer.session import EXACT, encoded

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "explorer-speed.md"
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
EACH = int(sys.argv[2]) if len(sys.argv) > 2 else 20
NETWORK = """
from brittle.models.small_resnet import SmallResNet
import torch

def network():
    torch.manual_seed(0)
    return SmallResNet()
"""


class Client:
    """One connection to a running explorer, which it keeps open as a browser does."""

    def __init__(self, url: str, pid: int) -> None:
        place = urlsplit(url)
        self.pid = pid
        self.timing: dict[str, float] = {}
        self.waited = 0.0
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=300)
        self.prefix = f"/t/{place.query.removeprefix('token=')}"

    def get(self, path: str, **query: Any) -> bytes:
        """The whole answer."""
        address = f"{self.prefix}{path}?{urlencode(query, doseq=True)}"
        start = time.perf_counter()
        try:
            self.connection.request("GET", address)
            answer = self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):  # it was idle for too long
            self.connection.close()
            self.connection.request("GET", address)
            answer = self.connection.getresponse()
        content = answer.read()
        self.waited = time.perf_counter() - start
        timings = re.findall(r"(\w+);dur=([\d.]+)", answer.headers.get("server-timing", ""))
        self.timing = {name: float(value) for name, value in timings}
        assert answer.status == 200, content[:300]
        return content

    def seconds(self, path: str, **query: Any) -> float:
        """The time until the whole answer was here."""
        self.get(path, **query)
        return self.waited

    @property
    def processor(self) -> float:
        """The seconds that the server has spent of all processors, which other programs change little."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """The server's own memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) / 1024


@contextmanager
def explorer(*arguments: str) -> Iterator[tuple[Client, float]]:
    """A running explorer, and the seconds from the start of its process until its first page was here."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "brittle", "explore", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            client = Client(process.stdout.readline().split()[0], process.pid)
            client.get("/live")
            yield client, time.perf_counter() - start
        finally:
            process.terminate()


def ready(client: Client) -> None:
    """Wait until models and data are loaded."""
    while not json.loads(client.get("/live/status"))["loaded"]:
        time.sleep(0.02)


def percentile(times: list[float], share: float) -> float:
    """In milliseconds."""
    return 1000 * float(np.quantile(times, share))


def starts(repeats: int = 3) -> tuple[float, float]:
    """Seconds until the first page, and until the models are ready too."""
    pages, loaded = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        with explorer() as (client, page):
            ready(client)
            loaded.append(time.perf_counter() - start)
            pages.append(page)
    return statistics.median(pages), statistics.median(loaded)


Spent = tuple[float, float]
"""Seconds on the clock, and of the processor."""


def dragging(client: Client) -> dict[str, list[Spent]]:
    """What new pictures at 224 px take, by corruption, each at a severity that was never asked for."""
    rng, spent = np.random.default_rng(0), {}
    for corruption in brittle.list_corruptions():
        client.get("/live/picture", picture="b0", size=224, c=f"{corruption.id}:1")  # loads what was compiled
        severities = rng.uniform(0.05, corruption.max_severity, EACH)
        spent[corruption.id] = []
        for severity in severities.tolist():
            clock = client.seconds("/live/picture", picture="b0", size=224, c=f"{corruption.id}:{severity!r}")
            spent[corruption.id].append((clock, client.timing["processor"] / 1000))
    return spent


def predicting(client: Client, model: Any, side: int | None, count: int = 40) -> dict[str, float]:
    """A model's own time for one image, and what a new prediction and a strip take beyond it."""
    image = square(photo("cat", 300), side or 224)
    model.scores(image[None])
    processor = time.process_time()
    alone = [_seconds(lambda: model.scores(image[None])) for _ in range(count)]
    alone_processor = (time.process_time() - processor) / count
    client.get("/live/predictions", picture="b0", size=224, c="imagenet-c/fog:1")
    severities = np.random.default_rng(1).uniform(0.1, 5, count).tolist()
    before = client.processor
    asked = [client.seconds("/live/predictions", picture="b0", size=224, c=f"imagenet-c/fog:{s!r}") for s in severities]
    asked_processor, before = (client.processor - before) / count, client.processor
    names = ["fog", "snow", "gaussian_noise", "contrast", "zoom_blur"]
    strips = [client.seconds("/live/strip", picture="b0", size=224, c=f"imagenet-c/{name}:1", seed=9) for name in names]
    strip_processor = (client.processor - before) / len(names)
    one = statistics.median(alone)
    return {
        "processor beyond": 1000 * (asked_processor - alone_processor),
        "strip processor beyond": strip_processor - 41 * alone_processor,
        "own": 1000 * one,
        "median": percentile(asked, 0.5),
        "p95": percentile(asked, 0.95),
        "beyond": percentile(asked, 0.95) - 1000 * one,
        "strip": statistics.median(strips),
        "strip beyond": statistics.median(strips) - 41 * one,
    }


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def memory(client: Client) -> list[tuple[int, float]]:
    """The server's memory after so many steps of dragging, each a new picture and a new prediction."""
    rng, sizes = np.random.default_rng(2), []
    for step in range(STEPS + 1):
        if step in {0, *(STEPS * k // 5 for k in range(1, 6))}:
            sizes.append((step, client.memory))
        view = {"picture": "b0", "size": 224, "c": f"imagenet-c/snow:{rng.uniform(0, 5)!r}"}
        client.get("/live/picture", **view)
        client.get("/live/predictions", **view)
    return sizes


def encodings() -> list[tuple[str, float, int, float, int]]:
    """Milliseconds and kilobytes of each format at 224 px, of a foggy and of a noisy picture."""
    image = square(photo("cat", 300), 224)
    pictures = [brittle.corrupt(image, name, 3.3)[:, :, ::-1].copy() for name in ("fog", "gaussian_noise")]
    formats = {
        "PNG, fastest": (".png", [cv2.IMWRITE_PNG_COMPRESSION, 1]),
        "JPEG 95": (".jpg", [cv2.IMWRITE_JPEG_QUALITY, 95]),
        "WebP 90": (".webp", [cv2.IMWRITE_WEBP_QUALITY, 90]),
        "WebP, lossless": (".webp", [cv2.IMWRITE_WEBP_QUALITY, 101]),
    }
    rows = []
    for name, (ending, options) in formats.items():
        row: list[Any] = [name]
        for picture in pictures:
            times = [_seconds(lambda p=picture: cv2.imencode(ending, p, options)) for _ in range(40)]  # noqa: B023
            row += [1000 * statistics.median(times), len(cv2.imencode(ending, picture, options)[1]) // 1024]
        rows.append(tuple(row))
    return rows


def main() -> None:
    """Measure everything and write the page."""
    page, loaded = starts()
    print(f"first page {page:.2f} s, models {loaded:.2f} s", flush=True)
    with explorer() as (client, _):
        ready(client)
        drawn = dragging(client)
        every, processor = map(list, zip(*(spent for times in drawn.values() for spent in times), strict=True))
        print(f"pictures: median {percentile(every, 0.5):.1f}, p95 {percentile(every, 0.95):.1f} ms", flush=True)
        print(f"of the processor: {percentile(processor, 0.5):.1f}, {percentile(processor, 0.95):.1f} ms", flush=True)
        demo = predicting(client, brittle.load_model("demo:standard", device="cpu"), 32)
        print("demo", demo, flush=True)
        start = time.perf_counter()
        lines = client.get("/live/breaks", picture="b0", size=224, benchmark="all").splitlines()
        searched = time.perf_counter() - start
        print(f"breaks: {len(lines) - 1} in {searched:.1f} s", flush=True)
        kept = memory(client)
        print("memory", kept, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.py"
        path.write_text(NETWORK)
        with explorer("-m", f"{path}:network") as (client, _):
            ready(client)
            large = predicting(client, brittle.load_model(f"{path}:network", device="cpu"), None)
            print("224 px", large, flush=True)
    rows = {
        name: (
            percentile([t for t, _ in times], 0.5),
            percentile([t for t, _ in times], 0.95),
            percentile([p for _, p in times], 0.95),
        )
        for name, times in drawn.items()
    }
    slowest = sorted(rows, key=lambda name: -rows[name][2])[:8]
    lines = [
        INTRODUCTION.format(
            machine=machine(),
            cores=len(os.sched_getaffinity(0)),
            load=os.getloadavg()[1],
            page=page,
            loaded=loaded,
            median=percentile(every, 0.5),
            p95=percentile(every, 0.95),
            processor=percentile(processor, 0.95),
            share=100 * float(np.mean(np.array(every) <= 0.030)),
            count=len(every),
            exact=round(EXACT**0.5),
            searched=searched,
            steps=STEPS,
            first=kept[1][1],
            step=kept[1][0],
            last=kept[-1][1],
        ),
        "## New pictures at 224 px\n",
        "| | median, ms | 95 %, ms | 95 % of the processor's time, ms |",
        "|---|---:|---:|---:|",
        f"| all {len(drawn)} corruptions | {percentile(every, 0.5):.1f} | {percentile(every, 0.95):.1f} | "
        f"{percentile(processor, 0.95):.1f} |",
        *(f"| {name} | {rows[name][0]:.1f} | {rows[name][1]:.1f} | {rows[name][2]:.1f} |" for name in slowest),
        "\nThe lines below the first show the slowest corruptions.\n",
        "## Predictions and strips\n",
        "| model | its own time for one picture, ms | new prediction, median | 95 % | beyond the model | "
        "of the processors, mean | strip of 41, s | beyond 41 model times | of the processors |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {name} | {row['own']:.1f} | {row['median']:.1f} | {row['p95']:.1f} | {row['beyond']:.1f} | "
            f"{row['processor beyond']:.1f} | {row['strip']:.2f} | {row['strip beyond']:.2f} | "
            f"{row['strip processor beyond']:.2f} |"
            for name, row in (("demo:standard, at 32 px", demo), ("the same network, at 224 px", large))
        ),
        "\nThe pictures of a strip are drawn and evaluated in batches; bisection then finds the exact failure point.\n",
        "## Formats at 224 px\n",
        "| | fog, ms | KB | noise, ms | KB |",
        "|---|---:|---:|---:|---:|",
        *(f"| {name} | {a:.1f} | {b} | {c:.1f} | {d} |" for name, a, b, c, d in encodings()),
        "\n## Memory while dragging\n",
        "| steps | server's memory, MB |",
        "|---:|---:|",
        *(f"| {step:,} | {size:.0f} |" for step, size in kept),
    ]
    assert encoded(square(photo("cat", 300), 224))[1] == "image/png"
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {PAGE.name}")


INTRODUCTION = """# Speed of the explorer

*Written by `perf/explore.py` (`make perf`); do not edit.* {machine}, {cores} processors, for which {load:.0f} programs
waited at a time. Server and client are two processes; times are measured until the client has the whole answer, and
processor times come from the server's `Server-Timing`.

- `brittle explore` gives its first page {page:.1f} s after the start of its process, and has its two demo models ready
  after {loaded:.1f} s.
- While the severity is dragged, a new picture takes {median:.1f} ms (median of {count:,} pictures of all corruptions;
  {p95:.1f} ms at the 95th percentile, and of the processor {processor:.1f} ms; {share:.0f} % within 30 ms).
- To find what breaks a picture, all corruptions are searched in {searched:.1f} s.
- Memory stays flat: {first:.0f} MB after {step:,} steps of dragging, {last:.0f} MB after {steps:,}.
- Up to {exact} px a side the picture on the screen is a PNG, the exact pixels; larger ones are sent as JPEG.
"""

if __name__ == "__main__":
    main()

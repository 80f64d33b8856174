"""Run on a Ray cluster of two nodes in network namespaces, cut its links and kill its head, and compare the rows.

    sudo python scripts/try_cluster.py [NAME …]

Each node has an address of its own (10.77.0.1 is the head), a processor of its own and, for "other version", a brittle
of its own; both see the same disk. It needs root, `ip` (iproute2) and Ray. The driver runs in the head's namespace.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import brittle

HEAD, OTHER, PORT = "10.77.0.1", "10.77.0.2", 6399
SPACES = {HEAD: "brittle-head", OTHER: "brittle-other"}
BRIDGE = "brittle0"
RAY = str(Path(sys.executable).with_name("ray"))
RUN = ["run", "-d", "demo", "-b", "cifar10-c", "--corruption", "fog,frost,snow,glass_blur", "--limit", "400", "-j", "1"]
RUN += ["--batch-size", "64"]  # by default it is measured, and confidences differ with it in their last digits
DEMO = "demo:standard"
SLOW = '''"""demo:standard, with a rest of as many seconds before each batch as the file `pace` beside this one says."""

import time
from pathlib import Path

from brittle import load_model



class Slow:
    def __init__(self):
        self.demo = load_model("demo:standard")
        self.name, self.key = "slow", self.demo.key

    def scores(self, images):
        pace = Path(__file__).with_name("pace")
        time.sleep(float(pace.read_text()) if pace.exists() else 0.0)
        return self.demo.scores(images)
'''
"""A model whose cells take seconds and no processor: something is lost in the midst of the work."""
PACE = "0.8"
PATIENCE = 60.0
"""Seconds within which a lost link or head must be reported."""


class Cluster:
    """Two nodes, each a Ray process tree in its namespace."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.starts = folder, 0
        self.log = (folder / "ray.log").open("w")

    def start(self, source: dict[str, Path] | None = None) -> None:
        """Start the head, then the other node; `source` is where a node has brittle from."""
        self.starts += 1
        for address in SPACES:
            role = ["--head", f"--port={PORT}"] if address == HEAD else [f"--address={HEAD}:{PORT}"]
            command = [RAY, "start", *role, f"--node-ip-address={address}", "--num-cpus=1", "--disable-usage-stats"]
            command += ["--object-store-memory=100000000", *(["--include-dashboard=false"] if address == HEAD else [])]
            command += [f"--temp-dir={self.folder / f'r{self.starts}'}"] if address == HEAD else []
            environment = dict(
                os.environ, OMP_NUM_THREADS="1", RAY_raylet_start_wait_time_s="240", RAY_worker_niceness="0"
            )
            if source and address in source:
                environment["PYTHONPATH"] = str(source[address])
            subprocess.run(inside(address, command), env=environment, stdout=self.log, stderr=self.log, check=True)

    def processes(self, address: str, name: str = "") -> list[int]:
        """The processes of a node, or those of one name."""
        asked = subprocess.run(["ip", "netns", "pids", SPACES[address]], capture_output=True, text=True, check=True)
        found = []
        for pid in map(int, asked.stdout.split()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if name in command:
                found.append(pid)
        return found

    def kill(self, address: str, name: str = "") -> None:
        """Kill processes of a node, hard."""
        for pid in self.processes(address, name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def stop(self) -> None:
        """Kill all of both nodes."""
        for address in SPACES:
            while self.processes(address):
                self.kill(address)
                time.sleep(0.2)
        shutil.rmtree(self.folder / f"r{self.starts}", ignore_errors=True)


def inside(address: str, command: list[str]) -> list[str]:
    """A command in the namespace of a node."""
    return ["ip", "netns", "exec", SPACES[address], *command]


def link(address: str, state: str) -> None:
    """Cut the link of a node (down), or mend it (up)."""
    subprocess.run(["ip", "link", "set", f"to-{SPACES[address]}"[:15], state], check=True)


@contextmanager
def network() -> Iterator[None]:
    """Two namespaces on one bridge."""

    def run(*words: str, check: bool = True) -> None:
        subprocess.run(["ip", *words], check=check, stderr=None if check else subprocess.DEVNULL)

    run("link", "add", BRIDGE, "type", "bridge")
    run("link", "set", BRIDGE, "up")
    try:
        for address, space in SPACES.items():
            end = f"to-{space}"[:15]
            run("netns", "add", space)
            run("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("link", "set", end, "master", BRIDGE, "up")
            for words in (
                ("addr", "add", f"{address}/24", "dev", "eth0"),
                ("link", "set", "eth0", "up"),
                ("link", "set", "lo", "up"),
            ):
                run("-n", space, *words)
        yield
    finally:
        for space in SPACES.values():
            run("netns", "del", space, check=False)
        run("link", "del", BRIDGE, check=False)


class Driver:
    """A `brittle run` on the cluster, in the namespace of the head or of the other node."""

    def __init__(self, output: Path, model: str = DEMO, at: str = HEAD) -> None:
        self.output = output
        command = [sys.executable, "-m", "brittle", *RUN, "-m", model, "-o", str(output)]
        command += ["--engine", "ray", "--address", f"{HEAD}:{PORT}"]
        self.process = subprocess.Popen(
            inside(at, command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "80"},
        )

    def wait_for_cells(self, count: int) -> None:
        """Until so many cells are on disk."""
        while cells(self.output) < count:
            if self.process.poll() is not None:
                raise SystemExit(f"it ended early: {self.process.stdout.read() if self.process.stdout else ''}")
            time.sleep(0.1)

    def end(self, seconds: float = 500) -> tuple[int, str]:
        """Its exit code and all that it printed."""
        text, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, text


def give_token(path: Path) -> None:
    """Have both nodes and the driver share a token of this cluster's own, whatever Ray has in the home folder.

    Ray 2.59 and later leave a token there after any local cluster; then a head asks for it, and other nodes lack it.
    """
    path.write_text(secrets.token_hex(32), encoding="utf-8")
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}


def cells(folder: Path) -> int:
    """How many cells a run has."""
    return len(list(folder.glob("cells/*/*.parquet")))


def slow_model(folder: Path, pace: str = "0") -> str:
    """The name of the slow model, which rests so many seconds before each batch from now on."""
    (folder / "pace").write_text(pace)
    (folder / "slow.py").write_text(SLOW)
    return f"{folder / 'slow.py'}:Slow"


def rows(folder: Path):
    """All rows of a run in one order."""
    return brittle.load_results(folder).rows.sort("model", "corruption", "level", "sample").collect()


def require(right: bool, message: str) -> None:
    """End with a message unless it is right."""
    if not right:
        raise SystemExit(f"FAILED: {message}")


def require_same_rows(folder: Path, reference: Path) -> None:
    """End with the columns in which two runs differ, unless they are the same."""
    found, wanted = rows(folder), rows(reference)
    require(found.shape == wanted.shape, f"{found.shape} rows and columns, not {wanted.shape}")
    other = [name for name in wanted.columns if not found[name].equals(wanted[name])]
    require(not other, f"other values in {', '.join(other)}")


def same(cluster: Cluster, folder: Path) -> str:
    """Both nodes work, and the rows are those of one machine."""
    cluster.start()
    code, text = Driver(folder / "two").end()
    require(code == 0, text)
    require_same_rows(folder / "two", folder / "one")
    print(text)
    return f"{cells(folder / 'two')} cells, identical"


def killed_worker(cluster: Cluster, folder: Path) -> str:
    """Workers of both nodes are killed in the midst of cells; Ray does these again."""
    cluster.start()
    slow = slow_model(folder, PACE)
    driver = Driver(folder / "worker", slow)
    waits = []
    for count, address in ((2, OTHER), (4, HEAD), (6, OTHER)):
        driver.wait_for_cells(count)
        cluster.kill(address, "ray::checked")  # not the agents, without which the node ends
        began, before = time.monotonic(), cells(folder / "worker")
        driver.wait_for_cells(before + 1)
        waits.append(time.monotonic() - began)
    slow_model(folder)
    code, text = driver.end()
    require(code == 0, text)
    require_same_rows(folder / "worker", folder / "one-slow")
    print(text)
    return f"3 times the workers of a node, the next cell {max(waits):.0f} s later at most, identical"


def dying_workers(cluster: Cluster, folder: Path) -> str:
    """Workers of both nodes are killed whenever they work: it is reported, and resumes once they live."""

    def kill_all(driver: Driver) -> None:
        while driver.process.poll() is None:
            for address in SPACES:
                cluster.kill(address, "ray::checked")
            time.sleep(0.5)

    return _lost(cluster, folder, "dying", HEAD, kill_all, "fog")


def other_version(cluster: Cluster, folder: Path) -> str:
    """The other node has a brittle whose fog is another: it is refused, and the run resumes without it."""
    copied = Path(
        shutil.copytree(Path(brittle.__file__).parents[1], folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    )
    weather = copied / "brittle" / "corruptions" / "imagenet_c" / "weather.py"
    weather.write_text(weather.read_text(encoding="utf-8") + "\nOTHER = 1\n", encoding="utf-8")
    cluster.start({OTHER: copied})
    code, text = Driver(folder / "version").end()
    require(code == 1 and OTHER in text and "other code" in " ".join(text.split()), text)
    kept = cells(folder / "version")
    cluster.stop()
    cluster.start()
    again, more = Driver(folder / "version").end()
    require(again == 0 and rows(folder / "version").equals(rows(folder / "one")), more)
    return f"refused, {kept} cells kept, resumed with the same version: identical"


def other_corruption(cluster: Cluster, folder: Path) -> str:
    """A corruption of one's own is drawn on both nodes as here."""
    code = "import brittle\nfrom brittle.corruptions import corruption, levels\n\n\n"
    code += '@corruption(family="digital", source="mine", strength=levels(1, 2, 3, 4, 5, clean=0))\n'
    code += 'def darker(image, rng, *, strength):\n    """Darker."""\n    return image // (1 + int(strength))\n'
    (folder / "mine.py").write_text(code, encoding="utf-8")
    recipe = 'name = "mine"\nlevels = [1, 2, 3, 4, 5]\n[[corruption]]\nid = "mine/darker"\n[[corruption]]\nid = "fog"\n'
    (folder / "mine.toml").write_text(recipe, encoding="utf-8")
    command = ["--import", str(folder / "mine.py"), "run", "-m", "demo:standard", "-d", "demo", "--limit", "400"]
    command += ["-b", str(folder / "mine.toml"), "-j", "1"]
    base = [sys.executable, "-m", "brittle", *command]
    subprocess.run([*base, "-o", str(folder / "mine-one")], check=True, capture_output=True)
    cluster.start()
    on_two = [*base, "-o", str(folder / "mine-two"), "--engine", "ray", "--address", f"{HEAD}:{PORT}"]
    ended = subprocess.run(inside(HEAD, on_two), capture_output=True, text=True, check=False)
    require(ended.returncode == 0, ended.stdout + ended.stderr)
    require_same_rows(folder / "mine-two", folder / "mine-one")
    return "identical"


def _lost(
    cluster: Cluster, folder: Path, name: str, at: str, lose: Callable[[Driver], None], names: str = "10.77.0."
) -> str:
    """Lose something after three cells; it is reported in time, and the same command then gives all rows."""
    cluster.start()
    slow = slow_model(folder, PACE)
    driver = Driver(folder / name, slow, at=at)
    driver.wait_for_cells(3)
    began = time.monotonic()
    lose(driver)
    code, text = driver.end(400)
    took, kept, total = time.monotonic() - began, cells(folder / name), cells(folder / "one-slow")
    for address in SPACES:
        link(address, "up")
    print(text, flush=True)
    slow_model(folder)
    flat = " ".join(text.split())
    if code != 0:
        require(code == 1 and "resumes" in flat and names in flat, f"code {code}")
        require(took <= PATIENCE, f"it was reported after {took:.0f} s")
        cluster.stop()
        cluster.start()
        again, more = Driver(folder / name, slow).end()
        require(again == 0, more)
    print(f"{name}: {kept} of {total} cells when it ended after {took:.1f} s", flush=True)
    require_same_rows(folder / name, folder / "one-slow")
    if code == 0:
        return f"finished {took:.0f} s later, identical"
    return f"reported after {took:.0f} s, {kept} of {total} cells kept, resumed: identical"


def lost_node(cluster: Cluster, folder: Path) -> str:
    """The other node is killed with all its processes."""
    return _lost(cluster, folder, "node", HEAD, lambda _: cluster.kill(OTHER))


def lost_raylet(cluster: Cluster, folder: Path) -> str:
    """The raylet of the other node is killed."""
    return _lost(cluster, folder, "raylet", HEAD, lambda _: cluster.kill(OTHER, "raylet/raylet"))


def lost_link(cluster: Cluster, folder: Path) -> str:
    """The link of the other node is cut."""
    return _lost(cluster, folder, "link", HEAD, lambda _: link(OTHER, "down"))


def lost_head_link(cluster: Cluster, folder: Path) -> str:
    """The driver runs on the other node, and the link of the head is cut."""
    return _lost(cluster, folder, "head-link", OTHER, lambda _: link(HEAD, "down"))


def lost_head(cluster: Cluster, folder: Path) -> str:
    """The control service of the head is killed."""
    return _lost(cluster, folder, "head", HEAD, lambda _: cluster.kill(HEAD, "gcs_server"))


def lost_far_head(cluster: Cluster, folder: Path) -> str:
    """The driver runs on the other node, and the head is killed with all its processes."""
    return _lost(cluster, folder, "far-head", OTHER, lambda _: cluster.kill(HEAD))


CASES = {
    "same": same,
    "killed-worker": killed_worker,
    "other-version": other_version,
    "own-corruption": other_corruption,
    "dying-workers": dying_workers,
    "lost-node": lost_node,
    "lost-raylet": lost_raylet,
    "lost-link": lost_link,
    "lost-head-link": lost_head_link,
    "lost-head": lost_head,
    "lost-far-head": lost_far_head,
}


def main() -> None:
    """Make the network, run each case on a fresh cluster, print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    wanted = parser.parse_args().cases or list(CASES)
    if os.geteuid() != 0 or shutil.which("ip") is None:
        sys.exit("SKIPPED: network namespaces need root and `ip` (iproute2)")
    failed = []
    with tempfile.TemporaryDirectory(prefix="bc-", ignore_cleanup_errors=True) as temporary, network():
        folder = Path(temporary)
        give_token(folder / "token")
        for model, name in ((DEMO, "one"), (slow_model(folder), "one-slow")):
            one = [sys.executable, "-m", "brittle", *RUN, "-m", model, "-o", str(folder / name)]
            subprocess.run(one, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        for name in wanted:
            cluster = Cluster(folder)
            try:
                print(f"{name}: {CASES[name](cluster, folder)}", flush=True)
            except (SystemExit, subprocess.SubprocessError) as error:
                failed.append(name)
                print(f"{name}: {error}\n{(folder / 'ray.log').read_text()[-2000:]}", flush=True)
            finally:
                cluster.stop()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

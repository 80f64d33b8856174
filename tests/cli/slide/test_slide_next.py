"""The command that each verb of `brittle slide` prints as the next one works when it is typed."""

import re
import shlex
import shutil
from pathlib import Path

from typer.testing import Result

from brittle.datasets import cns_bench
from brittle.sliders import write_labels
from tests.cli.slide.slide_cases import Run, train

QUICK = {"sample": ("--seeds", 1, "--denoising-steps", 2, "--scales", "0,1", "--image-format", "png")}
"""What is added to a command so that it does not draw for hours."""


def works(run: Run, result: Result) -> Result:
    assert result.exit_code == 0, result.output
    (line,) = re.findall(r"next: (brittle .*)$", result.stdout, re.M)
    _, *words = shlex.split(line)
    done = run(*words, *QUICK.get(words[1], ()))
    assert done.exit_code == 0, f"{line}: {done.output}"
    return done


def test_from_training_to_a_report(run: Run, parts: Path) -> None:
    shutil.copytree(parts / "clip", "clip-vit-base-patch16")  # the printed command names the published CLIP
    sampled = works(run, train(run, parts))
    measured = works(run, sampled)
    page = works(run, measured)
    assert Path("label.html").is_file()
    samples = [str(sample) for sample in cns_bench("slides").ids]
    write_labels(dict.fromkeys(samples, "class"), "labels.csv")  # as the page saves them
    works(run, page)
    eyes = ("--clip", "tiny", "--thresholds", parts / "thresholds.json")
    ran = works(run, run("slide", "filter", "slides", *eyes, "-o", "filtered"))
    works(run, ran)
    assert Path("run/report.html").is_file()

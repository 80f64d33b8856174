"""`brittle explore`: a local web app to play with corruptions, models and results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import compile_first, console
from brittle.cli.options import option
from brittle.cli.styles import DIM, END, YELLOW

EXAMPLES = (
    ("brittle explore", "the bundled models, photographs and data; nothing to fetch"),
    ("brittle explore photo.jpg -m timm:resnet50 -m net.onnx", "two models on a photograph of yours"),
    ("brittle explore -m net.onnx -d val/", "page through the images of a data set"),
    ("brittle explore run -m net.onnx -d val/", "the results of a run, and the model that made them"),
)


def explore_verb(
    things: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…] [PHOTO…]",
            help="Folders of `brittle run` and `brittle design overlap`; image files, or `cat` and `coffee`.",
        ),
    ] = None,
    models: Annotated[list[str] | None, option("--model", show_default="the demo's, if nothing is named")] = None,
    data: Annotated[str | None, option("--data", show_default="the demo's, if nothing is named")] = None,
    port: Annotated[int, option("--port", show_default="a free one")] = 0,
    host: Annotated[str, option("--host")] = "127.0.0.1",
    no_browser: Annotated[bool, option("--no-browser")] = False,
) -> None:
    """Open an interactive page: drag the severity, and watch the prediction flip.

    The app runs only on this machine, and needs no network. Its address has a token; requests without the token are
    refused. Models and data load while the page is already open. Press Ctrl+C to end it.
    """
    from socket import gethostname

    from rich.text import Text

    import brittle
    from brittle.explorer import is_loopback
    from brittle.models import model_texts

    runs, photos = sorted_out(things or [])
    compile_first()
    texts = [text for model in models or [] for text in model_texts(model)]
    explorer = brittle.explore(texts or None, photos, data, runs, host=host, port=port, open_browser=not no_browser)
    screen = console()
    screen.print(f"{explorer.url}  {DIM}Ctrl+C ends it{END}", soft_wrap=True)
    if not is_loopback(host):
        elsewhere = explorer.url.replace("127.0.0.1", gethostname())
        warning = f"Whoever can reach this machine and has the token can use it: {elsewhere}"
        screen.print(f"{YELLOW}{warning}{END}", soft_wrap=True)
    try:
        while explorer.running and not explorer.state.loaded.wait(0.2):
            pass
        for problem in explorer.state.problems:
            console(stderr=True).print(Text(problem, "red"), soft_wrap=True)
        explorer.wait()
    except KeyboardInterrupt:
        explorer.stop()


def sorted_out(things: list[str]) -> tuple[list[Path], list[str]]:
    """The runs and the photographs among the words of a command line."""
    runs, photos = [], []
    for thing in things:
        if Path(thing).is_dir():
            runs.append(Path(thing))
        elif Path(thing).is_file() or thing in ("cat", "coffee"):
            photos.append(thing)
        else:
            raise BrittleError(f"there is no run and no photograph {thing!r}; give folders of runs and image files")
    return runs, photos

"""Names with brackets in printed lines: they are text, whatever they look like."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image as Pil
from rich.table import Table
from rich.text import Text

import brittle
from brittle.cli.progress import NameSafeConsole
from brittle.cli.styles import BOLD, DIM, END, RED, YELLOW, without_codes
from tests.cli.conftest import Run

NAMES = (
    "[red].png",
    "[/red].png",
    "[bold]x[/]",
    "[dim]",
    "[link=x]",
    "a[/]b",
    "[bold",
    "[1]",
    "\\[0.1]",
    "[/]",
    "plain",
)


@pytest.mark.parametrize("name", NAMES)
def test_brackets_in_names_are_text_wherever_they_stand(name: str) -> None:
    screen = NameSafeConsole(file=io.StringIO(), width=200, color_system=None)
    screen.print(f"{name}  {DIM}of {name}, {BOLD}{name}{END}{END} {name}")
    table = Table(name, f"{YELLOW}{name}{END}", title=name)
    table.add_row(f"{RED}{name}{END}", name)
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    first, *rest = screen.file.getvalue().splitlines()
    assert first == f"{name}  of {name}, {name} {name}"
    assert "".join(rest).count(name) == 5


@pytest.mark.parametrize("code", ["\x1b[31m", "\x1b]0;title\x1b\\", "\x9b2J", "\x00", "\x7f"], ids=ascii)
def test_codes_in_names_do_not_steer_the_terminal(code: str) -> None:
    name = f"a{code}b"
    screen = NameSafeConsole(file=io.StringIO(), width=200, color_system=None)
    table = Table(name)
    table.add_row(name)
    for shown in (name, f"{RED}{name}{END}", Text(name, "red"), Text.assemble((name, "bold")), table):
        screen.print(shown)
    assert isinstance(screen.file, io.StringIO)
    printed = screen.file.getvalue()
    assert printed.replace("\n", "").isprintable()
    assert printed.count(without_codes(name)) == 6


def test_styles_nest_and_end_where_they_are_told_to() -> None:
    shown = NameSafeConsole().render_str(f"a{DIM}b{BOLD}c{END}d{END}e{RED}f")
    assert shown.plain == "abcdef"
    assert sorted((span.start, span.end, str(span.style)) for span in shown.spans) == [
        (1, 4, "dim"),
        (2, 3, "bold"),
        (5, 6, "red"),
    ]


@pytest.mark.parametrize("name", ["[red]", "[/]", "[bold]x[/bold]"])
def test_verbs_print_such_names_in_full(name: str, run: Run, tmp_path: Path) -> None:
    name = name.replace("/", "\u2215") if "/" in name else name
    photo, written = tmp_path / f"{name}.png", tmp_path / f"{name} out.png"
    Pil.new("RGB", (40, 40), (90, 120, 60)).save(photo)
    shown = run("corrupt", photo, written, "-c", "fog", "-s", "3")
    assert shown.exit_code == 0, shown.output
    assert str(written) in shown.output
    sheet = tmp_path / f"{name} sheet.png"
    assert str(sheet) in run("show", photo, "-c", "fog", "-o", sheet).output


def test_no_line_of_a_verb_is_written_in_the_markup_of_rich() -> None:
    """It would be printed with its brackets: write f"{DIM}…{END}", see `brittle.cli.styles`."""
    folder = Path(brittle.__file__).parent / "cli"
    tags = re.compile(r"\[(?:bold|dim|italic|red|green|yellow|blue|magenta|cyan|white)\]|\[/\]")
    helped = folder / "__init__.py", folder / "styles.py", folder / "progress.py"  # the help is Typer's, in its markup
    found = [
        f"{path.relative_to(folder)}:{number}"
        for path in sorted({*folder.rglob("*.py")}.difference(helped))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if tags.search(line)
    ]
    assert found == []

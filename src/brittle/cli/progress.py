"""Progress that is a bar in a terminal and a few lines in a log."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event, Thread
from time import monotonic
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from brittle.cli.styles import styled, without_codes

FIRST, EVERY, TENTH = 5.0, 30.0, 5.0
"""Seconds without a terminal: until the first line, between lines, and before the line of another tenth."""

PERIOD = 120.0
"""Seconds over which the speed is taken: corruptions differ in theirs, and the time left should not jump with each."""


class NameSafeConsole(Console):
    """A console that prints names as they are: brackets as in [/red].png, and codes that steer a terminal as \\x1b."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, without codes but those of Rich's own."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=without_codes(part.text))

    def render_str(self, text: str, **options: Any) -> Text:
        """A text with the styles of `brittle.cli.styles`; brackets are text."""
        shown = styled(without_codes(text))
        plain = super().render_str(shown.plain, **{**options, "markup": False})
        plain.spans.extend(shown.spans)
        return plain


class Counts(ProgressColumn):
    """How much is done, of how much, and how many a second where the task's field `unit` says of what."""

    def render(self, task: Task) -> Text:
        return Text(" · ".join(filter(None, (counts(task), speed(task)))), style="progress.download")


class WorkProgress(Progress):
    """A bar in a terminal. Elsewhere, as in a log of CI, a line after some seconds and then now and again.

    The lines come from a thread of their own, so that a step of many minutes is not a silent one; work that is done
    before the first line is due prints nothing.
    """

    def __init__(
        self, console: Console, *, first: float = FIRST, every: float = EVERY, tenth: float = TENTH, quiet: bool = False
    ) -> None:
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            Counts(),
            TextColumn("·"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
            expand=True,
            speed_estimate_period=PERIOD,
        )
        self._first, self._every, self._tenth = first, every, tenth
        self._quiet = quiet
        self._over = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to show how far it is."""
        super().start()
        if self.disable and not self._quiet and self._thread is None:
            self._over.clear()
            self._thread = Thread(target=self._lines, name="progress", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Show nothing any more."""
        super().stop()
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    def _lines(self) -> None:
        before, reached, due = monotonic(), -1, self._first
        while not self._over.wait(min(1.0, self._first / 5)):
            tasks = [task for task in self.tasks if not task.finished]
            if not tasks:
                continue
            task, waited = tasks[-1], monotonic() - before
            tenth = int(10 * task.completed / task.total) if task.total else 0
            if waited < due and (reached < 0 or tenth == reached or waited < self._tenth):
                continue
            self.console.print(line(task), style="dim", highlight=False, markup=False, soft_wrap=True)
            before, reached, due = monotonic(), tenth, self._every


def line(task: Task) -> str:
    """A task in one line: what, how much of how much, how fast, and how long still."""
    left = task.time_remaining if task.total else None
    facts = [task.description.strip(), counts(task), speed(task), "" if left is None else f"{duration(left)} left"]
    return ", ".join(filter(None, facts))


def counts(task: Task) -> str:
    """Such as "1,200/76,000 images (2 %)", or nothing while the total is not known."""
    if not task.total:
        return ""
    share = f" ({100 * task.completed / task.total:.0f} %)"
    return f"{task.completed:,.0f}/{task.total:,.0f}{_unit(task)}{share}"


def speed(task: Task) -> str:
    """Such as "310 images/s", where it is known of what."""
    rate = task.finished_speed or task.speed
    return f"{rate:,.{0 if rate >= 10 else 1}f}{_unit(task)}/s" if rate and task.total and _unit(task) else ""


def _unit(task: Task) -> str:
    unit = task.fields.get("unit")
    return f" {unit}" if unit else ""


def duration(seconds: float) -> str:
    """Such as "45 s", "3 min 20 s" or "2 h 5 min"."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"

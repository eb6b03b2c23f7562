"""The output of the demo while it runs: sentences, and progress bars."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from sharedq.display.terminal import Terminal

_BARS = ("messages put", "delivered through IGQ", "delivered from the shared queue")


class Story:
    """Writes sentences above the bars. Use it as a context manager."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self._progress = Progress(
            TextColumn("{task.description:<32}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            refresh_per_second=4,
        )
        self._bars: list[TaskID] = []

    def say(self, text: str, style: str = "") -> None:
        """Write a sentence."""
        self.console.print(Text(text, style=style))

    def show_bars(self, departures: int) -> None:
        """Start to show progress: each departure is put twice, and delivered once on each path."""
        totals = (2 * departures, departures, departures)
        self._bars = [self._progress.add_task(name, total=n) for name, n in zip(_BARS, totals, strict=True)]
        self._progress.start()

    def update(self, put: int, through_igq: int, shared: int) -> None:
        """Move the bars."""
        for bar, count in zip(self._bars, (put, through_igq, shared), strict=False):
            self._progress.update(bar, completed=count)

    def hide_bars(self) -> None:
        """Leave the bars as they are and continue below them."""
        self._progress.stop()
        self._bars = []

    def __enter__(self) -> Story:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Stopping bars that do not run would print an empty line.
        if self._bars:
            self.hide_bars()

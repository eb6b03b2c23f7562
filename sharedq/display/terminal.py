"""Standard output and standard error, written with rich: foreign text neither controls nor colours the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sharedq.display.text import visible


class Terminal(Console):
    """A console that shows text as it is: no markup, and `visible` for each text and each cell of a table.

    A `Text` keeps its line ends: its maker intended them.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Text that is printed, the cells of tables and their titles."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Text that was made a `Text` already stays as it is."""
        if isinstance(renderable, Text) and (shown := visible(renderable.plain, keep="\n")) != renderable.plain:
            renderable = Text(shown, style=renderable.style)
        return super().render(renderable, options)

"""Pages of Markdown on a terminal: tables as entries, one below the other, so that nothing is
truncated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def print_page(page: str) -> None:
    """Print a page in the width of the terminal; a row of a table is its first cell, and below it
    the others with the heads of their columns."""
    console = Console(highlight=False)
    whole = Console(soft_wrap=True, highlight=False)
    for is_table, lines in groupby(page.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            for text, style in _entries(list(lines)):
                whole.print(Text(text, style=style))
        else:
            console.print(Markdown("\n".join(lines)))


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table as text, and their styles."""
    heads = _cells(lines[0])
    for line in lines[2:]:
        first, *others = _cells(line)
        if first:
            yield first, "bold"
        for head, cell in zip(heads[1:], others, strict=True):
            if cell:
                yield f"    {head}: {cell}" if head else f"    {cell}", "dim"


def _cells(line: str) -> list[str]:
    cells = _BETWEEN_CELLS.split(line.strip())[1:-1]
    return [
        re.sub(r"\\([|<*])", r"\1", _LINK.sub(r"\1", cell)).replace("`", "").strip()
        for cell in cells
    ]

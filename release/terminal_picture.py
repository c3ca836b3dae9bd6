"""Draws a terminal in which a command ran.

`python -m release.terminal_picture FILE COMMAND…` runs the command and writes FILE, an SVG, from
what it printed. `make pictures` runs it.

The picture has the standard output with its colours. Of a long output it has the first and the last
lines, and between them the number of the others. What the command prints to standard error goes
to that of this program.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.text import Text

WIDTH = 110
"""Columns of the terminal."""
FIRST, LAST = 13, 19
"""Lines that are shown of a longer output."""
_FONTS = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_ENVIRONMENT = {
    "COLUMNS": str(WIDTH),
    "TERM": "xterm-256color",
    "FORCE_COLOR": "1",  # Rich takes a pipe for a terminal,
    "TTY_INTERACTIVE": "0",  # but does not draw lines that change in their place
}


def output_of(command: Sequence[str]) -> str:
    """The standard output of a command, with escape sequences for colours. Raises
    CalledProcessError if the command fails."""
    environment = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    ran = subprocess.run(
        command, env=environment | _ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True
    )
    return ran.stdout


def picture(command: Sequence[str], output: str) -> str:
    """A terminal with the command and its output, as an SVG document that needs no other file."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False
    )
    console.print(Text.assemble(("$ ", "green"), (shlex.join(command), "bold")))
    for line in shortened([*AnsiDecoder().decode(output)]):
        console.print(line, no_wrap=True, overflow="ellipsis")
    svg = console.export_svg(title="", unique_id="terminal")
    # Rich lets a browser fetch its font, and links to itself in a comment.
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.S)
    svg = svg.replace("Fira Code, monospace", _FONTS)
    head, _, rest = svg.partition(">")
    title = escape(f"A terminal after {shlex.join(command)}")
    return f'{head} role="img">\n    <title>{title}</title>{rest}'


def shortened(lines: Sequence[Text]) -> Sequence[Text]:
    """The first and the last lines of a long output, with the number of the others in between."""
    hidden = len(lines) - FIRST - LAST
    if hidden <= 1:
        return lines
    return [*lines[:FIRST], Text(f"… {hidden:,} more lines", style="dim"), *lines[-LAST:]]


def main() -> int:
    """The exit status, which is that of the command if it fails."""
    parser = argparse.ArgumentParser(prog="python -m release.terminal_picture")
    parser.add_argument("file", type=Path, help="the SVG that is written")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command and its arguments")
    given = parser.parse_args()
    try:
        output = output_of(given.command)
    except subprocess.CalledProcessError as error:
        print(f"{shlex.join(given.command)} failed; there is no picture of it", file=sys.stderr)
        return error.returncode
    given.file.write_text(picture(given.command, output))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

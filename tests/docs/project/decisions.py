"""The list of decisions, docs/decisions/README.md: `python -m tests.docs.project.decisions` prints
it; `make docs` writes it, `make check` compares it.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[3] / "docs/decisions"
_HEAD = """\
# Decisions

Each page says what was decided, why, and what follows. `make docs` generates this list.

"""


def pages() -> list[Path]:
    """The pages in their order."""
    return sorted(FOLDER.glob("[0-9]*.md"))


def listed() -> str:
    """The page with a line for each decision: its title, and its first sentence."""
    lines = []
    for page in pages():
        title, decision, _ = page.read_text().split("\n\n", 2)
        number, _, name = title.removeprefix("# ").partition(". ")
        lines.append(f"{number}. [{name}]({page.name}): {decision}\n")
    return _HEAD + "".join(lines)


if __name__ == "__main__":
    print(listed(), end="")

"""The fenced blocks of README and guides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = {"bash": "sh", "shell": "sh"}
"""Other names of languages that blocks have."""
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One block of a page (its path below the root): its language, its text, and the line in which
    the text begins."""

    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines of a block of shell commands, without comments."""
        lines = (re.sub(r"\s+#.*", "", line).strip() for line in self.text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """README and the guides."""
    guides = sorted((ROOT / "docs" / "guides").rglob("*.md"))
    return ["README.md", *(str(guide.relative_to(ROOT)) for guide in guides)]


def project_pages() -> list[str]:
    """The pages for those who work on headrace, and the changelog."""
    folders = (ROOT, ROOT / "docs", ROOT / "docs/decisions", ROOT / "examples")
    paths = (folder.glob("*.md") for folder in folders)
    names = (str(path.relative_to(ROOT)) for folder in paths for path in sorted(folder))
    return [name for name in names if name != "README.md"]


@cache
def blocks(page: str, language: str = "") -> list[Block]:
    """The blocks of a page in order, of one language or of all."""
    text = (ROOT / page).read_text()
    page_blocks = [
        Block(
            page,
            text.count("\n", 0, match.start()) + 2,
            LANGUAGES.get(match[1], match[1]),
            match[2],
        )
        for match in _FENCED.finditer(text)
    ]
    return [block for block in page_blocks if language in ("", block.language)]


def block(page: str, words: str) -> Block:
    """The only block of a page that has these words."""
    (matching_block,) = [block for block in blocks(page) if words in block.text]
    return matching_block

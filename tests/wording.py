"""Counts words that plain technical English does not have; a count may only fall.

`python -m tests.wording` compares the sources, the tests and the documentation with
`tests/wording.txt`; `make check` runs it. A line of that file is a count and the word. Words that
have their place in some phrases only do not count there: `tests/phrases.txt` lists the phrases.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTS = Path(__file__).with_suffix(".txt")
PHRASES = COUNTS.with_name("phrases.txt")
_PLACES = (
    *("src/headrace", "demo", "release", "tests", "docs", "benchmarks", "examples"),
    *("deploy", ".ci", ".github"),
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    *("Dockerfile", "Makefile", "pyproject.toml"),
)
_SUFFIXES = (".py", ".md", ".sh", ".toml", ".yml", ".yaml", ".properties", "")
_SELF = (Path(__file__), COUNTS, PHRASES)


def texts(root: Path = ROOT) -> Iterator[str]:
    """The text of each file that people write."""
    for file in _files(root):
        if file.is_file() and file.suffix in _SUFFIXES and file not in _SELF:
            yield file.read_text()


def _files(root: Path) -> Iterator[Path]:
    """Yields the files of the places: those that Git knows or would add, in a repository."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
        # Git does not read a repository of another user.
        with suppress(OSError, subprocess.CalledProcessError):
            listing = subprocess.run(
                [*command, *_PLACES], cwd=root, capture_output=True, text=True, check=True
            )
            yield from (root / name for name in listing.stdout.split("\0") if name)
            return
    for place in _PLACES:
        top = root / place
        for file in [top] if top.is_file() else sorted(top.rglob("*")):
            if not any(part.endswith(".egg-info") for part in file.parts):
                yield file


def _pattern(words: str) -> str:
    """Returns a regular expression for whole words, also at the beginning of a sentence."""
    spaced = r"\s+".join(map(re.escape, words[1:].split(" ")))
    return rf"\b[{words[0].upper()}{words[0]}]{spaced}\b"


def count(
    words: Iterable[str], written: Iterable[str], phrases: Iterable[str] = ()
) -> dict[str, int]:
    """Counts how often each of the words occurs in the texts as a whole word, also at the beginning
    of a sentence, and not in one of the phrases."""
    patterns = {word: re.compile(_pattern(word)) for word in words}
    allowed = re.compile("|".join(map(_pattern, phrases)) or "(?!)")
    counts = dict.fromkeys(patterns, 0)
    for text in written:
        left = allowed.sub("", text)
        for word, pattern in patterns.items():
            counts[word] += len(pattern.findall(left))
    return counts


def differences(allowed: dict[str, int], counts: dict[str, int]) -> list[str]:
    """A sentence for each word whose count is not the one that is written down."""
    sentences = []
    for word, most in allowed.items():
        if counts[word] > most:
            sentences.append(
                f'"{word}" occurs {counts[word]} times, {most} are allowed: use another word'
            )
        elif counts[word] < most:
            sentences.append(f'"{word}" occurs {counts[word]} times: write that into {COUNTS.name}')
    return sentences


def read_counts(text: str) -> dict[str, int]:
    """The counts of `wording.txt`, by word."""
    split = (line.split(" ", 1) for line in text.splitlines())
    return {word: int(number) for number, word in split}


def main() -> int:
    """The exit status: 1 if a count differs."""
    allowed = read_counts(COUNTS.read_text())
    phrases = PHRASES.read_text().splitlines()
    sentences = differences(allowed, count(allowed, texts(), phrases))
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    raise SystemExit(main())

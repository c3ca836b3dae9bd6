"""The glossary has the terms of the code, each once and in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT

LEAST = 5
"""How often a term occurs in the sources and tests."""
QUALIFIED = re.compile(r"(part|window) of a \w+")
"""Terms with more than one meaning: the code has their first word."""


def rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("### Glossary\n")[2]
    table = text.partition("\n\n")[0].splitlines()[2:]
    return [tuple(line.strip("| ").split(" | ")[:3]) for line in table]  # type: ignore[misc]


def sources() -> Iterator[str]:
    for top in ("src", "demo", "tests"):
        for file in (ROOT / top).rglob("*.py"):
            yield file.read_text()


def terms() -> list[str]:
    return [row[0] for row in rows()]


def word(term: str) -> str:
    """The word or words that the code has for a term."""
    return QUALIFIED.sub(r"\1", term)


def test_the_terms_are_in_order_and_each_is_there_once() -> None:
    assert len(terms()) > 50
    bare = [word(term).lower() for term in terms()]
    assert bare == sorted(bare)
    assert len(set(terms())) == len(terms())


def test_each_meaning_is_one_line() -> None:
    assert [row for row in rows() if not 10 < len(row[1]) <= 100] == []


def test_the_code_uses_each_term() -> None:
    counts = dict.fromkeys(terms(), 0)
    patterns = {
        term: re.compile(
            rf"(?<![a-z]){word(term).replace(' ', '[ _]')}e?s?(?![a-z])", re.IGNORECASE
        )
        for term in counts
    }
    for text in sources():
        for term, pattern in patterns.items():
            if counts[term] < LEAST:
                counts[term] += len(pattern.findall(text))
    assert [term for term, count in counts.items() if count < LEAST] == []


@pytest.mark.parametrize(
    ("term", "bare"), [("part of a kernel", "part"), ("source process", "source process")]
)
def test_a_term_with_several_meanings_is_looked_for_by_its_word(term: str, bare: str) -> None:
    assert word(term) == bare

"""Each page of decisions begins with the decision."""

from __future__ import annotations

import re

import pytest

from tests.docs.project.decisions import FOLDER, listed, pages

PAGES = pages()
MAX_CHARACTERS = 200


def test_the_pages_are_found_and_numbered_without_a_gap() -> None:
    assert [int(page.name[:4]) for page in PAGES] == [*range(1, len(PAGES) + 1)]
    assert len(PAGES) >= 28


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_stands_in_one_sentence_below_its_title(page) -> None:  # type: ignore[no-untyped-def]
    title, decision, _ = page.read_text().split("\n\n", 2)
    assert re.fullmatch(rf"# {int(page.name[:4])}\. .+", title)
    assert len(decision) <= MAX_CHARACTERS
    assert re.fullmatch(r"[\w`].*\.", decision), (
        "a line that begins with a word and ends with a dot"
    )
    assert not re.search(r"[.!?]\s", decision), "more than one sentence"


def test_the_list_is_current() -> None:
    assert (FOLDER / "README.md").read_text() == listed(), "run make docs"

"""The page of all errors: it is current, and no code is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.cli.describe.errors import codes, passed_on, reference, with_marks
from headrace.cli.describe.placeholders import BEGIN, END, unmarked

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "errors.md"
ASSERTED = re.compile(
    r"""(?:\.code == |\.code, |error_code == )f?["']([a-z][a-z_0-9]*\.[a-z_.0-9]+)["']"""
)


@pytest.fixture(scope="module", autouse=True)
def page() -> str:
    """Made once: the sources are read for seconds, and by the worker of this file alone."""
    return reference()


def test_the_page_is_what_the_sources_say(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`headrace describe errors --markdown` writes it."""
    assert main(["describe", "errors", "--markdown"]) == 0
    assert capsys.readouterr().out == page == PAGE.read_text()


def test_every_error_of_the_sources_has_a_code_of_its_own_or_passes_one_on() -> None:
    """A code that is not a text of the sources belongs to another error, or to a row of a table of
    answers, which the page has by itself."""
    passing = {place.partition(": ")[2] for place in passed_on()}
    tables = {
        "f'mongodb.{answer.code}'",
        "f'postgresql.{code}'",
        "f'db2.{refusal.code}'",
        "f'oracle.{refusal.code}'",
        "f'{self.area}.{code}'",
        "f'{self.connector}.{code}'",
    }
    # Of HeadraceError itself, of error_of, of a status file, of a table that stopped.
    own_codes = {"code", "last['code']", "known['code']"}
    assert {each for each in passing - tables - own_codes if not each.endswith(".code")} == set()


def test_every_code_that_a_test_expects_is_on_the_page() -> None:
    """Tests see what is raised, whatever the sources look like."""
    expected = {
        code
        for test in (ROOT / "tests").rglob("test_*.py")
        for code in ASSERTED.findall(test.read_text())
    }
    assert len(expected) > 60
    listed = codes()
    missing = {
        code
        for code in expected
        if code not in listed and f"CONNECTOR.{code.partition('.')[2]}" not in listed
    }
    assert missing <= OF_TESTS, missing - OF_TESTS


OF_TESTS = {"area.kafka_setting", "kafka.bookkeeping"}
"""A code of a purpose that tests make up, and a finding that is well."""


def test_no_text_has_a_field_that_is_filled_later() -> None:
    """`{user}` of a text that is formatted when it is raised has a word, too; what is written as
    `${env:NAME}`, or as JSON, is meant literally."""
    field = re.compile(r"(?<!\$)\{\w+\}")
    assert [text for text in _texts() if field.search(text)] == []


def test_a_placeholder_does_not_touch_other_words() -> None:
    """A placeholder touches neither another word nor the letters of the text: `PREFIXNAME`,
    `NAMEs`; and no two follow each other with nothing said between them: `REASON NAMES`."""
    touching = re.compile(rf"{END}[\w{BEGIN}]|\w{BEGIN}|{END}\s+{BEGIN}")
    assert [text for text in _texts() if touching.search(text)] == []


def test_a_word_is_a_noun_in_capitals() -> None:
    words = {word for text in _texts() for word in re.findall(f"{BEGIN}([^{END}]*){END}", text)}
    assert len(words) > 100
    assert {word for word in words if not re.fullmatch("[A-Z][A-Z_]+", word)} == set()
    assert not words & {"NONE", "TRUE", "FALSE", "SELF"}


def test_no_text_has_a_gap_where_something_is_named() -> None:
    """Neither None, nor nothing, nor quotes around nothing."""
    gap = re.compile(r"\bNone\b(?! of )|''|\"\"|  | [,;:](?:\s|$)")
    assert [text for text in _texts() if gap.search(unmarked(text))] == []


def test_a_constant_is_the_one_that_the_module_names(page: str) -> None:
    """Not another module's of the same name."""
    assert "snapshot.select.statement.overrides.NAME: PROBLEM" in page
    assert "this one reads up to 19.3" not in page
    assert "is not available to the kafka sink" in page


def _texts() -> list[str]:
    return [
        f"{entry.code}: {text}" for entry in with_marks() for text in (entry.message, entry.remedy)
    ]


def test_placeholders_read_as_english(page: str) -> None:
    words = set(re.findall(r"\b[A-Z][A-Z_]+\b", page))
    # Names of methods and of variables that are no nouns.
    assert not words & {
        "GET", "STRIP", "TWICE", "TRIMMED", "NAMED", "NAMED_TABLES", "STRERROR", "UPPER", "LOWER",
        "REMOVESUFFIX", "REMOVEPREFIX", "REPLACE", "NAMEDWHERE", "MEANT", "SIMPLESTRING", "DUMPS",
        "FIND_TYPO", "SETDEFAULT", "WHY", "SAID", "QUOTED", "AS_PY", "SHOWN",
    }  # fmt: skip
    assert "depends on the case" not in page
    assert "NAME has VALUE more than once" in page
    # Statements are what they are.
    assert "GRANT USAGE ON SCHEMA SCHEMA TO ROLE; GRANT SELECT ON " in page

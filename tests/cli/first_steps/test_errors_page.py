"""The page of all errors: it is current, and no code is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.cli.describe.errors import codes, passed_on, reference

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "errors.md"
ASSERTED = re.compile(
    r"""(?:\.code == |\.code, |error_code == )f?["']([a-z][a-z_0-9]*\.[a-z_.0-9]+)["']"""
)


def test_the_page_is_what_the_sources_say(capsys: pytest.CaptureFixture[str]) -> None:
    """`headrace describe errors --markdown` writes it."""
    assert main(["describe", "errors", "--markdown"]) == 0
    assert capsys.readouterr().out == reference() == PAGE.read_text()


def test_every_error_of_the_sources_has_a_code_of_its_own_or_passes_one_on() -> None:
    """Whose code is none of the sources' texts is another error's, or a row's of a table of
    answers, which the page has by itself."""
    passing = {place.partition(": ")[2] for place in passed_on()}
    tables = {
        "f'mongodb.{answer.code}'",
        "f'postgresql.{code}'",
        "f'db2.{refusal.code}'",
        "f'oracle.{refusal.code}'",
        "f'{self.area}.{code}'",
    }
    own = {"code", "last['code']"}  # of HeadraceError itself, of error_of, of a status file
    assert {each for each in passing - tables - own if not each.endswith(".code")} == set()


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


def test_what_stands_for_something_reads_as_english() -> None:
    page = reference()
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
    assert "GRANT USAGE ON SCHEMA SCHEMA TO DATABASE_USER; GRANT SELECT ON " in page


def test_places_that_are_filled_in_later_are_words_in_capitals() -> None:
    assert re.findall(r"\{[a-z_]+\}", reference()) == []
    assert "ALTER USER DATABASE_USER ACCOUNT UNLOCK" in reference()

"""The changelog has the form of Keep a Changelog, and says what users need."""

from __future__ import annotations

import re
from datetime import date

from headrace.version import VERSION
from tests.docs.pages import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text()
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
LONGEST = 420
"""Characters of one entry: two lines of the page."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_versions_come_newest_first_each_with_its_date() -> None:
    first, *rest = re.findall(r"^## (.*)$", TEXT, re.M)
    released = [first, *rest] if first != "[Unreleased]" else rest
    headings = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", each) for each in released]
    assert headings
    assert all(headings), released
    versions = [numbers(each[1]) for each in headings if each]
    dates = [date.fromisoformat(each[2]) for each in headings if each]
    assert versions == sorted(versions, reverse=True)
    assert dates == sorted(dates, reverse=True)
    # The version of the sources is the newest of them, or comes next.
    if first == "[Unreleased]":
        assert numbers(VERSION) > versions[0]
        assert f"It becomes {VERSION}." in TEXT
    else:
        assert numbers(VERSION) == versions[0]


def test_sections_have_the_names_and_the_order_of_keep_a_changelog() -> None:
    for part in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        named = re.findall(r"^### (.*)$", part, re.M)
        assert named
        assert named == [name for name in SECTIONS if name in named]


def test_entries_are_short_and_stand_in_a_section() -> None:
    body = TEXT.partition("\n## ")[2]
    entries = re.findall(r"^- .*(?:\n  .*)*", body, re.M)
    assert len(entries) > 20
    assert [entry for entry in entries if len(entry) > LONGEST] == []
    assert not re.search(r"^- ", body.partition("\n### ")[0], re.M)

"""What pages for those who work on headrace name of the repository exists."""

from __future__ import annotations

import re

import pytest

from headrace.signals.signal import Signal, parse_action
from tests.docs.pages import ROOT, project_pages

PATH = re.compile(r"`((?:src|tests|demo|docs|deploy|benchmarks|release)/[\w./*-]+)`")
LATER = {
    "tests/upgrades/RELEASE": "RELEASE stands for a version",
}
"""Paths that do not exist in a checkout, and why."""
PAGES = [page for page in project_pages() if page != "CHANGELOG.md"]


def named_paths(page: str) -> list[str]:
    return PATH.findall((ROOT / page).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    missing = [path for path in named_paths(page) if not any(ROOT.glob(path.rstrip("/")))]
    assert [path for path in missing if path not in LATER] == []


def test_the_pages_name_paths() -> None:
    assert len(named_paths("SECURITY.md")) > 5
    assert {path for page in PAGES for path in named_paths(page)} >= LATER.keys()


def test_the_page_on_security_has_every_signal() -> None:
    text = (ROOT / "SECURITY.md").read_text().partition("## What a signal can do")[2]
    table = "\n".join(re.findall(r"^\| `.*$", text.partition("\n## ")[0], re.M))
    names = set(re.findall(r"`([a-z]+-?[a-z]*)`", table))
    data = '{"data-collections": ["a.b"], "message": "x", "transaction-id": "1.2.3"}'
    for name in names:
        parse_action(Signal("1", name, data))
    with pytest.raises(ValueError, match="is not known"):
        parse_action(Signal("1", "truncate", data))
    assert names == {
        "execute-snapshot",
        "stop-snapshot",
        "pause-snapshot",
        "resume-snapshot",
        "log",
        "drop-transaction",
    }

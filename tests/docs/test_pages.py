"""Statements of pages on properties and on other pages are true."""

from __future__ import annotations

import re

import pytest

from headrace.config.source import read_text
from headrace.connectors.registry import parse_configuration
from tests.docs.pages import ROOT, Block, blocks, pages, project_pages

SHOP = {
    "connector.class": "postgresql",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.user": "cdc",
    "database.dbname": "shop",
}


DOCUMENTS = {
    "connector.class": "mongodb",
    "topic.prefix": "shop",
    "mongodb.connection.string": "mongodb://h1/?replicaSet=rs0",
}
CONNECTORS = {
    "docs/guides/converters.md": SHOP,
    "docs/guides/postgresql.md": SHOP,
    "docs/guides/mongodb.md": DOCUMENTS,
    "docs/guides/unwrapping-documents.md": DOCUMENTS,
}
"""Properties before those of a page."""
PARTS = [
    block
    for page in CONNECTORS
    for block in blocks(page, "properties")
    if "connector.class" not in block.text
]


@pytest.mark.parametrize("block", PARTS, ids=str)
def test_properties_of_a_page_are_taken_without_a_warning(block: Block) -> None:
    config = parse_configuration(read_text(block.text).with_overrides(CONNECTORS[block.page]))
    assert config.warnings == ()


LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


@pytest.mark.parametrize("page", [*pages(), *project_pages()])
def test_links_lead_to_files_and_headings_that_exist(page: str) -> None:
    folder = (ROOT / page).parent
    for path, heading in LINK.findall((ROOT / page).read_text()):
        if path.startswith("http"):
            continue
        target = (folder / path).resolve() if path else ROOT / page
        assert target.exists(), f"{page}: {path}"
        if heading:
            assert heading in headings(target.read_text()), f"{page}: {path}#{heading}"


def headings(text: str) -> set[str]:
    """Anchors of a page's headings, as they are made of their texts."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

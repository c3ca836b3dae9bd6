"""Statements of pages on properties and on other pages are true."""

from __future__ import annotations

import re
import tomllib

import pytest

from headrace.config.formats import read_text
from headrace.connectors.registry import parse_configuration
from release.components import NOT_OF_PRODUCT
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


def test_the_page_on_the_installation_lists_every_extra_of_the_product() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    table = (ROOT / "docs/guides/install.md").read_text().split("## Extras")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    listed = re.findall(r"`([\w-]+)`", " ".join(rows))
    assert sorted(listed) == sorted(set(project["optional-dependencies"]) - {*NOT_OF_PRODUCT})


def headings(text: str) -> set[str]:
    """Anchors of a page's headings, as they are made of their texts."""
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

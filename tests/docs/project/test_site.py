"""The documentation as a site: `make site` builds it as here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from release.site_pages import POLICY, ROOT_PAGES, relinked, with_lists
from tests.docs.pages import ROOT

LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
"""Elements by which a browser loads something, and the attribute with its address."""
NAMES_ONLY = ("canonical", "prev", "next")
"""Values of `rel` of links that load nothing."""


class Loaded(HTMLParser):
    """The addresses of what a page loads, the classes of its elements, and its policies."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()
        self.policies: list[str | None] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.classes |= set((values.get("class") or "").split())
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(values["content"])
        address = values.get(LOADED.get(tag, ""))
        if address and values.get("rel") not in NAMES_ONLY:
            self.addresses.append(address)


def build(configuration: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Builds a site as `make site` does: what MkDocs warns of is an error."""
    if find_spec("material") is None:
        pytest.skip("MkDocs is not installed: pip install -e '.[site]'")
    (recipe,) = re.findall(r"python -m (mkdocs build .*)", (ROOT / "Makefile").read_text())
    return subprocess.run(
        [sys.executable, "-m", *recipe.split(), "-f", configuration, "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "REPOSITORY": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", folder)
    assert built.returncode == 0, built.stdout
    return folder


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        ("[a](nothing.md)", "nothing.md"),
        ("[a](#nothing)", "#nothing"),
        ("[a](b.md#nothing)", "b.md#nothing"),
        ("[a](c.md)", "not included in the"),
    ],
)
def test_a_link_that_leads_nowhere_and_a_page_without_a_place_are_errors(
    written: str, warning: str, tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.md").write_text(f"# A\n\n{written}\n")
    (pages / "b.md").write_text("# B\n")
    if "c.md" in written:
        (pages / "c.md").write_text("# C\n")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nnav: [index.md, b.md]\nhooks: []\n"
    )
    built = build(configuration, tmp_path / "site")
    assert built.returncode != 0
    assert warning in built.stdout


def test_each_page_of_the_repository_is_a_page_of_the_site(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert len(written) > 100
    for page in [*written, *map(Path, ROOT_PAGES.values())]:
        folder = page.parent if page.stem in ("README", "index") else page.with_suffix("")
        assert (site / folder / "index.html").exists(), page


def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = [Loaded(page) for page in site.rglob("*.html")]
    loaded = {address for page in pages for address in page.addresses}
    assert any(address.endswith(".js") for address in loaded)
    assert any(address.endswith(".css") for address in loaded)
    assert [address for address in loaded if re.match(r"(\w+:)?//", address)] == []
    assert {policy for page in pages for policy in page.policies} == {POLICY}
    assert all(page.policies for page in pages)
    # The theme's program fetches a library for these.
    assert not any("mermaid" in page.classes for page in pages)


def test_the_pictures_are_shown(site: Path) -> None:
    shown_pictures = {
        (page.parent / address).resolve().relative_to(site)
        for page in site.rglob("*.html")
        for address in Loaded(page).addresses
        if address.endswith(".svg")
    }
    pictures = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.svg")}
    assert shown_pictures == pictures
    assert len(pictures) >= 3
    for picture in pictures:
        assert (site / picture).read_bytes() == (ROOT / "docs" / picture).read_bytes()


def test_the_styles_load_nothing_from_elsewhere(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    for style in styles:
        text = style.read_text()
        addresses = re.findall(r"url\(\s*[\"']?([^)\"']*)", text)
        assert [each for each in addresses if not each.startswith("data:")] == []
        assert "@import" not in text


@pytest.mark.parametrize(
    ("place", "written", "link"),
    [
        ("guides/a.md", "[b](b.md#c)", "[b](b.md#c)"),
        ("guides/a.md", "[c](../../CONTRIBUTING.md#glossary)", "[c](../contributing.md#glossary)"),
        ("index.md", "[d](docs/decisions/)", "[d](decisions/README.md)"),
        ("map.md", "[`e`](../src/headrace)", "[`e`](R/blob/HEAD/src/headrace)"),
        ("map.md", "[f](https://e.org/x), [g](#h)", "[f](https://e.org/x), [g](#h)"),
        ("map.md", "```text\n[i](../src)\n```\n", "```text\n[i](../src)\n```\n"),
    ],
)  # fmt: skip
def test_a_link_leads_to_its_place_in_the_site(place: str, written: str, link: str) -> None:
    assert relinked(written, place, "R") == link


def test_a_link_to_a_source_is_its_text_without_an_address_of_the_repository() -> None:
    assert relinked("[a](../src/headrace) b", "map.md", "") == "a b"


def test_lists_are_written_as_python_markdown_reads_them() -> None:
    assert with_lists("Words:\n- a\n  more\n- b\n\n1. c\n   - d") == (
        "Words:\n\n- a\n    more\n- b\n\n1. c\n    - d"
    )

"""Hooks of MkDocs, which `mkdocs.yml` names: pages of the repository's root are pages of the site,
and links to files that are no pages lead to the repository, where its address is known.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages outside of `docs`, and their places in the site."""
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:"
)
"""What a browser may load: the theme's program would fetch libraries from elsewhere for diagrams
and for old browsers."""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
_CONTINUATION = re.compile(r"^ {2,3}(?=\S)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the root."""
    from mkdocs.structure.files import File

    for name, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """The text of a page as Python-Markdown reads it, with links that lead into the site."""
    linked = relinked(markdown, page.file.src_uri, config.extra["repository"])
    return _outside_of_code(with_lists, linked)


def on_post_page(output: str, **_: object) -> str:
    """A page with the policy."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return output.replace("<head>", f"<head>{policy}", 1)


def on_post_template(output: str, **_: object) -> str:
    """The page of errors of a web server with the policy; other files have no head."""
    return on_post_page(output)


def relinked(markdown: str, place: str, repository: str) -> str:
    """The text of the page at `place` of the site. A link to a file that is no page leads to
    `repository`, the address of the project; it is only its text if that is empty."""

    def link(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        if target.startswith(("#", "http:", "https:", "mailto:")):
            return found[0]
        path, mark, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(_source(place)), path))
        to = _place(file)
        if to is not None:
            return (
                f"[{text}]({posixpath.relpath(to, posixpath.dirname(place) or '.')}{mark}{anchor})"
            )
        return f"[{text}]({repository}/blob/HEAD/{file})" if repository else text

    return _outside_of_code(lambda part: _LINK.sub(link, part), markdown)


def with_lists(markdown: str) -> str:
    """The text with lists as Python-Markdown knows them. Unlike Git hosts, it wants an empty line
    before a list, and four spaces before what belongs to an item."""
    lines: list[str] = []
    is_list = False
    for line in markdown.split("\n"):
        is_item = _ITEM.match(line) is not None
        if is_item and not is_list and lines and lines[-1].strip():
            lines.append("")
        is_list = is_item or (is_list and line.strip() != "")
        lines.append(_CONTINUATION.sub("    ", line))
    return "\n".join(lines)


def _outside_of_code(change: Callable[[str], str], markdown: str) -> str:
    return "".join(part if is_code else change(part) for is_code, part in _fences(markdown))


def _fences(markdown: str) -> Iterator[tuple[bool, str]]:
    """The text in parts: whether each is a fenced block, and the part."""
    end = 0
    for fence in _FENCE.finditer(markdown):
        yield False, markdown[end : fence.start()]
        yield True, fence[0]
        end = fence.end()
    yield False, markdown[end:]


def _source(place: str) -> str:
    """The page's path in the repository."""
    of_root = {place: name for name, place in ROOT_PAGES.items()}
    return of_root.get(place, f"docs/{place}")


def _place(file: str) -> str | None:
    """The place in the site of a file of the repository; None if it has none."""
    if file in ROOT_PAGES:
        return ROOT_PAGES[file]
    if not file.startswith("docs/"):
        return None
    place = file.removeprefix("docs/")
    return f"{place}/README.md" if (ROOT / file).is_dir() else place

"""Pictures of the documentation need nothing from elsewhere, and can be read."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import pytest
from rich.ansi import AnsiDecoder

from release.terminal_picture import FIRST, LAST, output_of, picture, shortened
from tests.docs.pages import ROOT, pages, project_pages

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = sorted((ROOT / "docs/pictures").iterdir())
DRAWN = [path for path in PICTURES if "prefers-color-scheme" in path.read_text()]
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{(.*?)\n\}", re.S)
RULE = re.compile(r"([.\w-]+) \{[^}]*?\bfill: (#[0-9a-f]{6})")
TEXTS, GROUNDS = ("text", ".note"), (".paper", ".group", ".step", ".store")
"""Rules of letters, and of what is below them."""
READABLE = 4.5
"""The least contrast of texts (WCAG 2.1, AA)."""


def foreign(svg: str) -> list[str]:
    """What a browser would load for the picture, or run."""
    references = re.findall(
        r"<(?:script|image|use|link|foreignObject)\b|@import|@font-face|\son\w+=", svg
    )
    references += [url for url in re.findall(r"url\(([^)]*)\)", svg) if not url.startswith("#")]
    return references + [url for url in re.findall(r"\w+://[^\s\"'<]+", svg) if url != SVG[1:-1]]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_loads_nothing_and_has_a_title(path: Path) -> None:
    svg = path.read_text()
    assert foreign(svg) == []
    drawing = ET.fromstring(svg)
    assert drawing.tag == f"{SVG}svg"
    assert drawing.findtext(f"{SVG}title")
    assert "viewBox" in drawing.attrib


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_shown_by_a_page_with_a_text_in_its_place(path: Path) -> None:
    alternative_texts = [
        text
        for page in [*pages(), *project_pages()]
        for text, address in IMAGE.findall((ROOT / page).read_text())
        if ((ROOT / page).parent / address).resolve() == path
    ]
    assert alternative_texts
    assert all(len(text.split()) >= 5 for text in alternative_texts)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.1 defines it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_drawing_can_be_read_in_light_and_dark_mode(path: Path) -> None:
    svg = path.read_text()
    dark = DARK.search(svg)
    assert dark is not None
    light = dict(RULE.findall(DARK.sub("", svg)))
    for fills in (light, {**light, **dict(RULE.findall(dark[1]))}):
        grounds = [name for name in GROUNDS if name in fills]
        assert grounds
        for text, ground in product(TEXTS, grounds):
            assert contrast(fills[text], fills[ground]) >= READABLE, (text, ground)


def test_figure_and_charts_are_drawn_for_both_modes() -> None:
    names = {"architecture.svg", "benchmark.svg", "maintenance.svg"}
    assert {path.name for path in DRAWN} == names


def test_the_terminal_of_the_demo_shows_a_run_that_was_right() -> None:
    drawn = ET.parse(ROOT / "docs/pictures/demo.svg").iter(f"{SVG}text")
    text = "\n".join("".join(each.itertext()) for each in drawn).replace("\xa0", " ")
    assert "make demo" in text
    assert "self-check passed" in text


def test_a_terminal_has_the_colours_of_the_output_and_no_font_of_elsewhere() -> None:
    program = "from rich.console import Console; Console(highlight=False).print('[red]a < b')"
    command = [sys.executable, "-c", program]
    svg = picture(["demo"], output_of(command))
    assert foreign(svg) == []
    spans = {
        "".join(text.itertext()).strip("\xa0"): text.get("class")
        for text in ET.fromstring(svg).iter(f"{SVG}text")
    }
    assert "demo" in spans
    assert spans["a\xa0<\xa0b"] not in (spans["demo"], spans["$"])


def test_of_a_long_output_the_picture_has_both_ends() -> None:
    lines = [*AnsiDecoder().decode("\n".join(map(str, range(FIRST + LAST + 5))))]
    shown_lines = [line.plain for line in shortened(lines)]
    assert shown_lines[:FIRST] == [str(number) for number in range(FIRST)]
    assert shown_lines[FIRST] == "… 5 more lines"
    assert shown_lines[-1] == str(FIRST + LAST + 4)
    assert len(shown_lines) == FIRST + LAST + 1
    assert shortened(lines[: FIRST + LAST]) == lines[: FIRST + LAST]


def test_there_is_no_picture_of_a_command_that_fails(tmp_path: Path) -> None:
    file = tmp_path / "none.svg"
    command = [sys.executable, "-m", "release.terminal_picture", file, sys.executable, "-c", "1/0"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 1
    assert "there is no picture of it" in completed.stderr
    assert not file.exists()

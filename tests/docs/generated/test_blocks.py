"""Blocks that are made of recordings and files are current, and laid out without loss."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.generated import blocks
from tests.docs.generated.layout import WIDTH, layout
from tests.docs.pages import ROOT, pages

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@pytest.mark.parametrize("page", pages())
def test_the_blocks_of_a_page_are_current(page: str) -> None:
    text = (ROOT / page).read_text()
    assert blocks.written(text) == text, "run make docs"


@given(VALUES)
def test_a_value_is_laid_out_without_loss(value: object) -> None:
    assert json.loads(layout(value)) == value


@given(st.dictionaries(TEXTS.filter(bool), VALUES, min_size=1), st.data())
def test_a_numbered_member_begins_a_line_that_ends_with_its_number(
    value: dict[str, object], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(value)))
    text = layout(value, {(name,): 7})
    (line,) = (line for line in text.split("\n") if line.endswith("  // 7"))
    assert line.startswith(f"  {json.dumps(name)}: ")
    assert json.loads(re.sub(r"  // 7$", "", text, flags=re.M)) == value


def test_short_members_share_a_line_and_lines_have_a_width() -> None:
    value = {"op": "u", "ts_ms": 1, "before": None, "more": ["x" * 30] * 5}
    assert layout(value).splitlines()[:3] == ["{", '  "op": "u", "ts_ms": 1,', '  "before": null,']
    assert max(map(len, layout(value).splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("written", "error"),
    [("unheard: of", KeyError), ("recorded: postgresql/basics 1 value value.nothing", KeyError)],
)
def test_a_comment_that_names_nothing_is_an_error(written: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        blocks.written(f"<!-- {written} -->\n")


def test_results_of_transforms_that_pages_show_are_those_of_headrace() -> None:
    """Those that differ are listed."""
    folder = ROOT / "tests/golden/transforms/differences"
    result_count = 0
    for text in ((ROOT / page).read_text() for page in pages()):
        for match in blocks.MARKED.finditer(text):
            if match[1] not in ("result", "results"):
                continue
            transform, case, *names = shlex.split(match[2])
            differences = (folder / f"{transform}.txt").read_text().splitlines()
            for name in (each.rpartition("=")[2] for each in names):
                listed = re.compile(rf"{re.escape(case)}[^|]* \| {name}:")
                assert [line for line in differences if listed.match(line)] == []
                result_count += 1
    assert result_count > 10


def test_a_table_is_written_below_its_comment() -> None:
    text = "A\n\n<!-- keys: postgresql/basics 1 -->\n\nB\n"
    once = blocks.written(text)
    assert "\n| `{'id': 1" in once
    assert blocks.written(once) == once


def test_each_example_is_shown_by_a_page_and_listed() -> None:
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and path.suffix in blocks.LANGUAGES
    }
    shown_files = [
        match[2]
        for page in pages()
        for match in blocks.MARKED.finditer((ROOT / page).read_text())
        if match[1] == "file"
    ]
    assert sorted(shown_files) == sorted(files)
    listed = (ROOT / "examples/README.md").read_text()
    for file in files:
        assert f"({file.split('/')[1]})" in listed, file

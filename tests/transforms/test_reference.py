"""The reference page of transforms, and the examples on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.transforms import apply_json
from headrace.transforms.reference import index, page_of, pages, short_names, shown, transformed
from headrace.transforms.registry import (
    find_predicate,
    find_transform,
    predicates,
    short_name,
    transforms,
)
from headrace.transforms.transform import Declaration

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def test_the_index_and_the_pages_are_what_the_declarations_and_their_examples_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`make docs` writes them."""
    assert main(["describe", "transforms", "--markdown"]) == 0
    assert capsys.readouterr().out == index() == (FOLDER / "transforms.md").read_text()
    assert main(["describe", "transforms", "--pages", str(tmp_path)]) == 0
    written, stored = (
        {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*/*/*.md")}
        for folder in (tmp_path, FOLDER)
    )
    assert written == pages()
    assert stored == written


def test_the_index_leads_to_every_page() -> None:
    assert re.findall(r"^\| \[\w+\]\((.+?)\)", index(), re.MULTILINE) == list(pages())


def test_the_page_of_one_transform_is_printed_by_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (page,) = (page for path, page in pages().items() if path.endswith("/InsertField.md"))
    for name in ("InsertField", "InsertField$Key", f"{KAFKA}.InsertField$Value"):
        assert main(["describe", "transforms", name, "--markdown"]) == 0
        assert capsys.readouterr().out == page
    assert main(["describe", "transforms", "InsertFeild$Key"]) == 1
    assert "did you mean InsertField$Key?" in capsys.readouterr().err


KAFKA = "org.apache.kafka.connect.transforms"
DECLARED = [*transforms(), *predicates()]


@pytest.mark.parametrize(
    ("java_class", "declaration"),
    [pytest.param(name, declaration, id=name) for name, declaration in DECLARED],
)
def test_an_example_shows_what_its_transform_or_predicate_does(
    java_class: str, declaration: Declaration[Any]
) -> None:
    assert declaration.meaning.endswith(".")
    if declaration.example is not None:
        outcome = transformed(declaration.example, java_class)
        assert outcome is None or "error" not in outcome
        assert shown(outcome) != shown(declaration.example.record())


@pytest.mark.parametrize("name", short_names().values())
def test_a_page_has_the_options_and_an_example_that_does_what_the_page_says(name: str) -> None:
    """Classes for keys and for values share a page. The properties are run as the page has them."""
    page = page_of(name)
    entries = [each for each in DECLARED if short_name(each[0]).partition("$")[0] == name]
    for java_class, declaration in entries:
        assert f"`{java_class}`" in page
        assert all(f"| `{option}` |" in page for option in declaration.options.properties())
    examples = [each.example for _, each in entries if each.example is not None]
    blocks = re.findall(r"```\w+\n(.*?)\n```", page, re.DOTALL)
    assert len(blocks) == 3 * len(examples) > 0
    for example, step_text, before, after in zip(
        examples, blocks[::3], blocks[1::3], blocks[2::3], strict=True
    ):
        assert before == shown(example.record())
        steps = dict(line.split("=", 1) for line in step_text.splitlines())
        (outcome,) = apply_json(steps, [example.record()])
        assert after == shown(outcome) != before


def test_transforms_are_found_by_their_classes() -> None:
    for java_class, declaration in transforms():
        assert find_transform(java_class) is declaration


def test_predicates_are_found_by_class_and_short_name() -> None:
    for java_class, declaration in predicates():
        assert find_predicate(java_class) is declaration
        assert find_predicate(java_class.rpartition(".")[2]) is declaration

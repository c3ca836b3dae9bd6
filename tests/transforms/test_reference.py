"""The reference page of transforms, and the examples on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.transforms.reference import behind, reference, shown
from headrace.transforms.registry import (
    find_predicate,
    find_transform,
    predicates,
    short_name,
    transforms,
)
from headrace.transforms.transform import Declaration

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "transforms.md"


def test_the_page_is_what_the_declarations_and_their_examples_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`headrace describe transforms --markdown` writes it."""
    assert main(["describe", "transforms", "--markdown"]) == 0
    assert capsys.readouterr().out == reference() == PAGE.read_text()


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
        made = behind(declaration.example, java_class)
        assert made is None or "error" not in made
        assert shown(made) != shown(declaration.example.record())


def test_every_transform_and_predicate_has_a_part_of_the_page_with_its_options_and_an_example() -> (
    None
):
    """Classes for keys and for values share one."""
    page = PAGE.read_text()
    by_name: dict[str, list[tuple[str, Declaration[Any]]]] = {}
    for java_class, declaration in DECLARED:
        by_name.setdefault(short_name(java_class).partition("$")[0], []).append(
            (java_class, declaration)
        )
    for name, entries in by_name.items():
        part = re.split(r"\n##+ ", page.partition(f"# {name}\n")[2])[0]
        shows = [each for each in entries if each[1].example is not None]
        assert shows, name
        for java_class, declaration in entries:
            assert f"`{java_class}`" in part
            assert all(f"| `{option}` |" in part for option in declaration.options.properties())
        for java_class, declaration in shows:
            assert declaration.example is not None
            assert shown(declaration.example.record()) in part
            assert f"becomes\n\n```yaml\n{shown(behind(declaration.example, java_class))}\n" in part


def test_transforms_are_found_by_their_classes() -> None:
    for java_class, declaration in transforms():
        assert find_transform(java_class) is declaration


def test_predicates_are_found_by_class_and_short_name() -> None:
    for java_class, declaration in predicates():
        assert find_predicate(java_class) is declaration
        assert find_predicate(java_class.rpartition(".")[2]) is declaration

"""The reference page of transforms, and the examples on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import main
from headrace.transforms.reference import behind, reference, shown
from headrace.transforms.registry import find_predicate, find_transform, predicates, transforms

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "transforms.md"


def test_the_page_is_what_the_declarations_and_their_examples_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`headrace describe transforms --markdown` writes it."""
    assert main(["describe", "transforms", "--markdown"]) == 0
    assert capsys.readouterr().out == reference() == PAGE.read_text()


@pytest.mark.parametrize(
    ("java_class", "declaration"),
    [pytest.param(name, declaration, id=name) for name, declaration in transforms()],
)
def test_the_example_of_a_transform_shows_what_it_does(
    java_class: str, declaration: object
) -> None:
    found = find_transform(java_class)
    assert found is declaration
    assert found.meaning.endswith(".")
    if found.example is not None:
        made = behind(found.example, java_class)
        assert made is None or "error" not in made
        assert shown(made) != shown(found.example.record())


def test_predicates_are_found_by_class_and_short_name() -> None:
    for java_class, declaration in predicates():
        assert find_predicate(java_class) is declaration
        assert find_predicate(java_class.rpartition(".")[2]) is declaration

"""Hostile texts: each is refused with the column number of the problem, or is a valid condition."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.transforms.expressions
from headrace.connect.records import Shape
from headrace.errors import HeadraceError
from headrace.transforms.expressions.constancy import is_constant
from headrace.transforms.expressions.languages import LANGUAGES, expression
from tests.examples import examples
from tests.transforms.expressions.rows import filtered

ROW = {"i": 1, "n": 2, "d": 0.5, "t": "ab", "b": True}
REPEATED = [
    ("python", "(", "1 or 1", ") or 1", 50),
    ("python", "(", "value.b and True", ") and value.b", 50),
    ("python", "1 if 1 else ", "1", "", 700),
    ("python", "not ", "True", "", 2000),
    ("python", "", "value", ".a", 4000),
    ("python", "len(", "topic", ")", 150),
    ("groovy", "(", "1", " ?: 1)", 45),
    ("groovy", "1 ?: ", "1", "", 1500),
    ("groovy", "-", "1", "", 4000),
    ("groovy", "1 in [1, ", "1", "]", 100),
    ("groovy", "", "topic", ".trim()", 1200),
    ("spark.sql", "coalesce(", "value.i", ", 1)", 40),
    ("spark.sql", "(", "1", " BETWEEN 1 AND 2)", 40),
    ("spark.sql", "CASE ", "1", " WHEN 1 THEN 1 WHEN 2 THEN 2 END", 30),
    ("spark.sql", "struct(", "1", ")", 100),
    ("spark.sql", "struct(", "", "", 100),
    ("spark.sql", "map(array(", "1", "))", 60),
    ("spark.sql", "", "1", "::struct<a:array<int>>", 300),
    ("spark.sql", "CAST(", "1", " AS int)", 100),
    ("spark.sql", "(SELECT ", "1", ")", 100),
    ("spark.sql", "NOT ", "true", "", 2000),
    ("spark.sql", "- ", "1", "", 2000),
    ("spark.sql", "upper(", "'a'", ")", 300),
    ("spark.sql", "if(", "true", ", 1, 2)", 90),
    ("spark.sql", "transform(value, x -> ", "x", ")", 50),
    *((language, "(", "1", ")", 3000) for language in ("python", "groovy", "spark.sql")),
    *((language, "(", "", "", 3000) for language in ("python", "groovy", "spark.sql")),
    *((language, "[", "", "", 3000) for language in ("python", "groovy", "spark.sql")),
    *((language, "'", "", "", 3001) for language in ("python", "groovy", "spark.sql")),
    *((language, "value[", "", "", 1000) for language in ("python", "groovy", "spark.sql")),
    *((language, "", "value", "['a']", 1500) for language in ("python", "groovy", "spark.sql")),
    *((language, "1 + ", "1", "", 2000) for language in ("python", "groovy", "spark.sql")),
]
DIGITS = [
    ("python", "9" * 77 + " > value.n"),
    ("python", "9" * 5000 + " > value.n"),
    ("python", "0." + "1" * 100 + " > value.n"),
    ("groovy", "9" * 77 + " > value.n"),
    ("groovy", "9" * 5000 + " > value.n"),
    ("groovy", "9" * 400 + "d > value.n"),
    ("groovy", "1e300 > value.n"),
    ("groovy", "0." + "1" * 100 + "G > value.n"),
    ("spark.sql", "9" * 77 + " > value.n"),
    ("spark.sql", "9" * 5000 + " > value.n"),
    ("spark.sql", "0." + "1" * 100 + " > value.n"),
]


def check(language: str, text: str) -> None:
    """Checks that a text is refused with a column number, or gives a result for a record."""
    refused: HeadraceError | None = None
    try:
        expression(language, text)
    except HeadraceError as error:
        refused = error
    if refused is None:
        try:
            assert filtered(language, text, [ROW])[0] in ("kept", "dropped", "fails")
        except HeadraceError as error:  # deeper in the stack there is less room for recursion
            refused = error
        else:
            return
    assert refused.code in ("transforms.expression_not_understood", "config.invalid")
    assert re.search(r" is not understood at (line \d+, )?column \d+: .", refused.message, re.S)


@pytest.mark.parametrize(
    ("language", "before", "middle", "after", "count"),
    [pytest.param(*each, id=f"{each[0]}-{number}") for number, each in enumerate(REPEATED)],
)
def test_a_text_with_many_repetitions_is_refused_or_evaluated(
    language: str, before: str, middle: str, after: str, count: int
) -> None:
    check(language, before * count + middle + after * count)


@pytest.mark.parametrize(
    ("language", "text"),
    [pytest.param(*each, id=f"{each[0]}-{number}") for number, each in enumerate(DIGITS)],
)
def test_a_number_of_more_digits_than_columns_hold_is_refused(language: str, text: str) -> None:
    with pytest.raises(HeadraceError, match=r"at column \d+: "):
        expression(language, text)


@pytest.mark.parametrize("text", ["'\ud800' == topic", "topic == 'a\ud83d'"])
def test_an_unpaired_surrogate_is_refused(text: str) -> None:
    for language, symbol in (("python", "=="), ("groovy", "=="), ("spark.sql", "=")):
        with pytest.raises(HeadraceError, match="is not understood at column"):
            expression(language, text.replace("==", symbol))
    with pytest.raises(HeadraceError, match="an unpaired surrogate"):
        expression("python", r"'\ud800' == topic")


def test_a_text_of_more_than_10000_characters_is_refused() -> None:
    for language in LANGUAGES:
        with pytest.raises(HeadraceError, match="it is longer than 10000 characters"):
            expression(language, "1" + " " * 10_000)


def test_a_subexpression_that_occurs_many_times_is_checked_once() -> None:
    tree = expression("python", "(" * 50 + "1 or 1" + ") or 1" * 50).tree
    assert is_constant(tree, Shape("t", None, None))


PIECES = [
    "value", "key", "topic", "header", ".", ".n", ".t", "(", ")", "[", "]", ",", "==", "=", "!=",
    "<", "<=", ">", "and", "or", "not", "&&", "||", "!", "?", ":", "?:", "in", "is", "None", "null",
    "NULL", "IS", "IN", "LIKE", "RLIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "BETWEEN", "AND",
    "if", "else", "coalesce", "len", "1", "0.5", "1e9", "'a'", '"a"', "/a/", "'", "-", "+", "*",
    "%", "**", "->", "::", "{", "}", ";", "\n", "\0", "\\", "$", "é", "😀", "lambda", "import",
    "new", "struct", "array", "map", "date", "interval", "cast", "select", "exists", "true", "1..2",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join) | st.text(max_size=30)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(LANGUAGES), TEXTS)
def test_any_text_is_refused_at_a_column_or_gives_results(language: str, text: str) -> None:
    check(language, text)


def test_nothing_evaluates_a_text() -> None:
    """No module of expressions calls what runs code; Python's texts are parsed only."""
    folder = Path(headrace.transforms.expressions.__file__).parent
    for source in folder.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), source.name

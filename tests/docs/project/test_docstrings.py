"""Docstrings begin with their subject or with a verb, so that one who reads only them understands
them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src/headrace"
_PREPOSITIONS = (
    "after|along|among|as|at|because|before|behind|below|beside|between|by|for|from|if|in|instead"
    "|into|like|likewise|of|on|out|over|through|to|under|unlike|until|when|while|with|without"
)
_PRONOUNS = (
    "another|both|each|he|her|him|his|it|its|none|nothing|one|ones|other|others|same|she|such|that"
    "|their|them|these|they|this|those"
)
_CLAUSES = "what|where|which|who|whom|whose"
_OPENING = re.compile(rf"\W*(the same|{_PREPOSITIONS}|{_PRONOUNS}|{_CLAUSES})\b", re.IGNORECASE)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, those of attributes included."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        for statement in node.body:
            match statement:
                case ast.Expr(ast.Constant(str(text))):
                    yield statement.lineno, " ".join(text.split())


def riddles(source: str) -> list[tuple[int, str]]:
    """The docstrings whose first word has no subject with it."""
    return [(line, text) for line, text in docstrings(ast.parse(source)) if _OPENING.match(text)]


def test_docstrings_begin_with_their_subject() -> None:
    openings = [
        f"{file.relative_to(SOURCES)}:{line}: {text[:80]}"
        for file in sorted(SOURCES.rglob("*.py"))
        for line, text in riddles(file.read_text())
    ]
    assert not openings, "\n".join(openings)


def test_a_docstring_without_a_subject_is_seen_wherever_it_is() -> None:
    source = '''"""Of the module."""
NUMBER = 1
"""What it is."""
class A:
    """The same, at once."""
    field: int = 0
    """Bytes in it."""
    def f(self):
        """Return it."""
        def g():
            """`One` that is there."""
'''
    assert [line for line, _ in riddles(source)] == [1, 3, 5, 11]

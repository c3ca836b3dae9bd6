"""Languages of expressions by the values of `language`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.expressions.evaluation import TreeEvaluation
from headrace.transforms.expressions.groovy import parse_groovy
from headrace.transforms.expressions.operands import Operand, true
from headrace.transforms.expressions.python_syntax import parse_python
from headrace.transforms.expressions.spark_sql import parse_spark_sql
from headrace.transforms.expressions.tree import (
    DEEPEST,
    LONGEST,
    Rules,
    ScalarKind,
    Tree,
    depth,
    not_understood,
)

_LANGUAGES: dict[str, tuple[Callable[[str], Tree], Rules]] = {
    "jsr223.groovy": (parse_groovy, Rules.GROOVY),
    "groovy": (parse_groovy, Rules.GROOVY),
    "python": (parse_python, Rules.PYTHON),
    "spark.sql": (parse_spark_sql, Rules.SQL),
}
LANGUAGES = tuple(_LANGUAGES)
"""Values of `language`."""


@dataclass(frozen=True)
class Expression:
    """An expression's text and its tree."""

    text: str
    tree: Tree
    rules: Rules

    def booleans(self, records: Records) -> np.ndarray:
        """Return where the expression is true; in SQL, null is not.

        Raises HeadraceError("transforms.expression_failed") if a value is missing, or is not a
        boolean.
        """
        operand = self._evaluated(records)
        array = operand.scalars.get(ScalarKind.BOOLEAN)
        if array is None:
            array = pa.nulls(len(records), pa.bool_())
        null = operand.null
        other = ~np.asarray(array.is_valid()) & ~(null & (self.rules is Rules.SQL))
        self._check(records, other, "the result is not a boolean")
        return true(array)

    def texts(self, records: Records) -> pa.Array:
        """Return the expression's texts, or nulls.

        Raises HeadraceError("transforms.expression_failed") for other values.
        """
        operand = self._evaluated(records)
        array = operand.scalars.get(ScalarKind.TEXT)
        if array is None:
            array = pa.nulls(len(records), pa.large_string())
        other = ~np.asarray(array.is_valid()) & ~operand.null
        self._check(records, other, "the result is not a text")
        return array

    def _evaluated(self, records: Records) -> Operand:
        operand = TreeEvaluation(records, self.rules).of(self.tree)
        if operand.failure is not None:
            self._check(records, operand.failure.mask, operand.failure.reason)
        return operand

    def _check(self, records: Records, failed: np.ndarray, reason: str) -> None:
        if failed.any():
            raise HeadraceError(
                "transforms.expression_failed",
                f"{self.text!r} has no result for a record of {records.shape.topic}: {reason}",
                "Correct the expression so that it has a result for every record, or give the "
                "transform topic.regex or a "
                "predicate.",
            )


def expression(language: str, text: str) -> Expression:
    """Return the expression of a text.

    Raises HeadraceError("transforms.expression_not_understood") with the position of the error.
    """
    if len(text) > LONGEST:
        raise not_understood(text, LONGEST, f"it is longer than {LONGEST} characters")
    parse, rules = _LANGUAGES[language]
    tree = parse(text)
    if depth(tree) > DEEPEST:
        raise not_understood(text, 0, "it is nested too deeply")
    return Expression(text, tree, rules)

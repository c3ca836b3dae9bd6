"""Filter: keeps records for which a condition is true."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.config.kinds import TEXT, templated
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Records
from headrace.transforms.debezium.scripting.scripted import HOLDS, Scripted, ScriptedOptions
from headrace.transforms.example import Example
from headrace.transforms.expressions.constancy import is_never_true
from headrace.transforms.transform import Declaration, Ordering


class FilterOptions(ScriptedOptions):
    """Options of Filter."""

    condition = Property(
        "condition",
        templated(TEXT),
        REQUIRED,
        Group.CONVERTERS,
        "An expression. Records for which it is true are kept. " + HOLDS,
    )


class Filter:
    """See DECLARATION."""

    ordering = Ordering.KEEPS_KEY
    passes_records = True

    def __init__(self, options: FilterOptions) -> None:
        self._scripted = Scripted(options, "condition", options.condition)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        if not self._scripted.sees(records):
            return [records]
        passing, others = self._scripted.split(records)
        if not len(others):
            return [passing]
        return [passing, others.with_rows(self._scripted.expression.booleans(others))]

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight."""
        expression = self._scripted.expression
        if self._scripted.sees(records) and is_never_true(
            expression.tree, records, expression.rules
        ):
            return []
        return [records]


DECLARATION = Declaration(
    "Filter",
    "Keeps the records for which a condition is true. A result other than true or false is an "
    "error; in SQL, null counts as false.",
    FilterOptions,
    Filter,
    example=Example(
        {"after": {"id": 1, "state": "open"}, "op": "u"},
        {
            "language": "jsr223.groovy",
            "condition": "value.op != 'd' && value.after?.state == 'paid'",
        },
        key={"id": 1},
        topic="s.orders",
    ),
)

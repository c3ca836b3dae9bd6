"""Filter: drops the records that its predicate selects."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connect.records import Records
from headrace.transforms.example import Example
from headrace.transforms.predicates import NoOptions
from headrace.transforms.transform import Declaration, Ordering


class Filter:
    """See DECLARATION."""

    ordering = Ordering.KEEPS_KEY
    passes_records = True

    def __init__(self, _options: NoOptions) -> None:
        """Filter has no options of its own."""

    def apply(self, _records: Records) -> Iterable[Records]:
        """See Transform."""
        return ()


DECLARATION = Declaration(
    "KafkaFilter",
    "Leaves out all records, or with a predicate the records that it matches.",
    NoOptions,
    Filter,
    example=Example({"id": 1}),
)

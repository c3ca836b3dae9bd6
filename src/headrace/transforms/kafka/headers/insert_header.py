"""InsertHeader: adds the same header to every record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.config.configuration import Configuration
from headrace.config.kinds import TRIMMED_TEXT
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Constant, Header, Records, Shape
from headrace.transforms.example import Example
from headrace.transforms.kafka.headers.literals import parse_literal
from headrace.transforms.transform import Declaration, Ordering, PerShape


class InsertHeaderOptions(Configuration):
    """Options of InsertHeader."""

    header = Property("header", TRIMMED_TEXT, REQUIRED, Group.CONVERTERS, "The header's name.")
    value_literal = Property(
        "value.literal",
        TRIMMED_TEXT,
        REQUIRED,
        Group.CONVERTERS,
        "The header's value. Its type follows from the notation, as in Kafka Connect: `3` is an "
        "integer of the smallest type that holds it (int8), `1.5` a float32, or a float64 if that "
        'is too small, `true` a boolean, `2026-01-31` a Date, `[1,2]` an array, `{"a":1}` a map; '
        "any other text is a string.",
    )


class InsertHeader:
    """See DECLARATION."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: InsertHeaderOptions) -> None:
        literal = parse_literal(options.value_literal)
        self._header = Header(options.header, Constant(literal.schema, literal.value))
        self._shapes = PerShape(self._shape)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        return [records.with_shape(self._shapes(records.shape))]

    def _shape(self, shape: Shape) -> Shape:
        return replace(shape, headers=(*shape.headers, self._header))


DECLARATION = Declaration(
    "InsertHeader",
    "Adds a header with a fixed value to every record.",
    InsertHeaderOptions,
    InsertHeader,
    example=Example({"id": 1}, {"header": "origin", "value.literal": "shop"}),
)

"""DropHeaders: removes headers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Records, Shape
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape


class DropHeadersOptions(Configuration):
    """Options of DropHeaders."""

    headers = Property(
        "headers", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The names of the headers to leave out."
    )


class DropHeaders:
    """See DECLARATION."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: DropHeadersOptions) -> None:
        self._names = frozenset(options.headers)
        self._shapes = PerShape(self._shape)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        return [records.with_shape(self._shapes(records.shape))]

    def _shape(self, shape: Shape) -> Shape:
        remaining = tuple(header for header in shape.headers if header.name not in self._names)
        return shape if len(remaining) == len(shape.headers) else replace(shape, headers=remaining)


DECLARATION = Declaration(
    "DropHeaders",
    "Removes headers by their names.",
    DropHeadersOptions,
    DropHeaders,
    example=Example({"id": 1}, {"headers": "trace"}, headers={"trace": "t-1", "kept": "x"}),
)

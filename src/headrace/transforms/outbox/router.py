"""The common behavior of outbox routers, for all forms of rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import encoded_texts, nulls, values
from headrace.connect.records import Header, Node, Records, Shape, struct_of
from headrace.connect.schema import Type
from headrace.errors import HeadraceError
from headrace.transforms.outbox.options import Columns, OutboxOptions
from headrace.transforms.outbox.placements import (
    InvalidOperation,
    MissingField,
    Place,
    Placement,
)
from headrace.transforms.routing import Renaming, by_value
from headrace.transforms.transform import Ordering

log = logging.getLogger(__name__)


class OutboxRouter:
    """The topic of an event, the additional fields of a row, and the checks of rows.

    `prefix` is that of the router's own options. `words` are the terms in errors for a row and one
    of its fields: record and column, document and field.
    """

    ordering = Ordering.NONE
    takes_schemas_only = True

    def __init__(self, options: OutboxOptions, prefix: str, words: tuple[str, str]) -> None:
        """Raises HeadraceError("transforms.bad_placement") and ("transforms.bad_replacement")."""
        self.columns = Columns.of(options, prefix)
        self.has_envelope = any(
            placement.place is Place.ENVELOPE for placement in self.columns.placements
        )
        self._route = options.route_by_field
        self._prefix = prefix
        self._row_word, self._field_word = words
        self._renamed = Renaming(
            options.route_topic_regex, options.route_topic_replacement, "route.topic.replacement"
        )

    def topic(self, route: str) -> str:
        """Return the topic of a route; the route itself if the expression does not match it."""
        topic = self._renamed(route)
        return route if topic is None else topic

    def inserts(self, records: Records, operation: Node) -> Records:
        """Return the records that are inserts or snapshot reads, by their operations; updates and
        deletes are left out.

        Raises HeadraceError("transforms.outbox_updated") if updates are fatal.
        """
        operations = values(records, operation)
        if _is(operations, "u").any():
            message = f"{records.shape.topic} has updates, which an outbox does not have"
            remedy = f"Only insert into the outbox, or set {self._prefix}.op.invalid.behavior=warn."
            match self.columns.invalid:
                case InvalidOperation.FATAL:
                    raise HeadraceError("transforms.outbox_updated", message, remedy)
                case InvalidOperation.ERROR:
                    log.error("%s; they are left out", message)
                case _:
                    log.warning("%s; they are left out", message)
        return records.with_rows(~_is(operations, "u") & ~_is(operations, "d"))

    def find(self, members: Mapping[str, Node], name: str) -> Node | None:
        """Return a field of a row by its name."""
        return members.get(name)

    def field(
        self, shape: Shape, members: Mapping[str, Node], name: str, purpose: str = "field"
    ) -> Node:
        """Return a field like `find`. Raises HeadraceError("transforms.outbox_lacks_field") if it
        is missing."""
        node = self.find(members, name)
        if node is None:
            raise self.lacks(shape, name, purpose)
        return node

    def placed(
        self, shape: Shape, members: Mapping[str, Node], place: Place
    ) -> Iterator[tuple[Placement, Node]]:
        """Yield the additional fields of a place. Raises
        HeadraceError("transforms.outbox_lacks_field") for a missing field that a row must have."""
        for placement in self.columns.placements:
            if placement.place is not place:
                continue
            node = self.find(members, placement.field)
            if node is not None:
                yield placement, node
            elif self.columns.missing is MissingField.ERROR:
                raise self.lacks(shape, placement.field, "additional field")

    def by_route(self, records: Records, shape: Shape, node: Node) -> Iterator[tuple[str, Records]]:
        """Yield the records grouped by route.

        Raises HeadraceError("transforms.outbox_field_of_another_type") and
        ("transforms.outbox_lacks_field").
        """
        name = self._route
        if node.schema.type is not Type.STRING:
            raise self.another_type(shape, name, "text")
        for route, part in by_value(records, encoded_texts(records, node)):
            if route is None:
                raise self.lacks(shape, name, "topic")
            yield str(route), part

    def by_version(
        self, records: Records, shape: Shape, members: Mapping[str, Node]
    ) -> Iterator[tuple[int | None, Records]]:
        """Yield the records grouped by the versions of their values' schemas; None: no version.

        Raises HeadraceError as `by_route`.
        """
        name = self.columns.version
        if not name or not self.has_envelope:
            yield None, records
            return
        node = self.field(shape, members, name, "version")
        if node.schema.type is not Type.INT32:
            raise self.another_type(shape, name, "32-bit integer")
        for version, part in by_value(records, values(records, node)):
            yield None if version is None else int(str(version)), part

    def headers(self, shape: Shape, members: Mapping[str, Node]) -> tuple[Header, ...]:
        """Return the headers of an event: those of its row, its id, and the fields placed there."""
        identifier = self.field(shape, members, self.columns.identifier)
        placed = self.placed(shape, members, Place.HEADER)
        added = (Header(placement.name, node) for placement, node in placed)
        return (*shape.headers, Header("id", identifier), *added)

    def value(
        self,
        shape: Shape,
        members: Mapping[str, Node],
        payload: Node,
        name: str,
        version: int | None,
    ) -> Node:
        """Return the value of an event: the payload, in a struct if fields are placed beside it.
        `name` and `version` are those of that struct's schema."""
        if not self.has_envelope:
            return payload
        placed = self.placed(shape, members, Place.ENVELOPE)
        beside = {placement.name: node for placement, node in placed}
        return struct_of(name, {"payload": payload, **beside}, version=version)

    def lacks(self, shape: Shape, name: str, purpose: str) -> HeadraceError:
        """Return HeadraceError("transforms.outbox_lacks_field")."""
        return HeadraceError(
            "transforms.outbox_lacks_field",
            f"a {self._row_word} of {shape.topic} has no {name!r} for its {purpose}",
            f"Name a {self._field_word} that every {self._row_word} of the outbox has, or give the "
            "transform a predicate.",
        )

    def another_type(self, shape: Shape, name: str, type_name: str) -> HeadraceError:
        """Return HeadraceError("transforms.outbox_field_of_another_type")."""
        return HeadraceError(
            "transforms.outbox_field_of_another_type",
            f"{name} in {self._row_word}s of {shape.topic} is not a {type_name}",
            f"Name another {self._field_word}.",
        )


def schema_name(row: str, route: str) -> str:
    """Return the name of a value's schema: that of the row's, with the route before its last
    part."""
    first, _, last = row.rpartition(".")
    return ".".join(filter(None, (first, route, last)))


def is_empty(records: Records, payload: Node) -> np.ndarray:
    """Return where a payload is null or a blank text."""
    empty = nulls(records, payload)
    if payload.schema.type is not Type.STRING:
        return empty
    blank = pc.equal(pc.utf8_trim_whitespace(values(records, payload)), "")
    return np.asarray(empty | np.asarray(pc.fill_null(blank, fill_value=False)))


def _is(operations: pa.Array, letter: str) -> np.ndarray:
    return np.asarray(pc.fill_null(pc.equal(operations, letter), fill_value=False))

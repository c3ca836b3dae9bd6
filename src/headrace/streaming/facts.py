"""Facts: the common properties of a collection's records. The source process makes and pickles
them, and tasks make shapes of them.

A connector of tables implements them in `headrace.relational.events`; this module knows no columns.
"""

from __future__ import annotations

import json
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from headrace.connect.encoding import Encoding
from headrace.connect.images import Buffer, is_whole
from headrace.connect.records import Cell, Constant, Header, Image, Node, Shape, Struct
from headrace.connect.schema import Schema
from headrace.connect.sized_cache import SizedCache
from headrace.debezium import transactions
from headrace.debezium.event_format import CURRENT, EventFormat
from headrace.debezium.events import context_headers
from headrace.debezium.naming.names import AS_NAMED, NameAdjustment
from headrace.debezium.notifications import NOTIFICATION_KEY, NOTIFICATION_VALUE

_TASK = "0"
"""Debezium's number of a connector's only task."""


class SourceBlock(Protocol):
    """The source block of a connector's records. Picklable, and equal to its pickled copy."""

    @property
    def connector(self) -> str:
        """Debezium's name of the connector, as in `source.connector`."""
        ...

    def transaction_id(self) -> Node:
        """Return the transaction's id, as in transaction metadata; null outside of transactions."""
        ...


@dataclass(frozen=True)
class EventSettings:
    """The common facts of all events of a run; hashable. A connector's own settings are in a
    subclass or in its source block."""

    server: str
    source: SourceBlock
    run: str = ""  # empty: no context headers
    counted: bool = False  # rows have their order in their transaction
    format: EventFormat = CURRENT
    names: NameAdjustment = AS_NAMED

    def headers(self) -> tuple[Header, ...]:
        """Return the context headers of an event."""
        if not self.run:
            return ()
        return context_headers(self.server, _TASK, self.source.connector, self.run)

    def transaction_block(self, *, counted: bool = True) -> Node:
        """Return the transaction block of an event; `counted`: it counts in its transaction."""
        if not (self.counted and counted):
            return transactions.no_block()
        return transactions.block(self.source.transaction_id())


class Facts(Protocol):
    """The common properties of the records of one version of a collection. Picklable, and hashed
    and compared by value."""

    @property
    @abstractmethod
    def topic(self) -> str:
        """The topic of the records."""
        ...

    @property
    @abstractmethod
    def name(self) -> str:
        """The collection's name in filters and signals (schema.table); empty: no collection."""
        ...

    @property
    @abstractmethod
    def collection(self) -> str:
        """The collection's name in transaction metadata."""
        ...

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...]:
        """The names of the cells that make the records' key, in key order; empty: no key."""
        ...

    @property
    @abstractmethod
    def cell_names(self) -> tuple[str, ...]:
        """The names of an image's cells, in their order."""
        ...

    @property
    @abstractmethod
    def holds_changes(self) -> bool:
        """Whether the records are changes of single rows, as in the log."""
        ...

    @abstractmethod
    def is_whole(self, image: Buffer, /) -> bool:
        """Return whether the image of a new row contains the whole row."""
        ...

    @property
    @abstractmethod
    def wants_lookup(self) -> bool:
        """Whether cells of new rows are read from the database again."""
        ...

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the shape with the programs that a converter makes of it; at least, and about
        twice, the measured size."""
        ...

    @abstractmethod
    def as_incremental(self) -> Facts:
        """Return the facts of rows that incremental chunks read, which have no place in the log."""
        ...

    @abstractmethod
    def key_cells(self, settings: EventSettings) -> list[Cell]:
        """Return the cells of the new image that make the key, in key order, without those that
        events leave out."""
        ...

    @abstractmethod
    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        """Return per captured cell of the new image the cell itself, and what rows of events
        show."""
        ...

    @abstractmethod
    def shape(self, settings: EventSettings) -> Shape:
        """Return the shape of the records. Raises HeadraceError for names that cannot be
        distinguished."""
        ...


PackedFacts = bytes
"""Facts, pickled once by the source process for any number of slices and ranges: a task that
already has their shape does not unpack them."""


def unpack(packed: PackedFacts) -> Facts:
    """Return the unpacked facts."""
    facts: Facts = pickle.loads(packed)  # noqa: S301 - of the source process
    return facts


_SHAPE_BYTES = 256 << 20
_shapes: SizedCache[tuple[Facts | PackedFacts, EventSettings], Shape] = SizedCache(_SHAPE_BYTES)


def shape_of(facts: Facts | PackedFacts, settings: EventSettings) -> Shape:
    """Return the shape of a collection's records: the same object while it is kept, so that
    converters, which keep its programs as long as it lives, compile it once."""
    key = (facts, settings)
    shape = _shapes.get(key)
    if shape is None:
        unpacked = unpack(facts) if isinstance(facts, bytes) else facts
        shape = unpacked.shape(settings)
        _shapes.put(key, shape, unpacked.nbytes)
    return shape


@dataclass(frozen=True)
class TopicFacts(ABC):
    """Facts of records that belong to no collection and are identified by their topic. Subclasses
    may declare any of the attributes as a field."""

    topic: str

    name = ""
    collection = ""
    key: ClassVar[tuple[str, ...]] = ()
    cell_names: ClassVar[tuple[str, ...]] = ()
    holds_changes = False
    wants_lookup = False
    nbytes = 40_000
    """The size for a table without columns."""

    def is_whole(self, image: Buffer, /) -> bool:
        """See Facts."""
        return is_whole(image)

    def as_incremental(self) -> Facts:
        """Raise AssertionError: chunks have no such records."""
        raise AssertionError(f"a chunk cannot hold records of {self.topic}: no collection has them")

    def key_cells(self, settings: EventSettings) -> list[Cell]:  # noqa: ARG002
        """Return no cells."""
        return []

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:  # noqa: ARG002
        """Return no cells."""
        return []

    @abstractmethod
    def shape(self, settings: EventSettings) -> Shape:
        """Return the shape of the records."""


@dataclass(frozen=True)
class BorderFacts(TopicFacts):
    """Facts of the records at the beginning (`begins`) or end of transactions."""

    begins: bool

    def shape(self, settings: EventSettings) -> Shape:
        """Return the shape of a border's record."""
        return transactions.border(self.topic, settings.source.transaction_id(), begins=self.begins)


@dataclass(frozen=True)
class NotificationFacts(TopicFacts):
    """Facts of notifications: an image has id, type, aggregate type, additional data as JSON, and
    milliseconds since 1970-01-01."""

    def shape(self, settings: EventSettings) -> Shape:  # noqa: ARG002
        """Return the shape of a notification's record."""

        def text(schema: Schema, column: int) -> Cell:
            return Cell(schema, Image.NEW, column, Encoding.STRING, 0, bytes.decode)

        key_id = NOTIFICATION_KEY.fields[0].schema
        identity, kind, aggregate, additional, timestamp = (
            field.schema for field in NOTIFICATION_VALUE.fields
        )
        return Shape(
            self.topic,
            Struct(NOTIFICATION_KEY, (text(key_id, 0),)),
            Struct(
                NOTIFICATION_VALUE,
                (
                    text(identity, 0),
                    text(kind, 1),
                    text(aggregate, 2),
                    Cell(additional, Image.NEW, 3, Encoding.PYTHON, 0, json.loads),
                    Cell(timestamp, Image.NEW, 4, Encoding.PYTHON, 0, int),
                ),
            ),
        )

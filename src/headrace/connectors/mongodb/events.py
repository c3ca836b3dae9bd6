"""MongoDB's change events: facts of collections, the source block, the envelope, and the contents
of images' cells.

A cell is a BSON value: its type byte and its bytes. Images of documents have two columns, ID and
DOCUMENT; the image of an update's changes (`Image.EXTRA`) has UPDATED_FIELDS, REMOVED_FIELDS and
TRUNCATED_ARRAYS, that of a transaction (`Image.TRANSACTION`) SESSION. Members that the server left
out are null.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from headrace.connect.encoding import Encoding
from headrace.connect.images import Buffer, cells
from headrace.connect.records import (
    Cell,
    Concat,
    Constant,
    Image,
    Node,
    RowField,
    Shape,
    Struct,
    TableOrigin,
    TextPart,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium import transactions
from headrace.debezium.envelope import key_schema
from headrace.debezium.event_format import EnvelopeForm, EventFormat
from headrace.debezium.events import envelope
from headrace.debezium.source_info import source_block, source_schema
from headrace.documents.cells import decoder
from headrace.streaming.facts import EventSettings

CONNECTOR = "mongodb"
SCHEMA_PARTS = ("Key", "Envelope")
"""The last parts of the names of event schemas; documents have no schema."""

ID, DOCUMENT = range(2)
"""Columns of the images before and after a change."""
UPDATED_FIELDS, REMOVED_FIELDS, TRUNCATED_ARRAYS = range(3)
"""Columns of the image of an update's changes."""
SESSION = 0
"""The column of a transaction's image: the session's id, a document."""
NO_INCREMENT = -1
"""`source.ord`, a row's `place`, for rows that were read by a snapshot."""

_STRING, _INT32, _INT64 = Schema(Type.STRING), Schema(Type.INT32), Schema(Type.INT64)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)
_JSON = Schema(Type.STRING, optional=True, name="io.debezium.data.Json", version=1)

_CHANGE_STREAM = "io.debezium.connector.mongodb.changestream"
_TRUNCATED_ARRAY = Schema(
    Type.STRUCT,
    name=f"{_CHANGE_STREAM}.truncatedarray",
    version=1,
    fields=(Field("field", _STRING), Field("size", _INT32)),
)
UPDATE_DESCRIPTION = Schema(
    Type.STRUCT,
    optional=True,
    name=f"{_CHANGE_STREAM}.updatedescription",
    version=1,
    fields=(
        Field("removedFields", Schema(Type.ARRAY, optional=True, values=_STRING)),
        Field("updatedFields", _JSON),
        Field("truncatedArrays", Schema(Type.ARRAY, optional=True, values=_TRUNCATED_ARRAY)),
    ),
)
ENVELOPE = EnvelopeForm(("op", "ts_ms", "transaction"), version=None, optional_op=True)
"""The envelope's form, common to all versions of the event format."""


@lru_cache
def mongodb_source(event_format: EventFormat) -> Schema:
    """The schema of the source block. In format 2.5 it also has the replica set's name, and the
    members that its manual lists and no connector fills any more (`h`, `tord`, `stxnid`)."""
    is_old = not event_format.precise_times
    of_the_manual = (
        Field("h", _OPTIONAL_INT64),
        Field("tord", _OPTIONAL_INT64),
        Field("stxnid", _OPTIONAL_STRING),
    )
    return source_schema(
        "io.debezium.connector.mongo.Source",
        (
            *((Field("rs", _STRING),) if is_old else ()),
            Field("collection", _STRING),
            Field("ord", _INT32),
            *(of_the_manual if is_old else ()),
            Field("lsid", _OPTIONAL_STRING),
            Field("txnNumber", _OPTIONAL_INT64),
            Field("wallTime", _OPTIONAL_INT64),
        ),
        event_format,
    )


@dataclass(frozen=True)
class MongoSource:
    """See headrace.streaming.facts.SourceBlock. `replica_set` is the name in events of format 2.5.
    `documents`, `updated_fields` and `keys` are the dialects of Extended JSON."""

    replica_set: str = ""
    documents: Encoding = Encoding.EXTENDED_JSON_LEGACY
    updated_fields: Encoding = Encoding.EXTENDED_JSON_RELAXED_SPACED
    keys: Encoding = Encoding.EXTENDED_JSON_RELAXED
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """The session's id and the transaction's number in it; null outside of a transaction."""
        number = TextPart(TransactionField(_OPTIONAL_INT64, "xid"), ":")
        return Concat(_STRING, (TextPart(_session(_OPTIONAL_STRING)), number))

    def key(self) -> Cell:
        """The text of `_id`, from the image before a change that has no image after it."""
        return bson_cell(_STRING, Image.KEY, ID, self.keys)


def bson_cell(schema: Schema, image: Image, column: int, encoding: Encoding) -> Cell:
    """A column of BSON values."""
    return Cell(schema, image, column, encoding, 0, decoder(encoding))


def _session(schema: Schema) -> Cell:
    return bson_cell(schema, Image.TRANSACTION, SESSION, Encoding.EXTENDED_JSON_STRICT)


@dataclass(frozen=True)
class CollectionFacts:
    """See headrace.streaming.facts.Facts: a collection with the name that filters match.
    `is_incremental`: its documents were read in chunks, and have no place in the log. `replica_set`
    is the prefix of collections' names in the transaction metadata of format 2.5. `own_id` is the
    UUID, which distinguishes it from an earlier collection of its name (empty: not determined)."""

    topic: str
    database: str
    short_name: str
    is_incremental: bool = False
    replica_set: str = ""
    own_id: str = ""

    key = ("_id",)
    cell_names = ("_id", "document")
    wants_lookup = False
    nbytes = 50_000

    @property
    def name(self) -> str:
        """database.collection"""
        return f"{self.database}.{self.short_name}"

    @property
    def collection(self) -> str:
        """The collection's name in transaction metadata."""
        return f"{self.replica_set}.{self.name}" if self.replica_set else self.name

    @property
    def holds_changes(self) -> bool:
        """See Facts."""
        return not self.is_incremental

    def is_whole(self, image: Buffer, /) -> bool:
        """See Facts: an update may come without the document."""
        return cells(image)[DOCUMENT] is not None

    def as_incremental(self) -> CollectionFacts:
        """See Facts."""
        return replace(self, is_incremental=True)

    def key_cells(self, settings: EventSettings) -> list[Cell]:
        """See Facts."""
        return [replace(_source(settings).key(), image=Image.NEW)]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        """See Facts."""
        source = _source(settings)
        document = bson_cell(_JSON, Image.NEW, DOCUMENT, source.documents)
        return [(cell, cell) for cell in (*self.key_cells(settings), document)]

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of the collection's events."""
        source = _source(settings)
        name = settings.names.schema(self.topic)
        keys = key_schema(name, (Field("id", _STRING),))
        images: dict[str, Node] = {
            "before": bson_cell(_JSON, Image.OLD, DOCUMENT, source.documents),
            "after": bson_cell(_JSON, Image.NEW, DOCUMENT, source.documents),
            "updateDescription": _update_description(source),
        }
        block: Node = transactions.no_block()
        if settings.counted and not self.is_incremental:
            block = replace(transactions.block(source.transaction_id()), image=Image.TRANSACTION)
        origin = self._origin(source, settings)
        return Shape(
            self.topic,
            Struct(keys, (source.key(),), Image.KEY),
            envelope(name, images, origin, block, ENVELOPE),
            settings.headers(),
            origin=TableOrigin(self.name, self.own_id),
        )

    def _origin(self, source: MongoSource, settings: EventSettings) -> Struct:
        schema = mongodb_source(settings.format)
        nodes: dict[str, Node] = {
            "ord": RowField(_INT32, "place"),
            "lsid": _session(_OPTIONAL_STRING),
            "txnNumber": TransactionField(_OPTIONAL_INT64, "xid"),
        }
        if not self.is_incremental:
            nodes["wallTime"] = TransactionField(_OPTIONAL_INT64, "last_commit")
        return source_block(
            schema,
            nodes,
            version=settings.format.release,
            connector=source.connector,
            name=settings.server,
            db=self.database,
            rs=source.replica_set,
            collection=self.short_name,
        )


def _source(settings: EventSettings) -> MongoSource:
    assert isinstance(settings.source, MongoSource)
    return settings.source


def _update_description(source: MongoSource) -> Struct:
    removed, updated, truncated = (field.schema for field in UPDATE_DESCRIPTION.fields)
    return Struct(
        UPDATE_DESCRIPTION,
        (
            bson_cell(removed, Image.EXTRA, REMOVED_FIELDS, Encoding.BSON_TEXTS),
            bson_cell(updated, Image.EXTRA, UPDATED_FIELDS, source.updated_fields),
            bson_cell(truncated, Image.EXTRA, TRUNCATED_ARRAYS, Encoding.BSON_TRUNCATED_ARRAYS),
        ),
        Image.EXTRA,
    )

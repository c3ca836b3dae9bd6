"""Converts the BSON of events to Arrow arrays of the columns that are declared for documents,
without loss; raises an error otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.values import values
from headrace.connect.records import Node, Records
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.connect.trees import member
from headrace.converters.typed.evaluation import typed_documents
from headrace.documents.bson import Kind
from headrace.documents.target_schema.conversion import converted, field_names, opened
from headrace.documents.target_schema.ddl import DATE, JSON, TIMESTAMPS
from headrace.documents.target_schema.policies import Conflicts, shown
from headrace.documents.target_schema.target import TargetSchema
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.declared_documents import ID, DocumentColumns
from headrace.transforms.documents.cells import bson_cells, present
from headrace.transforms.documents.envelope import DocumentEnvelope

_BYTES = pa.large_binary()
_BEFORE_A_PART = (pa.scalar(b"", _BYTES), pa.scalar(b".", _BYTES))
"""Arguments of `binary_join_element_wise` that append a dot to a path, as in the path of a part of
a value."""
_WHOLE = (Kind.INT32, Kind.INT64, Kind.DECIMAL128)
_NUMBERS = (*_WHOLE, Kind.DOUBLE)
_ID_KINDS: Mapping[Type, Sequence[Kind]] = {
    Type.STRING: (Kind.STRING, Kind.OBJECT_ID),
    Type.BYTES: (Kind.BINARY,),
    Type.BOOLEAN: (Kind.BOOLEAN,),
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), _NUMBERS),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), _NUMBERS),
}
"""The BSON types of `_id` that a column accepts: two ids that are different keys for the server are
always different values in it."""
_NO_VALUE = 0
_KIND, _LENGTH = 0, 2
"""Indexes of columns in the values that `opened` returns."""
_LIKE_OBJECT_ID = "^[0-9a-f]{24}$"
_OBJECT_ID_TEXT_BYTES = 4 + 24 + 1
_SUBTYPE, _BINARY_HEAD, _UUID_BYTES = 4, 5, 16
"""The offset of the subtype in binary data, the offset of its bytes, and the length of a UUID."""
_GENERIC, _UUID = 0, 4
"""Subtypes of binary data."""


@dataclass(frozen=True)
class DocumentRows:
    """Events of documents: each one has its document, says what an update changed in it, or is a
    delete. `is_partial` (bool) marks the updates without their document."""

    records: Records
    columns: DocumentColumns
    envelope: DocumentEnvelope
    is_partial: np.ndarray

    @staticmethod
    def of(records: Records, columns: DocumentColumns) -> DocumentRows:
        """Return the rows of events whose envelopes hold documents."""
        envelope = DocumentEnvelope.of(records.shape)
        assert envelope is not None
        is_partial = present(records, envelope.update) & ~present(records, envelope.after)
        return DocumentRows(records, columns, envelope, is_partial)

    @property
    def are_updates(self) -> bool:
        """Whether all events are updates without their document."""
        return bool(self.is_partial.all())

    @property
    def names(self) -> list[str]:
        """The fields whose values `arrays` returns."""
        return [field.name for field in self.columns.fields]

    def carried(self) -> np.ndarray:
        """Return whether each event carries the value of each field: bool, a row for each of
        `names`. Only `is_partial` events may lack values. Raises
        HeadraceError("replicas.no_document") for an update that changed a part of a field's
        value."""
        names = [name.encode() for name in self.names]
        heads = pa.array([name.partition(b".")[0] for name in names], _BYTES)
        carried = np.repeat(~self.is_partial[np.newaxis], len(names), axis=0)
        for events, paths in self._changed():
            head = pc.replace_substring_regex(paths, r"\..*", "")
            is_part = pc.and_(pc.match_substring(paths, "."), pc.is_in(head, value_set=heads))
            if pc.any(is_part).as_py():
                raise self._part_changed(pc.filter(head, is_part)[0].as_py().decode())
            indices = pc.index_in(paths, value_set=pa.array(names, _BYTES)).fill_null(-1)
            numbers = indices.to_numpy(zero_copy_only=False)
            carried[numbers[numbers >= 0], events[numbers >= 0]] = True
        return carried

    def arrays(self) -> list[pa.Array]:
        """Return the values of each of `names`; null if an event does not carry the value.

        Raises HeadraceError("replicas.value_not_taken") for a value that does not fit its type, and
        for a field that is not declared, if the option makes such fields an error.
        """
        envelope, count = self.envelope, len(self.records)
        has_document = present(self.records, envelope.after)
        has_changes = self.is_partial & present(self.records, envelope.updated)
        cells, memory = np.zeros((count, 3), np.int64), []
        for mask, node in ((has_document, envelope.after), (has_changes, envelope.updated)):
            if node is not None and mask.any():
                bson = bson_cells(self.records.with_rows(mask), node)
                cells[mask] = bson.cells
                memory.append(bson)
        target = TargetSchema(self.columns.declared, unknown=self.columns.unknown)
        with self._refusing():
            rows = typed_documents(target.converted(cells))
        del memory  # memory to which the cells point
        return [rows.field(name) for name in self.names]

    def keys(self, node: Node) -> pa.Array:
        """Return the values of `_id`, which is at `node`. Raises
        HeadraceError("replicas.value_not_taken") for one that does not fit its type, or that the
        type does not distinguish from every other id."""
        schema = self.columns.id_schema
        assert schema is not None
        bson = bson_cells(self.records, node)
        with self._refusing():
            keys = typed_documents(converted(bson.cells, schema, Conflicts(), path=ID))
        self._require_distinct(opened(bson.cells), keys, schema)
        return keys

    def _changed(self) -> Iterator[tuple[np.ndarray, pa.Array]]:
        """Yield the changes of updates without documents: numbers of events and the paths that they
        changed, of equal length. The path of a part of a value has a dot."""
        envelope, update = self.envelope, self.envelope.update
        truncated = None if update is None else member(update, "truncatedArrays")
        mask = self.is_partial & present(self.records, envelope.updated)
        if envelope.updated is not None and mask.any():
            bson = bson_cells(self.records.with_rows(mask), envelope.updated)
            ends, names = field_names(bson.cells)
            paths = gathering.as_binary(names, np.ones(len(names), np.bool_))
            yield np.repeat(np.flatnonzero(mask), np.diff(ends)), paths
        for node, inner in ((envelope.removed, None), (truncated, "field")):
            mask = self.is_partial & present(self.records, node)
            if node is not None and mask.any():
                lists = values(self.records.with_rows(mask), node)
                paths = pc.list_flatten(lists)
                if inner is not None:
                    paths = pc.cast(pc.struct_field(paths, inner), _BYTES)
                    paths = pc.binary_join_element_wise(paths, *_BEFORE_A_PART)
                events = np.flatnonzero(mask)[pc.list_parent_indices(lists).to_numpy()]
                yield events, pc.cast(paths, _BYTES)

    def _require_distinct(self, ids: np.ndarray, keys: pa.Array, schema: Schema) -> None:
        """Refuse an `_id` that could equal another one as a value of this schema."""
        if schema.name == JSON:
            return
        kinds = ids[:, _KIND]
        wrong = ~np.isin(kinds, (_NO_VALUE, *_id_kinds(schema)))
        if wrong.any():
            self._refuse_id(Kind(kinds[wrong][0]).name.lower(), schema)
        texts = (kinds == Kind.STRING) & (ids[:, _LENGTH] == _OBJECT_ID_TEXT_BYTES)
        if texts.any():
            alike = pc.match_substring_regex(keys.filter(pa.array(texts)), _LIKE_OBJECT_ID)
            if pc.any(alike).as_py():
                self._refuse_id("string with the digits of an objectid", schema)
        binaries = np.ascontiguousarray(ids[kinds == Kind.BINARY])
        if len(binaries):
            raw = gathering.as_binary(binaries, np.ones(len(binaries), np.bool_))
            ends = np.frombuffer(raw.buffers()[1], np.int64)[: len(raw) + 1]
            subtypes = np.frombuffer(raw.buffers()[2], np.uint8)[ends[:-1] + _SUBTYPE]
            is_long = np.diff(ends) - _BINARY_HEAD == _UUID_BYTES
            if (subtypes != np.where(is_long, _UUID, _GENERIC)).any():
                self._refuse_id("binary that is neither a UUID nor of another length", schema)

    def _refuse_id(self, what: str, schema: Schema) -> None:
        raise HeadraceError(
            "replicas.value_not_taken",
            f"{self._topic}: there is an _id of type {what}, which {shown(schema)} may not "
            "distinguish from another _id",
            f"Declare `_id VARIANT` in headrace.sink.{self.columns.option}: the Extended JSON of "
            "every _id is another one.",
        )

    def _part_changed(self, name: str) -> HeadraceError:
        return HeadraceError(
            "replicas.no_document",
            f"an update of {self._topic} changed a part of the field {name}, and does not have the "
            "document",
            "Set capture.mode=change_streams_update_full, so that updates come with documents.",
        )

    @property
    def _topic(self) -> str:
        return self.records.shape.topic

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Name the topic and the option in errors of values."""
        option = f"headrace.sink.{self.columns.option}"
        remedies = {
            "documents.value_not_of_schema": f"Declare the field as STRING or VARIANT in {option}: "
            "they hold any value.",
            "documents.field_not_of_schema": f"Declare the field in {option}, or set "
            "headrace.sink.unknown.fields=drop.",
        }
        try:
            yield
        except HeadraceError as error:
            if error.retriable:
                raise
            raise HeadraceError(
                "replicas.value_not_taken",
                f"{self._topic}: {error.message}",
                remedies.get(error.code, error.remedy),
            ) from error


def _id_kinds(schema: Schema) -> Sequence[Kind]:
    if schema.name == DECIMAL:
        return _WHOLE  # a Decimal128 and a double with the same digits are two keys
    if schema.name == DATE or schema.name in TIMESTAMPS:
        return (Kind.DATE,)
    return _ID_KINDS[schema.type]

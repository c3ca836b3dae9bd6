"""Makes Arrow tables of changes from Records. The module `part` describes their columns. Writes no
files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import carries, nulls, values
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Constant, Header, Node, On, Records, RowField, Shape, Struct
from headrace.connect.rows import Flag, Sequences
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import fields, select
from headrace.converters.kernels.prints import write_sequences
from headrace.converters.typed.converters import is_of_no_table
from headrace.converters.typed.evaluation import CarriedValues
from headrace.debezium.envelope import OLD_KEY_HEADER
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.changed_rows import Changes, Failure, joined
from headrace.sinks.replicas.changes.declared_documents import (
    DOCUMENT,
    ID,
    DeclaredDocuments,
)
from headrace.sinks.replicas.changes.document_rows import DocumentRows
from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    UNAVAILABLE,
    Operation,
)
from headrace.sinks.replicas.changes.schemas import (
    TableShape,
    is_constant,
    key_not_carried,
    table_shape,
)
from headrace.sinks.replicas.lake import Column
from headrace.sinks.replicas.modes.mode import Mode, TableModes
from headrace.sinks.replicas.modes.own_columns import INSTANT
from headrace.sinks.replicas.refusals import NO_ENVELOPE, require_identifying
from headrace.transforms.debezium.envelopes import envelope_of

_OTHER, _TRUNCATE = -1, 4
_OPERATIONS = np.full(256, _OTHER, np.int8)
for _letter, _number in (
    ("c", Operation.INSERT),
    ("r", Operation.READ),
    ("u", Operation.UPDATE),
    ("d", Operation.DELETE),
    ("t", _TRUNCATE),
):
    _OPERATIONS[ord(_letter)] = _number
_NOT_REPRESENTABLE_REMEDIES = {
    "relational.value_not_representable": "Correct the value at the source, leave the column out "
    "by column.exclude.list, or, for NaN and infinite numerics, set decimal.handling.mode=double "
    "or string.",
}
"""Remedies for errors whose own remedy is to have null instead, which a replica does not."""
_SCHEMA_CHANGE = ".SchemaChangeValue"
_ON_KEY_CHANGE_CREATE = Header(
    OLD_KEY_HEADER, Constant(Schema(Type.STRING, optional=True), None), On.CREATE
)
"""The header that only the create of a key change carries; it finds these records."""


class ChangeTables:
    """Makes changes from Records. Caches the TableShape of each shape while the shape exists."""

    def __init__(
        self,
        *,
        looks_up_documents: bool = False,
        documents: DeclaredDocuments | None = None,
        prefix: str = "",
        modes: TableModes | None = None,
    ) -> None:
        """Set the options.

        With `looks_up_documents` an update without its document is left out: the document was
        deleted before the server looked it up, and its delete follows. Otherwise the update sets
        the columns of the fields that it changed; if a column has the text of the document, the
        update is an error. `documents` are those with declared columns, `prefix` is topic.prefix,
        and `modes` determine what the changes of a table have besides its rows.
        """
        self._looks_up_documents = looks_up_documents
        self._documents, self._prefix = documents or DeclaredDocuments(), prefix
        self._modes = modes or TableModes()
        self._tables: WeakKeyDictionary[Shape, TableShape] = WeakKeyDictionary()

    def of_piece(
        self, piece: Sequence[Records], sequences: Sequences
    ) -> tuple[list[Changes], list[Failure]]:
        """Return the changes in a piece of a slice, one Changes for each table and schema, and the
        failures. Records that are no changes of a table are left out.

        Failures are values that their columns cannot hold ("replicas.value_not_taken"), updates
        without their document ("replicas.no_document"), keys that do not identify a row
        ("replicas.no_key"), and what `table_shape` raises. Raises HeadraceError for events without
        an envelope ("replicas.no_envelope"), and for transient errors.
        """
        by_table: dict[tuple[str, str], list[tuple[Changes, np.ndarray]]] = {}
        failures: list[Failure] = []
        for records in piece:
            try:
                converted = self._of_records(records, sequences) if len(records) else None
            except HeadraceError as error:
                if error.retriable or error.code == NO_ENVELOPE:
                    raise
                failures.append(Failure(records.shape.topic, len(records), error))
                continue
            if converted is not None:
                changes = converted[0]
                by_table.setdefault((changes.topic, changes.table.json), []).append(converted)
        return [_in_order(of_table) for of_table in by_table.values()], failures

    def _of_records(
        self, records: Records, sequences: Sequences
    ) -> tuple[Changes, np.ndarray] | None:
        """Return the changes of Records and their places; None: they have no changes."""
        envelope = envelope_of(records.shape)
        operations = _OPERATIONS[records.table.rows["operation"][records.rows]]
        if envelope is None or not isinstance(fields(envelope).get("op"), RowField):
            _require_no_rows(records)
            return None
        is_truncate = operations == _TRUNCATE
        of_rows = records.with_rows((operations != _OTHER) & ~is_truncate)
        if not is_truncate.any() and not len(of_rows):
            return None
        table = self._table(records.shape, envelope)
        truncates = _truncates(records.with_rows(is_truncate), table, sequences)
        operations = _OPERATIONS[of_rows.table.rows["operation"][of_rows.rows]]
        if table.has_documents:
            is_change = self._is_change(of_rows, operations, table)
            of_rows, operations = of_rows.with_rows(is_change), operations[is_change]
        mode = self._modes.mode(table.schema.source)
        rows = _Rows(of_rows, operations, table, mode).as_arrow(_sequences(of_rows, sequences))
        milliseconds = _source_ms(of_rows, envelope)
        changes = Changes(records.shape.topic, table, rows, milliseconds, truncates)
        return changes, of_rows.place

    def _table(self, shape: Shape, envelope: Struct) -> TableShape:
        table = self._tables.get(shape)
        if table is None:
            documents = self._documents.of_topic(shape.topic, self._prefix)
            table = table_shape(shape, envelope, documents)
            require_identifying(table.schema, self._modes.mode(table.schema.source))
            self._tables[shape] = table
        return table

    def _is_change(self, records: Records, operations: np.ndarray, table: TableShape) -> np.ndarray:
        """Return which events of documents change the table (bool): deletes, events with their
        document, and updates of fields that are columns. Raises
        HeadraceError("replicas.no_document")."""
        has_document = ~nulls(records, table.nodes[DOCUMENT])
        is_change: np.ndarray = has_document | (operations == Operation.DELETE)
        without_document = ~is_change
        if not without_document.any():
            return is_change
        if (operations[without_document] == Operation.UPDATE).all():
            if self._looks_up_documents:
                return is_change
            rows = _partial_rows(records.with_rows(without_document), table)
            if rows is not None:
                is_change[without_document] = rows.carried().any(axis=0)
                return is_change
        raise HeadraceError(
            "replicas.no_document",
            f"an event of {records.shape.topic} says what changed in a document, and does not "
            "have the document",
            "Set capture.mode=change_streams_update_full, so that updates come with documents.",
        )


def _partial_rows(updates: Records, table: TableShape) -> DocumentRows | None:
    """Return updates without their documents as rows with the columns of fields; None: a column is
    the text, no columns are declared, or not all events are such updates."""
    if table.documents is None or table.has_text:
        return None
    rows = DocumentRows.of(updates, table.documents)
    return rows if rows.are_updates else None


def _require_no_rows(records: Records) -> None:
    """Refuse records that are neither tombstones nor events of Debezium's other kinds."""
    shape = records.shape
    name = "" if shape.value is None else shape.value.schema.name or ""
    if shape.value is None or is_of_no_table(shape) or name.endswith(_SCHEMA_CHANGE):
        return
    if not records.table.rows["operation"][records.rows].any():
        return
    raise HeadraceError(
        NO_ENVELOPE,
        f"records of {shape.topic} do not have Debezium's envelope",
        "A replica needs op, before and after: leave out ExtractNewRecordState, "
        "ExtractNewDocumentState and other transforms that take the envelope away.",
    )


def _sequences(records: Records, sequences: Sequences) -> pa.StringArray:
    count, length = len(records), sequences.length
    texts = np.empty(count * length + PADDING, np.uint8)
    selected = np.ascontiguousarray(records.rows, np.int64)
    write_sequences(
        address_of(records.table.rows), address_of(selected), count, sequences.epoch, length,
        address_of(texts),
    )  # fmt: skip
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(length)
    used = texts[: count * length]
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(used))


def _source_ms(records: Records, envelope: Struct) -> int:
    node = select(envelope, "source.ts_ms")
    if node is None or not len(records):
        return 0
    return int(pc.max(values(records, node)).as_py() or 0)


def _truncates(
    truncates: Records, table: TableShape, sequences: Sequences
) -> tuple[tuple[str, int], ...]:
    """Return the sequence of each TRUNCATE and the time of its commit (microseconds)."""
    if not len(truncates):
        return ()
    times = _commit_times(truncates, table).cast(pa.int64()).fill_null(0)
    return tuple(zip(_sequences(truncates, sequences).to_pylist(), times.to_pylist(), strict=True))


def _commit_times(records: Records, table: TableShape) -> pa.Array:
    """Return the times of the source's commits; null: unknown."""
    precise, rounded = table.committed
    times = pa.nulls(len(records), pa.int64())
    if precise is not None:
        times = values(records, precise).cast(pa.int64())
    if times.null_count and rounded is not None:
        milliseconds = values(records, rounded).cast(pa.int64())
        times = pc.coalesce(times, pc.multiply(milliseconds, 1000))
    return times.cast(INSTANT)


class _Rows:
    """Builds the rows of the changes of one shape, for a table of a mode."""

    def __init__(
        self, records: Records, operations: np.ndarray, table: TableShape, mode: Mode
    ) -> None:
        self._records, self._operations, self._table = records, operations, table
        self._mode = mode
        self._topic = records.shape.topic

    def as_arrow(self, sequences: pa.Array) -> pa.Table:
        """Return the changes with the columns of a part."""
        nodes = self._table.nodes
        carried = CarriedValues(self._records, list(nodes.values()))
        columns: dict[str, pa.Array] = {}
        unavailable: dict[str, pa.Array] = {}
        rows_with_unavailable = np.zeros(len(self._records), np.bool_)
        declared = self._declared()
        for column in self._table.schema.columns:
            if column.name in declared:
                array, is_unavailable = declared[column.name]
                columns[column.name] = self._in_type(column, array)
                if is_unavailable.any():
                    unavailable[UNAVAILABLE + column.name] = pa.array(is_unavailable)
                continue
            node = nodes[column.name]
            array = self._taken(column, carried, node)
            if array.null_count and column.is_required and column.name in self._table.key:
                raise key_not_carried(self._topic, [column.name])
            is_unavailable = carried.unavailable(node)
            if is_unavailable.any():
                self._require_available(column, is_unavailable)
                rows_with_unavailable |= is_unavailable
                unavailable[UNAVAILABLE + column.name] = pa.array(is_unavailable)
                places = np.arange(len(array), dtype=np.int64)
                array = array.take(pa.array(places, mask=is_unavailable))
            columns[column.name] = array
        own_columns = {SEQUENCE: sequences, OPERATION: pa.array(self._operations)}
        if self._mode.keeps_rows:
            own_columns[COMMIT_TIME] = _commit_times(self._records, self._table)
        if self._mode is Mode.APPEND:
            self._add_before_values(columns, unavailable)
        old_keys = self._old_keys(rows_with_unavailable)
        if old_keys is not None:
            own_columns[OLD_KEY] = old_keys
        return pa.table(own_columns | columns | unavailable)

    def _add_before_values(
        self, columns: dict[str, pa.Array], unavailable: dict[str, pa.Array]
    ) -> None:
        """Fill the columns of deletes from the before image, as far as the log carries it. A null
        is a value only in a whole row: logs may have nulls in place of the other columns."""
        is_delete = self._operations == Operation.DELETE
        if not is_delete.any():
            return
        deletes, nodes = self._records.with_rows(is_delete), self._table.before
        row_flags = deletes.table.rows["flags"][deletes.rows]
        is_whole = (row_flags & int(Flag.FULL_OLD)) != 0
        carried = CarriedValues(deletes, list(nodes.values()))
        places = np.arange(len(self._records), dtype=np.int64)
        places[is_delete] = len(places) + np.arange(len(deletes))
        for column in self._table.schema.columns:
            if column.name in self._table.key:
                continue
            is_unavailable = np.ones(len(deletes), np.bool_)
            if (node := nodes.get(column.name)) is not None:
                array = self._taken(column, carried, node)
                is_null = array.is_null().to_numpy(zero_copy_only=False)
                is_unavailable = carried.unavailable(node) | (is_null & ~is_whole)
                mask = np.zeros(len(places), np.bool_)
                mask[is_delete] = is_unavailable
                both = pa.concat_arrays([columns[column.name], array])
                columns[column.name] = both.take(pa.array(places, mask=mask))
            if is_unavailable.any():
                former = unavailable.get(UNAVAILABLE + column.name)
                flags = np.zeros(len(places), np.bool_)
                if former is not None:
                    flags |= former.to_numpy(zero_copy_only=False)
                flags[is_delete] = is_unavailable
                unavailable[UNAVAILABLE + column.name] = pa.array(flags)

    def _declared(self) -> dict[str, tuple[pa.Array, np.ndarray]]:
        """Return the values of the columns that are declared for documents, each with the updates
        that do not carry it (bool)."""
        documents = self._table.documents
        if documents is None:
            return {}
        rows = DocumentRows.of(self._records, documents)
        by_name = dict(
            zip(rows.names, zip(rows.arrays(), ~rows.carried(), strict=True), strict=True)
        )
        if documents.id_schema is not None:
            keys = rows.keys(self._table.nodes[ID])
            by_name[ID] = keys, np.zeros(len(self._records), np.bool_)
        return by_name

    def _taken(self, column: Column, carried: CarriedValues, node: Node) -> pa.Array:
        """Return the values of a column in its type."""
        try:
            array = carried.array(node)
        except HeadraceError as error:
            raise HeadraceError(
                "replicas.value_not_taken",
                f"{self._topic}, column {column.name}: {error.message}",
                _NOT_REPRESENTABLE_REMEDIES.get(error.code, error.remedy),
                retriable=error.retriable,
            ) from error
        return self._in_type(column, array)

    def _in_type(self, column: Column, array: pa.Array) -> pa.Array:
        try:
            return array if array.type == column.type else pc.cast(array, column.type)
        except pa.ArrowException:
            raise HeadraceError(
                "replicas.value_not_taken",
                f"{self._topic}, column {column.name}: values of {array.type} are too large for "
                f"{column.type}",
                "Set headrace.range.max.bytes to less, so that a slice has fewer of them.",
            ) from None

    def _require_available(self, column: Column, is_unavailable: np.ndarray) -> None:
        """Refuse an unavailable value of a key or of an inserted row; the create of a key change
        may have unavailable values."""
        if column.name in self._table.key:
            raise key_not_carried(self._topic, [column.name])
        inserted = is_unavailable & np.isin(self._operations, (Operation.INSERT, Operation.READ))
        if inserted.any() and not carries(self._records, _ON_KEY_CHANGE_CREATE)[inserted].all():
            raise HeadraceError(
                "replicas.value_not_carried",
                f"{self._topic}: the log does not carry the value of {column.name} of a row that "
                "was inserted",
                "Leave the column out by column.exclude.list.",
            )

    def _old_keys(self, with_unavailable: np.ndarray) -> pa.Array | None:
        """Return the keys before a key change, for rows with unavailable values (bool); None: no
        such row."""
        if not with_unavailable.any():
            return None
        is_moved = with_unavailable & carries(self._records, _ON_KEY_CHANGE_CREATE)
        if not is_moved.any():
            return None
        headers = {header.name: header.node for header in self._records.shape.headers}
        nodes = self._table.nodes
        constants = {name: nodes[name] for name in self._table.key if is_constant(nodes[name])}
        members = constants | fields(headers.get(OLD_KEY_HEADER))
        columns = [c for c in self._table.schema.columns if c.name in self._table.key]
        if any(column.name not in members for column in columns):
            raise HeadraceError(
                "replicas.no_old_key",
                f"a key of {self._topic} changed, and the header {OLD_KEY_HEADER} does not have "
                "the key before",
                "Leave out the transform that removes or changes the header.",
            )
        changed = self._records.with_rows(is_moved)
        carried = CarriedValues(changed, list(members.values()))
        arrays = [self._taken(column, carried, members[column.name]) for column in columns]
        keys = pa.StructArray.from_arrays(arrays, names=[column.name for column in columns])
        places = np.cumsum(is_moved) - 1
        return keys.take(pa.array(places, mask=~is_moved))


def _in_order(changes_and_places: Sequence[tuple[Changes, np.ndarray]]) -> Changes:
    """Merge changes of one table from several Records, in the order of their places."""
    changes = [part for part, _ in changes_and_places]
    first = changes[0]
    places = np.concatenate([places for _, places in changes_and_places])
    rows = joined([part.rows for part in changes])
    if len(places) > 1 and not np.all(places[1:] > places[:-1]):
        rows = rows.combine_chunks().take(pa.array(np.argsort(places, kind="stable")))
    source_ms = max(part.source_ms for part in changes)
    truncates = tuple(truncate for part in changes for truncate in part.truncates)
    return replace(first, rows=rows, source_ms=source_ms, truncates=truncates)

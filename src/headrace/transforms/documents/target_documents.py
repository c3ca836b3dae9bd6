"""Converts change events of documents to records with the fields of a declared schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from headrace.connect.evaluation.values import tombstones
from headrace.connect.records import Constant, Node, Records, Shape, Struct
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.documents.target_schema.conversion import Converted, converted
from headrace.documents.target_schema.policies import Conflicts
from headrace.documents.target_schema.target import TargetSchema
from headrace.documents.types import TEXT
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.documents.cells import bson_cells, present
from headrace.transforms.documents.envelope import DocumentEnvelope
from headrace.transforms.documents.struct_form import Leaves, StructForm
from headrace.transforms.documents.target_columns import ColumnTree
from headrace.transforms.transform import Ordering, PerShape
from headrace.transforms.unwrapping.added_fields import AddedHeaders
from headrace.transforms.unwrapping.deletes import DeleteMode

_ID = "_id"
_DELETED = "__deleted"
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_BOOLEAN = Schema(Type.BOOLEAN, optional=True)
Finish = Callable[[Struct, DocumentEnvelope, str], Struct]
"""Completes a row's struct: fields are added, inner ones are flattened. Called with the struct, the
envelope and the schema's name."""


@dataclass(frozen=True)
class _Shapes:
    """The shapes that result from a shape of events. `stored`: events with a document; `gone`:
    rewritten deletes; `null`: deletes whose value is null. `row` and `key` are the columns."""

    key: ColumnTree
    row: ColumnTree
    stored: Shape
    gone: Shape
    null: Shape


@dataclass(frozen=True)
class _Tombstones:
    key: ColumnTree
    shape: Shape


class TargetDocuments:
    """Converts documents to a schema that all records have. Keys have the declared type of
    `_id`."""

    def __init__(
        self,
        target: TargetSchema,
        form: StructForm,
        mode: DeleteMode,
        finish: Finish,
        headers: AddedHeaders,
        *,
        with_id: bool,
    ) -> None:
        """`with_id`: the row of a deleted document without an image has the `_id` of its key."""
        self._target, self._form, self._mode = target, form, mode
        self._finish, self._headers, self._with_id = finish, headers, with_id
        types = {field.name: field.schema for field in target.declared.fields}
        self._id_type = types.get(_ID, TEXT)
        self._shapes = PerShape(self._shapes_of)
        self._tombstones = PerShape(self._tombstones_of)

    @property
    def ordering(self) -> Ordering:
        """The way in which the declared type of `_id` may make keys equal: see Ordering."""
        schema = self._id_type
        if schema.name == DECIMAL or (schema.name is None and schema.type in _NUMBERS):
            return Ordering.ID_NUMBERS
        if schema.name is None and schema.type in (Type.BOOLEAN, Type.BYTES):
            return Ordering.ID_VALUES
        is_text = schema.name is None and schema.type is Type.STRING
        return Ordering.ID_TEXTS if is_text else Ordering.NONE

    def expected(self, records: Records) -> Iterator[Records]:
        """Yield records of each shape that `apply` may return for events of this shape."""
        if DocumentEnvelope.of(records.shape) is None:
            return
        shapes = self._shapes(records.shape)
        nothing = np.zeros((len(records), 3), np.int64)
        row = self._target.converted(nothing)
        records = shapes.row.with_values(records, row, None)
        key = converted(nothing, self._id_type, Conflicts())
        records = shapes.key.with_values(records, key, None)
        yield records.with_shape(shapes.stored)
        if self._mode.rewrites:
            yield records.with_shape(shapes.gone)
        elif self._mode is not DeleteMode.DROP:
            yield records.with_shape(shapes.null)

    def apply(self, records: Records, identifier: Node) -> Iterator[Records]:
        """Yield the results for events of documents and tombstones; other records pass unchanged.
        `identifier` is the node of the `_id` in the key, as a text."""
        is_tombstone = tombstones(records)
        if is_tombstone.any():
            if self._mode is DeleteMode.REWRITE_WITH_TOMBSTONE:
                of_tombstones = records.with_rows(is_tombstone)
                shapes_of_tombstones = self._tombstones(records.shape)
                yield self._with_key(of_tombstones, identifier, shapes_of_tombstones.key)[
                    0
                ].with_shape(shapes_of_tombstones.shape)
            records = records.with_rows(~is_tombstone)
        if not len(records):
            return
        envelope = DocumentEnvelope.of(
            records.shape, is_debezium_compatible=self._form.is_debezium_compatible
        )
        if envelope is None:
            yield records
            return
        shapes = self._shapes(records.shape)
        has_document = present(records, envelope.after)
        stored = records.with_rows(has_document)
        if len(stored):
            yield self._rows(stored, envelope.after, identifier, shapes, shapes.stored)
        gone = records.with_rows(~has_document)
        _refuse_updates(gone, envelope)
        if not len(gone) or self._mode is DeleteMode.DROP:
            return
        if not self._mode.rewrites:
            yield self._with_key(gone, identifier, shapes.key)[0].with_shape(shapes.null)
            return
        has_image = present(gone, envelope.before)
        for part, node in (
            (gone.with_rows(has_image), envelope.before),
            (gone.with_rows(~has_image), None),
        ):
            if len(part):
                yield self._rows(part, node, identifier, shapes, shapes.gone)

    def _rows(
        self,
        records: Records,
        node: Node | None,
        identifier: Node,
        shapes: _Shapes,
        shape: Shape,
    ) -> Records:
        """Return records with the documents at `node`; None: they have no document."""
        with_key, key = self._with_key(records, identifier, shapes.key)
        cells, memory = np.zeros((len(records), 3), np.int64), None
        if node is not None:
            documents = bson_cells(records, node)
            cells, memory = documents.cells, documents
        row = self._target.converted(cells)
        if node is None and self._with_id:
            row = _with_member(row, _ID, key)
        return shapes.row.with_values(with_key, row, (memory, key.memory)).with_shape(shape)

    def _with_key(
        self, records: Records, identifier: Node, tree: ColumnTree
    ) -> tuple[Records, Converted]:
        keys = bson_cells(records, identifier)
        column = converted(keys.cells, self._id_type, Conflicts(), path=_ID)
        column = replace(column, memory=(column.memory, keys))
        return tree.with_values(records, column, keys), column

    def _key(self) -> tuple[ColumnTree, Struct]:
        tree = ColumnTree.of(self._id_type, "null.id", self._form)
        return tree, Leaves(self._form).struct(None, {"id": tree.node}, optional=False)

    def _shapes_of(self, shape: Shape) -> _Shapes:
        envelope = DocumentEnvelope.of(
            shape, is_debezium_compatible=self._form.is_debezium_compatible
        )
        assert envelope is not None
        name = self._form.schema_name((envelope.struct.schema.name or "").removesuffix(".Envelope"))
        tree = ColumnTree.of(self._target.schema, name, self._form)
        key, key_node = self._key()
        headers = self._headers.of_event(shape, envelope.struct)
        null = replace(shape, key=key_node, value=None, headers=headers, null_has_schema=False)

        def of_rows(*, is_deleted: bool) -> Shape:
            members = tree.fields
            if self._mode.rewrites:
                if _DELETED in members:
                    raise HeadraceError(
                        "transforms.field_name_twice",
                        f"a record of {name} would have two fields {_DELETED}",
                        "Rename the field of target.schema.",
                    )
                members[_DELETED] = Constant(_BOOLEAN, is_deleted)
            # The names are already adjusted.
            row = Leaves(StructForm()).struct(name, members, optional=False)
            return replace(null, value=self._finish(row, envelope, name))

        return _Shapes(key, tree, of_rows(is_deleted=False), of_rows(is_deleted=True), null)

    def _tombstones_of(self, shape: Shape) -> _Tombstones:
        key, node = self._key()
        headers = self._headers.of_tombstone(shape, envelope_of(shape))
        return _Tombstones(key, replace(shape, key=node, headers=headers))


def _with_member(row: Converted, name: str, column: Converted) -> Converted:
    """Return structs in which another column replaces a field, if they have it."""
    names = [field.name for field in row.schema.fields]
    members = [
        column if field_name == name else member
        for field_name, member in zip(names, row.members, strict=True)
    ]
    return replace(row, members=tuple(members))


def _refuse_updates(records: Records, envelope: DocumentEnvelope) -> None:
    """Reject updates that contain only the changed fields: all other fields would be null, as if
    the document did not have them."""
    is_partial = present(records, envelope.update) | present(records, envelope.patch)
    if len(records) and is_partial.any():
        raise HeadraceError(
            "transforms.update_without_document",
            f"an update of {records.shape.topic} has no document, and target.schema needs one",
            "Set capture.mode=change_streams_update_full, which delivers whole documents.",
        )

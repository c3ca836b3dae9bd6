"""ExtractNewDocumentState: replaces the envelope by the document, as a struct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from headrace.connect.evaluation.values import connect_values, tombstones
from headrace.connect.json_values import HALF_CHARACTER
from headrace.connect.records import (
    ColumnIdentity,
    Constant,
    Header,
    Node,
    Records,
    Shape,
    Struct,
)
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member
from headrace.documents.bson import Kind
from headrace.documents.columns.structured_records import StructuredRecords
from headrace.documents.splitting import Structure
from headrace.documents.target_schema.ddl import declared
from headrace.documents.target_schema.policies import UnknownFields
from headrace.documents.target_schema.target import TargetSchema
from headrace.documents.types import TEXT
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.documents.cells import present
from headrace.transforms.documents.compatibility import not_converted, without_value
from headrace.transforms.documents.envelope import DocumentEnvelope
from headrace.transforms.documents.options import (
    SAMPLED,
    ExtractNewDocumentStateOptions,
    UnsetHandling,
    former_document_options,
)
from headrace.transforms.documents.patches import described
from headrace.transforms.documents.rows import CachePerShape, structured
from headrace.transforms.documents.schemaless import SchemalessDocuments
from headrace.transforms.documents.struct_form import Leaves, StructForm
from headrace.transforms.documents.target_documents import TargetDocuments
from headrace.transforms.example import Example
from headrace.transforms.kafka.flatten import flattened
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.transform import Declaration, Ordering
from headrace.transforms.unwrapping.added_fields import (
    AddedField,
    AddedHeaders,
    added_fields,
)
from headrace.transforms.unwrapping.deletes import DeleteMode

_ID, _DELETED = "_id", "__deleted"
_BOOLEAN = Schema(Type.BOOLEAN, optional=True)
_NOTHING = Structure(Kind.DOCUMENT)


@dataclass(frozen=True)
class _Made:
    """A shape, and the columns of the leaves of the key and of the document. The columns of an
    `_id` that comes from the key are a third group."""

    shape: Shape
    key: tuple[ColumnIdentity, ...]
    document: tuple[ColumnIdentity, ...] = ()
    identifier: tuple[ColumnIdentity, ...] = ()


@dataclass(frozen=True)
class _Case:
    """The case of a record: an update with only the changed fields or not, deleted or not, and the
    fields that the update removed."""

    is_partial: bool = False
    is_deleted: bool = False
    removed: tuple[str, ...] = ()


class ExtractNewDocumentState:
    """See DECLARATION. Records whose key or value does not belong to a document pass unchanged."""

    def __init__(self, options: ExtractNewDocumentStateOptions) -> None:
        self._options = options
        self._mode = options.delete_tombstone_handling_mode
        self._form = StructForm(
            options.array_encoding,
            options.field_name_adjustment_mode,
            is_debezium_compatible=options.headrace_compatibility == "debezium-3.6",
            most_cells=options.headrace_record_max_cells,
        )
        self._shows_unset = (
            options.unset_handling is UnsetHandling.NULL and not self._form.is_debezium_compatible
        )
        self._fields = added_fields(options)
        self._headers = AddedHeaders(options)
        self._schemaless = SchemalessDocuments(
            (entry.struct, entry.field) for entry in (*self._fields, *self._headers)
        )
        self._made: CachePerShape[_Made] = CachePerShape()
        self._target = self._target_documents()

    def _target_documents(self) -> TargetDocuments | None:
        options = self._options
        if options.target_schema in (None, SAMPLED):
            return None
        handling = options.target_schema_unknown
        unknown = UnknownFields.FAIL if handling == "fail" else UnknownFields.DROP
        schema = declared(options.target_schema)
        return TargetDocuments(
            TargetSchema(schema, options.target_schema_conflict, unknown),
            self._form,
            self._mode,
            self._finished,
            self._headers,
            with_id=options.delete_tombstone_handling_mode_rewrite_with_id,
        )

    former_fields: ClassVar[Mapping[str, str]] = {"source.rs": "2.5"}
    """Fields that only events of a former format have, with the format."""

    @property
    def asked_fields(self) -> Iterator[tuple[str, AddedField]]:
        """The fields of the envelope that are added to the record, each with its option."""
        yield from (("add.fields", entry) for entry in self._fields)
        yield from (("add.headers", entry) for entry in self._headers)

    @property
    def ordering(self) -> Ordering:
        """Keys lose the type of their `_id`: an ObjectId and the text of its digits are one key."""
        if self._target is None:
            sampled = self._options.target_schema == SAMPLED
            return Ordering.NONE if sampled else Ordering.ID_VALUES
        return self._target.ordering

    def share_headers(self) -> None:
        """See SharesHeaders."""
        self._headers.share()

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: documents determine the fields."""
        if _identifier(records.shape) is None:
            return [records]
        return [] if self._target is None else self._target.expected(records)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        if not self._form.is_debezium_compatible and SchemalessDocuments.are_in(records.shape):
            events, others = self._schemaless.opened(records)
            if others is not None:
                yield others
            if events is not None:
                yield from self.apply(events)
            return
        identifier = _identifier(records.shape)
        if identifier is None:
            yield records
            return
        if self._options.target_schema == SAMPLED:
            raise not_sampled()
        if self._target is not None:
            yield from self._target.apply(records, identifier)
            return
        absent = tombstones(records)
        if absent.any():
            if self._mode is DeleteMode.REWRITE_WITH_TOMBSTONE:
                deleted = records.with_rows(absent)
                for key in structured(deleted, identifier, self._form):
                    yield self._tombstone(key)
            records = records.with_rows(~absent)
            if not len(records):
                return
        envelope = DocumentEnvelope.of(
            records.shape, is_debezium_compatible=self._form.is_debezium_compatible
        )
        if envelope is None:
            yield records
            return
        for key in structured(records, identifier, self._form):
            yield from self._events(key, envelope)

    def _events(self, key: StructuredRecords, envelope: DocumentEnvelope) -> Iterator[Records]:
        """Yield the results for events whose keys have the same structure."""
        records = key.records
        has_document = present(records, envelope.after)
        has_update = ~has_document & present(records, envelope.update)
        full, partial = records.with_rows(has_document), records.with_rows(has_update)
        if len(full):
            for case, part in self._by_removed(full, envelope, is_partial=False):
                for document in structured(part, envelope.after, self._form):
                    yield self._row(key, document.records, case, document)
        if len(partial):
            for case, part in self._by_removed(partial, envelope, is_partial=True):
                yield from self._images(key, part, envelope.updated, case)
        has_patch = ~has_document & ~has_update & present(records, envelope.patch)
        patched = records.with_rows(has_patch)
        if len(patched):
            patched, described_envelope = described(patched, envelope)
            for case, part in self._by_removed(patched, described_envelope, is_partial=True):
                yield from self._images(key, part, described_envelope.updated, case)
        gone = records.with_rows(~has_document & ~has_update & ~has_patch)
        if not len(gone) or self._mode is DeleteMode.DROP:
            return
        if not self._mode.rewrites:
            yield self._null(key, gone)
            return
        yield from self._images(key, gone, envelope.before, _Case(is_deleted=True))

    def _images(
        self, key: StructuredRecords, records: Records, node: Node | None, case: _Case
    ) -> Iterator[Records]:
        """Yield records with a document at `node`, and records without one."""
        has_document = present(records, node)
        with_document = records.with_rows(has_document)
        if node is not None and len(with_document):
            for document in structured(with_document, node, self._form):
                yield self._row(key, document.records, case, document)
        without = records.with_rows(~has_document)
        if len(without):
            yield self._row(key, without, case, None)

    def _by_removed(
        self, records: Records, envelope: DocumentEnvelope, *, is_partial: bool
    ) -> Iterator[tuple[_Case, Records]]:
        """Yield the records grouped by the fields that updates removed, if these matter."""
        has_removed = present(records, envelope.removed)
        if envelope.removed is None or not (is_partial or self._shows_unset):
            has_removed = np.zeros(len(records), np.bool_)
        plain = records.with_rows(~has_removed)
        if len(plain):
            yield _Case(is_partial), plain
        changed = records.with_rows(has_removed)
        if envelope.removed is None or not len(changed):
            return
        lists = [_names(removed) for removed in connect_values(changed, envelope.removed)]
        for names in dict.fromkeys(lists):
            mask = np.array([removed_names == names for removed_names in lists])
            yield _Case(is_partial, removed=names), changed.with_rows(mask)

    def _row(
        self,
        key: StructuredRecords,
        records: Records,
        case: _Case,
        document: StructuredRecords | None,
    ) -> Records:
        """Return records with documents of the same structure as structs; None: no document."""
        shape = key.records.shape
        self._check_structs(records, (*self._fields, *self._headers))
        marks = (key.key, None if document is None else document.key, case)
        made_shape = self._made(shape, marks, lambda: self._row_shape(shape, key, case, document))
        records = key.with_columns(records, made_shape.key)
        if made_shape.identifier:
            records = key.with_columns(records, made_shape.identifier)
        if document is not None:
            records = document.with_columns(records, made_shape.document)
        return records.with_shape(made_shape.shape)

    def _row_shape(
        self,
        shape: Shape,
        key: StructuredRecords,
        case: _Case,
        document: StructuredRecords | None,
    ) -> _Made:
        envelope = DocumentEnvelope.of(
            shape, is_debezium_compatible=self._form.is_debezium_compatible
        )
        assert envelope is not None
        name = self._form.schema_name((envelope.struct.schema.name or "").removesuffix(".Envelope"))
        leaves, of_key = Leaves(self._form), Leaves(self._form)
        structure = _NOTHING if document is None else document.structure
        members = leaves.members(structure, name)
        if case.is_partial:
            members = {
                member_name: node
                for member_name, node in members.items()
                if member_name not in case.removed
            }
        if self._shows_unset:
            members = with_nulls(members, case.removed, paths=not case.is_partial)
        rewrites = self._mode.rewrites
        needs_id = case.is_partial or (
            rewrites and self._options.delete_tombstone_handling_mode_rewrite_with_id
        )
        own_id = None
        if needs_id and _ID not in members:
            own_id = of_key.node(key.structure, f"{name}.{self._form.field(_ID)}")
        deleted = Constant(_BOOLEAN, case.is_deleted)
        if case.is_partial and own_id is not None:
            members[_ID] = own_id
        if rewrites:
            members[_DELETED] = deleted
        if own_id is not None:
            members.setdefault(_ID, own_id)
        if self._options.flatten_struct and case.is_partial:
            members = self._undotted(members)
        row: Struct | None = None
        if members or structure.members or not self._form.is_debezium_compatible:
            row = leaves.struct(name, members, optional=False)
            row = self._finished(row, envelope, name)
        key_node, key_columns = self._key(key)
        headers = self._headers_of(shape, envelope)
        return _Made(
            replace(shape, key=key_node, value=row, headers=headers, null_has_schema=False),
            key_columns,
            tuple(leaves.columns),
            tuple(of_key.columns),
        )

    def _finished(self, row: Struct, envelope: DocumentEnvelope, name: str) -> Struct:
        """Return a row with the added fields, flattened if configured."""
        row = self._with_added(row, envelope, name)
        if not self._options.flatten_struct:
            return row
        delimiter = self._options.flatten_struct_delimiter
        return rebuilt(row, list(flattened(row, delimiter, is_optional=False)))

    def _undotted(self, members: Mapping[str, Node]) -> dict[str, Node]:
        """Replace the dots in the names of updated fields by the delimiter."""
        delimiter = self._options.flatten_struct_delimiter
        renamed = {name.replace(".", delimiter): node for name, node in members.items()}
        if len(renamed) < len(members):
            raise _twice("a flattened document")
        return renamed

    def _with_added(self, row: Struct, envelope: DocumentEnvelope, name: str) -> Struct:
        members = fields(row)
        for entry in self._fields:
            node = entry.node(envelope.struct)
            if node is None:
                if self._form.is_debezium_compatible:
                    raise HeadraceError(
                        "transforms.no_such_field",
                        f"{envelope.struct.schema.name} has no field {entry.field}",
                        "Name op, a time, or a field of source or transaction.",
                    )
                node = Constant(TEXT, None)
            if self._form.is_debezium_compatible:
                node = without_value(node)
            if entry.name in members:
                raise _twice(name, entry.name)
            members[entry.name] = node
        return Leaves(StructForm()).struct(name, members, optional=False)

    def _headers_of(self, shape: Shape, envelope: DocumentEnvelope) -> tuple[Header, ...]:
        """The headers of an event."""
        headers = self._headers.of_event(shape, envelope.struct)
        if not self._form.is_debezium_compatible:
            return headers
        header_count = len(shape.headers)
        added = (
            replace(header, node=without_value(header.node)) for header in headers[header_count:]
        )
        return (*headers[:header_count], *added)

    def _check_structs(self, records: Records, entries: Iterable[AddedField]) -> None:
        """Reject whole structs that are not null, as Debezium 3.6 does."""
        envelope = DocumentEnvelope.of(records.shape) if self._form.is_debezium_compatible else None
        for entry in entries if envelope is not None else ():
            node = None if envelope is None else entry.node(envelope.struct)
            if (
                node is not None
                and node.schema.type is Type.STRUCT
                and present(records, node).any()
            ):
                raise not_converted(f"{entry.field} of {records.shape.topic}, a whole struct,")

    def _key(self, key: StructuredRecords) -> tuple[Struct, tuple[ColumnIdentity, ...]]:
        """Return the key's struct, and its columns."""
        leaves = Leaves(self._form)
        node = leaves.node(key.structure, "null.id")
        members = {} if node is None else {"id": node}
        return leaves.struct(None, members, optional=False), tuple(leaves.columns)

    def _null(self, key: StructuredRecords, records: Records) -> Records:
        """Return deletes without a value."""
        shape = records.shape
        self._check_structs(records, self._headers)

        def make() -> _Made:
            envelope = DocumentEnvelope.of(
                shape, is_debezium_compatible=self._form.is_debezium_compatible
            )
            assert envelope is not None
            node, columns = self._key(key)
            headers = self._headers_of(shape, envelope)
            letter = replace(shape, key=node, value=None, headers=headers, null_has_schema=False)
            return _Made(letter, columns)

        made_shape = self._made(shape, (key.key, "null"), make)
        return key.with_columns(records, made_shape.key).with_shape(made_shape.shape)

    def _tombstone(self, key: StructuredRecords) -> Records:
        shape = key.records.shape

        def make() -> _Made:
            node, columns = self._key(key)
            headers = self._headers.of_tombstone(shape, envelope_of(shape))
            letter = replace(shape, key=node, headers=headers)
            return _Made(letter, columns)

        made_shape = self._made(shape, (key.key, "tombstone"), make)
        return key.with_columns(key.records, made_shape.key).with_shape(made_shape.shape)


def not_sampled() -> HeadraceError:
    """The error of target.schema=sampled without a connector that sampled a schema."""
    return HeadraceError(
        "transforms.schema_not_sampled",
        "target.schema=sampled, and no connector was asked for documents",
        "Pass the connector's properties through headrace.options(...), or declare the schema.",
    )


def with_nulls(members: dict[str, Node], removed: Iterable[str], *, paths: bool) -> dict[str, Node]:
    """Return the members, and a null for each removed field that is not among them. `paths`: a
    dotted name is added to the struct at its path, if that exists."""
    extended = dict(members)
    for name in removed:
        first, dot, rest = name.partition(".")
        if not dot or not paths:
            extended.setdefault(name, Constant(TEXT, None))
            continue
        parent = extended.get(first)
        if isinstance(parent, Struct):
            inner = with_nulls(fields(parent), [rest], paths=True)
            extended[first] = Leaves(StructForm()).struct(parent.schema.name, inner)
    return extended


def _identifier(shape: Shape) -> Node | None:
    """Return the text of `_id` in the key of a document's event."""
    key = as_struct(shape.key)
    if key is None or not (key.schema.name or "").endswith(".Key"):
        return None
    names = [field.name for field in key.schema.fields]
    return member(key, "id") if "id" in names else None


def _names(removed: object) -> tuple[str, ...]:
    """The names of removed fields; as in documents, U+FFFD replaces half of a surrogate pair."""
    names = removed if isinstance(removed, list) else ()
    return tuple(HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", str(name)) for name in names)


def _twice(where: str, name: str | None = None) -> HeadraceError:
    duplicates = f"two fields {name}" if name else "two fields of one name"
    return HeadraceError(
        "transforms.field_name_twice",
        f"a record of {where} would have {duplicates}",
        "Give added fields another name or a prefix, and choose another delimiter.",
    )


DECLARATION = Declaration(
    "ExtractNewDocumentState",
    "Replaces the envelope of a change event by the document, as a struct: the document after the "
    "change, or the fields that the update changed. `delete.tombstone.handling.mode` decides what "
    "a delete becomes. The field `id` of the key becomes the value of `_id` with its type.",
    ExtractNewDocumentStateOptions,
    ExtractNewDocumentState,
    former_document_options,
    Example(
        {"after": '{"_id": 1, "name": {"first": "Ana"}, "n": {"$numberLong": "5"}}', "op": "c"},
        {"flatten.struct": "true", "add.fields": "op"},
        key={"id": "1"},
        topic="shop.inventory.customers",
        names={
            "key": "shop.inventory.customers.Key",
            "value": "shop.inventory.customers.Envelope",
        },
    ),
    kernels=(
        "headrace.connect.evaluation.json_objects",
        "headrace.documents.kernels.value_sizes",
        "headrace.documents.kernels.column_kernel",
        "headrace.documents.kernels.field_kernel",
        "headrace.documents.kernels.scalars",
        "headrace.documents.kernels.split_kernel",
        "headrace.documents.target_schema.kernels.value_kernel",
        "headrace.documents.kernels.writer",
    ),
)

"""`add.fields` and `add.headers`: parts of the envelope that are added to the row's record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headrace.connect.records import Constant, Header, Node, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import fields, member, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.transform import WrongOption
from headrace.transforms.unwrapping.options import UnwrappingOptions

_OF_ENVELOPE = ("op", "ts_ms", "ts_us", "ts_ns")
_OF_TRANSACTION = ("id", "total_order", "data_collection_order")
_UPDATE_DESCRIPTION = "updateDescription"
STRUCTS = ("source", "transaction", _UPDATE_DESCRIPTION, "before", "after")
"""The structs of envelopes. Events of a single database do not have all of them."""


@dataclass(frozen=True)
class AddedField:
    """An entry `[struct.]field[:new name]`. `struct` is empty for a field of the envelope."""

    struct: str
    field: str
    name: str

    @staticmethod
    def parse(text: str, prefix: str, option: str) -> AddedField:
        """Parse an entry of an option. Raises WrongOption("transforms.bad_field") for an entry with
        two colons."""
        reference, *renamed = text.split(":")
        if len(renamed) > 1:
            raise WrongOption(
                "transforms.bad_field",
                option,
                f": the field {text!r} has more than one new name",
                "Write [struct.]field:name.",
            )
        parts = reference.split(".")
        field = parts[1] if len(parts) > 1 else parts[0]
        struct = parts[0] if len(parts) > 1 else _struct_of(field)
        name = renamed[0] if renamed else field if len(parts) == 1 else f"{struct}_{field}"
        return AddedField(struct, field, prefix + name)

    @property
    def reference(self) -> str:
        """The field's name with its struct: `source.db`."""
        return f"{self.struct}.{self.field}" if self.struct else self.field

    @property
    def is_operation(self) -> bool:
        """Whether it is the event's `op`."""
        return (self.struct, self.field) == ("", "op")

    def node(self, envelope: Struct) -> Node | None:
        """Return the envelope's optional node of this name, whether shown or not; None if it has
        none.

        Raises HeadraceError("transforms.no_such_field") when it lacks the struct.
        """
        members = fields(envelope)
        node: Node | None
        if not self.struct:
            node = members.get(self.field)
        else:
            parent = members.get(self.struct)
            if parent is None:
                raise HeadraceError(
                    "transforms.no_such_field",
                    f"{envelope.schema.name} has no struct {self.struct}",
                    "Name op, a time, or a field of source, transaction or (of documents) "
                    "updateDescription.",
                )
            names = [field.name for field in parent.schema.fields]
            unshown = parent.unshown if isinstance(parent, Struct) else {}
            if self.field in names:
                node = member(parent, self.field)
            else:
                node = unshown.get(self.field, members.get(self.field))
        if node is None:
            return None
        schema = replace(node.schema, optional=True, default=None)
        return with_schema(node, schema)


def _struct_of(field: str) -> str:
    if field in _OF_ENVELOPE:
        return ""
    if field in _OF_TRANSACTION:
        return "transaction"
    return _UPDATE_DESCRIPTION if field == _UPDATE_DESCRIPTION else "source"


def added_fields(options: UnwrappingOptions) -> tuple[AddedField, ...]:
    """Return the entries of `add.fields`. Raises WrongOption as `parse`."""
    prefix = options.add_fields_prefix
    return tuple(AddedField.parse(text, prefix, "add.fields") for text in options.add_fields)


def with_added_fields(
    row: Struct, added: Iterable[AddedField], envelope: Struct
) -> dict[str, Node]:
    """Return the row's members, followed by those of `added` that the envelope has.

    Raises HeadraceError("transforms.field_name_twice") when the row has a field of that name.
    """
    members = fields(row)
    for entry in added:
        node = entry.node(envelope)
        if node is None:
            continue
        if entry.name in members:
            raise HeadraceError(
                "transforms.field_name_twice",
                f"a record of {envelope.schema.name} would have two fields {entry.name}",
                "Give the added field another name (add.fields=field:name) or a prefix.",
            )
        members[entry.name] = node
    return members


class AddedHeaders:
    """The entries of `add.headers`, and the resulting headers. Raises WrongOption as `parse`.

    A header is added after the record's own headers, even if one of them has the same name.
    """

    def __init__(self, options: UnwrappingOptions) -> None:
        prefix = options.add_headers_prefix
        self._entries = tuple(
            AddedField.parse(text, prefix, "add.headers") for text in options.add_headers
        )
        self._are_shared = False

    def __iter__(self) -> Iterator[AddedField]:
        return iter(self._entries)

    def share(self) -> None:
        """See SharesHeaders."""
        self._are_shared = True

    def of_event(self, shape: Shape, envelope: Struct) -> tuple[Header, ...]:
        """Return the headers of events: the shape's, and those that the envelope has."""
        return with_headers(shape, ((entry.name, node) for entry, node in self._of(envelope)))

    def of_tombstone(self, shape: Shape, envelope: Struct | None) -> tuple[Header, ...]:
        """Return the headers of tombstones, whose operation is a delete. `envelope`: the shape's,
        if it has one; its nodes are valid for the delete before the tombstone, whose headers come
        first if both share them."""
        added: list[tuple[str, Node]] = []
        if envelope is not None and self._are_shared:
            for entry, node in self._of(envelope):
                # The row of a tombstone has no operation.
                operation_or_node = Constant(node.schema, "d") if entry.is_operation else node
                added.append((entry.name, operation_or_node))
        operation = Constant(Schema(Type.STRING), "d")
        added += [(entry.name, operation) for entry in self._entries if entry.is_operation]
        return with_headers(shape, added)

    def _of(self, envelope: Struct) -> Iterator[tuple[AddedField, Node]]:
        for entry in self._entries:
            node = entry.node(envelope)
            if node is not None:
                yield entry, node


def with_headers(shape: Shape, added: Iterable[tuple[str, Node]]) -> tuple[Header, ...]:
    """Return the headers of the shape, followed by these."""
    return (*shape.headers, *(Header(name, node) for name, node in added))

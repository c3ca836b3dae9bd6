"""`add.fields` and `add.headers`: parts of the envelope that go on with the row."""

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


@dataclass(frozen=True)
class AddedField:
    """One entry, `[struct.]field[:new name]`. `struct` is empty for a field of the envelope."""

    struct: str
    field: str
    name: str

    @staticmethod
    def parse(text: str, prefix: str, option: str) -> AddedField:
        """Reads an entry of an option. Raises WrongOption("transforms.bad_field") for one with two
        colons."""
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

    def node(self, envelope: Struct) -> Node | None:
        """What the envelope has under this name, shown or not, optional; None: nothing.

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
                    "Name op, a time, or a field of source or transaction.",
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
    """The entries of `add.fields`. Raises WrongOption as `parse`."""
    prefix = options.add_fields_prefix
    return tuple(AddedField.parse(text, prefix, "add.fields") for text in options.add_fields)


def added_headers(options: UnwrappingOptions) -> tuple[AddedField, ...]:
    """Likewise of `add.headers`."""
    prefix = options.add_headers_prefix
    return tuple(AddedField.parse(text, prefix, "add.headers") for text in options.add_headers)


def with_added_fields(
    row: Struct, added: Iterable[AddedField], envelope: Struct
) -> dict[str, Node]:
    """The row's members, and behind them those that the envelope has of `added`.

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


def headers_of(added: Iterable[AddedField], envelope: Struct) -> Iterator[tuple[str, Node]]:
    """The names and nodes of headers that the envelope has of `added`."""
    for entry in added:
        node = entry.node(envelope)
        if node is not None:
            yield entry.name, node


def headers_of_tombstone(added: Iterable[AddedField]) -> list[tuple[str, Node]]:
    """Likewise of a tombstone, which has no envelope: its operation is a delete."""
    operation = Constant(Schema(Type.STRING), "d")
    return [(entry.name, operation) for entry in added if (entry.struct, entry.field) == ("", "op")]


def with_headers(shape: Shape, made: Iterable[tuple[str, Node]]) -> tuple[Header, ...]:
    """The headers of the shape and these, which replace those of their names."""
    added = tuple(Header(name, node) for name, node in made)
    replaced = {header.name for header in added}
    return (*(header for header in shape.headers if header.name not in replaced), *added)

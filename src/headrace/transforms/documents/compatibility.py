"""The documents that Debezium 3.6 rejects, for `headrace.compatibility=debezium-3.6`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.connect.records import Constant, Node
from headrace.connect.schema import Type
from headrace.debezium.naming.names import NameAdjustmentMode
from headrace.documents.bson import Kind
from headrace.documents.splitting import Structure
from headrace.documents.values import SCALARS, elements_of
from headrace.errors import HeadraceError

_CONTAINERS = (Kind.DOCUMENT, Kind.ARRAY)
_NO_FIELD = (Kind.CODE_WITH_SCOPE, Kind.MIN_KEY, Kind.MAX_KEY, Kind.SYMBOL)
_NO_ELEMENT = (*_NO_FIELD, Kind.REGEX, Kind.UNDEFINED)


def not_converted(kind: str) -> HeadraceError:
    """The error of a value that Debezium 3.6 does not convert."""
    return HeadraceError(
        "transforms.value_not_convertible",
        f"{kind} is not converted by Debezium 3.6",
        "Leave out headrace.compatibility=debezium-3.6.",
    )


def check_field(structure: Structure, name: str, *, in_array: bool) -> None:
    """Reject a field of a type that is not converted. Raises HeadraceError."""
    if structure.kind in (_NO_ELEMENT if in_array else _NO_FIELD):
        raise not_converted(f"{name} of type {structure.kind.name}")


def check_elements(structures: Sequence[Structure], name: str, *, is_outermost: bool) -> None:
    """Reject elements of an array that stays an array. Raises HeadraceError."""
    for structure in structures:
        check_field(structure, name, in_array=True)
        inner = [member for _, member in structure.members]
        check_elements(inner, name, is_outermost=False)
    if not is_outermost or not structures:
        return
    if all(structure.kind is Kind.DOCUMENT and not structure.members for structure in structures):
        raise not_converted(f"the array {name} of empty documents")
    inner = [element for structure in structures for element in structure.elements]
    are_arrays = any(structure.kind is Kind.ARRAY for structure in structures)
    if are_arrays and (not inner or any(structure.kind is Kind.ARRAY for structure in inner)):
        raise not_converted(f"the array {name} of empty arrays or of arrays of arrays")


def check_numbered(structure: Structure, name: str, adjustment: NameAdjustmentMode) -> None:
    """Reject an array that becomes a struct. Raises HeadraceError."""
    parent, _, last_name = name.rpartition(".")
    if adjustment is NameAdjustmentMode.AVRO_UNICODE and structure.elements:
        raise not_converted(f"the array {name}, whose fields have an underscore,")
    if parent.endswith(last_name):
        raise not_converted(f"the array {name}, named as the end of {parent},")
    has_parts = {element.kind in _CONTAINERS for element in structure.elements}
    kinds = {element.kind for element in structure.elements}
    if len(has_parts) > 1 or kinds == set(_CONTAINERS):
        raise not_converted(f"the array {name} of elements with and without parts")
    for element in structure.elements:
        if element.kind is Kind.DOCUMENT and not element.members:
            raise not_converted(f"the array {name} of empty documents")
        if element.kind is Kind.ARRAY and (
            not element.elements or any(inner.kind in _CONTAINERS for inner in element.elements)
        ):
            raise not_converted(f"the array {name} of arrays that are empty or have parts")


def _signed_seconds(timestamp: bytes) -> int:
    """Milliseconds since 1970 of a timestamp whose seconds are an int32."""
    return int.from_bytes(timestamp[4:], "little", signed=True) * 1000


COMPATIBLE_SCALARS = {**SCALARS, Kind.TIMESTAMP: _signed_seconds}
"""SCALARS with timestamps that become negative after 2038."""


def one_field(
    fields: Iterable[tuple[str, Node]], name: str | None, *, in_array: bool
) -> dict[str, Node]:
    """Return the members of a struct after the adjustment of names: of several members with the
    same name, the first one's type with the last one's value. Raises HeadraceError if their types
    differ, and in an array."""
    members: dict[str, Node] = {}
    for field, node in fields:
        if field in members and (in_array or members[field].schema != node.schema):
            raise not_converted(f"two fields {field} of {name or 'a document'}")
        members[field] = node
    return members


def without_value(node: Node) -> Node:
    """Return a whole struct of the envelope as a null whose schema has no fields."""
    if node.schema.type is not Type.STRUCT:
        return node
    return Constant(replace(node.schema, fields=()), None)


def has_arrays_of_arrays(structure: Structure) -> bool:
    """Whether an array has an array as an element."""
    if structure.kind is Kind.ARRAY and any(e.kind is Kind.ARRAY for e in structure.elements):
        return True
    inner = (*structure.elements, *(member for _, member in structure.members))
    return any(map(has_arrays_of_arrays, inner))


def check_equal_arrays(kind: int, value: bytes) -> None:
    """Reject an array that contains two equal arrays and becomes a struct. Raises HeadraceError."""
    if kind not in _CONTAINERS:
        return
    arrays = set()
    for element, _, inner in elements_of(value):
        check_equal_arrays(element, inner)
        if kind == Kind.ARRAY and element == Kind.ARRAY:
            if inner in arrays:
                raise not_converted("an array of equal arrays")
            arrays.add(inner)

"""Decoding of binary cells that hold BSON, for the columns of connectors.

Such a cell is a BSON value: its type byte and its bytes, so that an `_id` of any type and a
document have the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.documents.bson import ARRAY, DOCUMENT, UNKNOWN_KIND, Kind, broken
from headrace.documents.dialects import DIALECTS, Dialect
from headrace.documents.elements import elements
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.fields import field_exists
from headrace.documents.kernels.field_kernel import NAME_TAKEN


def decoder(encoding: Encoding) -> Callable[[bytes], object]:
    """Return the function that decodes a cell of this encoding to its Connect value
    (`Cell.decode`): a text for the Extended JSON encodings, a list of texts, or a list of structs
    `field` and `size`; null (None) for empty arrays. It raises HeadraceError
    `documents.value_not_understood`, and `documents.value_not_representable` for a document that
    field rules reject."""
    if encoding is Encoding.BSON_TEXTS:
        return _texts
    if encoding is Encoding.BSON_TRUNCATED_ARRAYS:
        return _truncated_arrays
    return partial(_extended_json, dialect=DIALECTS[encoding])


def _extended_json(cell: bytes, dialect: Dialect) -> str:
    if cell[:1] == bytes([NAME_TAKEN]):
        raise field_exists()
    return value_to_extended_json(cell, dialect)


def _array(cell: bytes, kind: int) -> list[bytes]:
    """The values of an array's elements, which must all have this type."""
    if cell[:1] != bytes([ARRAY]):
        raise broken(UNKNOWN_KIND, "an array")
    values = []
    for element, _, value in elements(cell[1:]):
        if element != kind:
            raise broken(UNKNOWN_KIND, f"an array of {Kind(kind).name.lower()}s")
        values.append(value)
    return values


def _text(value: bytes) -> str:
    return value[4:-1].decode(errors="replace")


def _texts(cell: bytes) -> list[str] | None:
    return [_text(value) for value in _array(cell, Kind.STRING)] or None


def _truncated_arrays(cell: bytes) -> list[Mapping[str, object]] | None:
    arrays: list[Mapping[str, object]] = []
    for document in _array(cell, DOCUMENT):
        members = {name: (kind, value) for kind, name, value in elements(document)}
        field_kind, field = members.get("field", (0, b""))
        size_kind, size = members.get("newSize", (0, b""))
        if field_kind != Kind.STRING or size_kind != Kind.INT32:
            raise broken(UNKNOWN_KIND, "a truncated array")
        arrays.append({"field": _text(field), "size": int.from_bytes(size, "little", signed=True)})
    return arrays or None

"""BSON values in Python, from bytes that a kernel has validated."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import OLD_BINARY, Kind
from headrace.documents.kernels.scalars import MAX_SORTED_OPTIONS, put_decimal128

_INT32, _INT64, _DOUBLE = struct.Struct("<i"), struct.Struct("<q"), struct.Struct("<d")
_TIMESTAMP = struct.Struct("<II")
FIXED_SIZES = {
    Kind.DOUBLE: 8, Kind.UNDEFINED: 0, Kind.OBJECT_ID: 12, Kind.BOOLEAN: 1, Kind.DATE: 8,
    Kind.NULL: 0, Kind.INT32: 4, Kind.TIMESTAMP: 8, Kind.INT64: 8, Kind.DECIMAL128: 16,
    Kind.MIN_KEY: 0, Kind.MAX_KEY: 0,
}  # fmt: skip
"""Sizes in bytes of the types whose values all have the same size."""
_MAX_DECIMAL = 64


def _size(kind: int, data: bytes, at: int) -> int:
    fixed = FIXED_SIZES.get(kind)  # type: ignore[call-overload]
    if fixed is not None:
        return int(fixed)
    if kind == Kind.REGEX:
        return data.index(0, data.index(0, at) + 1) + 1 - at
    length = int(_INT32.unpack_from(data, at)[0])
    if kind in (Kind.STRING, Kind.CODE, Kind.SYMBOL):
        return 4 + length
    if kind == Kind.BINARY:
        return 5 + length
    return 16 + length if kind == Kind.DB_POINTER else length


def elements_of(document: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Type, name and value bytes of each element of a valid document or array."""
    at, last = 4, _INT32.unpack_from(document)[0] - 1
    while at < last:
        kind = document[at]
        end = document.index(0, at + 1)
        name = document[at + 1 : end].decode(errors="replace")
        size = _size(kind, document, end + 1)
        at = end + 1 + size
        yield kind, name, document[end + 1 : at]


def text_of(value: bytes) -> str:
    """The text of a string, of code or of a symbol."""
    return value[4:-1].decode(errors="replace")


def decimal_text(value: bytes) -> str:
    """The text of a Decimal128 as the Java driver writes it."""
    out = np.empty(_MAX_DECIMAL + PADDING, np.uint8)
    source = np.frombuffer(value + bytes(PADDING), np.uint8)
    end = put_decimal128(address_of(source), address_of(out))
    return out[: end - address_of(out)].tobytes().decode()


def regex_parts(value: bytes) -> tuple[str, str]:
    """Pattern and options of a regular expression; the options are in the Java driver's order."""
    pattern, options, _ = value.split(b"\0")
    if options.isascii() and len(options) <= MAX_SORTED_OPTIONS:
        options = bytes(sorted(options))
    return pattern.decode(errors="replace"), options.decode(errors="replace")


def pointer_parts(value: bytes) -> tuple[str, str]:
    """Namespace and identifier (24 hexadecimal digits) of a DBPointer."""
    return value[4:-13].decode(errors="replace"), value[-12:].hex()


def scoped_code(value: bytes) -> tuple[str, bytes]:
    """The code, and the document of its scope."""
    length = _INT32.unpack_from(value, 4)[0]
    return value[8 : 7 + length].decode(errors="replace"), value[8 + length :]


def binary_bytes(value: bytes) -> bytes:
    """Return the contents of binary data of any subtype."""
    return value[9:] if value[4] == OLD_BINARY else value[5:]


def milliseconds(kind: int, value: bytes) -> int:
    """Milliseconds since 1970 of a date or timestamp, without the increment of a timestamp."""
    if kind == Kind.TIMESTAMP:
        return int(_TIMESTAMP.unpack(value)[1]) * 1000
    return int(_INT64.unpack(value)[0])


SCALARS: dict[int, Callable[[bytes], object]] = {
    Kind.DOUBLE: lambda raw: _DOUBLE.unpack(raw)[0],
    Kind.STRING: text_of,
    Kind.BINARY: binary_bytes,
    Kind.OBJECT_ID: bytes.hex,
    Kind.BOOLEAN: lambda raw: raw != b"\0",
    Kind.DATE: lambda raw: milliseconds(Kind.DATE, raw),
    Kind.NULL: lambda _raw: None,
    Kind.CODE: text_of,
    Kind.SYMBOL: text_of,
    Kind.INT32: lambda raw: _INT32.unpack(raw)[0],
    Kind.TIMESTAMP: lambda raw: milliseconds(Kind.TIMESTAMP, raw),
    Kind.INT64: lambda raw: _INT64.unpack(raw)[0],
    Kind.DECIMAL128: decimal_text,
    Kind.MIN_KEY: lambda _raw: "MinKey",
    Kind.MAX_KEY: lambda _raw: "MaxKey",
}
"""Functions from the bytes of a scalar value to its Python value: identifiers, decimals, MinKey and
MaxKey become texts, dates and timestamps milliseconds."""


def value_of(kind: int, value: bytes) -> object:
    """The Python value: a document is a dictionary, an array a list. `kind` is neither a regular
    expression, a DBPointer nor code with scope."""
    if kind == Kind.DOCUMENT:
        return {name: value_of(inner, raw) for inner, name, raw in elements_of(value)}
    if kind == Kind.ARRAY:
        return [value_of(inner, raw) for inner, _, raw in elements_of(value)]
    return SCALARS[kind](value)

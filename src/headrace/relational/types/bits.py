"""Bit strings: a boolean if the column holds one bit, Debezium's Bits otherwise. Their text is `0`
and `1`, the highest bit first."""

from __future__ import annotations

import re

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.relational.types.declaration import TypeDeclaration
from headrace.relational.types.texts import refuse

_UNBOUNDED = 2**31 - 1
_BITS = re.compile(rb"[01]*")


def bits(length: int) -> TypeDeclaration:
    """A column of at most `length` bits; less than 1: any number of bits."""
    if length == 1:
        return TypeDeclaration(Schema(Type.BOOLEAN), Encoding.BIT1, bit, False)
    parameters = (("length", str(length if length > 0 else _UNBOUNDED)),)
    schema = Schema(Type.BYTES, name="io.debezium.data.Bits", version=1, parameters=parameters)
    return TypeDeclaration(schema, Encoding.PYTHON, bit_string, b"")


def bit(text: bytes) -> bool | None:
    """A bit string of length one; None for an empty one, which a varying column may hold."""
    if text not in (b"0", b"1", b""):
        refuse("bit(1)")
    return text == b"1" if text else None


def bit_string(text: bytes) -> bytes:
    """A bit string with its last bit first, as many bytes as the highest set bit needs."""
    if not _BITS.fullmatch(text):
        refuse("bit string")
    number = int(text or b"0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")

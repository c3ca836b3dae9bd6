"""The contract between a format and the compiler of binary forms."""

from __future__ import annotations

from typing import Protocol

from headrace.connect.encoding import Encoding
from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.converters.instructions import ProgramForm
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL_NAME

_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_TIMES = (
    Encoding.DATE, Encoding.TIME_MS, Encoding.TIME_US, Encoding.TIME_NS, Encoding.TIMESTAMP_MS,
    Encoding.TIMESTAMP_US, Encoding.TIMESTAMP_NS, Encoding.INT16_LE, Encoding.INT32_LE,
    Encoding.INT64_LE, Encoding.RAW,
)  # fmt: skip
_KINDS: dict[Encoding, tuple[Type, ...]] = {
    Encoding.BOOLEAN: (Type.BOOLEAN,),
    Encoding.BIT1: (Type.BOOLEAN,),
    Encoding.BINARY_BOOLEAN: (Type.BOOLEAN,),
    Encoding.DECIMAL: (Type.BYTES,),
    Encoding.DOUBLE: (Type.FLOAT64,),
    Encoding.NUMERIC_DOUBLE: (Type.FLOAT64,),
    Encoding.FLOAT64_LE: (Type.FLOAT64,),
    Encoding.FLOAT: (Type.FLOAT32,),
    Encoding.FLOAT32_LE: (Type.FLOAT32,),
    Encoding.BYTES_HEX: (Type.BYTES,),
    Encoding.BYTES: (Type.BYTES,),
    Encoding.VARIABLE_DECIMAL: (Type.STRUCT,),
    Encoding.BSON_TEXTS: (Type.ARRAY,),
} | dict.fromkeys(_TIMES, _INTEGERS)


def compiled_encoding(encoding: Encoding, schema: Schema) -> Encoding:
    """The encoding that a binary form's kernel can use for values of this schema: that of the cell,
    or PYTHON if it does not fit the schema (the image has another form than the value)."""
    if encoding in (Encoding.JSON, Encoding.BSON_TRUNCATED_ARRAYS):
        return Encoding.PYTHON
    if schema.type not in _KINDS.get(encoding, (Type.STRING,)):
        return Encoding.PYTHON
    if encoding is Encoding.DECIMAL and schema.name != DECIMAL:
        return Encoding.PYTHON
    if encoding is Encoding.VARIABLE_DECIMAL and schema.name != VARIABLE_SCALE_DECIMAL_NAME:
        return Encoding.PYTHON
    if encoding is Encoding.BSON_TEXTS and (
        schema.values is None or schema.values.type is not Type.STRING or schema.values.optional
    ):
        return Encoding.PYTHON
    return encoding


class Layout(Protocol):
    """A format: the bytes of values, and the bytes between the members of a struct."""

    @property
    def form(self) -> ProgramForm:
        """The interpreter's form."""
        ...

    def constant(self, schema: Schema, value: object) -> bytes | None:
        """Return the bytes of a value with its union's branch; None: a null without representation.

        Raises HeadraceError when the value has no rendering.
        """
        ...

    def null(self, schema: Schema) -> bytes | None:
        """Return the bytes of a null in a struct; None if the format has no null."""
        ...

    def branch(self, schema: Schema) -> int:
        """The byte before a value that is not null; -1 if the layout has no such byte."""
        ...

    def is_compiled(self, schema: Schema) -> bool:
        """Whether the kernel writes values of this schema directly from their cells."""
        ...

    def form_of(self, schema: Schema) -> ProgramForm:
        """The form of a single value."""
        ...

    def opening(self, schema: Schema) -> bytes:
        """The bytes before the members of a struct."""
        ...

    def name(self, field: Field, *, first: bool) -> bytes:
        """The bytes before a member."""
        ...

    def closing(self, schema: Schema) -> bytes:
        """The bytes after the members."""
        ...

    @property
    def omits_nulls(self) -> bool:
        """Whether members that are null are left out; other members are followed by a comma."""
        ...

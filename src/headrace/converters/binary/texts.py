"""Values as Java's texts: Kafka Connect's StringConverter, SimpleHeaderConverter and
ByteArrayConverter, in plain Python and as layouts of the compiled pass.

`StringConverter` writes `value.toString()`, and so do these, except for bytes, for which Java
prints the address: they are base64 here, as in SimpleHeaderConverter. Connect's dates and times are
shown in UTC.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np

from headrace.connect.java_numbers import at_scale, java_double, java_float
from headrace.connect.schema import DECIMAL, Field, Schema, Type, decimal_scale
from headrace.connect.values.float_texts import java_texts
from headrace.connect.values.many_values import ManyValues
from headrace.converters.instructions import ProgramForm
from headrace.errors import HeadraceError

_CONNECT = "org.apache.kafka.connect.data."
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017 - as a value, not an alias
_UNITS = {
    f"{_CONNECT}Date": "days", f"{_CONNECT}Time": "milliseconds",
    f"{_CONNECT}Timestamp": "milliseconds",
}  # fmt: skip
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _instant(schema: Schema, value: object) -> datetime | None:
    """The moment of a value of Connect's Date, Time or Timestamp; None for another type, or for a
    year that Python does not support."""
    unit = _UNITS.get(schema.name or "")
    if unit is None or not isinstance(value, int):
        return None
    try:
        return _EPOCH + timedelta(**{unit: value})
    except OverflowError:
        return None


def _scalar(schema: Schema, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return java_float(value) if schema.type is Type.FLOAT32 else java_double(value)
        case Decimal():
            scaled = at_scale(value, decimal_scale(schema))
            if scaled is None:
                raise _mismatch(schema, value)
            return str(scaled if scaled else scaled.copy_abs())
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case int() if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return _scalar(schema, float(value))
        case int() | str():
            return str(value)
    raise _mismatch(schema, value)


def java_text(schema: Schema, value: object) -> str:
    """Return the result of Java's `toString` for a Connect value; null is `null`.

    Raises HeadraceError `converters.value_mismatch` when the value is not of the schema's type.
    """
    if value is None:
        return "null"
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        members = (
            f"{field.name}={java_text(field.schema, value[field.name])}"
            for field in schema.fields
            if value.get(field.name) is not None
        )
        return "Struct{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)) and schema.values is not None:
        return _list_text(schema, _JAVA_TEXTS.of(schema.values, value))
    if isinstance(value, Mapping) and schema.keys is not None and schema.values is not None:
        keys, values = schema.keys, schema.values
        pairs = (f"{java_text(keys, k)}={java_text(values, v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    moment = _instant(schema, value)
    if moment is not None:
        day = f"{_DAYS[moment.weekday()]} {_MONTHS[moment.month - 1]} {moment.day:02d}"
        return f"{day} {moment:%H:%M:%S} UTC {moment.year}"
    return _scalar(schema, value)


def _list_text(_schema: Schema, items: Sequence[str | None]) -> str:
    return "[" + ", ".join(["null" if text is None else text for text in items]) + "]"


def _struct_text(schema: Schema) -> Callable[[Sequence[str | None]], str]:
    names = tuple(schema.places)

    def text(row: Sequence[str | None]) -> str:
        members = zip(names, row, strict=True)
        return (
            "Struct{"
            + ",".join([f"{n}={value}" for n, value in members if value is not None])
            + "}"
        )

    return text


def _float_texts(schema: Schema, kind: type, values: Sequence[object]) -> list[str | None] | None:
    """The texts of numbers; None if they have to be rendered one by one."""
    if kind is not float or schema.type not in (Type.FLOAT32, Type.FLOAT64):
        return None
    with np.errstate(over="ignore"):
        numbers = np.array(values, np.float32 if schema.type is Type.FLOAT32 else np.float64)
    return [*java_texts(numbers)]


_JAVA_TEXTS: ManyValues[str | None] = ManyValues(
    one=lambda schema, value: None if value is None else java_text(schema, value),
    array=_list_text,
    struct=_struct_text,
    several=_float_texts,
)
"""`java_text` of many values, None for null."""


def values_text(schema: Schema, value: object, *, embedded: bool = False) -> str:
    """Return the result of Connect's `Values.convertToString`; strings and bytes inside other
    values are in quotes. Raises as `java_text`."""
    if value is None:
        if schema.default is None:
            return "null"
        value = schema.default
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        members = (
            f"{_quoted(field.name)}:"
            + values_text(field.schema, value.get(field.name), embedded=True)
            for field in schema.fields
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)) and schema.values is not None:
        items = [values_text(schema.values, item, embedded=True) for item in value]
        return "[" + ",".join(items) + "]"
    if isinstance(value, Mapping) and schema.keys is not None and schema.values is not None:
        pairs = (
            values_text(schema.keys, k, embedded=True)
            + ":"
            + values_text(schema.values, v, embedded=True)
            for k, v in value.items()
        )
        return "{" + ",".join(pairs) + "}"
    moment = _instant(schema, value)
    if moment is not None:
        # The form depends on the value, not the type, as in Connect.
        clock = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
        date = f"{moment.year:04d}-{moment:%m-%d}"
        if moment < _EPOCH + timedelta(days=1):
            return clock
        return date if moment.time() == time() else f"{date}T{clock}"
    text = _scalar(schema, value)
    is_text = schema.type in (Type.STRING, Type.BYTES) and not isinstance(value, Decimal)
    return _quoted(text) if embedded and is_text else text


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _mismatch(schema: Schema, value: object) -> HeadraceError:
    # The value itself stays out of the message: it may be a secret.
    return HeadraceError(
        "converters.value_mismatch",
        f"a {type(value).__name__} cannot be written as {schema.type.value}"
        + (f" ({schema.name})" if schema.name else ""),
        "This is a defect of a connector or transform; report it with the column's type.",
    )


_DATED = {f"{_CONNECT}{kind}" for kind in ("Date", "Time", "Timestamp")}


class JavaText:
    """StringConverter's layout: `Struct{a=1,b=x}`, without members that are null."""

    form = ProgramForm.TEXT
    omits_nulls = True

    def constant(self, schema: Schema, value: object) -> bytes | None:
        return None if value is None else java_text(schema, value).encode()

    def null(self, schema: Schema) -> bytes | None:  # noqa: ARG002
        return None

    def branch(self, schema: Schema) -> int:  # noqa: ARG002
        return -1

    def is_compiled(self, schema: Schema) -> bool:
        # Java prints dates, not the numbers that represent them.
        return schema.name not in _DATED

    def form_of(self, schema: Schema) -> ProgramForm:  # noqa: ARG002
        return ProgramForm.TEXT

    def opening(self, schema: Schema) -> bytes:  # noqa: ARG002
        return b"Struct{"

    def name(self, field: Field, *, first: bool) -> bytes:  # noqa: ARG002
        return f"{field.name}=".encode()

    def closing(self, schema: Schema) -> bytes:  # noqa: ARG002
        return b"}"


class PartText(JavaText):
    """JavaText for nodes inside a Concat: nulls become their schema's default."""

    def null(self, schema: Schema) -> bytes | None:
        return None if schema.default is None else java_text(schema, schema.default).encode()


class ConnectText(JavaText):
    """SimpleHeaderConverter's layout of a single value."""

    def constant(self, schema: Schema, value: object) -> bytes | None:
        return None if value is None else values_text(schema, value).encode()


class EmbeddedText(JavaText):
    """SimpleHeaderConverter's layout inside of a struct: `{"a":1,"b":"x","c":null}`."""

    omits_nulls = False

    def constant(self, schema: Schema, value: object) -> bytes | None:
        return None if value is None else values_text(schema, value, embedded=True).encode()

    def null(self, schema: Schema) -> bytes | None:
        return values_text(schema, None, embedded=True).encode()

    def form_of(self, schema: Schema) -> ProgramForm:
        quoted = schema.type is Type.STRING or (
            schema.type is Type.BYTES and schema.name != DECIMAL
        )
        return ProgramForm.QUOTED if quoted else ProgramForm.TEXT

    def opening(self, schema: Schema) -> bytes:  # noqa: ARG002
        return b"{"

    def name(self, field: Field, *, first: bool) -> bytes:
        return (("" if first else ",") + _quoted(field.name) + ":").encode()


class RawBytes(JavaText):
    """ByteArrayConverter's layout: bytes as they are."""

    form = ProgramForm.RAW

    def constant(self, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        if value is None:
            return None
        assert isinstance(value, (bytes, bytearray))
        return bytes(value)

    def form_of(self, schema: Schema) -> ProgramForm:  # noqa: ARG002
        return ProgramForm.RAW


JAVA_TEXT, PARTS = JavaText(), PartText()
CONNECT_TEXT, EMBEDDED_TEXT, RAW_BYTES = ConnectText(), EmbeddedText(), RawBytes()

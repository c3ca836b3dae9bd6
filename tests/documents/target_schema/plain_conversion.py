"""BSON values as values of a declared schema, in plain Python: what the compiled passes are
compared with."""

from __future__ import annotations

import base64
import math
import struct
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.documents.bson import Kind
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.values import SCALARS, binary_bytes, decimal_text, elements_of

_NOTHING = (Kind.NULL, Kind.UNDEFINED)
_INTEGERS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_MOMENTS = ("org.apache.kafka.connect.data.Timestamp", "io.debezium.time.Timestamp")
_DATE = "org.apache.kafka.connect.data.Date"
_JSON = "io.debezium.data.Json"


class PlainConversion:
    """The values, and in `conflicts` the paths of those that are null for having no exact form."""

    def __init__(self) -> None:
        self.conflicts: list[str] = []
        self.unknown: list[str] = []

    def value(self, kind: int, raw: bytes, schema: Schema, path: str = "") -> Any:
        if kind in _NOTHING:
            return None
        try:
            return self._value(kind, raw, schema, path)
        except (ValueError, ArithmeticError, struct.error):
            self.conflicts.append(path)
            return None

    def _value(self, kind: int, raw: bytes, schema: Schema, path: str) -> Any:
        def inner(name: str) -> str:
            return f"{path}.{name}" if path else name

        if schema.type is Type.ARRAY:
            assert schema.values is not None
            _need(kind == Kind.ARRAY)
            return [self.value(k, v, schema.values, inner(n)) for k, n, v in elements_of(raw)]
        if schema.type is Type.MAP:
            assert schema.values is not None
            _need(kind == Kind.DOCUMENT)
            return {n: self.value(k, v, schema.values, inner(n)) for k, n, v in elements_of(raw)}
        if schema.type is Type.STRUCT:
            _need(kind == Kind.DOCUMENT)
            members = {n: (k, v) for k, n, v in elements_of(raw)}
            known = {field.name for field in schema.fields}
            self.unknown += [inner(n) for _, n, _ in elements_of(raw) if n not in known]
            missing = (int(Kind.NULL), b"")
            return {
                field.name: self.value(
                    *members.get(field.name, missing), field.schema, inner(field.name)
                )
                for field in schema.fields
            }
        return _scalar(kind, raw, schema)


def _need(condition: bool) -> None:
    if not condition:
        raise ValueError


def _scalar(kind: int, raw: bytes, schema: Schema) -> Any:
    if schema.name == _JSON:
        return value_to_extended_json(bytes([kind]) + raw, Dialect.RELAXED)
    if schema.type is Type.STRING:
        return _text(kind, raw)
    if schema.name == DECIMAL:
        return _decimal(_number(kind, raw), dict(schema.parameters))
    if schema.name in (*_MOMENTS, _DATE):
        return _moment(kind, raw, is_day=schema.name == _DATE)
    if schema.type is Type.BOOLEAN:
        _need(kind == Kind.BOOLEAN)
        return raw != b"\0"
    if schema.type is Type.BYTES:
        _need(kind == Kind.BINARY)
        return binary_bytes(raw)
    number = _number(kind, raw)
    if schema.type in _INTEGERS:
        bound = 1 << _INTEGERS[schema.type] - 1
        _need(math.isfinite(number) and -bound <= number < bound and int(number) == number)
        return int(number)
    converted = float(number)
    if schema.type is Type.FLOAT32:
        converted = struct.unpack("<f", struct.pack("<f", converted))[0]
    _need(math.isnan(converted) or converted == number)
    return converted


def _text(kind: int, raw: bytes) -> str:
    written = value_to_extended_json(bytes([kind]) + raw, Dialect.RELAXED)
    if kind in (Kind.STRING, Kind.CODE, Kind.SYMBOL, Kind.OBJECT_ID, Kind.DECIMAL128):
        return str(SCALARS[kind](raw))
    if kind == Kind.BINARY:
        return base64.b64encode(binary_bytes(raw)).decode()
    if kind == Kind.DATE:
        date_text = written.removeprefix('{"$date": "').removesuffix('"}')
        return date_text.removeprefix('{"$date": {"$numberLong": "').removesuffix('"}}')
    if kind == Kind.DOUBLE:
        return written.removeprefix('{"$numberDouble": "').removesuffix('"}')
    return {Kind.MIN_KEY: "MinKey", Kind.MAX_KEY: "MaxKey"}.get(Kind(kind), written)


def _number(kind: int, raw: bytes) -> Any:
    if kind == Kind.DECIMAL128:
        return Decimal(decimal_text(raw))
    _need(kind in (Kind.INT32, Kind.INT64, Kind.DOUBLE))
    return SCALARS[kind](raw)


def _decimal(number: Any, parameters: dict[str, str]) -> Decimal:
    precision, scale = int(parameters["connect.decimal.precision"]), int(parameters["scale"])
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    _need(exact.is_finite())
    if exact == 0:
        return Decimal((0, (0,), -scale))
    context = Context(prec=precision, traps=[Inexact, InvalidOperation])
    return exact.quantize(Decimal((0, (1,), -scale)), context=context)


def _moment(kind: int, raw: bytes, *, is_day: bool) -> int:
    _need(kind in (Kind.DATE, Kind.TIMESTAMP))
    if kind == Kind.TIMESTAMP:
        increment, seconds = struct.unpack("<II", raw)
        _need(increment == 0)
        millis = seconds * 1000
    else:
        millis = struct.unpack("<q", raw)[0]
    if not is_day:
        _need(abs(millis) * 1000 < 1 << 63)
        return int(millis)
    days, rest = divmod(millis, 86_400_000)
    _need(rest == 0 and abs(days) < 1 << 31)
    return int(days)

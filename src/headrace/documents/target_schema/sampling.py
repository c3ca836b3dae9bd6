"""Derives a common schema from a sample of documents.

Types widen: int32 to int64 to double (if it is exact for all sampled whole numbers), int32 and
int64 to decimal. Only texts hold the increment of a BSON timestamp, and a date whose microseconds
exceed 64 bits. Documents get the fields of all, arrays the elements of all. Types without a common
type are a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from headrace.connect.schema import Field, Schema, Type
from headrace.documents.bson import DOCUMENT, Kind
from headrace.documents.target_schema.ddl import MAX_DIGITS, decimal, scalar, word_of
from headrace.documents.types import SCALAR_TYPES, TEXTS, scalar_type
from headrace.documents.values import SCALARS, decimal_text, elements_of
from headrace.errors import HeadraceError


class SampleConflict(StrEnum):
    """Type of a field whose values have no common type."""

    STRING = "string"
    """STRING: texts unchanged, other values as their text."""
    VARIANT = "variant"
    """VARIANT: Extended JSON of any value."""
    FAIL = "fail"
    """No type: sampling fails."""


class _Form(StrEnum):
    """Forms of types, of a single value or merged."""

    NULL = "null"
    INT = "INT"
    LONG = "BIGINT"
    LARGE = "large"
    """int64 that is not equal to any double."""
    DOUBLE = "DOUBLE"
    DECIMAL = "decimal"
    BOOLEAN = "BOOLEAN"
    TIMESTAMP = "TIMESTAMP"
    TEXT = "STRING"
    BYTES = "BINARY"
    STRUCT = "struct"
    ARRAY = "array"
    ANY = "any"


_FORMS = {
    **{kind: _Form(word_of(scalar_type(kind))) for kind in (*SCALAR_TYPES, *TEXTS)},
    Kind.NULL: _Form.NULL,
    Kind.UNDEFINED: _Form.NULL,
}
"""Forms by BSON type; for other types see `_seen`."""
_INCREMENT_BYTES = 4
_WHOLE = (_Form.INT, _Form.LONG, _Form.LARGE)
_DIGITS = {_Form.INT: 10, _Form.LONG: 19, _Form.LARGE: 19}


_MAX_MILLIS = ((1 << 63) - 1) // 1000
"""The most milliseconds from 1970 of a date that a TIMESTAMP holds."""


@dataclass(frozen=True)
class _Seen:
    """The types seen in a field: `digits` before and after the point of decimals, the members of
    documents by name, the elements of arrays."""

    form: _Form
    digits: tuple[int, int] = (0, 0)
    members: Mapping[str, _Seen] = field(default_factory=dict)
    elements: _Seen | None = None


_NULL, _ANY = _Seen(_Form.NULL), _Seen(_Form.ANY)


def sampled(documents: Iterable[bytes], conflict: SampleConflict = SampleConflict.STRING) -> Schema:
    """Return the struct to which all these BSON documents can be converted; fields in order of
    appearance.

    A field that is null in all of them, and an empty document, is a text. Raises HeadraceError
    `documents.nothing_to_sample` without documents, and `documents.types_in_conflict` when
    conflicts fail.
    """
    merged = _Seen(_Form.STRUCT)
    for document in documents:
        merged = _merged(merged, _seen(DOCUMENT, document))
    if not merged.members:
        raise HeadraceError(
            "documents.nothing_to_sample",
            "no document has fields from which a schema can be derived",
            "Declare the schema, or sample a collection that has documents.",
        )
    return _schema(merged, conflict, "")


def _seen(kind: int, value: bytes) -> _Seen:
    if kind == Kind.DOCUMENT:
        members: dict[str, _Seen] = {}
        for inner, name, raw in elements_of(value):
            if name:
                members[name] = _merged(members.get(name, _NULL), _seen(inner, raw))
        return _Seen(_Form.STRUCT, members=members)
    if kind == Kind.ARRAY:
        elements = _NULL
        for inner, _, raw in elements_of(value):
            elements = _merged(elements, _seen(inner, raw))
        return _Seen(_Form.ARRAY, elements=elements)
    if kind == Kind.INT64:
        number = SCALARS[kind](value)
        assert isinstance(number, int)
        return _Seen(_Form.LONG if int(float(number)) == number else _Form.LARGE)
    if kind == Kind.TIMESTAMP and any(value[:_INCREMENT_BYTES]):
        return _ANY
    if kind == Kind.DATE and abs(int.from_bytes(value, "little", signed=True)) > _MAX_MILLIS:
        return _ANY
    if kind == Kind.DECIMAL128:
        return _of_decimal(Decimal(decimal_text(value)))
    return _Seen(_FORMS.get(Kind(kind), _Form.ANY))


def _of_decimal(number: Decimal) -> _Seen:
    if not number.is_finite():
        return _Seen(_Form.TEXT)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = max(0, len(digits) + exponent)
    return _Seen(_Form.DECIMAL if whole + scale <= MAX_DIGITS else _Form.TEXT, (whole, scale))


def _merged(left: _Seen, right: _Seen) -> _Seen:
    if left.form is _Form.NULL:
        return right
    if right.form is _Form.NULL or left == right:
        return left
    if left.form is right.form:
        return _same_form(left, right)
    forms = {left.form, right.form}
    if forms <= set(_WHOLE):
        return _Seen(_Form.LARGE if _Form.LARGE in forms else _Form.LONG)
    if _Form.DECIMAL in forms and forms <= {*_WHOLE, _Form.DECIMAL}:
        return _decimals(_as_decimal(left), _as_decimal(right))
    if forms <= {_Form.INT, _Form.LONG, _Form.DOUBLE}:
        return _Seen(_Form.DOUBLE)
    return _ANY


def _same_form(left: _Seen, right: _Seen) -> _Seen:
    if left.form is _Form.STRUCT:
        members = dict(left.members)
        for name, member in right.members.items():
            members[name] = _merged(members.get(name, _NULL), member)
        return _Seen(_Form.STRUCT, members=members)
    if left.form is _Form.ARRAY:
        return _Seen(_Form.ARRAY, elements=_merged(left.elements or _NULL, right.elements or _NULL))
    return _decimals(left.digits, right.digits) if left.form is _Form.DECIMAL else left


def _as_decimal(form: _Seen) -> tuple[int, int]:
    return form.digits if form.form is _Form.DECIMAL else (_DIGITS[form.form], 0)


def _decimals(left: tuple[int, int], right: tuple[int, int]) -> _Seen:
    whole, scale = max(left[0], right[0]), max(left[1], right[1])
    return _Seen(_Form.DECIMAL, (whole, scale)) if whole + scale <= MAX_DIGITS else _ANY


def _schema(merged: _Seen, conflict: SampleConflict, path: str) -> Schema:
    match merged.form:
        case _Form.STRUCT if merged.members:
            fields = tuple(
                Field(name, _schema(member, conflict, f"{path}.{name}" if path else name))
                for name, member in merged.members.items()
            )
            return Schema(Type.STRUCT, optional=True, fields=fields)
        case _Form.ARRAY:
            values = _schema(merged.elements or _NULL, conflict, path)
            return Schema(Type.ARRAY, optional=True, values=values)
        case _Form.DECIMAL:
            return decimal(MAX_DIGITS, merged.digits[1])
        case _Form.LARGE:
            return scalar("BIGINT")
        case _Form.NULL | _Form.STRUCT:
            return scalar("STRING")
        case _Form.ANY if conflict is SampleConflict.FAIL:
            raise HeadraceError(
                "documents.types_in_conflict",
                f"the values of {path} have no type in common",
                "Declare the field's type, or let conflicts be string or variant.",
            )
        case _Form.ANY:
            return scalar(conflict.value.upper())
    return scalar(merged.form.value)

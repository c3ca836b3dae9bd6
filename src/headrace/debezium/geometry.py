"""Debezium's geometric types: their schemas, and their values as structs with WKB (little endian,
two dimensions)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from headrace.connect.schema import Field, Schema, Type

_FLOAT64 = Schema(Type.FLOAT64)
_WKB, _SRID = Field("wkb", Schema(Type.BYTES)), Field("srid", Schema(Type.INT32, optional=True))
_PACKAGE = "io.debezium.data.geometry."


def _schema(name: str, version: int, doc: str, *fields: Field) -> Schema:
    return Schema(Type.STRUCT, name=_PACKAGE + name, version=version, doc=doc, fields=tuple(fields))


POINT = _schema(
    "Point",
    1,
    "Geometry (POINT)",
    Field("x", _FLOAT64),
    Field("y", _FLOAT64),
    Field("wkb", Schema(Type.BYTES, optional=True)),
    _SRID,
)
GEOMETRY = _schema("Geometry", 1, "Geometry", _WKB, _SRID)
GEOGRAPHY = _schema("Geography", 1, "Geography", _WKB, _SRID)
_TEXTS = Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=Schema(Type.STRING))
SHAPE = _schema("Geometry", 2, "Geometry", _WKB, _SRID, Field("extensions", _TEXTS))
"""A geometry with additional properties in `extensions`, as in Debezium since 3.7."""
CIRCLE = _schema(
    "Circle",
    1,
    "Geometry (CIRCLE)",
    Field("center", POINT.as_optional()),
    Field("radius", _FLOAT64),
)
LINE = _schema(
    "Line", 1, "Geometry (LINE)", Field("a", _FLOAT64), Field("b", _FLOAT64), Field("c", _FLOAT64)
)

EMPTY: dict[str, object] = {"wkb": bytes.fromhex("010700000000000000"), "srid": None}
"""A GEOMETRYCOLLECTION without members."""

_WKB_POINT, _WKB_LINESTRING, _WKB_POLYGON = 1, 2, 3
_SRID_FLAG = 0x20000000

Pair = tuple[float, float]
"""The coordinates x and y of a point."""


def point(x: float, y: float) -> dict[str, object]:
    """A value of POINT."""
    wkb = struct.pack("<BIdd", 1, _WKB_POINT, x, y)
    return {"x": x, "y": y, "wkb": wkb, "srid": None}


def shape(wkb: bytes, **extensions: str) -> dict[str, object]:
    """A value of SHAPE."""
    return {"wkb": wkb, "srid": None, "extensions": extensions}


def line_string(pairs: Sequence[Pair]) -> bytes:
    """WKB of a line through the points."""
    head = struct.pack("<BII", 1, _WKB_LINESTRING, len(pairs))
    return head + b"".join(struct.pack("<dd", *pair) for pair in pairs)


def ring(pairs: Sequence[Pair]) -> bytes:
    """WKB of a polygon without holes; the ring is closed if the points do not close it."""
    if pairs[0] != pairs[-1] or len(pairs) == 1:
        pairs = [*pairs, pairs[0]]
    head = struct.pack("<BIII", 1, _WKB_POLYGON, 1, len(pairs))
    return head + b"".join(struct.pack("<dd", *pair) for pair in pairs)


def from_ewkb(raw: bytes) -> dict[str, object] | None:
    """A value of GEOMETRY or GEOGRAPHY: extended WKB, unchanged, and its SRID; None if the bytes
    are not extended WKB."""
    if len(raw) < 5 or raw[0] > 1:
        return None
    order = "<" if raw[0] else ">"
    (kind,) = struct.unpack_from(order + "I", raw, 1)
    srid = None
    if kind & _SRID_FLAG:
        if len(raw) < 9:
            return None
        (srid,) = struct.unpack_from(order + "i", raw, 5)
    return {"wkb": raw, "srid": srid}

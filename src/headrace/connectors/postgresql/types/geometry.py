"""point, box, lseg, path, polygon, circle, line, and PostGIS's geometry and geography.

Structs with WKB (little endian, two dimensions). PostgreSQL's shapes other than point are those
of Debezium 3.7; earlier versions leave their columns out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Field, Schema, Type
from headrace.relational.types import texts as values
from headrace.relational.types.declaration import Declaration

_FLOAT64 = Schema(Type.FLOAT64)
_WKB, _SRID = Field("wkb", Schema(Type.BYTES)), Field("srid", Schema(Type.INT32, optional=True))
_PACKAGE = "io.debezium.data.geometry."


def _schema(name: str, version: int, doc: str, *fields: Field) -> Schema:
    return Schema(Type.STRUCT, name=_PACKAGE + name, version=version, doc=doc, fields=tuple(fields))


_POINT = _schema(
    "Point",
    1,
    "Geometry (POINT)",
    Field("x", _FLOAT64),
    Field("y", _FLOAT64),
    Field("wkb", Schema(Type.BYTES, optional=True)),
    _SRID,
)
_GEOMETRY = _schema("Geometry", 1, "Geometry", _WKB, _SRID)
_GEOGRAPHY = _schema("Geography", 1, "Geography", _WKB, _SRID)
_TEXTS = Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=Schema(Type.STRING))
_SHAPE = _schema("Geometry", 2, "Geometry", _WKB, _SRID, Field("extensions", _TEXTS))
_CIRCLE = _schema(
    "Circle",
    1,
    "Geometry (CIRCLE)",
    Field("center", _POINT.as_optional()),
    Field("radius", _FLOAT64),
)
_LINE = _schema(
    "Line", 1, "Geometry (LINE)", Field("a", _FLOAT64), Field("b", _FLOAT64), Field("c", _FLOAT64)
)

_WKB_POINT, _WKB_LINESTRING, _WKB_POLYGON = 1, 2, 3
_SRID_FLAG = 0x20000000
_NUMBER = rb"(-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,4})?|Infinity)|NaN)"
_PAIR = re.compile(rb"\(%s,%s\)" % (_NUMBER, _NUMBER))
_PAIRS = re.compile(rb"\(%s,%s\)(?:,|$)" % (_NUMBER, _NUMBER))
_CIRCLE_TEXT = re.compile(rb"<\(%s,%s\),%s>" % (_NUMBER, _NUMBER, _NUMBER))
_LINE_TEXT = re.compile(rb"\{%s,%s,%s\}" % (_NUMBER, _NUMBER, _NUMBER))

_Pair = tuple[float, float]


def _point_value(x: float, y: float) -> dict[str, object]:
    wkb = struct.pack("<BIdd", 1, _WKB_POINT, x, y)
    return {"x": x, "y": y, "wkb": wkb, "srid": None}


def point(text: bytes) -> dict[str, object]:
    """`(x,y)`."""
    found = _PAIR.fullmatch(text)
    if found is None:
        values.refuse("point")
    return _point_value(float(found[1]), float(found[2]))


def _pairs(text: bytes, type_name: str) -> list[_Pair]:
    pairs: list[_Pair] = []
    place = 0
    while place < len(text):
        found = _PAIRS.match(text, place)
        if found is None:
            values.refuse(type_name)
        pairs.append((float(found[1]), float(found[2])))
        place = found.end()
    if not pairs or text[-1:] == b",":
        values.refuse(type_name)
    return pairs


def _shape_value(wkb: bytes, **extensions: str) -> dict[str, object]:
    return {"wkb": wkb, "srid": None, "extensions": extensions}


def _line_string(pairs: Sequence[_Pair]) -> bytes:
    head = struct.pack("<BII", 1, _WKB_LINESTRING, len(pairs))
    return head + b"".join(struct.pack("<dd", *pair) for pair in pairs)


def _ring(pairs: Sequence[_Pair]) -> bytes:
    if pairs[0] != pairs[-1] or len(pairs) == 1:
        pairs = [*pairs, pairs[0]]
    head = struct.pack("<BIII", 1, _WKB_POLYGON, 1, len(pairs))
    return head + b"".join(struct.pack("<dd", *pair) for pair in pairs)


def box(text: bytes) -> dict[str, object]:
    """`(x1,y1),(x2,y2)`: a closed ring around it."""
    pairs = _pairs(text, "box")
    if len(pairs) != 2:
        values.refuse("box")
    (x1, y1), (x2, y2) = pairs
    ring = [(x1, y1), (x1, y2), (x2, y2), (x2, y1), (x1, y1)]
    return _shape_value(_ring(ring), type="box")


def lseg(text: bytes) -> dict[str, object]:
    """`[(x1,y1),(x2,y2)]`."""
    if text[:1] != b"[" or text[-1:] != b"]":
        values.refuse("lseg")
    pairs = _pairs(text[1:-1], "lseg")
    if len(pairs) != 2:
        values.refuse("lseg")
    return _shape_value(_line_string(pairs), type="lseg")


def path(text: bytes) -> dict[str, object]:
    """`[…]` when open, `(…)` when closed."""
    brackets = text[:1] + text[-1:]
    if brackets not in (b"[]", b"()") or len(text) < 2:
        values.refuse("path")
    wkb = _line_string(_pairs(text[1:-1], "path"))
    return _shape_value(wkb, type="path", closed="true" if brackets == b"()" else "false")


def polygon(text: bytes) -> dict[str, object]:
    """`((x1,y1),…)`: a closed ring."""
    if text[:1] != b"(" or text[-1:] != b")" or len(text) < 2:
        values.refuse("polygon")
    return _shape_value(_ring(_pairs(text[1:-1], "polygon")), type="polygon")


def circle(text: bytes) -> dict[str, object]:
    """`<(x,y),r>`."""
    found = _CIRCLE_TEXT.fullmatch(text)
    if found is None:
        values.refuse("circle")
    center = _point_value(float(found[1]), float(found[2]))
    return {"center": center, "radius": float(found[3])}


def line(text: bytes) -> dict[str, object]:
    """`{a,b,c}`."""
    found = _LINE_TEXT.fullmatch(text)
    if found is None:
        values.refuse("line")
    return {"a": float(found[1]), "b": float(found[2]), "c": float(found[3])}


_EWKB = re.compile(rb"(?:[0-9a-fA-F]{2})+")


def ewkb(text: bytes, *, type_name: str) -> dict[str, object]:
    """PostGIS's hexadecimal EWKB, unchanged, and the SRID that it holds."""
    if not _EWKB.fullmatch(text):
        values.refuse(type_name)
    raw = bytes.fromhex(text.decode())
    if len(raw) < 5 or raw[0] > 1:
        values.refuse(type_name)
    order = "<" if raw[0] else ">"
    (kind,) = struct.unpack_from(order + "I", raw, 1)
    srid = None
    if kind & _SRID_FLAG:
        if len(raw) < 9:
            values.refuse(type_name)
        (srid,) = struct.unpack_from(order + "i", raw, 5)
    return {"wkb": raw, "srid": srid}


def _declared(schema: Schema, decoder: values.Decoder, zero: object) -> Declaration:
    return Declaration(schema, Encoding.PYTHON, decoder, zero)


# A GEOMETRYCOLLECTION without members.
_EMPTY = {"wkb": bytes.fromhex("010700000000000000"), "srid": None}

POINT = _declared(_POINT, point, _point_value(0.0, 0.0))
BOX = _declared(_SHAPE, box, box(b"(0,0),(0,0)"))
LSEG = _declared(_SHAPE, lseg, lseg(b"[(0,0),(0,0)]"))
PATH = _declared(_SHAPE, path, path(b"[(0,0)]"))
POLYGON = _declared(_SHAPE, polygon, polygon(b"((0,0))"))
CIRCLE = _declared(_CIRCLE, circle, circle(b"<(0,0),0>"))
LINE = _declared(_LINE, line, line(b"{0,0,0}"))
GEOMETRY = Declaration(
    _GEOMETRY, Encoding.PYTHON, partial(ewkb, type_name="geometry"), _EMPTY, nullable=True
)
GEOGRAPHY = _declared(_GEOGRAPHY, partial(ewkb, type_name="geography"), _EMPTY)

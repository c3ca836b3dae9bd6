"""point, box, lseg, path, polygon, circle, line, and PostGIS's geometry and geography.

PostgreSQL's shapes other than point are those
of Debezium 3.7; earlier versions leave their columns out.
"""

from __future__ import annotations

import re
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema
from headrace.debezium import geometry
from headrace.relational.types.declaration import Declaration
from headrace.relational.types.texts import Decoder, refuse

_NUMBER = rb"(-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,4})?|Infinity)|NaN)"
_PAIR = re.compile(rb"\(%s,%s\)" % (_NUMBER, _NUMBER))
_PAIRS = re.compile(rb"\(%s,%s\)(?:,|$)" % (_NUMBER, _NUMBER))
_CIRCLE_TEXT = re.compile(rb"<\(%s,%s\),%s>" % (_NUMBER, _NUMBER, _NUMBER))
_LINE_TEXT = re.compile(rb"\{%s,%s,%s\}" % (_NUMBER, _NUMBER, _NUMBER))


def point(text: bytes) -> dict[str, object]:
    """`(x,y)`."""
    found = _PAIR.fullmatch(text)
    if found is None:
        refuse("point")
    return geometry.point(float(found[1]), float(found[2]))


def _pairs(text: bytes, type_name: str) -> list[geometry.Pair]:
    pairs: list[geometry.Pair] = []
    place = 0
    while place < len(text):
        found = _PAIRS.match(text, place)
        if found is None:
            refuse(type_name)
        pairs.append((float(found[1]), float(found[2])))
        place = found.end()
    if not pairs or text[-1:] == b",":
        refuse(type_name)
    return pairs


def box(text: bytes) -> dict[str, object]:
    """`(x1,y1),(x2,y2)`: a closed ring around it."""
    pairs = _pairs(text, "box")
    if len(pairs) != 2:
        refuse("box")
    (x1, y1), (x2, y2) = pairs
    ring = [(x1, y1), (x1, y2), (x2, y2), (x2, y1), (x1, y1)]
    return geometry.shape(geometry.ring(ring), type="box")


def lseg(text: bytes) -> dict[str, object]:
    """`[(x1,y1),(x2,y2)]`."""
    if text[:1] != b"[" or text[-1:] != b"]":
        refuse("lseg")
    pairs = _pairs(text[1:-1], "lseg")
    if len(pairs) != 2:
        refuse("lseg")
    return geometry.shape(geometry.line_string(pairs), type="lseg")


def path(text: bytes) -> dict[str, object]:
    """`[…]` when open, `(…)` when closed."""
    brackets = text[:1] + text[-1:]
    if brackets not in (b"[]", b"()") or len(text) < 2:
        refuse("path")
    wkb = geometry.line_string(_pairs(text[1:-1], "path"))
    return geometry.shape(wkb, type="path", closed="true" if brackets == b"()" else "false")


def polygon(text: bytes) -> dict[str, object]:
    """`((x1,y1),…)`: a closed ring."""
    if text[:1] != b"(" or text[-1:] != b")" or len(text) < 2:
        refuse("polygon")
    return geometry.shape(geometry.ring(_pairs(text[1:-1], "polygon")), type="polygon")


def circle(text: bytes) -> dict[str, object]:
    """`<(x,y),r>`."""
    found = _CIRCLE_TEXT.fullmatch(text)
    if found is None:
        refuse("circle")
    center = geometry.point(float(found[1]), float(found[2]))
    return {"center": center, "radius": float(found[3])}


def line(text: bytes) -> dict[str, object]:
    """`{a,b,c}`."""
    found = _LINE_TEXT.fullmatch(text)
    if found is None:
        refuse("line")
    return {"a": float(found[1]), "b": float(found[2]), "c": float(found[3])}


_EWKB = re.compile(rb"(?:[0-9a-fA-F]{2})+")


def ewkb(text: bytes, *, type_name: str) -> dict[str, object]:
    """PostGIS's hexadecimal EWKB, unchanged, and the SRID that it holds."""
    if not _EWKB.fullmatch(text):
        refuse(type_name)
    value = geometry.from_ewkb(bytes.fromhex(text.decode()))
    if value is None:
        refuse(type_name)
    return value


def _declared(schema: Schema, decoder: Decoder, zero: object) -> Declaration:
    return Declaration(schema, Encoding.PYTHON, decoder, zero)


POINT = _declared(geometry.POINT, point, geometry.point(0.0, 0.0))
BOX = _declared(geometry.SHAPE, box, box(b"(0,0),(0,0)"))
LSEG = _declared(geometry.SHAPE, lseg, lseg(b"[(0,0),(0,0)]"))
PATH = _declared(geometry.SHAPE, path, path(b"[(0,0)]"))
POLYGON = _declared(geometry.SHAPE, polygon, polygon(b"((0,0))"))
CIRCLE = _declared(geometry.CIRCLE, circle, circle(b"<(0,0),0>"))
LINE = _declared(geometry.LINE, line, line(b"{0,0,0}"))
GEOMETRY = Declaration(
    geometry.GEOMETRY,
    Encoding.PYTHON,
    partial(ewkb, type_name="geometry"),
    geometry.EMPTY,
    nullable=True,
)
GEOGRAPHY = _declared(geometry.GEOGRAPHY, partial(ewkb, type_name="geography"), geometry.EMPTY)

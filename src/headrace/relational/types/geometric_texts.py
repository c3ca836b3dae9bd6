"""Texts of Debezium's plane shapes: point, box, lseg, path, polygon, circle and line.

The shapes other than point are those of Debezium 3.7; earlier versions leave their columns out.
"""

from __future__ import annotations

import re

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema
from headrace.debezium import geometry
from headrace.relational.types.declaration import TypeDeclaration
from headrace.relational.types.texts import Decoder, refuse

_NUMBER = rb"(-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,4})?|Infinity)|NaN)"
_PAIR = re.compile(rb"\(%s,%s\)" % (_NUMBER, _NUMBER))
_PAIRS = re.compile(rb"%s(?:,%s)*" % (_PAIR.pattern, _PAIR.pattern))
_CIRCLE_TEXT = re.compile(rb"<\(%s,%s\),%s>" % (_NUMBER, _NUMBER, _NUMBER))
_LINE_TEXT = re.compile(rb"\{%s,%s,%s\}" % (_NUMBER, _NUMBER, _NUMBER))


def _numbers(form: re.Pattern[bytes], text: bytes, type_name: str) -> list[float]:
    match = form.fullmatch(text)
    if match is None:
        refuse(type_name)
    return [float(number) for number in match.groups()]


def _pairs(
    text: bytes, type_name: str, brackets: tuple[bytes, ...] = (), count: int | None = None
) -> list[geometry.Pair]:
    """The points of a text enclosed in one of the `brackets`; `count`: the required number of
    points."""
    inner = text
    if brackets:
        if text[:1] + text[-1:] not in brackets:
            refuse(type_name)
        inner = text[1:-1]
    if not _PAIRS.fullmatch(inner):
        refuse(type_name)
    pairs = [(float(x), float(y)) for x, y in _PAIR.findall(inner)]
    if count not in (None, len(pairs)):
        refuse(type_name)
    return pairs


def point(text: bytes) -> dict[str, object]:
    """`(x,y)`."""
    return geometry.point(*_numbers(_PAIR, text, "point"))


def box(text: bytes) -> dict[str, object]:
    """`(x1,y1),(x2,y2)`: a closed ring around it."""
    (x1, y1), (x2, y2) = _pairs(text, "box", count=2)
    ring = [(x1, y1), (x1, y2), (x2, y2), (x2, y1), (x1, y1)]
    return geometry.shape(geometry.ring(ring), type="box")


def lseg(text: bytes) -> dict[str, object]:
    """`[(x1,y1),(x2,y2)]`."""
    pairs = _pairs(text, "lseg", (b"[]",), count=2)
    return geometry.shape(geometry.line_string(pairs), type="lseg")


def path(text: bytes) -> dict[str, object]:
    """The text of a path: `[…]` when open, `(…)` when closed."""
    wkb = geometry.line_string(_pairs(text, "path", (b"[]", b"()")))
    return geometry.shape(wkb, type="path", closed="true" if text[:1] == b"(" else "false")


def polygon(text: bytes) -> dict[str, object]:
    """`((x1,y1),…)`: a closed ring."""
    return geometry.shape(geometry.ring(_pairs(text, "polygon", (b"()",))), type="polygon")


def circle(text: bytes) -> dict[str, object]:
    """`<(x,y),r>`."""
    x, y, radius = _numbers(_CIRCLE_TEXT, text, "circle")
    return {"center": geometry.point(x, y), "radius": radius}


def line(text: bytes) -> dict[str, object]:
    """`{a,b,c}`."""
    return dict(zip("abc", _numbers(_LINE_TEXT, text, "line"), strict=True))


def _declared(schema: Schema, decoder: Decoder, zero: bytes) -> TypeDeclaration:
    return TypeDeclaration(schema, Encoding.PYTHON, decoder, decoder(zero))


POINT = _declared(geometry.POINT, point, b"(0,0)")
BOX = _declared(geometry.SHAPE, box, b"(0,0),(0,0)")
LSEG = _declared(geometry.SHAPE, lseg, b"[(0,0),(0,0)]")
PATH = _declared(geometry.SHAPE, path, b"[(0,0)]")
POLYGON = _declared(geometry.SHAPE, polygon, b"((0,0))")
CIRCLE = _declared(geometry.CIRCLE, circle, b"<(0,0),0>")
LINE = _declared(geometry.LINE, line, b"{0,0,0}")

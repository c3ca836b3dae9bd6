"""Debezium's Geometry and Geography, from extended WKB in hexadecimal."""

from __future__ import annotations

import re

from headrace.connect.encoding import Encoding
from headrace.debezium import geometry
from headrace.relational.types.declaration import TypeDeclaration
from headrace.relational.types.texts import refuse

_EWKB = re.compile(rb"(?:[0-9a-fA-F]{2})+")


def ewkb(text: bytes) -> dict[str, object]:
    """The extended WKB, unchanged, and the SRID in it."""
    value = None
    if _EWKB.fullmatch(text):
        value = geometry.from_ewkb(bytes.fromhex(text.decode()))
    if value is None:
        refuse("geometry")
    return value


GEOMETRY = TypeDeclaration(geometry.GEOMETRY, Encoding.PYTHON, ewkb, geometry.EMPTY, nullable=True)
GEOGRAPHY = TypeDeclaration(geometry.GEOGRAPHY, Encoding.PYTHON, ewkb, geometry.EMPTY)

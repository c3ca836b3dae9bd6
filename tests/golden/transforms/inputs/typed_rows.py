"""Rows of vectors and geometries, and rows whose schema says what their columns are, by name."""

from __future__ import annotations

import struct as binary
from collections.abc import Sequence
from typing import Any

from tests.golden.transforms.inputs.envelopes import ORACLE, POSTGRESQL, Table
from tests.golden.transforms.inputs.schemas import (
    BYTES,
    DOUBLE,
    FLOAT,
    INT16,
    INT32,
    INT64,
    STRING,
    Record,
    Schema,
    array,
    decimal,
    mapping,
    optional,
    part,
    raw,
    record,
    struct,
    unscaled,
)

_DATA = "io.debezium.data"
DOUBLES = array(optional(DOUBLE), name=f"{_DATA}.DoubleVector", version=1)
FLOATS = array(FLOAT, name=f"{_DATA}.FloatVector", version=1)
SPARSE = struct(
    f"{_DATA}.SparseDoubleVector",
    {"dimensions": INT16, "vector": mapping(INT16, DOUBLE)},
    version=1,
)
INNER = struct("inner", {"v": optional(DOUBLES), "n": optional(INT32, default=5)}, optional=True)
VECTORS = Table(
    POSTGRESQL,
    "public.items",
    {"id": INT32},
    {
        "id": INT32,
        "d": DOUBLES,
        "f": optional(FLOATS),
        "s": optional(SPARSE),
        "inner": INNER,
        "list": optional(array(DOUBLES)),
        "text": optional(STRING, default="none"),
    },
)
VECTOR = {
    "id": 1,
    "d": [1.0, -0.0, 0.1, 1e300, 123456789.0, 1e-5, 5e-324, None],
    "f": [1.5, -0.1, 3.4028235e38, 1e-45, 16777216.0],
    "s": {"dimensions": 100, "vector": [[7, 0.5], [-3, 2.0], [1, 1e21]]},
    "inner": {"v": [3.0], "n": None},
    "list": [[1.0], [2.0]],
    "text": None,
}
EMPTY = VECTOR | {"d": [], "f": None, "s": {"dimensions": 0, "vector": []}, "inner": None}
NO_VECTORS = EMPTY | {"s": None, "list": None, "text": "x"}


def point(*ordinates: float, flags: int = 0, srid: int | None = None, order: str = "<") -> bytes:
    """A point in (E)WKB."""
    return _geometry(1, _coordinates(ordinates, order), flags, srid, order)


def _coordinates(ordinates: Sequence[float], order: str) -> bytes:
    return binary.pack(f"{order}{len(ordinates)}d", *ordinates)


def _geometry(kind: int, body: bytes, flags: int, srid: int | None, order: str) -> bytes:
    mark = b"\1" if order == "<" else b"\0"
    code = kind | flags | (0 if srid is None else 0x20000000)
    srid_bytes = b"" if srid is None else binary.pack(f"{order}i", srid)
    return mark + binary.pack(f"{order}I", code) + srid_bytes + body


def _many(kind: int, members: Sequence[bytes], srid: int | None = None, order: str = "<") -> bytes:
    body = binary.pack(f"{order}I", len(members)) + b"".join(members)
    return _geometry(kind, body, 0, srid, order)


def _line(*points: Sequence[float], order: str = "<", flags: int = 0) -> bytes:
    body = b"".join(_coordinates(each, order) for each in points)
    return _geometry(2, binary.pack(f"{order}I", len(points)) + body, flags, None, order)


def _polygon(*rings: Sequence[Sequence[float]]) -> bytes:
    body = binary.pack("<I", len(rings))
    for ring in rings:
        body += binary.pack("<I", len(ring)) + b"".join(_coordinates(each, "<") for each in ring)
    return _geometry(3, body, 0, None, "<")


_RING = ((0.0, 1.0), (2.0, 3.0), (4.0, 5.0), (0.0, 1.0))
GEOMETRIES: dict[str, bytes] = {
    "point": point(1.5, -2.0),
    "point_with_srid": point(1.5, -2.0, srid=4326),
    "point_big": point(1.5, -2.0, srid=4326, order=">"),
    "point_z": point(1.0, 2.0, 3.0, flags=0x80000000),
    "point_m": point(1.0, 2.0, 4.0, flags=0x40000000),
    "point_zm": point(1.0, 2.0, 3.0, 4.0, flags=0xC0000000, srid=3857),
    "point_nan": point(float("nan"), float("inf")),
    "line": _line((1.0, 2.0), (3.0, 4.0)),
    "line_empty": _line(),
    "line_z": _line((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), flags=0x80000000),
    "line_big": _line((1.0, 2.0), (3.0, 4.0), order=">"),
    "polygon": _polygon(_RING, _RING),
    "points": _many(4, [point(1.0, 2.0), point(3.0, 4.0)], srid=4326),
    "lines": _many(5, [_line((1.0, 2.0)), _line((3.0, 4.0), (5.0, 6.0))]),
    "polygons": _many(6, [_polygon(_RING), _polygon(_RING, _RING)]),
    "collection": _many(7, [point(1.0, 2.0), _line((3.0, 4.0)), _many(7, [_polygon(_RING)])]),
    "collection_empty": _many(7, []),
    "collection_srid_inside": _many(7, [point(1.0, 2.0, srid=4326)]),
    "point_srid_inside": _many(4, [point(1.0, 2.0, srid=4326)]),
    "mixed_orders": _many(4, [point(1.0, 2.0, order=">"), point(3.0, 4.0)]),
    "more_behind": point(1.0, 2.0) + b"more",
    "unknown_kind": _geometry(9, b"", 0, None, "<"),
    "iso_z": _geometry(1001, _coordinates((1.0, 2.0, 3.0), "<"), 0, None, "<"),
    "cut": point(1.0, 2.0)[:-1],
    "too_many": _geometry(2, binary.pack("<I", 1000), 0, None, "<"),
    "no_bytes": b"",
    "other_mark": b"\7" + point(1.5, -2.0, order=">")[1:],
}
GEOMETRY = struct(
    f"{_DATA}.geometry.Geometry",
    {"wkb": BYTES, "srid": optional(INT32)},
    version=1,
    doc="Geometry",
)
POINT = struct(
    f"{_DATA}.geometry.Point",
    {"x": DOUBLE, "y": DOUBLE, "wkb": optional(BYTES), "srid": optional(INT32)},
    version=1,
)
GEOGRAPHY = GEOMETRY | {"name": f"{_DATA}.geometry.Geography"}


def _places(geometry: Schema) -> Table:
    return Table(
        POSTGRESQL,
        "public.places",
        {"id": INT32},
        {
            "id": INT32,
            "at": optional(geometry),
            "point": optional(POINT),
            "list": optional(array(optional(geometry))),
            "map": optional(mapping(STRING, optional(geometry))),
            "n": optional(INT32, default=3),
            "texts": optional(mapping(STRING, optional(STRING))),
        },
    )


PLACES, GEOGRAPHIES = _places(GEOMETRY), _places(GEOGRAPHY)


def _place(wkb: bytes | None, srid: int | None, **more: Any) -> dict[str, Any]:
    at = None if wkb is None else {"wkb": raw(wkb), "srid": srid}
    return {"id": 1, "at": at, "point": None, "list": None, "map": None, "n": None,
            "texts": None} | more  # fmt: skip


_COLUMN = "__debezium.source.column"


def _typed(column: Schema, **parameters: str) -> Schema:
    column_parameters = {f"{_COLUMN}.{name}": text for name, text in parameters.items()}
    return column | {"parameters": {**column.get("parameters", {}), **column_parameters}}


TYPED = Table(
    POSTGRESQL,
    "public.typed",
    {"id": INT64},
    {
        "id": _typed(INT64, type="INT8", name="id"),
        "title": _typed(optional(STRING), type="VARCHAR", length="120", name="title",
                        comment="shown “above”"),
        "price": _typed(optional(decimal(2)), type="NUMERIC", length="10", scale="2",
                        name="price"),
    },
)  # fmt: skip
ORACLE_TYPED = Table(
    ORACLE,
    "INVENTORY.TYPED",
    {"ID": INT32},
    {"ID": _typed(INT32, type="NUMBER", length="9", scale="0", name="ID")},
)
HALF_TYPED = Table(
    POSTGRESQL,
    "public.half",
    {"id": INT64},
    {"id": _typed(INT64, type="INT8", name="id"), "plain": optional(STRING)},
)
NO_NAME = Table(POSTGRESQL, "public.unnamed", {"id": INT64}, {"id": _typed(INT64, type="INT8")})
WRONG_LENGTH = Table(
    POSTGRESQL,
    "public.wrong",
    {"id": INT64},
    {"id": _typed(INT64, type="INT8", name="id", length="many")},
)
TITLED = {"id": 1, "title": "A", "price": unscaled(1999)}


def typed_rows() -> dict[str, Record]:
    """The records."""
    geometries = {
        f"geometry_{name}": PLACES.event("c", None, _place(wkb, 4326))
        for name, wkb in GEOMETRIES.items()
    }
    swapped = {"wkb": raw(GEOMETRIES["point"]), "srid": 3857}
    other = {"wkb": raw(GEOMETRIES["point"]), "srid": 25832}
    plain_point = {"x": 1.0, "y": 2.0, "wkb": raw(GEOMETRIES["point"]), "srid": 4326}
    mixed = _place(GEOMETRIES["line"], 4269, point=plain_point, list=[swapped, None, other],
                   map={"a": swapped, "b": other}, n=7)  # fmt: skip
    place = struct("place", {"at": GEOMETRY, "n": optional(INT32, default=3)})
    return {
        "vector_create": VECTORS.event("c", None, VECTOR),
        "vector_update": VECTORS.event("u", EMPTY, VECTOR),
        "vector_delete": VECTORS.event("d", NO_VECTORS, None),
        "vector_tombstone": VECTORS.tombstone(VECTOR),
        "vector_row": record("rows", None, part(
            struct("row", VECTORS.columns, doc="a row", version=2), VECTOR)),
        "vector_null": record("rows", None, part(
            struct("row", VECTORS.columns, optional=True), None)),
        **geometries,
        "place_nothing": PLACES.event("c", None, _place(None, None)),
        "place_no_srid": PLACES.event("c", None, _place(GEOMETRIES["point"], None)),
        "place_other_srid": PLACES.event("c", None, _place(GEOMETRIES["point"], 25832)),
        "place_default_srid": PLACES.event("u", _place(GEOMETRIES["point"], 3857),
                                           _place(GEOMETRIES["point"], 4269)),
        "place_everywhere": PLACES.event("u", mixed, mixed | {"at": None}),
        "place_null_in_map": PLACES.event("c", None, _place(None, None, texts={"a": None})),
        "place_null_geometry_in_map": PLACES.event("c", None, _place(None, None, map={"a": None})),
        "place_delete": PLACES.event("d", mixed, None),
        "place_tombstone": PLACES.tombstone(mixed),
        "place_geography": GEOGRAPHIES.event("c", None, mixed),
        "place_row": record("rows", None, part(place, {"at": swapped, "n": None})),
        "place_itself": record("rows", None, part(GEOMETRY, swapped)),
        "typed_create": TYPED.event("c", None, TITLED, partition=2, timestamp=9),
        "typed_update": TYPED.event("u", TITLED, TITLED | {"title": None}),
        "typed_delete": TYPED.event("d", TITLED, None),
        "typed_truncate": TYPED.event("t"),
        "typed_tombstone": TYPED.tombstone(TITLED),
        "typed_oracle": ORACLE_TYPED.event("c", None, {"ID": 1}),
        "typed_half": HALF_TYPED.event("c", None, {"id": 1, "plain": None}),
        "typed_no_name": NO_NAME.event("c", None, {"id": 1}),
        "typed_wrong_length": WRONG_LENGTH.event("c", None, {"id": 1}),
    }  # fmt: skip

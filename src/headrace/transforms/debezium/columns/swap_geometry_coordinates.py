"""SwapGeometryCoordinates: swaps x and y in geometries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from struct import pack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import ValueKind
from headrace.config.property import Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, tombstones, values
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults, with_fields
from headrace.errors import HeadraceError
from headrace.transforms.debezium.columns.well_known_binary import (
    with_swapped_coordinates,
    with_swapped_points,
)
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape, passing

_GEOMETRY = "io.debezium.data.geometry.Geometry"


def _parse_srids(text: str) -> frozenset[int]:
    parts = text.split(",")
    while parts and not parts[-1].strip():
        parts.pop()  # as Java splits
    return frozenset(int(part) for part in parts)


SRIDS: ValueKind[frozenset[int]] = ValueKind("whole numbers, separated by commas", _parse_srids)


class SwapGeometryCoordinatesOptions(Configuration):
    """Options of SwapGeometryCoordinates."""

    srids = Property(
        "srids",
        SRIDS,
        "4326,3857,4269",
        Group.CONVERTERS,
        "The SRIDs of the geometries whose coordinates are swapped.",
    )


@dataclass(frozen=True)
class _Geometry:
    """The parts of a geometry, and the column for its new bytes."""

    wkb: Node
    srid: Node
    column: Column


@dataclass(frozen=True)
class _Container:
    """An array or a map that contains geometries, and the column for its new value."""

    node: Node
    column: Column


_Swapped = tuple[Shape, tuple[_Geometry | _Container, ...]]


class SwapGeometryCoordinates:
    """See DECLARATION. Records whose value is not a struct pass unchanged."""

    ordering = Ordering.KEEPS_KEY
    takes_schemas_only = True

    def __init__(self, options: SwapGeometryCoordinatesOptions) -> None:
        self._srids = options.srids
        self._swapped = PerShape(_swapped)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.geometry_not_understood")."""
        if as_struct(records.shape.value) is None:
            yield records
            return
        others = yield from passing(records, tombstones(records))
        if others is None:
            return
        records = others
        shape, places = self._swapped(records.shape)
        for place in places:
            swapped: pa.Array | list[object]
            if isinstance(place, _Geometry):
                swapped = self._geometries(records, place)
            else:
                schema = place.node.schema
                swapped = [
                    self._within(schema, value) for value in connect_values(records, place.node)
                ]
            records = with_values(records, place.column, swapped)
        yield records.with_shape(shape)

    def _geometries(self, records: Records, geometry: _Geometry) -> pa.Array:
        """Return the bytes of geometries, swapped for the configured SRIDs: points all at once,
        others (each has its own parts) one by one."""
        binary = values(records, geometry.wkb).cast(pa.large_binary())
        srids = values(records, geometry.srid)
        has_srid = pc.is_in(srids, pa.array(self._srids, srids.type, safe=False))
        swaps = np.asarray(pc.and_(binary.is_valid(), pc.fill_null(has_srid, False)))
        if not swaps.any():
            return binary
        binary, others = with_swapped_points(binary, swaps)
        if not others.any():
            return binary
        geometries: list[bytes | None] = binary.to_pylist()
        for row in np.flatnonzero(others).tolist():
            geometries[row] = self._bytes(geometries[row], srids[row].as_py())
        return pa.array(geometries, pa.large_binary())

    def _bytes(self, wkb: bytes | None, srid: object) -> bytes | None:
        if wkb is None or srid not in self._srids:
            return wkb
        try:
            return with_swapped_coordinates(wkb)
        except ValueError as error:
            raise HeadraceError(
                "transforms.geometry_not_understood",
                f"the bytes of a geometry with the SRID {srid} are not well-known binary: {error}",
                "Correct the row, or leave its SRID out of srids.",
            ) from None

    def _within(self, schema: Schema, value: object) -> object:
        """Return a value with the coordinates of the geometries in it swapped."""
        match schema.type:
            case Type.STRUCT if isinstance(value, Mapping):
                members = {
                    field.name: self._within(
                        field.schema,
                        field.schema.default
                        if value.get(field.name) is None
                        else value[field.name],
                    )
                    for field in schema.fields
                }
                if schema.name == _GEOMETRY and isinstance(members["wkb"], bytes):
                    members["wkb"] = self._bytes(members["wkb"], members.get("srid"))
                return members
            case Type.ARRAY if isinstance(value, list | tuple) and schema.values is not None:
                return [self._within(schema.values, element) for element in value]
            case Type.MAP if isinstance(value, Mapping) and schema.values is not None:
                return {key: self._within(schema.values, element) for key, element in value.items()}
        return value


def _swapped(shape: Shape) -> _Swapped:
    struct = as_struct(shape.value)
    assert struct is not None
    places: list[_Geometry | _Container] = []
    value = _struct(struct, struct, places)
    return replace(shape, value=value), tuple(places)


def _struct(struct: Struct, around: Struct, places: list[_Geometry | _Container]) -> Struct:
    """Replace the bytes of a struct's geometries by columns; `around` is the same struct with
    guarded members. Nulls of its fields become their defaults, as in Debezium."""
    members: dict[str, Node] = {}
    for name, node in fields(struct).items():
        inner, lifted = as_struct(node), member(around, name)
        if inner is None:
            if _has_geometry(node.schema):
                column = column_of(node.schema)
                places.append(_Container(with_defaults(lifted), column))
                members[name] = column
            else:
                members[name] = with_defaults(node)
            continue
        selected = as_struct(lifted)
        assert selected is not None
        inner_members = fields(inner)
        if node.schema.name == _GEOMETRY and _has_parts(inner_members):
            wkb, srid = (with_defaults(member(selected, part)) for part in ("wkb", "srid"))
            column = column_of(inner_members["wkb"].schema)
            places.append(_Geometry(wkb, srid, column))
            members[name] = with_fields(inner, {**inner_members, "wkb": column})
        else:
            members[name] = _struct(inner, selected, places)
    return with_fields(struct, members)


def _has_parts(members: Mapping[str, Node]) -> bool:
    """Whether a struct has the bytes and the SRID of a geometry."""
    return "srid" in members and "wkb" in members and members["wkb"].schema.type is Type.BYTES


def _has_geometry(schema: Schema) -> bool:
    """Whether values of a schema contain geometries."""
    inner = [*(field.schema for field in schema.fields), schema.keys, schema.values]
    return schema.name == _GEOMETRY or any(part and _has_geometry(part) for part in inner)


DECLARATION = Declaration(
    "SwapGeometryCoordinates",
    "Swaps x and y (longitude and latitude) in the bytes of geometries of some SRIDs, within "
    "structs, arrays and maps, too. Geometries without an SRID, points (`Point`) and geographies "
    "do not change. A null whose column has a default becomes the default, as in Debezium. Bytes "
    "that are "
    "not well-known binary are an error.",
    SwapGeometryCoordinatesOptions,
    SwapGeometryCoordinates,
    example=Example(
        {"id": 1, "at": {"wkb": pack("<BIdd", 1, 1, 1.0, 2.0), "srid": 4326}},
        {},
        key={"id": 1},
        topic="s.places",
        names={"value.at": _GEOMETRY},
    ),
)

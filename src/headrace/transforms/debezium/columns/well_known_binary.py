"""Geometries in (extended) well-known binary."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

_Z, _M, _SRID = 0x8000_0000, 0x4000_0000, 0x2000_0000
_KIND = 0xFF
_POINT, _LINE, _POLYGON, _POINTS, _LINES, _POLYGONS, _COLLECTION = range(1, 8)
_PART_OF = {_POINTS: _POINT, _LINES: _LINE, _POLYGONS: _POLYGON}
_DEEPEST = 100


def with_swapped_coordinates(wkb: bytes) -> bytes:
    """Return the geometry with the first two ordinates of each point swapped. Bytes after the
    geometry are left out.

    Raises ValueError for bytes that are not a geometry.
    """
    swapper = _Swapper(wkb)
    swapper.geometry(depth=0)
    return bytes(swapper.swapped[: swapper.at])


_HEAD = 5
"""Bytes of a geometry's byte order and type."""


def with_swapped_points(
    binary: pa.LargeBinaryArray, swaps: np.ndarray
) -> tuple[pa.LargeBinaryArray, np.ndarray]:
    """Swap x and y of the points that `swaps` (bool) selects; returns the array, and which of the
    selected values are unchanged, because they are not points or have bytes after their last
    ordinate."""
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[binary.offset :][: len(binary) + 1]
    data = np.frombuffer(binary.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].copy()
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    rows = np.flatnonzero(swaps & (lengths >= _HEAD))
    heads = data[starts[rows, np.newaxis] + np.arange(_HEAD)].astype(np.uint32)
    little = heads[:, 0] == 1
    codes = np.where(
        little,
        heads[:, 1] | heads[:, 2] << 8 | heads[:, 3] << 16 | heads[:, 4] << 24,
        heads[:, 4] | heads[:, 3] << 8 | heads[:, 2] << 16 | heads[:, 1] << 24,
    )
    ordinates = 2 + ((codes & _Z) != 0) + ((codes & _M) != 0)
    before = _HEAD + 4 * ((codes & _SRID) != 0)
    is_point = ((codes & _KIND) == _POINT) & (lengths[rows] == before + 8 * ordinates)
    points = rows[is_point]
    places = (starts[points] + before[is_point])[:, np.newaxis] + np.arange(16)
    data[places] = np.roll(data[places], 8, axis=1)
    others = swaps.copy()
    others[points] = False
    swapped = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(binary),
        [pa.array(np.asarray(binary.is_valid())).buffers()[1], pa.py_buffer(offsets - offsets[0]),
         pa.py_buffer(data)],
    )  # fmt: skip
    return swapped, others


class _Swapper:
    """Reads a geometry once; `at` is the current position."""

    def __init__(self, wkb: bytes) -> None:
        self.swapped = bytearray(wkb)
        self.at = 0

    def geometry(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("a geometry is nested too deep")
        order = self._order()
        code = self._integer(order)
        stride = 2 + bool(code & _Z) + bool(code & _M)
        if code & _SRID:
            self._integer(order)
        kind = code & _KIND
        if kind in _PART_OF:
            for _ in range(self._count(order)):
                inner = self._order()
                self._integer(inner)
                self._simple(_PART_OF[kind], inner, stride)
        elif kind == _COLLECTION:
            for _ in range(self._count(order)):
                self.geometry(depth + 1)
        else:
            self._simple(kind, order, stride)

    def _simple(self, kind: int, order: str, stride: int) -> None:
        if kind == _POINT:
            self._points(1, stride)
        elif kind == _LINE:
            self._points(self._count(order), stride)
        elif kind == _POLYGON:
            for _ in range(self._count(order)):
                self._points(self._count(order), stride)
        else:
            raise ValueError(f"{kind} is not a type of geometries")

    def _points(self, count: int, stride: int) -> None:
        """Swap in place: whole ordinates are moved, so their byte order does not matter."""
        end = self.at + count * stride * 8
        if end > len(self.swapped):
            raise ValueError("a geometry ends before its last point")
        points = np.frombuffer(self.swapped, np.int64, count * stride, self.at)
        pairs = points.reshape(count, stride)
        pairs[:, [0, 1]] = pairs[:, [1, 0]]
        self.at = end

    def _order(self) -> str:
        if self.at >= len(self.swapped):
            raise ValueError("a geometry ends before its byte order")
        self.at += 1
        return "<" if self.swapped[self.at - 1] == 1 else ">"

    def _integer(self, order: str) -> int:
        if self.at + 4 > len(self.swapped):
            raise ValueError("a geometry ends within a number")
        number: int = struct.unpack_from(f"{order}I", self.swapped, self.at)[0]
        self.at += 4
        return number

    def _count(self, order: str) -> int:
        """Return a number of members, each of which has at least four bytes."""
        count = self._integer(order)
        if count >= 2**31:
            return 0  # Java's loops do not run for a negative number
        if count * 4 > len(self.swapped) - self.at:
            raise ValueError("a geometry ends before its last member")
        return count

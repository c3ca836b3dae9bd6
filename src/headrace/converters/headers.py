"""The headers column: constant headers once, the headers of key changes by the compiled pass."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Constant, Shape
from headrace.connect.rows import Flag, RowTable
from headrace.connect.sized_cache import SizedCache
from headrace.converters import instructions as code
from headrace.converters import kernel
from headrace.converters.json.values import JsonOptions, render
from headrace.converters.patches import Patches, Unrenderable
from headrace.converters.program import Program, compile_program

_TILED_BYTES = 32 << 20  # of columns of constant headers

HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])


class _ShapeHeaders:
    """One shape's headers: constant ones as (name, JSON), key-change ones as programs."""

    def __init__(self, shape: Shape, options: JsonOptions) -> None:
        self.constants: list[tuple[str, bytes | None]] = []
        self.delete: tuple[str, Program] | None = None
        self.create: tuple[str, Program] | None = None
        for header in shape.headers:
            if isinstance(header.node, Constant):
                text = render(header.node.schema, header.node.value, options)
                if text == "null":
                    self.constants.append((header.name, None))
                    continue
                if options.schemas_enable:
                    text = f'{{"schema":{header.node.schema.json},"payload":{text}}}'
                self.constants.append((header.name, text.encode()))
            elif header.on == "delete":
                self.delete = (header.name, compile_program(header.node, options))
            else:
                self.create = (header.name, compile_program(header.node, options))
        programs = [header[1] for header in (self.delete, self.create) if header is not None]
        self.columns = max(
            (max(program.columns, program.source_columns) for program in programs), default=0
        )
        self.counted = any(program.counted for program in programs)


class HeaderColumn:
    """Headers of a converter's shapes; keeps what was compiled and the last constant column."""

    def __init__(self, options: JsonOptions) -> None:
        self.options = options
        self._shapes: weakref.WeakKeyDictionary[Shape, _ShapeHeaders] = weakref.WeakKeyDictionary()
        self._tiled: SizedCache[tuple[tuple[str, bytes | None], ...], pa.Array] = SizedCache(
            _TILED_BYTES
        )

    def prepare(self, shapes: Sequence[Shape]) -> ConvertedHeaders:
        """The headers of a slice's shapes."""
        prepared = []
        for shape in shapes:
            if shape not in self._shapes:
                self._shapes[shape] = _ShapeHeaders(shape, self.options)
            prepared.append(self._shapes[shape])
        return ConvertedHeaders(self, prepared)

    def tiled(self, constants: tuple[tuple[str, bytes | None], ...], count: int) -> pa.Array:
        """`count` rows (at most 10,000) with the same headers; built once, then sliced."""
        tiled = self._tiled.get(constants)
        if tiled is None:
            size, most = len(constants), 10_000
            names = pa.array([name for name, _ in constants], pa.string())
            values = pa.array([value for _, value in constants], pa.binary())
            index = pa.array(np.tile(np.arange(size, dtype=np.int32), most))
            ends = pa.array(np.arange(most + 1, dtype=np.int32) * size)
            entries = pa.StructArray.from_arrays(
                [names.take(index), values.take(index)], fields=list(HEADER)
            )
            tiled = pa.ListArray.from_arrays(ends, entries)
            self._tiled.put(constants, tiled, tiled.nbytes)
        return tiled.slice(0, count)


class ConvertedHeaders:
    """The headers of one slice."""

    def __init__(self, owner: HeaderColumn, shapes: list[_ShapeHeaders]) -> None:
        self._owner = owner
        self._shapes = shapes
        self.columns = max(shape.columns for shape in shapes)
        self.counted = any(shape.counted for shape in shapes)
        constants = {tuple(shape.constants) for shape in shapes}
        self._same = next(iter(constants)) if len(constants) == 1 else None

    def column(
        self,
        table: RowTable,
        rows: np.ndarray,
        shapes: np.ndarray,
        state: np.ndarray,
        patches: Patches,
    ) -> pa.Array:
        """The headers of `rows` (indexes in `table`), one list per row."""
        count = len(rows)
        flags = table.rows["flags"][rows]
        changed = np.flatnonzero(flags & int(Flag.KEY_CHANGE))
        if len(changed) == 0 and self._same is not None:
            if not self._same:
                return pa.ListArray.from_arrays(
                    pa.array(np.zeros(count + 1, np.int32)), pa.array([], HEADER)
                )
            return self._owner.tiled(self._same, count)
        rendered = self._key_changes(table, rows, shapes, changed, state, patches)
        return self._assemble(shapes, changed, rendered, count)

    def _key_changes(
        self,
        table: RowTable,
        rows: np.ndarray,
        shapes: np.ndarray,
        changed: np.ndarray,
        state: np.ndarray,
        patches: Patches,
    ) -> list[tuple[str, bytes | None]]:
        out = np.empty(1 << 16, np.uint8)
        found: list[tuple[str, bytes | None]] = []
        creates = table.rows["part"][rows[changed]] == 2
        base = address_of(table.rows)
        for place, is_create in zip(changed.tolist(), creates.tolist(), strict=True):
            headers = self._shapes[int(shapes[place])]
            header = headers.create if is_create else headers.delete
            if header is None:
                found.append(("", b""))
                continue
            name, program = header
            row = int(rows[place])
            transaction = table.transactions[table.rows["transaction"][row]]
            size = int(table.rows["size"][row]) + int(transaction["size"])
            needed = program.growth * size + program.largest + PADDING
            state[code.ROW_NUMBER] = -1 - place
            while True:
                if needed + int(state[code.PATCH_BYTES]) > len(out):
                    out = np.empty(2 * (needed + int(state[code.PATCH_BYTES])), np.uint8)
                end = kernel.emit_one(
                    program.address,
                    program.guard,
                    program.columns,
                    program.source_columns,
                    base + row * table.rows.itemsize,
                    address_of(state),
                    address_of(out),
                )
                if end != code.MISSING:
                    break
                try:
                    patches.render(lambda at, _row, p=program: (p.cells[at], self._owner.options))  # type: ignore[misc]
                except Unrenderable as unrenderable:
                    raise next(iter(unrenderable.errors.values())) from None
            absent = end == code.NO_VALUE
            found.append((name, None if absent else out[: end - address_of(out)].tobytes()))
        return found

    def _assemble(
        self,
        shapes: np.ndarray,
        changed: np.ndarray,
        rendered: list[tuple[str, bytes | None]],
        count: int,
    ) -> pa.Array:
        """Lists with the key-change header first, then the constant ones."""
        entries: list[tuple[str, bytes | None]] = list(rendered)
        first, sizes = [], []
        for shape in self._shapes:
            first.append(len(entries))
            sizes.append(len(shape.constants))
            entries += shape.constants
        has = np.zeros(count, np.int64)
        has[changed[[bool(name) for name, _ in rendered]]] = 1
        lengths = np.array(sizes, np.int64)[shapes] + has
        ends = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        index = np.empty(int(ends[-1]), np.int64)
        starts = ends[:-1] + has
        for which in np.unique(shapes).tolist():
            members = starts[shapes == which]
            for j in range(sizes[which]):
                index[members + j] = first[which] + j
        for number, place in enumerate(changed.tolist()):
            if rendered[number][0]:
                index[ends[place]] = number
        take = pa.array(index)
        names = pa.array([name for name, _ in entries], pa.string()).take(take)
        values = pa.array([value for _, value in entries], pa.binary()).take(take)
        children = pa.StructArray.from_arrays([names, values], fields=list(HEADER))
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), children)

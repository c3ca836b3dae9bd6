"""The headers column: constant headers are built once, others by the compiled pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import Flag, RowTable
from headrace.connect.sized_cache import SizedCache
from headrace.converters import instructions as code
from headrace.converters.kernels.emit import emit_headers
from headrace.converters.patches import Patches, Unrenderable
from headrace.converters.shapes import CompiledShape

_TILED_BYTES = 32 << 20  # size of the cache of columns of constant headers
_FIRST_BYTES = 1 << 20  # initial size of the buffer of rendered headers

HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])

Constants = tuple[tuple[str, bytes | None], ...]


class HeaderColumn:
    """Makes the headers of batches; keeps its output buffer and the last constant columns."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        """Header names, and the number by which the compiled pass refers to each."""
        self._tiled: SizedCache[Constants, pa.Array] = SizedCache(_TILED_BYTES)
        self._output = np.empty(_FIRST_BYTES + PADDING, np.uint8)

    def column(
        self,
        table: RowTable,
        rows: np.ndarray,
        shapes: np.ndarray,
        compiled: Sequence[CompiledShape],
        state: np.ndarray,
        patches: Patches,
    ) -> pa.Array:
        """The headers of `rows` (indexes in `table`), one list per row; `shapes` are the indexes of
        their shapes in `compiled`. `state` holds the other arguments of the pass.

        Raises Unrenderable, by places in `rows`, for headers that have no rendering.
        """
        count = len(rows)
        constants = {shape.constants for shape in compiled}
        is_constant = len(constants) == 1 and not any(s.has_header_programs for s in compiled)
        if is_constant and table.has_key_changes:
            is_constant = not np.any(table.rows["flags"][rows] & int(Flag.KEY_CHANGE))
        if is_constant:
            return self._constant(next(iter(constants)), count)
        return self._rendered(rows, shapes, compiled, state, patches)

    def _constant(self, constants: Constants, count: int) -> pa.Array:
        """`count` rows (at most 10,000) with the same headers; built once, then sliced."""
        if not constants:
            ends = pa.array(np.zeros(count + 1, np.int32))
            return pa.ListArray.from_arrays(ends, pa.array([], HEADER))
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

    def _rendered(
        self,
        rows: np.ndarray,
        shapes: np.ndarray,
        compiled: Sequence[CompiledShape],
        state: np.ndarray,
        patches: Patches,
    ) -> pa.Array:
        count = len(rows)
        most = count * max(len(shape.headers) for shape in compiled)
        ends, lists = np.zeros(most + 1, np.int32), np.zeros(count + 1, np.int32)
        present, names = np.empty(most, np.uint8), np.empty(most, np.int32)
        selected, which = np.ascontiguousarray(rows), np.ascontiguousarray(shapes)
        state[code.SELECTED], state[code.SHAPES] = address_of(selected), address_of(which)
        state[code.START], state[code.COUNT] = 0, count
        state[code.HEADER_ENDS], state[code.HEADER_LISTS] = address_of(ends), address_of(lists)
        state[code.HEADER_PRESENT] = address_of(present)
        state[code.HEADER_NAMES] = address_of(names)
        state[code.HEADER_COUNT] = 0
        while True:
            state[code.HEADERS] = address_of(self._output)
            state[code.HEADERS_CAPACITY] = len(self._output) - PADDING
            emit_headers(address_of(state))
            state[code.START] = state[code.NEXT]
            if state[code.STATUS] == code.DONE:
                break
            if state[code.STATUS] == code.FULL:
                larger = np.empty(2 * len(self._output), np.uint8)
                larger[: len(self._output)] = self._output
                self._output = larger
                continue
            try:
                patches.render(lambda at, row: compiled[int(which[-1 - row])].renders[at])
            except Unrenderable as unrenderable:
                raise Unrenderable(
                    {-1 - row: error for row, error in unrenderable.errors.items()},
                    {-1 - row: at for row, at in unrenderable.instructions.items()},
                ) from None
        number = int(state[code.HEADER_COUNT])
        size = int(ends[number])
        validity = pa.py_buffer(np.packbits(present[:number], bitorder="little"))
        values = pa.BinaryArray.from_buffers(
            pa.binary(),
            number,
            [validity, pa.py_buffer(ends), pa.py_buffer(self._output[:size].tobytes())],
        )
        of_names = pa.array(list(self.names), pa.string()).take(pa.array(names[:number]))
        entries = pa.StructArray.from_arrays([of_names, values], fields=list(HEADER))
        return pa.ListArray.from_arrays(pa.array(lists), entries)

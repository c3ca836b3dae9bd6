"""Cells that Python renders because the compiled encoders could not, many at a time.

The compiled pass records the cells that it cannot write (misses) for some rows, Python renders
them, and the pass processes those rows again with the texts in a hash table by cell and
instruction.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.converters import instructions as code
from headrace.converters.kernels.prints import insert_patches
from headrace.converters.program import Render
from headrace.errors import HeadraceError

MAX_MISSES = 4096
_SMALLEST_TABLE = 1024


class Unrenderable(Exception):
    """Error of rows that hold values without rendering, with an error by row, in order;
    `instructions` are the addresses of the instructions that failed, 0: no particular one."""

    def __init__(
        self, errors: Mapping[int, HeadraceError], instructions: Mapping[int, int]
    ) -> None:
        super().__init__(errors)
        self.errors = errors
        self.instructions = instructions


def _unfit(error: Exception) -> HeadraceError:
    """Return the error of a cell that cannot be decoded as its column's type. The message does not
    contain the cell's value."""
    return HeadraceError(
        "converters.value_mismatch",
        f"a value cannot be read as its schema says ({type(error).__name__})",
        "Correct the record, or report its column's type.",
    )


class Patches:
    """The rendered cells of one batch."""

    def __init__(self, state: np.ndarray) -> None:
        self._state = state
        self._misses = np.zeros((MAX_MISSES, 4), np.int64)
        self._entries = np.zeros((0, 4), np.int64)
        self._table = np.zeros((_SMALLEST_TABLE, 4), np.int64)
        self._texts: list[np.ndarray] = []
        self._lengths: dict[tuple[int, int], int] = {}
        self._row_bytes: dict[int, int] = {}
        state[code.MISSES] = address_of(self._misses)
        state[code.MAX_MISSES] = MAX_MISSES
        self._publish()

    def clear(self) -> None:
        """Begin a batch."""
        self._state[code.MISS_COUNT] = 0
        if self._lengths:
            self._entries = self._entries[:0]
            self._table[:] = 0
            self._texts.clear()
            self._lengths.clear()
            self._row_bytes.clear()
        self._publish()

    def _publish(self) -> None:
        self._state[code.PATCH_TABLE] = address_of(self._table)
        self._state[code.PATCH_MASK] = len(self._table) - 1
        self._state[code.PATCH_BYTES] = max(self._row_bytes.values(), default=0)

    def render(self, render_at: Callable[[int, int], Render]) -> None:
        """Render the cells that the pass missed. `render_at` returns the function that renders the
        cell of an instruction in a row.

        Raises Unrenderable if rows hold values without rendering; the others are rendered.
        """
        count = int(self._state[code.MISS_COUNT])
        self._state[code.MISS_COUNT] = 0
        errors: dict[int, HeadraceError] = {}
        instructions: dict[int, int] = {}
        texts = bytearray()
        patches: list[tuple[int, int, int, int]] = []
        for address, length, instruction, row in self._misses[:count].tolist():
            if row in errors:
                continue
            place = (address, instruction)
            if place not in self._lengths:
                render = render_at(instruction, row)
                try:
                    rendered = render(ctypes.string_at(address, length))
                except HeadraceError as error:
                    errors[row], instructions[row] = error, instruction
                    continue
                except (ArithmeticError, ValueError, RecursionError) as error:
                    errors[row], instructions[row] = _unfit(error), instruction
                    continue
                text = rendered or b""
                self._lengths[place] = len(text)
                patches.append((*place, len(texts), -1 if rendered is None else len(text)))
                texts += text
            self._row_bytes[row] = self._row_bytes.get(row, 0) + self._lengths[place]
        self._put(patches, texts)
        if errors:
            raise Unrenderable(errors, instructions)

    def _put(self, patches: list[tuple[int, int, int, int]], texts: bytearray) -> None:
        memory = np.frombuffer(bytes(texts) + bytes(PADDING), np.uint8)
        self._texts.append(memory)
        entries = np.array(patches, np.int64).reshape(-1, 4)
        entries[:, 2] += address_of(memory)
        self._entries = np.concatenate((self._entries, entries))
        size = len(self._table)
        while size < 2 * len(self._entries):
            size *= 2
        if size != len(self._table):
            self._table = np.zeros((size, 4), np.int64)
            entries = self._entries
        insert_patches(address_of(entries), len(entries), address_of(self._table), size - 1)
        self._publish()

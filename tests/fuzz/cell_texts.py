"""Texts of cells: the compiled encoders against the exact decoders."""

from __future__ import annotations

import re
from decimal import Decimal
from random import Random

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING
from headrace.converters.json.kernels.cells import encode
from headrace.converters.json.values import render_cell
from headrace.errors import HeadraceError
from headrace.relational.types.column_type import ColumnType
from tests.compiled import callable_part
from tests.connectors.postgresql.catalog.test_key_columns import KINDS
from tests.connectors.postgresql.facts import resolve
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated

_encode = callable_part(encode)

_MOST = 20_000


def _columns() -> list[tuple[ColumnType, tuple[bytes, ...]]]:
    columns = []
    for kind in KINDS:
        for mode in kind.modes:
            column = resolve(kind.type, kind.typmod, options=mode)
            if column is not None:
                columns.append((column, tuple(text.encode() for text in kind.texts)))
    return columns


class CellTexts:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        self._columns = _columns()
        self._input = Guarded(_MOST + PADDING)
        self._output = Guarded(6 * _MOST + 64)

    def one(self, random: Random, planted: str | None) -> None:
        column, texts = random.choice(self._columns)
        text = mutated(random, random.choice(texts))[:_MOST]
        room = 6 * len(text) + 64
        source = self._input.take(text + bytes(PADDING))
        out = self._output.take(room if planted != "overrun" else 1)
        end = _encode(source, len(text), int(column.encoding), column.parameter, out)
        if end < 0:
            return  # for the exact decoder
        output = read(out, end - out)
        assert len(output) <= room
        try:
            expected: bytes | None = render_cell(column, text)
        except HeadraceError:
            expected = None
        if planted == "wrong":
            expected = b"wrong"
        elif column.encoding in _FLOATS and not _is_shortest(column, text):
            return  # the kernels show the digits that they get
        elif column.encoding is Encoding.HEX and text != text.lower():
            return  # likewise; the server prints small letters
        elif expected is None and column.encoding in _TIMES and _LONG_FRACTION.search(text):
            return  # likewise, up to nine digits of a fraction; the server prints at most six
        if expected is None:
            # Bytes that are no UTF-8 are the server's to refuse: nothing looks at every text.
            assert _is_no_text(text), (column.type_name, text, output)
            return
        assert output == expected, (column.type_name, text, output, expected)


_FLOATS = (Encoding.FLOAT, Encoding.DOUBLE)
_TIMES = tuple(each for each in Encoding if each.name.startswith(("TIME", "ISO_TIME")))
_LONG_FRACTION = re.compile(rb"\.[0-9]{7,9}(?![0-9])")


def _is_shortest(column: ColumnType, text: bytes) -> bool:
    """Whether the server could print a number with these digits."""
    try:
        value = float(text)
    except ValueError:
        return True
    with np.errstate(over="ignore"):
        shortest = repr(value) if column.encoding is Encoding.DOUBLE else str(np.float32(value))
    return Decimal(shortest).normalize() == Decimal(text.decode()).normalize()


def _is_no_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False

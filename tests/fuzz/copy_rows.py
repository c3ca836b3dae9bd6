"""COPY's rows: the compiled transcoder against one in plain Python."""

from __future__ import annotations

import struct
from itertools import pairwise
from random import Random

import numpy as np

from headrace.connect.kernels.memory import PADDING
from headrace.connectors.postgresql.reading.copy_text import Status, transcode_rows
from tests.connectors.postgresql.reading.copy_rows import copy_row, image
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated
from tests.fuzz.recorded import copies

_TEXTS = (b"", b"a", b"\t\n\\", b"\\N", b"x" * 15 + b"\t", b"y" * 40, b"\b\f\v\r", "é😀".encode())
_ESCAPED = {98: 8, 102: 12, 110: 10, 114: 13, 116: 9, 118: 11, 92: 92}


class Malformed(Exception):
    """The reason for which a row is refused."""


def _cell(text: bytes) -> bytes | None:
    if text == b"\\N":
        return None
    out, place = bytearray(), 0
    while place < len(text):
        byte = text[place]
        if byte == 92:
            place += 1
            if place == len(text) or text[place] not in _ESCAPED:
                raise Malformed
            byte = _ESCAPED[text[place]]
        out.append(byte)
        place += 1
    return bytes(out)


def row_of(text: bytes, columns: int) -> bytes:
    """The image of a row. Raises Malformed."""
    if text[-1:] != b"\n" or b"\n" in text[:-1]:
        raise Malformed
    if columns == 0:
        if text != b"\n":
            raise Malformed
        return image([])
    cells = [_cell(part) for part in text[:-1].split(b"\t")]
    if len(cells) != columns:
        raise Malformed
    return image(cells)


class CopyRows:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        self._input = Guarded(1 << 16)
        self._output = Guarded(1 << 17)
        self._offsets = Guarded(8 * 64)
        self._state = Guarded(16)

    def one(self, random: Random, planted: str | None) -> None:
        columns = random.choice((0, 1, 2, 3, 17))
        texts = []
        for _ in range(random.randrange(1, 5)):
            row = [None if random.random() < 0.2 else random.choice(_TEXTS) for _ in range(columns)]
            line = copy_row(row) if columns else b"\n"
            texts.append(mutated(random, line) if random.random() < 0.5 else line)
        raw = b"".join(b"d" + struct.pack("!I", len(text) + 4) + text for text in texts)
        if random.random() < 0.3:
            columns, raw = random.choice(copies())
        if random.random() < 0.3:
            raw = mutated(random, raw)
        capacity, most = random.choice((0, 40, 1 << 16)), random.choice((1, 2, 50))
        expected, consumed, status = self._reference(raw, columns, capacity, most)
        if planted == "wrong" and expected:
            expected[-1] += b"x"
        source = self._input.take(raw + bytes(PADDING))
        out = self._output.take(1 if planted == "overrun" else capacity + PADDING)
        offsets = self._offsets.take(8 * (most + 1))
        state = self._state.take(16)
        rows = transcode_rows(source, len(raw), columns, out, capacity, offsets, most, state)
        ends = np.frombuffer(read(offsets, 8 * (rows + 1)), np.int64).tolist()
        whole = read(out, ends[-1])
        images = [whole[a:b] for a, b in pairwise(ends)]
        assert images == expected
        position, ended = np.frombuffer(read(state, 16), np.int64).tolist()
        assert position == consumed
        # One of the two ways to be wrong is as good as the other.
        assert (ended < 0) == (status < 0)
        assert ended < 0 or ended == status

    def _reference(
        self, raw: bytes, columns: int, capacity: int, most: int
    ) -> tuple[list[bytes], int, int]:
        rows: list[bytes] = []
        place = used = 0
        while len(raw) - place >= 5:
            if raw[place] != 100:
                return rows, place, Status.OTHER
            size = struct.unpack_from("!I", raw, place + 1)[0] + 1
            if size < 5:
                return rows, place, Status.MALFORMED
            if size > len(raw) - place:
                break
            if len(rows) >= most:
                return rows, place, Status.FULL
            text = raw[place + 5 : place + size]
            if not text:
                return rows, place, Status.MALFORMED
            if len(text) + 5 * columns + 2 > capacity - used:
                return rows, place, Status.FULL
            try:
                rows.append(row_of(text, columns))
            except Malformed:
                return rows, place, Status.MALFORMED
            used += len(rows[-1])
            place += size
        return rows, place, Status.MORE

"""pgoutput frames made by hand, and an index over them, for tests without a server."""

from __future__ import annotations

import struct

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import NULL, ROW, TRANSACTION
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.streaming.changes.kernels import key_kernel, row_kernel
from headrace.streaming.changes.key_columns import KeyColumns, KeyScratch

VIRTUAL = 1 << 20


def cell(value: bytes | None, *, unavailable: bool = False) -> bytes:
    if unavailable:
        return b"u"
    if value is None:
        return b"n"
    return b"t" + struct.pack("!I", len(value)) + value


def image(*cells: bytes) -> bytes:
    return struct.pack("!H", len(cells)) + b"".join(cells)


def frame(body: bytes, lsn: int = 0) -> bytes:
    payload = b"w" + struct.pack("!QQQ", lsn, lsn, 0) + body
    return b"d" + struct.pack("!I", len(payload) + 4) + payload


def begin(final_lsn: int, xid: int = 7, micros: int = 0) -> bytes:
    return frame(b"B" + struct.pack("!QqI", final_lsn, micros, xid), final_lsn)


def commit(commit_lsn: int, end_lsn: int) -> bytes:
    return frame(b"C\0" + struct.pack("!QQq", commit_lsn, end_lsn, 0), end_lsn)


def insert(oid: int, new: bytes, lsn: int = 0) -> bytes:
    return frame(b"I" + struct.pack("!I", oid) + b"N" + new, lsn)


def update(oid: int, new: bytes, old: bytes = b"", kind: bytes = b"", lsn: int = 0) -> bytes:
    return frame(b"U" + struct.pack("!I", oid) + kind + old + b"N" + new, lsn)


def delete(oid: int, old: bytes, kind: bytes = b"K", lsn: int = 0) -> bytes:
    return frame(b"D" + struct.pack("!I", oid) + kind + old, lsn)


def keep_alive(wal_end: int, *, reply: bool = False) -> bytes:
    payload = b"k" + struct.pack("!QQB", wal_end, 0, int(reply))
    return b"d" + struct.pack("!I", len(payload) + 4) + payload


class Index:
    """Frames and what the compiled pass makes of them. Relation oid n has index n; its key is its
    first column, an integer or a text, or the columns in `keys`."""

    def __init__(
        self,
        raw: bytes,
        columns: list[int],
        *,
        options: int = 1,
        skip_unchanged: bool = False,
        keys: KeyColumns | None = None,
    ) -> None:
        self.memory = np.frombuffer(raw + bytes(PADDING), np.uint8).copy()
        most = 3 * (len(raw) // 31 + 2)
        self._rows = np.zeros(most, ROW)
        self._transactions = np.zeros(most, TRANSACTION)
        self._ends = np.zeros(most, row_kernel.END)
        self._keys = np.zeros((1, key_kernel.COLUMN_WORDS), np.int64)
        self._keys[0, key_kernel.ENCODING] = key_kernel.AS_SENT
        self._keys[0, key_kernel.NULL_LENGTH] = key_kernel.NO_TEXT
        self._keys[0, key_kernel.UNAVAILABLE_LENGTH] = key_kernel.NO_TEXT
        self._texts = KeyScratch()
        self._given = keys
        if keys is not None:
            self._texts.know(keys)
            self._keys = keys.table
        self._compared: list[np.ndarray] = []
        slots = 64
        while slots < 4 * len(columns):
            slots *= 2
        table = np.zeros((max(len(columns), 1), row_kernel.RELATION_WORDS), np.int64)
        oids = np.full(2 * slots, -1, np.int64)
        for index, count in enumerate(columns):
            compared = np.array([(i, i % 4, i) for i in range(1, count)], np.int64).reshape(-1, 3)
            self._compared.append(compared)
            table[index] = (
                1,
                count,
                1000 + index,
                address_of(self._keys),
                min(count, 1) if keys is None else len(keys),
                address_of(compared),
                len(compared),
                int(skip_unchanged),
            )
            slot = (index * 2654435761) & (slots - 1)
            while oids[2 * slot] >= 0:
                slot = (slot + 1) & (slots - 1)
            oids[2 * slot : 2 * slot + 2] = (index, index)
        self._table, self._oids, self._size, self._options = table, oids, len(raw), options
        self.run()

    def run(self) -> None:
        """Index everything from the start."""
        self.state = np.zeros(decoder.STATE_WORDS, np.int64)
        self.state[decoder.CHECKED] = 1
        self.state[row_kernel.LAST_COMMIT] = NULL
        self.state[row_kernel.TRANSACTION_ROW] = -1
        self._go_on()
        while self.status == row_kernel.KEY:
            self._texts.render()
            self._go_on()

    def _go_on(self) -> None:
        most, oids = len(self._rows), self._oids
        decoder.index_frames(
            address_of(self.memory),
            self._size,
            VIRTUAL,
            address_of(self._rows),
            most,
            address_of(self._transactions),
            most,
            address_of(self._ends),
            most,
            address_of(oids),
            len(oids) // 2 - 1,
            address_of(self._table),
            self._options,
            address_of(self._texts.memory),
            address_of(self.state),
        )

    @property
    def status(self) -> int:
        return int(self.state[decoder.STATUS])

    @property
    def rows(self) -> np.ndarray:
        return self._rows[: int(self.state[row_kernel.ROWS])]

    @property
    def transactions(self) -> np.ndarray:
        return self._transactions[: int(self.state[row_kernel.TRANSACTIONS])]

    @property
    def ends(self) -> np.ndarray:
        return self._ends[: int(self.state[row_kernel.ENDS])]

    def real_rows(self) -> np.ndarray:
        """The rows with addresses of this process."""
        rows = self.rows.copy()
        for name in ("old", "new", "counterpart"):
            column = rows[name]
            column[column != 0] += address_of(self.memory) - VIRTUAL
        return rows

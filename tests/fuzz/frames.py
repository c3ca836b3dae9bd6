"""pgoutput frames: the compiled index against a decoder in plain Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import NULL, ROW, TRANSACTION
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.relational.events import RelationFacts
from headrace.streaming.changes.kernels import key_kernel, row_kernel
from headrace.streaming.changes.key_columns import KeyColumns, KeyScratch
from tests.connectors.postgresql.facts import KEYS, column
from tests.connectors.postgresql.replication.pgoutput import (
    begin,
    cell,
    commit,
    delete,
    frame,
    image,
    insert,
    keep_alive,
    update,
)
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated
from tests.fuzz.recorded import transactions

_LATER = ("xmin", "image", "size")  # of a transaction, which the pass leaves alone
VIRTUAL = 1 << 20
_MASK = (1 << 64) - 1
KINDS = ("int8", "text", "numeric", "interval")
TEXTS = {
    "int8": (b"1", b"22", b"-3"),
    "text": (b"", b"a", b"a longer text of more than sixteen bytes", "é😀".encode()),
    "numeric": (b"1", b"1.0", b"1.00", b"NaN", b"0.10"),
    "interval": (b"1 day", b"24:00:00", b"1 mon", b"no interval"),
}


@dataclass(frozen=True)
class Table:
    """A relation: its columns, the first of which are its key."""

    kinds: tuple[str, ...]
    keys: KeyColumns
    captured: bool


def _table(kinds: tuple[str, ...], key: int, *, captured: bool = True) -> Table:
    columns = [column(f"c{i}", k) for i, k in enumerate(kinds)]
    names = tuple(described.name for described in columns[:key])
    facts = RelationFacts("s", "t", "topic", tuple(columns), names)
    return Table(
        kinds,
        KeyColumns(facts, KEYS),
        captured,
    )


TABLES = (
    _table(("int8", "text"), 1),
    _table(("text", "numeric", "text"), 2),
    _table(("interval", "numeric", "int8", "text"), 3),
    _table(("text",), 0),
    _table((), 0),
    _table(("int8", "text"), 1, captured=False),
)


# -- input ---------------------------------------------------------------------------------------


def _image(random: Random, table: Table) -> bytes:
    cells = []
    for kind in table.kinds:
        choice = random.randrange(8)
        text = random.choice(TEXTS[kind])
        cells.append(b"n" if choice == 0 else b"u" if choice == 1 else cell(text))
    return image(*cells)


def _change(random: Random, lsn: int) -> bytes:
    oid = random.randrange(len(TABLES))
    table = TABLES[oid]
    new, old = _image(random, table), _image(random, table)
    match random.randrange(5):
        case 0 | 1:
            return insert(oid, new, lsn)
        case 2:
            return update(oid, new, lsn=lsn)
        case 3:
            return update(oid, new, old, random.choice((b"K", b"O")), lsn)
        case _:
            return delete(oid, old, random.choice((b"K", b"O")), lsn)


def made(random: Random) -> bytes:
    """A stream as a server could send it."""
    parts, lsn = [], 100
    for _ in range(random.randrange(1, 4)):
        changes = random.randrange(0, 6)
        parts.append(begin(lsn + changes + 1, random.randrange(1 << 32), random.randrange(1 << 50)))
        for _ in range(changes):
            lsn += 1
            parts.append(_change(random, lsn))
        if random.randrange(6) == 0:
            parts.append(random.choice((b"S\0\0\0\4", frame(b"Y123", lsn), keep_alive(lsn))))
        parts.append(commit(lsn + 1, lsn + 2))
        lsn += 2
        if random.randrange(3) == 0:
            parts.append(keep_alive(lsn + 5, reply=random.randrange(2) == 0))
    if random.randrange(12) == 0:
        kind = random.choice((b"E", b"c"))
        parts.insert(random.randrange(len(parts)), kind + b"\0\0\0\4")
    if random.randrange(12) == 0:
        parts.insert(random.randrange(len(parts)), frame(random.choice((b"R", b"T", b"M", b"O"))))
    return b"".join(parts)


def recorded(random: Random) -> bytes:
    """A transaction that a server sent once, of tables that have as many columns."""
    parts = []
    for message in random.choice(transactions()):
        if message[30:31] in (b"I", b"U", b"D"):
            (count,) = struct.unpack_from("!H", message, 36)
            alike = [oid for oid, table in enumerate(TABLES) if len(table.kinds) == count]
            oid = random.choice(alike or range(len(TABLES)))
            message = message[:31] + struct.pack("!I", oid) + message[35:]
        parts.append(message)
    return b"".join(parts)


# -- reference -----------------------------------------------------------------------------------


def _signed(value: int) -> int:
    return (value & _MASK) - ((value & _MASK) >> 63 << 64)


def _unsigned(value: int) -> int:
    return value & _MASK


def _mix(seed: int, word: int) -> int:
    value = ((seed ^ word) & _MASK) * (-7046029254386353131 & _MASK) & _MASK
    return value ^ (value >> 29) & 0x7FFFFFFFF


def _hash(seed: int, text: bytes) -> int:
    value = _mix(seed, len(text))
    for start in range(0, len(text), 8):
        value = _mix(value, int.from_bytes(text[start : start + 8], "little"))
    return value


class Broken(Exception):
    """The frame is not sound."""


_Cells = list[bytes | None]
UNAVAILABLE = b"unavailable"


def _cells(body: bytes, place: int, columns: int) -> tuple[_Cells, int]:
    try:
        (count,) = struct.unpack_from("!H", body, place)
        place += 2
        cells: _Cells = []
        if count != columns:
            raise Broken
        for _ in range(count):
            kind = body[place : place + 1]
            place += 1
            if kind in (b"t", b"b"):
                (length,) = struct.unpack_from("!I", body, place)
                place += 4
                if place + length > len(body):
                    raise Broken
                cells.append(bytes(body[place : place + length]))
                place += length
            elif kind == b"n":
                cells.append(None)
            elif kind == b"u":
                cells.append(UNAVAILABLE)
            else:
                raise Broken
    except struct.error:
        raise Broken from None
    return cells, place


@dataclass
class Reference:
    """The expected content of the index."""

    options: int
    rows: list[tuple[int, ...]] = field(default_factory=list)
    transactions: list[tuple[int, ...]] = field(default_factory=list)
    ends: list[tuple[int, ...]] = field(default_factory=list)
    status: int = row_kernel.MORE
    position: int = 0
    words: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = (
            row_kernel.OPEN, decoder.XID, row_kernel.COMMIT_US, decoder.FINAL_LSN,
            row_kernel.ORDINAL, row_kernel.COMPLETE, decoder.WAL_END, decoder.REPLY,
            row_kernel.FILTERED, row_kernel.TRANSACTION_HAS_ROWS,
        )  # fmt: skip
        self.words = dict.fromkeys(names, 0)
        self.words |= {row_kernel.LAST_COMMIT: int(NULL), row_kernel.TRANSACTION_ROW: -1}

    def run(self, raw: bytes, most_rows: int) -> Reference:
        """Decode until something stops it."""
        while len(raw) - self.position >= 5:
            (length,) = struct.unpack_from("!I", raw, self.position + 1)
            length += 1
            if length < 5:
                self.status = row_kernel.BROKEN
                break
            if self.position + length > len(raw):
                break
            if len(self.rows) + 3 > most_rows:
                self.status = row_kernel.FULL
                break
            try:
                status = self._message(raw[self.position : self.position + length])
            except (Broken, struct.error):
                status = row_kernel.BROKEN
            if status != row_kernel.MORE:
                self.status = status
                break
            self.position += length
        return self

    def _message(self, message: bytes) -> int:
        words = self.words
        if message[:1] != b"d":
            kinds = {b"E": decoder.SERVER_ERROR, b"c": decoder.COPY_DONE}
            return kinds.get(message[:1], row_kernel.MORE)
        kind = message[5:6]
        if kind == b"k":
            (wal_end,) = struct.unpack_from("!q", message, 6)
            reply = message[22:23]
            if not reply:
                raise Broken
            words[decoder.WAL_END] = wal_end
            if not words[row_kernel.OPEN]:
                words[row_kernel.COMPLETE] = max(words[row_kernel.COMPLETE], wal_end, key=_unsigned)
            words[decoder.REPLY] |= int(reply != b"\0")
            return row_kernel.MORE
        if kind != b"w" or len(message) < 31:
            raise Broken
        (lsn,) = struct.unpack_from("!q", message, 6)
        body = message[30:]
        match body[:1]:
            case b"I" | b"U" | b"D":
                self._change(body, lsn, len(message))
            case b"B":
                self._begin(body)
            case b"C":
                self._commit(body)
            case b"R":
                return decoder.RELATION
            case b"T" | b"M" | b"O":
                return decoder.RARE
            case b"Y":
                pass
            case _:
                raise Broken
        words[decoder.WAL_END] = max(words[decoder.WAL_END], lsn)
        return row_kernel.MORE

    def _begin(self, body: bytes) -> None:
        words = self.words
        if len(body) != 21 or words[row_kernel.OPEN]:
            raise Broken
        final, micros, xid = struct.unpack("!qqI", body[1:])
        words |= {
            row_kernel.OPEN: 1,
            decoder.FINAL_LSN: final,
            row_kernel.COMMIT_US: _signed(micros + 946_684_800_000_000),
            decoder.XID: xid,
            row_kernel.ORDINAL: 1,
            row_kernel.TRANSACTION_ROW: -1,
            row_kernel.TRANSACTION_HAS_ROWS: 0,
        }

    def _commit(self, body: bytes) -> None:
        words = self.words
        if len(body) != 26 or not words[row_kernel.OPEN]:
            raise Broken
        (end,) = struct.unpack_from("!q", body, 10)
        if words[row_kernel.TRANSACTION_HAS_ROWS]:
            self.ends.append((len(self.rows), 0, end, end, words[row_kernel.COMMIT_US]))
        words[row_kernel.OPEN] = 0
        words[row_kernel.LAST_COMMIT] = end
        words[row_kernel.COMPLETE] = max(words[row_kernel.COMPLETE], end, key=_unsigned)

    def _change(self, body: bytes, lsn: int, size: int) -> None:
        words = self.words
        if size < 38 or not words[row_kernel.OPEN]:
            raise Broken
        (oid,) = struct.unpack_from("!I", body, 1)
        if oid >= len(TABLES):
            raise Broken
        table, operation = TABLES[oid], body[:1]
        skips = {
            b"I": row_kernel.SKIP_CREATE,
            b"U": 0 if self.options & row_kernel.SPLITS_KEYS else row_kernel.SKIP_UPDATE,
            b"D": row_kernel.SKIP_DELETE,
        }
        if not table.captured or self.options & skips[operation]:
            words[row_kernel.FILTERED] += 1
        else:
            self._rows_of(table, oid, operation, body, lsn, size)
        words[row_kernel.ORDINAL] += 1

    def _rows_of(
        self, table: Table, oid: int, operation: bytes, body: bytes, lsn: int, size: int
    ) -> None:
        start = VIRTUAL + self.position + 30
        place, columns = 5, len(table.kinds)
        old: _Cells | None = None
        new: _Cells | None = None
        old_at = new_at = 0
        full = body[5:6] == b"O"
        if body[5:6] in (b"K", b"O"):
            old_at = start + 6
            old, place = _cells(body, 6, columns)
        if operation != b"D":
            # Only an update has a second tag after the old image.
            tag = body[place : place + 1] if operation == b"U" else body[5:6]
            if tag != b"N":
                raise Broken
            new_at = start + place + 1
            new, place = _cells(body, place + 1, columns)
        elif old is None:
            raise Broken
        if place != len(body):
            raise Broken
        old_key = None if old is None else table.keys.key(old, UNAVAILABLE)
        new_key = None
        if new is not None:
            resolved = list(new)
            for column, text in enumerate(old or ()):
                if resolved[column] is UNAVAILABLE and text is not None:
                    resolved[column] = text
            new_key = table.keys.key(resolved, UNAVAILABLE)
        moves = operation == b"U" and old is not None and old_key != new_key
        if operation == b"U":
            halves = row_kernel.SKIP_CREATE | row_kernel.SKIP_DELETE
            skips = halves if moves else row_kernel.SKIP_UPDATE
            if self.options & skips == skips:
                self.words[row_kernel.FILTERED] += 1
                return
        if self.words[row_kernel.TRANSACTION_ROW] < 0:
            words = self.words
            micros = words[row_kernel.COMMIT_US]
            self.words[row_kernel.TRANSACTION_ROW] = len(self.transactions)
            self.transactions.append(
                (
                    words[decoder.XID], micros // 1000, micros, _signed(micros * 1000),
                    words[row_kernel.LAST_COMMIT], 0, words[decoder.FINAL_LSN],
                )
            )  # fmt: skip
        self.words[row_kernel.TRANSACTION_HAS_ROWS] = 1

        def add(
            images: tuple[int, int, int], part: int, key: object, kind: str, flags: int
        ) -> None:
            value = 1000 + oid
            for text in key:  # type: ignore[attr-defined]
                value = _mix(value, -1) if text is None else _hash(value, text)
            words = self.words
            self.rows.append(
                (
                    *images, 0, 0, words[decoder.FINAL_LSN], lsn, words[row_kernel.ORDINAL], part,
                    value, size, words[row_kernel.TRANSACTION_ROW], oid, ord(kind), 2, 0, flags, 0,
                )
            )  # fmt: skip

        tombstones = bool(self.options & row_kernel.TOMBSTONES)
        if operation == b"D":
            add((old_at, 0, 0), 0, old_key, "d", int(full))
            if tombstones:
                add((old_at, 0, 0), 1, old_key, "\0", int(full))
        elif moves:
            deletes = not self.options & row_kernel.SKIP_DELETE
            if deletes:
                add((old_at, 0, new_at), 0, old_key, "d", 2 | full)
            if deletes and tombstones:
                add((old_at, 0, new_at), 1, old_key, "\0", 2 | full)
            if not self.options & row_kernel.SKIP_CREATE:
                add((0, new_at, old_at), 2, new_key, "c", 2 | full)
        elif operation == b"I":
            add((0, new_at, 0), 2, new_key, "c", 0)
        else:
            add((old_at, new_at, 0), 2, new_key, "u", int(full))


# -- the compiled index --------------------------------------------------------------------------


class Frames:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        self._input = Guarded(1 << 16)
        self._rows = Guarded(64 * ROW.itemsize)
        self._transactions = Guarded(64 * TRANSACTION.itemsize)
        self._ends = Guarded(64 * row_kernel.END.itemsize)
        self._state = Guarded(8 * decoder.STATE_WORDS)
        self._scratch = Guarded(key_kernel.SCRATCH)
        self._texts = KeyScratch(self._scratch.array(key_kernel.SCRATCH))
        self._table = np.zeros((len(TABLES), row_kernel.RELATION_WORDS), np.int64)
        self._oids = np.full(2 * 64, -1, np.int64)
        for oid, table in enumerate(TABLES):
            self._texts.know(table.keys)
            self._table[oid] = (
                int(table.captured), len(table.kinds), 1000 + oid,
                address_of(table.keys.table), len(table.keys), 0, 0, 0,
            )  # fmt: skip
            slot = (oid * 2654435761) & 63
            while self._oids[2 * slot] >= 0:
                slot = (slot + 1) & 63
            self._oids[2 * slot : 2 * slot + 2] = (oid, oid)

    def one(self, random: Random, planted: str | None) -> None:
        raw = mutated(random, random.choice((made, made, recorded))(random))
        options = random.randrange(32)
        most = random.choice((3, 4, 7, 60))
        expected = Reference(options).run(raw, most)
        if planted == "wrong" and expected.rows:
            expected.rows[-1] = (*expected.rows[-1][:-1], 1)
        source = self._input.take(raw + bytes(PADDING))
        rows = self._rows.take((1 if planted == "overrun" else most) * ROW.itemsize)
        transactions = self._transactions.take(60 * TRANSACTION.itemsize)
        ends = self._ends.take(60 * row_kernel.END.itemsize)
        words = np.zeros(decoder.STATE_WORDS, np.int64)
        words[decoder.CHECKED] = 1
        words[row_kernel.LAST_COMMIT] = NULL
        words[row_kernel.TRANSACTION_ROW] = -1
        state = self._state.take(words.tobytes())
        while True:
            decoder.index_frames(
                source, len(raw), VIRTUAL, rows, most,
                transactions, 60, ends, 60, address_of(self._oids), 63,
                address_of(self._table), options, address_of(self._texts.memory), state,
            )  # fmt: skip
            words = np.frombuffer(read(state, 8 * decoder.STATE_WORDS), np.int64)
            if words[decoder.STATUS] != row_kernel.KEY:
                break
            self._texts.render()
        assert int(words[decoder.STATUS]) == expected.status
        assert int(words[row_kernel.INDEXED]) == expected.position
        for memory, kind, word, expected_rows in (
            (rows, ROW, row_kernel.ROWS, expected.rows),
            (transactions, TRANSACTION, row_kernel.TRANSACTIONS, expected.transactions),
            (ends, row_kernel.END, row_kernel.ENDS, expected.ends),
        ):
            count = int(words[word])
            read_rows = np.frombuffer(read(memory, count * kind.itemsize), kind)
            written = [name for name in kind.names or () if kind is ROW or name not in _LATER]
            assert [tuple(row) for row in read_rows[written].tolist()] == expected_rows
        for word, value in expected.words.items():
            assert int(words[word]) == value, word

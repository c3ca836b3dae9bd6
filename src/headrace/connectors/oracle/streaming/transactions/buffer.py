"""The open transactions of a stream, and the committed ones that wait to be written."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headrace.connect.kernels.loading import load
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.streaming.transactions import hold_kernel, write_kernel
from headrace.connectors.oracle.streaming.transactions.blocks import Blocks
from headrace.connectors.oracle.streaming.transactions.chunk_kernel import CHUNK_HEAD_BYTES
from headrace.connectors.oracle.streaming.transactions.hold_kernel import (
    ALL_HELD,
    EFFECT_WORDS,
    ENTRY_HEAD_BYTES,
    ODD_STATEMENT,
    OPEN,
    TRANSACTION_WORDS,
    abandon_transaction,
    drop_transaction,
    hold_rows,
    release_transaction,
)
from headrace.connectors.oracle.streaming.transactions.write_kernel import write_ready

_FIRST_TRANSACTIONS = 1024
_WORD = 8


@dataclass(frozen=True)
class BufferOptions:
    """`max_bytes` of memory, beyond which changes go to files; `threshold`: the number of changes
    at which a transaction is given up (0: none); `shown`: bits of `write_kernel`."""

    max_bytes: int = 256 << 20
    threshold: int = 0
    shown: int = (
        write_kernel.SHOWS_USER | write_kernel.SHOWS_COMMIT_TIME | write_kernel.SHOWS_START_TIME
    )


class Commits(NamedTuple):
    """Committed transactions, in the order of their places: their numbers in the buffer, SCNs of
    the commits, ids (uint64) and redo threads."""

    numbers: np.ndarray
    scns: np.ndarray
    xids: np.ndarray
    threads: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)


class Committed(NamedTuple):
    """A committed transaction: its id, the SCN of the commit, its time and that of the beginning
    (microseconds since 1970), the redo thread, and the user."""

    xid: int
    scn: int
    us: int
    start_us: int
    thread: int
    user: str | None


@dataclass(frozen=True)
class Rows:
    """Rows of redo: int64, EFFECT_WORDS each, and the memory to which their words point. `scratch`
    and `most_columns` are arguments of `put_statement`; `read_odd` replaces a statement that the
    kernel does not read by the images of the row, or makes the row do nothing."""

    effects: np.ndarray
    scratch: np.ndarray
    most_columns: int
    read_odd: Callable[[np.ndarray], None]


class Names:
    """Names of users or clients by number, and which of them are captured."""

    def __init__(self, included: Sequence[str], excluded: Sequence[str]) -> None:
        self._included = {name.upper() for name in included}
        self._excluded = {name.upper() for name in excluded}
        self._numbers: dict[str, int] = {}
        self._texts: list[np.ndarray] = []
        self.captured = np.ones(1, np.uint8)
        self.table = np.zeros((1, 2), np.int64)
        """Address and bytes of each name."""

    def number(self, name: str) -> int:
        """Return the number of a name, which it keeps."""
        number = self._numbers.get(name)
        if number is not None:
            return number
        number = self._numbers[name] = len(self._numbers)
        raw = name.encode()
        text = np.frombuffer(raw + bytes(PADDING), np.uint8)
        self._texts.append(text)
        if number == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.captured = np.concatenate([self.captured, np.ones_like(self.captured)])
        self.table[number] = address_of(text), len(raw)
        self.captured[number] = self._takes(name.upper())
        return number

    def name(self, number: int) -> str:
        """Return the name that has a number."""
        address, size = (int(word) for word in self.table[number])
        return ctypes.string_at(address, size).decode()

    def _takes(self, name: str) -> bool:
        if self._included:
            return name in self._included
        return name not in self._excluded


class TransactionBuffer:
    """Holds changes until their transaction is committed. One thread uses it.

    `hold` takes rows of redo (see `hold_kernel`), `commits` returns what was committed, `take` and
    `release` make parts of that ready in the order in which they are given, and `write` writes what
    is ready. Methods raise HeadraceError("spool.full").
    """

    def __init__(self, options: BufferOptions, users: Names, clients: Names) -> None:
        self._options, self._users, self._clients = options, users, clients
        self._blocks = Blocks(options.max_bytes)
        self._state = np.zeros(hold_kernel.BUFFER_WORDS, np.int64)
        self._state[hold_kernel.THRESHOLD] = options.threshold
        self._state[hold_kernel.FREE_TRANSACTION] = -1
        self._transactions = np.zeros((0, TRANSACTION_WORDS), np.int64)
        self._table = np.zeros(1, np.int64)
        self._pending = np.zeros(0, np.int64)
        self._ready = np.zeros(0, np.int64)
        self._cursor = np.zeros(write_kernel.CURSOR_WORDS, np.int64)
        self._make_room(_FIRST_TRANSACTIONS)
        for kernel in (hold_rows, write_ready, abandon_transaction, drop_transaction):
            load(kernel)

    @property
    def shown(self) -> int:
        """See BufferOptions."""
        return self._options.shown

    # -- input ----------------------------------------------------------------------------------

    def hold(self, rows: Rows) -> None:
        """Hold rows in their order; the memory to which they point must live during the call."""
        effects = rows.effects
        assert effects.shape[1:] == (EFFECT_WORDS,)
        self._make_room(len(effects))
        rows_done, state = 0, self._state
        while True:
            status = hold_rows(
                address_of(effects),
                rows_done,
                len(effects),
                address_of(self._table),
                len(self._table) - 1,
                address_of(self._transactions),
                len(self._transactions),
                address_of(state),
                address_of(self._blocks.words),
                address_of(self._pending),
                address_of(self._users.captured),
                address_of(self._clients.captured),
                address_of(rows.scratch),
                rows.most_columns,
            )
            if status == ALL_HELD:
                return
            rows_done = int(state[hold_kernel.DONE])
            if status == ODD_STATEMENT:
                rows.read_odd(effects[rows_done])
            else:
                self._blocks.give(int(state[hold_kernel.LACKING]))

    @property
    def _used(self) -> np.ndarray:
        """The transactions that may be open or wait to be written."""
        return self._transactions[: int(self._state[hold_kernel.USED])]

    def _make_room(self, more: int) -> None:
        """Make room for so many more transactions."""
        count = len(self._transactions)
        used = int(np.count_nonzero(self._used[:, hold_kernel.STATE]))
        if count - used < more or count == 0:
            larger = np.zeros((max(2 * count, used + more), TRANSACTION_WORDS), np.int64)
            larger[:count] = self._transactions
            self._transactions = larger
            free = np.flatnonzero(larger[:, hold_kernel.STATE] == hold_kernel.FREE)
            larger[free, hold_kernel.FOLLOWING] = np.append(free[1:], -1)
            self._state[hold_kernel.FREE_TRANSACTION] = free[0]
            self._hash_anew(len(larger))
        if len(self._pending) < len(self._transactions):
            pending = np.zeros(len(self._transactions), np.int64)
            pending[: len(self._pending)] = self._pending
            self._pending = pending

    def _hash_anew(self, capacity: int) -> None:
        size = 1 << (2 * capacity).bit_length()
        self._table = np.zeros(size, np.int64)
        transactions = self._transactions
        states = transactions[:, hold_kernel.STATE]
        numbers = np.flatnonzero((states == OPEN) | (states == hold_kernel.ABANDONED))
        hold_kernel.enter(
            address_of(self._table),
            size - 1,
            address_of(transactions),
            address_of(numbers),
            len(numbers),
        )

    # -- output ---------------------------------------------------------------------------------

    def commits(self) -> Commits:
        """Return the transactions that are committed and not released yet, by place: SCN, then
        id."""
        numbers = self._pending[: int(self._state[hold_kernel.PENDING_COUNT])]
        chosen = self._transactions[numbers]
        scns = chosen[:, hold_kernel.COMMIT]
        xids = chosen[:, hold_kernel.ID].view(np.uint64)
        order = np.lexsort((xids, scns))
        return Commits(
            numbers[order], scns[order], xids[order], chosen[order, hold_kernel.REDO_THREAD]
        )

    def take(self, commits: Commits, count: int) -> Commits:
        """Return the first `count` of `commits`, which are all there are; the caller `release`s
        them."""
        rest = commits.numbers[count:]
        self._pending[: len(rest)] = rest
        self._state[hold_kernel.PENDING_COUNT] = len(rest)
        return Commits(*(column[:count] for column in commits))

    def release(self, numbers: np.ndarray) -> None:
        """Make taken transactions ready to be written, in this order, after others."""
        self._ready = np.concatenate([self._ready[self._written :], numbers])
        self._cursor[write_kernel.TRANSACTION] = 0

    def is_marked(self, numbers: np.ndarray) -> np.ndarray:
        """Return a mask of the transactions with a row that Python reads before they are written:
        see `held_frames`."""
        return np.asarray(self._transactions[numbers, hold_kernel.MARKED] != 0)

    def committed(self, number: int) -> Committed:
        """Return the properties of a transaction that was taken."""
        words = self._transactions[number]
        user = int(words[hold_kernel.BY_USER])
        return Committed(
            int(words[hold_kernel.ID]) & ((1 << 64) - 1),
            int(words[hold_kernel.COMMIT]),
            int(words[hold_kernel.COMMITTED_US]),
            int(words[hold_kernel.START_US]),
            int(words[hold_kernel.REDO_THREAD]),
            self._users.name(user)
            if user >= 0 and self._options.shown & write_kernel.SHOWS_USER
            else None,
        )

    def held_frames(self, number: int) -> Iterator[tuple[bytes, bool]]:
        """Yield the held frames of a transaction that was taken, in their order, and whether they
        were cancelled."""
        chunk = int(self._transactions[number, hold_kernel.FIRST])
        while chunk:
            following, _, end = struct.unpack("=qqq", ctypes.string_at(chunk, CHUNK_HEAD_BYTES))
            entry = chunk + CHUNK_HEAD_BYTES
            while entry < end:
                head = ctypes.string_at(entry, ENTRY_HEAD_BYTES)
                _, _, is_cancelled, size = struct.unpack("=qqqq", head)
                yield ctypes.string_at(entry + ENTRY_HEAD_BYTES, size), bool(is_cancelled)
                entry += ENTRY_HEAD_BYTES + size
            chunk = following

    def let_go(self, number: int) -> None:
        """Free the memory of a committed transaction."""
        release_transaction(
            number,
            address_of(self._transactions),
            address_of(self._state),
            address_of(self._blocks.words),
        )

    @property
    def _written(self) -> int:
        return int(self._cursor[write_kernel.TRANSACTION])

    @property
    def has_ready(self) -> bool:
        """Whether transactions are ready to be written."""
        return self._written < len(self._ready)

    def write(self, target: np.ndarray) -> int:
        """Write frames of ready transactions into `target` (uint8, with PADDING writable bytes
        after it); returns the number of bytes."""
        size = write_ready(
            address_of(self._ready),
            len(self._ready),
            address_of(self._cursor),
            address_of(self._transactions),
            address_of(self._state),
            address_of(self._blocks.words),
            address_of(self._users.table),
            self._options.shown,
            address_of(target),
            len(target),
        )
        if not self.has_ready:
            self._ready, self._cursor[:] = np.zeros(0, np.int64), 0
        self._blocks.trim()
        self._blocks.let_go_of_files()
        return int(size)

    # -- open transactions ----------------------------------------------------------------------

    def oldest(
        self,
        *,
        with_empty: bool = True,
        with_committed: bool = True,
        since_us: int | None = None,
    ) -> int | None:
        """Return the SCN of the first row of the oldest transaction that is open, or committed and
        not taken; None if there is no such transaction. Without `with_empty`, transactions without
        held rows do not count, without `with_committed` committed ones, with `since_us` those that
        began before this time; transactions that are given up never count."""
        transactions = self._used
        mask = transactions[:, hold_kernel.STATE] == OPEN
        if not with_empty:
            mask &= transactions[:, hold_kernel.ENTRIES] > 0
        if with_committed:
            mask[self._pending[: int(self._state[hold_kernel.PENDING_COUNT])]] = True
        if since_us is not None:
            mask &= transactions[:, hold_kernel.START_US] >= since_us
        starts = transactions[mask, hold_kernel.START]
        return int(starts.min()) if len(starts) else None

    def abandon_before(self, us: int, keep: int | None = None) -> list[int]:
        """Give up the open transactions that began before a time (microseconds since 1970), except
        the one whose id is `keep`; returns the ids of those that held changes."""
        transactions = self._transactions
        old = (transactions[:, hold_kernel.STATE] == OPEN) & (
            transactions[:, hold_kernel.START_US] < us
        )
        given_up = []
        for number in np.flatnonzero(old):
            xid = int(transactions[number, hold_kernel.ID]) & ((1 << 64) - 1)
            if xid == keep:
                continue
            if transactions[number, hold_kernel.ENTRIES]:
                given_up.append(xid)
            abandon_transaction(
                self._address(int(number)), address_of(self._state), address_of(self._blocks.words)
            )
        return given_up

    def oldest_us(self) -> int:
        """Return the time at which the oldest open transaction began (microseconds since 1970); 0
        if none is open."""
        transactions = self._used
        starts = transactions[transactions[:, hold_kernel.STATE] == OPEN, hold_kernel.START_US]
        return int(starts.min()) if len(starts) else 0

    def given_up(self) -> list[int]:
        """Return the ids of the open transactions that were given up."""
        abandoned = self._transactions[:, hold_kernel.STATE] == hold_kernel.ABANDONED
        return [int(xid) & ((1 << 64) - 1) for xid in self._transactions[abandoned, hold_kernel.ID]]

    def give_up(self, xid: int) -> bool:
        """Give up an open transaction; returns whether there was one."""
        ids = self._transactions[:, hold_kernel.ID].view(np.uint64)
        is_open = self._transactions[:, hold_kernel.STATE] == OPEN
        numbers = np.flatnonzero((ids == np.uint64(xid)) & is_open)
        for number in numbers:
            abandon_transaction(
                self._address(int(number)), address_of(self._state), address_of(self._blocks.words)
            )
        return bool(len(numbers))

    def drop_marked(self) -> tuple[np.ndarray, int] | None:
        """Drop the open transactions with a row that Python reads before they are written; they are
        mined again. Returns their ids (int64), and the SCN of the first row of the oldest one; None
        if there is no such transaction."""
        transactions = self._used
        marked = (transactions[:, hold_kernel.STATE] == OPEN) & (
            transactions[:, hold_kernel.MARKED] != 0
        )
        if not marked.any():
            return None
        dropped = transactions[marked][:, [hold_kernel.ID, hold_kernel.START]]
        for number in np.flatnonzero(marked):
            self._drop(int(number))
        return dropped[:, 0].copy(), int(dropped[:, 1].min())

    def drop_these(self, xids: np.ndarray) -> None:
        """Drop open transactions by their ids (int64): they are mined again."""
        transactions = self._used
        is_open = transactions[:, hold_kernel.STATE] == OPEN
        for number in np.flatnonzero(is_open & np.isin(transactions[:, hold_kernel.ID], xids)):
            self._drop(int(number))

    def drop_open(self) -> None:
        """Drop every open transaction: they are mined again."""
        states = self._transactions[:, hold_kernel.STATE]
        for number in np.flatnonzero((states == OPEN) | (states == hold_kernel.ABANDONED)):
            self._drop(int(number))

    def drop_committed(self) -> None:
        """Drop what was committed and is not taken: it is mined again."""
        for number in self._pending[: int(self._state[hold_kernel.PENDING_COUNT])]:
            self.let_go(int(number))
        self._state[hold_kernel.PENDING_COUNT] = 0

    def _drop(self, number: int) -> None:
        drop_transaction(
            address_of(self._table),
            len(self._table) - 1,
            address_of(self._transactions),
            address_of(self._state),
            address_of(self._blocks.words),
            number,
        )

    def _address(self, number: int) -> int:
        return address_of(self._transactions) + _WORD * TRANSACTION_WORDS * number

    # -- figures --------------------------------------------------------------------------------

    @property
    def open_count(self) -> int:
        """The number of open transactions."""
        return int(self._state[hold_kernel.OPEN_COUNT])

    @property
    def rolled_back(self) -> int:
        """The number of transactions that were rolled back or dropped."""
        return int(self._state[hold_kernel.ROLLED_BACK])

    @property
    def partial_rollbacks(self) -> int:
        """The number of rows that roll a change back."""
        return int(self._state[hold_kernel.CANCELLED_COUNT]) + self.unmatched

    @property
    def unmatched(self) -> int:
        """The number of rolled-back changes that were not held."""
        return int(self._state[hold_kernel.UNMATCHED])

    @property
    def last_unmatched(self) -> tuple[int, int]:
        """SCN and transaction's id of the last row that rolls back a change which was not held."""
        return self._place(hold_kernel.UNMATCHED_SCN)

    @property
    def unresolved(self) -> int:
        """The number of ends of transactions whose sequence LogMiner does not know, if none or
        several such transactions are open."""
        return int(self._state[hold_kernel.UNRESOLVED])

    @property
    def last_unresolved(self) -> tuple[int, int]:
        """SCN and transaction's id of the last such end."""
        return self._place(hold_kernel.UNRESOLVED_SCN)

    def _place(self, word: int) -> tuple[int, int]:
        return int(self._state[word]), int(self._state[word + 1]) & ((1 << 64) - 1)

    @property
    def abandoned(self) -> int:
        """The number of transactions that were given up."""
        return int(self._state[hold_kernel.ABANDONED_COUNT])

    @property
    def held_bytes(self) -> int:
        """The bytes of changes that are held."""
        return int(self._state[hold_kernel.HELD_BYTES])

    @property
    def disk_bytes(self) -> int:
        """The disk that held changes take, in bytes."""
        return self._blocks.disk_bytes

    def close(self) -> None:
        """Free the memory; never raises."""
        self._blocks.close()

"""A workload whose sum never changes, and what must hold of its events."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.chaos.databases.database import (
    ACCOUNTS,
    LEDGER_ROWS,
    START_BALANCE,
    Change,
    ChaosDatabase,
    Row,
    Transfer,
)
from tests.chaos.forms import FORMS, Form

BULK_ROWS = 2_500  # more than a micro-batch takes; every BULK_EVERY-th transaction
BULK_EVERY = 500
_OF_ROWS = "rcud"


class Transfers(threading.Thread):
    """Moves money between accounts, a few rows to a transaction, until `stop`; a server that is
    gone is waited for. What happened is asked of the server alone."""

    def __init__(
        self, database: ChaosDatabase, seed: int, *, clients: int = 1, creates: bool = True
    ) -> None:
        """One of `clients`, which together do as much as one alone. The first one `creates` the
        tables."""
        super().__init__(daemon=True)
        self._database = database
        self._random = random.Random(seed)
        self._count = 0
        self._ended = threading.Event()
        self._pause = 0.01 * clients
        if creates:
            database.create()

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                with self._database.connect() as connection:
                    while not self._ended.wait(self._pause):
                        self._database.commit(connection, self._transfer())
            except self._database.errors:
                self._ended.wait(0.2)

    def _transfer(self) -> Transfer:
        accounts = self._random.sample(range(1, ACCOUNTS + 1), self._random.randint(2, 5))
        source, *targets = accounts
        moves = []
        for target in targets:
            amount = self._random.randint(1, 50)
            moves.append((source, -amount, f"with {target}"))
            moves.append((target, amount, f"with {source}"))
        self._count += 1
        entries = 1 if self._count % BULK_EVERY else BULK_ROWS
        victim = self._random.randint(1, LEDGER_ROWS) if self._random.random() < 0.3 else None
        return Transfer(tuple(moves), source, targets[0], entries, victim)

    def has_made(self, more: int) -> Callable[[], bool]:
        """Whether so many transactions came that were not there now."""
        least = self._count + more
        return lambda: self._count >= least

    def stop(self) -> None:
        """End, with the last transaction committed."""
        self._ended.set()
        self.join()


def check(
    database: ChaosDatabase, output: Path, first: int, consistent: int, form: Form
) -> dict[str, int]:
    """Checks that nothing is lost or doubled, and that every transaction is whole: from the log
    position `consistent` on (0: from the first transaction) the sum of the balances is the same at
    every boundary. The log was read from the position `first` on. Returns how much was seen."""
    changes = changes_of(database, output, form)
    read = [change for change in changes if change.op == "r"]
    streamed = [change for change in changes if change.op != "r"]
    _check_reads(read)
    check_against_history(database, streamed, first)
    commits = [change.commit for change in streamed]
    assert commits == sorted(commits), "transactions are out of order"

    tables = Tables()
    for name, rows in database.rows_before(first).items():
        tables.add(name, rows)
    for change in read:
        tables.apply(change)
    boundaries = 0
    for change, following in zip(streamed, [*streamed[1:], None], strict=True):
        settled = change.position >= consistent
        if settled and form.has_before and change.collection == "accounts":
            assert tables.before(change) == change.before, f"not what was before: {change}"
        tables.apply(change)
        if settled and (following is None or following.transaction != change.transaction):
            boundaries += 1
            assert tables.sum == ACCOUNTS * START_BALANCE, f"sum {tables.sum} after {change}"
    assert boundaries > 20
    for name, rows in tables.rows.items():
        assert rows == database.rows(name), f"{name} differs"
    return {"read": len(read), "streamed": len(streamed), "boundaries": boundaries}


class Tables:
    """Accounts and ledger folded from events: `r`, `c` and `u` set a row, `d` removes it."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, Row]] = {"accounts": {}, "ledger": {}}
        self.sum = 0

    def add(self, name: str, rows: dict[int, Row]) -> None:
        """Rows without an event."""
        self.rows[name] |= rows
        if name == "accounts":
            self.sum += sum(row["balance"] for row in rows.values())

    def before(self, change: Change) -> Row | None:
        return self.rows[change.collection].get(change.id)

    def apply(self, change: Change) -> None:
        rows = self.rows[change.collection]
        old = rows.pop(change.id, {})
        if change.op != "d":
            assert change.after is not None
            rows[change.id] = change.after
        if change.collection == "accounts":
            self.sum += (change.after or {}).get("balance", 0) - old.get("balance", 0)


def changes_of(
    database: ChaosDatabase, output: Path, form: Form = FORMS["envelopes"]
) -> list[Change]:
    """The changes in the events of accounts and ledger, in the order of the output."""
    member, names = database.collection_member, Tables().rows
    events = (form.event(database, value) for value in _values(output))
    return [
        database.change(event)
        for event in events
        if event["op"] in _OF_ROWS and event["source"][member] in names
    ]


def _values(output: Path) -> Iterator[Row]:
    with output.open() as lines:
        for line in lines:
            value = json.loads(line)["value"]
            if value is not None:
                yield value


def _check_reads(read: list[Change]) -> None:
    """Every row of the snapshot once, all at one position."""
    keys = Counter((change.collection, change.id) for change in read)
    assert [key for key, count in keys.items() if count > 1][:5] == [], "read again"
    assert len({change.position for change in read}) <= 1


def check_against_history(database: ChaosDatabase, streamed: list[Change], first: int) -> None:
    """Exactly the changes of the transactions that committed from `first` on, each once."""
    streamed_changes = Counter((change.place, change.op) for change in streamed)
    committed_changes = Counter(database.history(first))
    for word, difference in (
        ("lost", committed_changes - streamed_changes),
        ("doubled, or never was", streamed_changes - committed_changes),
    ):
        rows = sorted(difference.elements())
        assert not rows, (
            f"{word}: {len(rows)} of {committed_changes.total()}, {rows[:5]} to {rows[-5:]}; "
            f"the events are {min(streamed_changes, default=None)} to "
            f"{max(streamed_changes, default=None)}, from {first} on"
        )

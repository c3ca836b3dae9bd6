"""Clients of a database whose transactions are random, and what the events of them have to be."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.chaos.workloads.database import KEY, MARK, Change, Place, RandomDatabase, RolledBack

_FIRST_ROWS, _MAX_ROWS = 60, 400


class _Step(NamedTuple):
    """A change of a row, the events of it, and by which change the row was what it was before
    (None: it was not there)."""

    row: tuple[str, int]
    events: list[Change]
    before: int | None


@dataclass
class Client:
    """An open transaction that has `length` steps to go. The rows that it has changed are locked by
    it, and so are the tables of them, `tables`, against DDL."""

    transaction: Any
    length: int
    steps: list[_Step] = field(default_factory=list)
    savepoints: list[tuple[str, int]] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)


class Clients:
    """The clients of a workload."""

    def __init__(self, database: RandomDatabase, chance: random.Random) -> None:
        self._database, self._chance = database, chance
        self._numbers, self._keys = itertools.count(1), itertools.count(1)
        self.rows: dict[tuple[str, int], int] = {}
        """Numbers of changes by table and key: the change that made a row what it is for the client
        that changed it last."""
        self._locked: dict[tuple[str, int], Client] = {}
        self.open: list[Client] = []
        self.committed: list[tuple[Place, list[Change]]] = []
        self.undone = 0
        """Transactions that the database undid."""
        self._names = itertools.count(1)

    @property
    def busy(self) -> set[str]:
        """Tables that open transactions have locks of."""
        return {table for client in self.open for table in client.tables}

    def fill(self) -> None:
        """The rows that are there at first."""
        client = self._begin()
        for table in self._database.tables:
            self._insert(client, table, _FIRST_ROWS)
        self._commit([client])

    def step(self) -> None:
        """A client begins, goes on, or ends."""
        chance = self._chance
        if len(self.open) < self._database.most_clients and chance.random() < 0.25:
            self._begin()
        if not self.open:
            return
        client = chance.choice(self.open)
        try:
            if client.length <= 0:
                self._end(client)
            else:
                client.length -= 1
                self._change(client)
        except RolledBack:
            self._undo(client, 0)
            self._let_go(client)
            self.undone += 1

    def finish(self) -> None:
        """All that is open is ended."""
        while self.open:
            self._end(self.open[0])

    def last(self) -> None:
        """A last transaction; no change follows it."""
        client = self._begin()
        self._insert(client, self._database.tables[0], 1)
        self._commit([client])

    def emptied(self, changes: Iterable[Change]) -> None:
        """Tables were truncated."""
        for change in changes:
            if change.op == "t":
                self.rows = {row: mark for row, mark in self.rows.items() if row[0] != change.table}

    # -- transactions ---------------------------------------------------------------------------

    def _begin(self) -> Client:
        length = self._chance.choice((0, 1, 2, 3, 5, 8, 8, 40))
        client = Client(self._database.begin(self._chance), length)
        self.open.append(client)
        return client

    def _end(self, client: Client) -> None:
        chance = self._chance
        if chance.random() < 0.15:
            self._undo(client, 0)
            client.transaction.rollback()
            self._let_go(client)
            return
        others = [other for other in self.open if other is not client and other.length <= 1]
        together = chance.random() < 0.3
        self._commit([client, *others] if together else [client])

    def _commit(self, clients: list[Client]) -> None:
        places = self._database.commit([client.transaction for client in clients], self._chance)
        for client, place in zip(clients, places, strict=True):
            changes = [event for step in client.steps for event in step.events]
            if changes:
                self.committed.append((place, changes))
            self._let_go(client)

    def _let_go(self, client: Client) -> None:
        self.open.remove(client)
        self._locked = {row: holder for row, holder in self._locked.items() if holder is not client}

    def _undo(self, client: Client, until: int) -> None:
        while len(client.steps) > until:
            undone = client.steps.pop()
            self._set(undone.row, undone.before)

    def _set(self, row: tuple[str, int], mark: int | None) -> None:
        if mark is None:
            self.rows.pop(row, None)
        else:
            self.rows[row] = mark

    # -- changes --------------------------------------------------------------------------------

    def _change(self, client: Client) -> None:
        chance, table = self._chance, self._chance.choice(self._database.tables)
        count = sum(row[0] == table for row in self.rows)
        kinds = {"insert": 6 if count < _MAX_ROWS else 0, "update": 8, "delete": 3,
                 "move": 1, "large": 0.2, "purge": 6 if count > _MAX_ROWS else 0.1,
                 "savepoint": 1, "back": 1}  # fmt: skip
        kind = chance.choices([*kinds], [*kinds.values()])[0]
        if kind == "insert":
            self._insert(client, table, chance.choice((1, 1, 2, 5)))
        elif kind == "large":
            self._insert(
                client, table, chance.randint(self._database.large // 3, self._database.large)
            )
        elif kind == "savepoint" and len(client.savepoints) < self._database.most_savepoints:
            name = f"S{next(self._names)}"
            client.transaction.savepoint(name)
            client.savepoints.append((name, len(client.steps)))
        elif kind == "back" and client.savepoints:
            place = chance.randrange(len(client.savepoints))
            name, until = client.savepoints[place]
            del client.savepoints[place + 1 :]
            client.transaction.rollback_to(name)
            self._undo(client, until)
        elif kind in ("update", "delete", "move", "purge"):
            for row in self._free(client, table, 300 if kind == "purge" else 1):
                self._of_row(client, kind, row)

    def _free(self, client: Client, table: str, count: int) -> list[tuple[str, int]]:
        """Rows that no other client has locked."""
        free = [
            row for row in self.rows if row[0] == table and self._locked.get(row, client) is client
        ]
        return self._chance.sample(free, min(count, len(free)))

    def _insert(self, client: Client, table: str, count: int) -> None:
        rows = []
        for _ in range(count):
            key, mark = next(self._keys), next(self._numbers)
            rows.append(
                {KEY: key, MARK: mark, **self._database.values(table, self._chance, is_new=True)}
            )
            self._note(client, (table, key), [Change(table, "c", key, mark)], None, mark)
        client.transaction.insert_all(table, rows)

    def _of_row(self, client: Client, kind: str, row: tuple[str, int]) -> None:
        table, key = row
        before, mark = self.rows[row], next(self._numbers)
        if kind in ("delete", "purge"):
            client.transaction.delete(table, key)
            self._note(client, row, [Change(table, "d", key, before)], before, None)
            return
        is_own = any(step.row == row for step in client.steps)
        values = {MARK: mark, **self._database.values(table, self._chance, is_own=is_own)}
        if kind == "update":
            client.transaction.update(table, key, values)
            self._note(client, row, [Change(table, "u", key, mark)], before, mark)
            return
        moved = next(self._keys)
        client.transaction.update(table, key, {KEY: moved, **values})
        changes = [Change(table, "d", key, before), Change(table, "c", moved, mark)]
        self._note(client, row, changes, before, None)
        self._note(client, (table, moved), [], None, mark)

    def _note(
        self,
        client: Client,
        row: tuple[str, int],
        events: list[Change],
        before: int | None,
        mark: int | None,
    ) -> None:
        client.steps.append(_Step(row, events, before))
        client.tables.add(row[0])
        self._locked[row] = client
        self._set(row, mark)

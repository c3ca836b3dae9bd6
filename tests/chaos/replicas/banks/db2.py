"""A bank on the stand-in for Db2. SQL replication captures no large objects and no TRUNCATE."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from headrace_demo.db2.capture import Execute
from headrace_demo.db2.derby import DerbyServer
from tests.chaos.databases.database import Row, Transfer
from tests.chaos.databases.db2 import ChaosDb2
from tests.chaos.replicas.banks.bank import FIRST_CARDS, TABLES, Bank, Step, picture
from tests.servers.db2 import SCHEMA

_MORE = {
    "cards": '"number" BIGINT NOT NULL PRIMARY KEY, "holder" VARCHAR(40), "picture" VARCHAR(3100), '
    '"credit" DECIMAL(12,2), "day" DATE',
    "visits": '"id" BIGINT NOT NULL PRIMARY KEY, "branch" VARCHAR(40), "seconds" DOUBLE',
}


class Db2Bank(ChaosDb2, Bank):
    """See Bank. Its rows are copied first."""

    namespace = SCHEMA

    def __init__(self, server: DerbyServer) -> None:
        super().__init__(server)
        self._numbers = itertools.count(1)

    def properties(self) -> dict[str, str]:
        return super().properties() | {
            "snapshot.mode": "initial",
            "table.include.list": rf"{SCHEMA}\.({'|'.join(TABLES)})",
        }

    def create(self) -> None:
        chance = random.Random(1)
        for table, columns in _MORE.items():
            self.database.execute(f"CREATE TABLE {self._table(table)} ({columns})")
        with self.capture.transaction() as execute:
            for _ in range(FIRST_CARDS):
                self._issue(execute, chance)
        for table in _MORE:
            self.capture.add_table(SCHEMA, table)
        super().create()

    def take(self, execute: Execute, transfer: Transfer) -> None:
        super().take(execute, transfer)
        for step, chance in self.steps(transfer):
            self._step(execute, step, chance)

    def _step(self, execute: Execute, step: Step, chance: random.Random) -> None:
        cards, visits = self._table("cards"), self._table("visits")
        word = chance.choice(("Ana", "Bea", "Zoë", None))
        if step is Step.ISSUE:
            self._issue(execute, chance)
            return
        if step in (Step.VISIT, Step.CLEAR):
            values: Sequence[object] = (next(self._numbers), word or "", chance.random())
            execute(f"INSERT INTO {visits} VALUES (?, ?, ?)", values)
            return
        numbers = [row[0] for row in execute(f'SELECT "number" FROM {cards}', ())]
        if not numbers:
            return
        number = chance.choice(numbers)
        if step in (Step.RENAME, Step.RENAME_AND_MOVE):
            execute(
                f'UPDATE {cards} SET "holder" = ? WHERE "number" = {number}', (word or "nobody",)
            )
        if step in (Step.MOVE, Step.RENAME_AND_MOVE):
            moved = next(self._numbers)
            execute(f'UPDATE {cards} SET "number" = {moved} WHERE "number" = {number}', ())
        if step is Step.REDRAW:
            execute(
                f'UPDATE {cards} SET "picture" = ? WHERE "number" = {number}', (picture(chance),)
            )
        if step is Step.RETURN:
            execute(f'DELETE FROM {cards} WHERE "number" = {number}', ())

    def _issue(self, execute: Execute, chance: random.Random) -> None:
        values = (next(self._numbers), "first", picture(chance), f"{chance.random() * 1000:.2f}")
        execute(
            f'INSERT INTO {self._table("cards")} ("number", "holder", "picture", "credit", "day") '
            "VALUES (?, ?, ?, ?, CURRENT_DATE)",
            values,
        )

    def expected(self, table: str) -> list[Row]:
        if table not in _MORE:
            return list(self.rows(table).values())
        names = [column.split('"')[1] for column in _MORE[table].split(", ")]
        rows = self.database.execute(f"SELECT * FROM {self._table(table)}")
        return [dict(zip(names, row, strict=True)) for row in rows]

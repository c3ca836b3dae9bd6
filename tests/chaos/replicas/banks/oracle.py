"""A bank on the stand-in for Oracle."""

from __future__ import annotations

import itertools
import random
import threading
from decimal import Decimal
from typing import Any

from headrace_demo.oracle.server import OracleServer, Transaction
from tests.chaos.databases.database import Row, Transfer
from tests.chaos.databases.oracle import ChaosOracle
from tests.chaos.replicas.banks.bank import FIRST_CARDS, TABLES, Bank, Step, picture
from tests.servers.oracle import SCHEMA

_MORE = {
    "cards": (
        '"number" NUMBER(18,0) NOT NULL', '"holder" VARCHAR2(40)', '"credit" NUMBER(12,2)',
        '"picture" CLOB',
    ),
    "visits": ('"id" NUMBER(18,0) NOT NULL', '"branch" VARCHAR2(40)'),
}  # fmt: skip
_CARDS, _VISITS = (f"{SCHEMA}.{table}" for table in _MORE)
_WHOLE = ("number", "id")


class OracleBank(ChaosOracle, Bank):
    """See Bank. Transactions follow one another; the pictures are large objects, which the redo has
    apart from their rows."""

    namespace = SCHEMA

    def __init__(self, server: OracleServer) -> None:
        super().__init__(server)
        self._one = threading.Lock()
        self._numbers = itertools.count(FIRST_CARDS + 1)
        self._cards = set(range(1, FIRST_CARDS + 1))
        self._drawn: set[int] = set()

    def properties(self) -> dict[str, str]:
        return super().properties() | {
            "lob.enabled": "true",
            "table.include.list": rf"{SCHEMA}\.({'|'.join(TABLES)})",
        }

    def create(self) -> None:
        super().create()
        chance = random.Random(1)
        cards = [[n, f"holder {n}", f"{n}.25", picture(chance)] for n in sorted(self._cards)]
        for table, key, rows in (("cards", "number", cards), ("visits", "id", [])):
            self.database.create_table(table, *_MORE[table], key=[key], rows=rows)

    def commit(self, connection: Any, transfer: Transfer) -> None:
        with self._one:
            before, self._drawn = set(self._cards), set()
            try:
                super().commit(connection, transfer)
            except BaseException:
                self._cards = before
                raise
            if any(step is Step.CLEAR for step, _ in self.steps(transfer)):
                self._stand_in.ddl(f'TRUNCATE TABLE {SCHEMA}."visits"')

    def take(self, transaction: Transaction, transfer: Transfer) -> None:
        super().take(transaction, transfer)
        for step, chance in self.steps(transfer):
            self._step(transaction, step, chance)

    def _step(self, transaction: Transaction, step: Step, chance: random.Random) -> None:
        word, new = chance.choice(("Ana", "Bea", "Zoë", None)), next(self._numbers)
        if step is Step.ISSUE:
            drawn = picture(chance)
            transaction.insert(_CARDS, number=new, holder=word, credit="1.25", picture=drawn)
            self._cards.add(new)
            self._drawn.add(new)
            return
        if step in (Step.VISIT, Step.CLEAR):
            transaction.insert(_VISITS, id=new, branch=word)
            return
        if not self._cards:
            return
        number = chance.choice(sorted(self._cards))
        where = {"number": number}
        if step in (Step.RENAME, Step.RENAME_AND_MOVE):
            transaction.update(_CARDS, where, holder=word)
        if step in (Step.MOVE, Step.RENAME_AND_MOVE):
            transaction.update(_CARDS, where, number=new)
            self._cards ^= {number, new}
            self._drawn |= {new} if number in self._drawn else set()
        if step is Step.REDRAW and number not in self._drawn:
            # How the redo writes that a value is shorter than before is not known.
            transaction.update(_CARDS, where, picture=picture(chance))
            self._drawn.add(number)
        if step is Step.RETURN:
            transaction.delete(_CARDS, number=number)
            self._cards.remove(number)

    def expected(self, table: str) -> list[Row]:
        if table not in _MORE:
            return list(self.rows(table).values())
        return [
            {name: _shown(name, text) for name, text in row.items()}
            for row in self._stand_in.rows(f"{SCHEMA}.{table}")
        ]


def _shown(name: str, text: str | None) -> object:
    if text is None:
        return None
    if name in _WHOLE:
        return int(text)
    return Decimal(text) if name == "credit" else text

"""Captured tables of Db2's stand-in whose columns become more while they are read."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import Any

import ibm_db_dbi

from headrace_demo.db2.control_tables import SIMULATOR
from tests.servers.db2 import SCHEMA, Db2Database

_ADDED = ("VARCHAR(200)", "DECIMAL(12,3)", "VARCHAR(20) FOR BIT DATA")
_LONGEST_STEP_S = 0.05
_PATIENCE_S = 300.0


class Registrations:
    """Tables with these `columns`, each with a change table that Capture fills."""

    def __init__(self, database: Db2Database, columns: dict[str, dict[str, str]]) -> None:
        self.columns = {table: dict(table_columns) for table, table_columns in columns.items()}
        self._database, self._capture = database, database.capture
        self._numbers = itertools.count(1)
        self._current = {table: f"CDC_{SCHEMA}_{table}" for table in columns}
        self._former: dict[str, tuple[str, int]] = {}
        """The change table that another one took over from, and the place, by table."""

    def add_column(self, table: str, chance: random.Random) -> None:
        """A column, as whoever lets the application run adds one: nobody writes to the table, whose
        registration is inactive meanwhile, and both tables get the column. The reader reads on
        between the steps."""
        name, kind = self._next_column(chance)
        change_table = self._current[table]
        steps: list[Callable[[], Any]] = [
            lambda: self._capture.set_state(change_table, "I"),
            lambda: self._alter(f"{SCHEMA}.{table}", name, kind),
            lambda: self._alter(f"ASNCDC.{change_table}", name, kind),
            lambda: self._capture.reinit(SCHEMA, table, change_table),
            lambda: self._capture.set_state(change_table, "A"),
        ]
        for step in steps:
            insist(step)
            time.sleep(chance.uniform(0, _LONGEST_STEP_S))
        self.columns[table][name] = kind

    def register_again(self, table: str, chance: random.Random) -> None:
        """A column, and a second change table that has it and takes over; the first one stays until
        it is read."""
        name, kind = self._next_column(chance)
        # Its name comes before that of the first one, or after it.
        change_table = f"{chance.choice(('CDC_', 'A_'))}{next(self._numbers)}_{table}"
        insist(lambda: self._alter(f"{SCHEMA}.{table}", name, kind))
        insist(lambda: self._capture.add_table(SCHEMA, table, change_table))
        ((begin,),) = self._database.execute(
            f"SELECT NUMBER FROM {SIMULATOR}.REGISTERED WHERE CD_TABLE = ?", (change_table,)
        )
        self._former[table] = self._current[table], int(begin)
        self._current[table] = change_table
        self.columns[table][name] = kind

    def has_two(self, table: str) -> bool:
        """Whether the table has two change tables."""
        return table in self._former

    def remove_former(self, read: int) -> bool:
        """The registrations that others took over from, where everything was read up to a place;
        whether there were any."""
        read_tables = [table for table, (_, begin) in self._former.items() if begin < read]
        for table in read_tables:
            change_table, _ = self._former[table]
            insist(lambda: self._capture.remove_table(SCHEMA, table, change_table))  # noqa: B023
            del self._former[table]
        return bool(read_tables)

    def _next_column(self, chance: random.Random) -> tuple[str, str]:
        return f"MORE_{next(self._numbers)}", chance.choice(_ADDED)

    def _alter(self, path: str, name: str, kind: str) -> None:
        self._database.execute(f"ALTER TABLE {path} ADD COLUMN {name} {kind}")


def insist(step: Callable[[], Any]) -> None:
    """Repeats a step until it succeeds: readers hold locks."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            step()
        except ibm_db_dbi.Error:
            if time.monotonic() > deadline:
                raise
        else:
            return

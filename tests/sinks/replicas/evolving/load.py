"""Clients that change rows while the tables' columns change."""

from __future__ import annotations

import random
import threading
import time
from types import TracebackType

import psycopg
from psycopg import sql

_COLUMNS = """
SELECT a.attname, EXISTS (
  SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary
  AND a.attnum = ANY (i.indkey)), t.typcategory::text
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attgenerated = '' AND a.attidentity = ''
ORDER BY a.attnum
"""


class Load:
    """Inserts, updates, deletes and key changes in tables with a key of one integer column, as
    long as its `with` statement runs. What a DDL statement makes fail is tried again with the
    columns of then; a server that is gone is waited for."""

    def __init__(self, dsn: str, tables: list[str], seed: int, pause: float = 0.02) -> None:
        self._dsn, self.tables, self._random = dsn, tables, random.Random(seed)
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._next = 100_000
        self.done = 0
        self.failed = ""

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def go_on(self, transactions: int) -> None:
        """Wait for that many transactions more."""
        target_count = self.done + transactions
        deadline = time.monotonic() + 120
        while self.done < target_count:
            assert time.monotonic() < deadline, self.failed
            time.sleep(0.01)

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                with psycopg.connect(self._dsn, autocommit=True) as connection:
                    self._use(connection)
            except psycopg.Error as error:
                self.failed = str(error)

    def _use(self, connection: psycopg.Connection) -> None:
        """One transaction after the other, until the server is gone."""
        while not connection.closed and not self._stop.wait(self._pause):
            try:
                self.step(connection, self._random.choice(self.tables))
            except psycopg.Error as error:
                self.failed = str(error)

    def step(self, connection: psycopg.Connection, table: str) -> None:
        """One transaction. Raises psycopg.Error."""
        columns = connection.execute(_COLUMNS.encode(), (f'public."{table}"',)).fetchall()
        keys = [name for name, is_key, kind in columns if is_key and kind == "N"]
        texts = [name for name, is_key, kind in columns if kind == "S" and not is_key]
        if not keys:
            return
        key, name = sql.Identifier(keys[0]), sql.Identifier(table)
        number = self._random.randrange(1, 60)
        action = self._random.random()
        with connection.transaction():
            if action < 0.4 or not texts:
                self._next += 1
                row: dict[str, object] = {keys[0]: self._next}
                row |= dict.fromkeys(texts, str(self._next))
                statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                    name,
                    sql.SQL(", ").join(map(sql.Identifier, row)),
                    sql.SQL(", ").join(map(sql.Literal, row.values())),
                )
            elif action < 0.75:
                text = sql.Identifier(self._random.choice(texts))
                statement = sql.SQL("UPDATE {} SET {} = {} WHERE {} = {}").format(
                    name, text, sql.Literal(f"{int(action * 100)}"), key, sql.Literal(number)
                )
            elif action < 0.85:
                statement = sql.SQL("DELETE FROM {} WHERE {} = {}").format(
                    name, key, sql.Literal(number)
                )
            else:
                self._next += 1
                statement = sql.SQL("UPDATE {} SET {} = {} WHERE {} = {}").format(
                    name, key, sql.Literal(self._next), key, sql.Literal(number)
                )
            connection.execute(statement)
        self.done += 1

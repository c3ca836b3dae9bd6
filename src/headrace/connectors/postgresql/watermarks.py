"""Writes watermarks to the signal table: where a chunk's window opens and closes in the log."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


class Watermarks:
    """One connection, opened when it is first needed."""

    def __init__(self, config: PostgresConfig, table: str) -> None:
        self._config = config
        schema, _, name = table.partition(".")
        self._table = sql.Identifier(schema, name)
        self._deletes = str(config.incremental_snapshot_watermarking_strategy) == "insert_delete"
        self._connection: psycopg.Connection | None = None
        self._opened = ""

    def open(self, name: str) -> None:
        """Raises HeadraceError when the server refuses."""
        self._opened = _now()
        data = json.dumps({"openWindowTimestamp": self._opened})
        self._insert(f"{name}-open", "snapshot-window-open", data)

    def close(self, name: str) -> None:
        """As `open`. With insert_delete the mark that opened is deleted instead."""
        if self._deletes:
            query = sql.SQL("DELETE FROM {} WHERE id OPERATOR(pg_catalog.=) {}").format(
                self._table, sql.Literal(f"{name}-open")
            )
            self._run(query)
            return
        data = json.dumps({"openWindowTimestamp": self._opened, "closeWindowTimestamp": _now()})
        self._insert(f"{name}-close", "snapshot-window-close", data)

    def _insert(self, *values: str) -> None:
        literals = sql.SQL(", ").join(sql.Literal(value) for value in values)
        self._run(sql.SQL("INSERT INTO {} VALUES ({})").format(self._table, literals))

    def _run(self, query: sql.Composed) -> None:
        tries = self._config.signal_emit_failure_max_retries
        while True:
            try:
                if self._connection is None or self._connection.closed:
                    # A trigger of the table may need the search path of its database.
                    self._connection = connect(
                        self._config, application="headrace signals", users_sql=True
                    )
                self._connection.execute(query)
            except psycopg.Error as error:
                told = translate(error, self._config, "Writing a watermark")
            except HeadraceError as error:
                told = error
            else:
                return
            if tries == 0:
                raise told
            tries -= 1
            log.warning("%s; trying again", told)
            time.sleep(self._config.signal_emit_failure_backoff_ms / 1000)

    def shut(self) -> None:
        """Close the connection; never raises."""
        if self._connection is not None:
            self._connection.close()


def _now() -> str:
    """As Java's Instant prints it."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if rest == 0:
        return f"{text}Z"
    digits = 3 if rest % 1_000_000 == 0 else 6 if rest % 1_000 == 0 else 9
    return f"{text}.{f'{rest:09d}'[:digits]}Z"

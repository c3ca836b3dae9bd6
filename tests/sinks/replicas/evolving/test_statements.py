"""Replicas when the tables of their source change under load: they equal the source, or stop with
an error and are copied again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.load import Load
from tests.sinks.replicas.evolving.replicated import Replicated, replicated
from tests.sinks.replicas.evolving.statements import EVERY, QUICK, TABLE, Statement

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
Servers = Callable[[int], PostgresServer]


def _run(server: PostgresServer, kind: str, folder: Path, statements: Sequence[Statement]) -> None:
    name = f"statements_{kind}"
    tables = {f"t{number}": statement for number, statement in enumerate(statements)}
    with replicated(server, kind, folder, name) as run:
        for table in tables:
            run.execute(TABLE.replace("{0}", table))
        run.start()
        run.catch_up()
        assert not [each for table in tables if (each := run.difference(table))]
        load = Load(server.dsn(name), list(tables), seed=1)
        with load:
            load.go_on(30)
            for table, statement in tables.items():
                for sql in statement.sql.replace("{0}", table).split("; "):
                    run.execute(sql)
            load.go_on(60)
            _touch(server.dsn(name), tables)
        run.catch_up()
        wrong = [each for each in _outcomes(run, tables) if each]
        assert not wrong, "\n".join(wrong)
        _repair(run, {table: each for table, each in tables.items() if each.stops})
        assert run.end() == 0


def _touch(dsn: str, tables: dict[str, Statement]) -> None:
    """Each table gets rows after its statements."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for table in tables:
            key = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND"
                " NOT attisdropped AND attname IN ('id', 'number')",
                (table,),
            ).fetchone()
            others = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND"
                " NOT attisdropped AND attnotnull AND NOT atthasdef AND attidentity = ''",
                (table,),
            ).fetchall()
            assert key is not None
            names = sorted({key[0], *(each for (each,) in others)})
            values = ", ".join(["5000"] * len(names))
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})".encode()
            )
            if "_pkey" not in tables[table].sql:
                connection.execute(f"DELETE FROM {table} WHERE {key[0]} = 7".encode())


def _outcomes(run: Replicated, tables: dict[str, Statement]) -> Iterator[str]:
    stopped = run.stopped()
    for table, statement in tables.items():
        error = stopped.get(table)
        code = "" if error is None else error["code"]
        if code != statement.stops:
            yield f"{statement.name}: {error or 'it goes on'}"
        elif error is not None and "resync" not in error["remedy"] and not statement.repair:
            yield f"{statement.name}: {error['remedy']}"
        elif error is None and (difference := run.difference(table)):
            yield f"{statement.name}: {difference}"


def _repair(run: Replicated, tables: dict[str, Statement]) -> None:
    """`headrace resync` of tables that have stopped, while the others go on."""
    for table, statement in tables.items():
        if statement.repair:
            run.execute(statement.repair.replace("{0}", table))
        completed = run.resync(table)
        assert completed.returncode == 0, completed.stderr
    run.await_(lambda: not run.requests(), "tables are not copied again")
    run.catch_up()
    assert not run.stopped()
    assert not [each for table in tables if (each := run.difference(table))]


@pytest.mark.chaos
@pytest.mark.parametrize("kind", ["iceberg"])
def test_replicas_follow_statements_or_stop_and_are_repaired(
    postgres_servers: Servers, kind: str, tmp_path: Path
) -> None:
    _run(postgres_servers(16), kind, tmp_path, QUICK)


@pytest.mark.chaos
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_replicas_follow_every_statement_or_stop_and_are_repaired(
    postgres_servers: Servers, kind: str, tmp_path: Path
) -> None:
    _run(postgres_servers(18), kind, tmp_path, EVERY)

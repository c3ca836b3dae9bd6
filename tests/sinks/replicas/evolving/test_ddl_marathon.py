"""A marathon of forty statements under load, with kills, after which tables equal their source."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.load import Load
from tests.sinks.replicas.evolving.marathon import MARATHON, STOPPING, TABLES
from tests.sinks.replicas.evolving.replicated import Replicated, replicated
from tests.sinks.replicas.evolving.statements import TABLE

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
KILLS = 5


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_equal_their_source_after_forty_statements_and_five_kills(
    postgres_servers: Callable[[int], PostgresServer], kind: str, tmp_path: Path
) -> None:
    server, name = postgres_servers(16), f"marathon_{kind}"
    chosen = random.Random(kind)
    kills = set(chosen.sample(range(len(MARATHON)), KILLS))
    assert len(MARATHON) == 40
    with replicated(server, kind, tmp_path, name) as run:
        for table in TABLES:
            run.execute(TABLE.replace("{0}", table))
        run.start()
        run.catch_up()
        stops: set[str] = set()
        with Load(server.dsn(name), list(TABLES), seed=2) as load:
            for number, (table, statements) in enumerate(MARATHON):
                for sql in statements.split("; "):
                    run.execute(sql)
                load.go_on(chosen.randrange(8))
                if number in kills:
                    run.kill()
                    run.start()
                if any(part in statements for part in STOPPING):
                    _repair(run, load, table)
                    stops.add(statements)
            load.go_on(50)
        run.catch_up()
        assert run.stopped() == {}
        assert not [each for table in TABLES if (each := run.difference(table))]
        assert len(stops) == len(STOPPING) + 1  # CREATE TABLE twice
        assert run.end() == 0


def _repair(run: Replicated, load: Load, table: str) -> None:
    """The table stops when its next row comes, and is copied again under load."""
    run.await_(lambda: table in run.stopped(), f"{table} goes on")
    assert "resync" in run.stopped()[table]["remedy"]
    completed = run.resync(table)
    assert completed.returncode == 0, completed.stderr
    run.await_(lambda: not run.requests(), f"{table} is not copied again: {load.failed}")
    assert table not in run.stopped()

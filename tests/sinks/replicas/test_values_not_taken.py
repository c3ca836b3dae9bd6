"""A value that a column of a replica cannot hold stops that table only, and `headrace resync`
copies it again: end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.load import Load
from tests.sinks.replicas.evolving.replicated import Replicated, replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
TABLES = """
CREATE TABLE plain (id int PRIMARY KEY, name text);
CREATE TABLE prices (id int PRIMARY KEY, name text, price numeric(10, 2));
CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32) NOT NULL, data text);
INSERT INTO plain SELECT i, 'name ' || i FROM generate_series(1, 500) i;
INSERT INTO prices SELECT i, 'name ' || i, i FROM generate_series(1, 500) i
"""


@pytest.fixture
def run(postgres_servers: Callable[[int], PostgresServer], tmp_path: Path) -> Iterator[Replicated]:
    more = {
        "signal_data_collection": "public.signals",
        "signal_enabled_channels": "source,file",
        "table_include_list": "public.plain,public.prices",
    }
    with replicated(postgres_servers(16), "iceberg", tmp_path, "values_not_taken", **more) as run:
        run.execute(TABLES)
        run.start()
        run.catch_up()
        yield run


@pytest.mark.chaos
def test_a_table_stops_alone_and_is_copied_again_while_it_is_written_and_killed(
    run: Replicated,
) -> None:
    assert not run.difference("prices")

    # A value that decimals do not have.
    run.execute("UPDATE prices SET price = 'NaN' WHERE id = 7")
    run.execute("UPDATE plain SET name = 'after it' WHERE id = 7")
    run.catch_up()
    error = run.stopped()["prices"]
    assert error["code"] == "replicas.value_not_taken"
    assert "price" in error["message"]
    assert "headrace resync FILE public.prices" in error["remedy"]
    assert not run.difference("plain")

    # Changes after it are not kept: nothing grows, and a restart does not try them.
    run.execute("UPDATE prices SET price = 8 WHERE id = 7")
    run.execute("UPDATE prices SET price = 9 WHERE id = 9")
    run.catch_up()
    stopped_folder = run.state / "iceberg" / "stopped" / "public.prices"
    assert [path.name for path in stopped_folder.iterdir()] == ["error.json"]
    assert run.end() == 0

    # The request waits for the query, and the table is copied under load and a kill.
    completed = run.resync("prices")
    assert completed.returncode == 0, completed.stderr
    run.start()
    with Load(run.server.dsn(run.database), ["plain", "prices"], seed=3) as load:
        run.await_(lambda: "prices" not in run.stopped(), "prices is still stopped")
        run.kill()
        run.start()
        run.await_(lambda: not run.requests(), "prices is not copied again")
        load.go_on(30)
    run.catch_up()
    assert not run.stopped()
    assert not run.difference("prices")
    assert not run.difference("plain")

    # A part of a table, which keeps its other rows.
    run.execute("UPDATE prices SET name = 'told' WHERE id = 3")
    completed = run.resync("prices", "--where", "id < 50", "--wait", "120")
    assert completed.returncode == 0, completed.stderr
    assert "public.prices" in completed.stderr
    run.catch_up()
    assert not run.difference("prices")
    assert run.end() == 0

"""Rows that somebody else wrote into a replica stop its table, and another copy replaces them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import StringType

from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.replicated import replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]


def test_rows_that_somebody_else_wrote_are_gone_after_another_copy_and_their_columns_stay(
    postgres_servers: Callable[[int], PostgresServer], tmp_path: Path
) -> None:
    more = {
        "signal_data_collection": "public.signals",
        "signal_enabled_channels": "source,file",
        "table_include_list": "public.a,public.b",
    }
    with replicated(postgres_servers(16), "iceberg", tmp_path, "other_writers", **more) as run:
        run.execute(
            "CREATE TABLE a (id int PRIMARY KEY, name text);"
            "CREATE TABLE b (id int PRIMARY KEY, name text);"
            "CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32), data text);"
            "INSERT INTO a SELECT i, 'name ' || i FROM generate_series(1, 500) i;"
            "INSERT INTO b SELECT i, 'name ' || i FROM generate_series(1, 500) i"
        )
        run.start()
        run.catch_up()

        catalog = SqlCatalog(
            "headrace", uri=f"sqlite:///{run.lake}/catalog.db", warehouse=str(run.lake)
        )
        table = catalog.load_table("public.a")
        with table.update_schema() as update:
            update.add_column("note", StringType())
        # A second row of a key, and one that is not at the source.
        schema = table.schema().as_arrow()
        rows = {"id": [7, 1000], "name": ["other", "other"], "note": ["kept", "gone"]}
        table.append(pa.table(rows, schema=schema))
        catalog.close()
        run.execute("UPDATE a SET name = 'late' WHERE id = 8; UPDATE b SET name = 'late'")
        run.catch_up()
        assert run.stopped()["a"]["code"] == "replicas.changed_by_others"
        assert not run.difference("b")

        done = run.resync("a")
        assert done.returncode == 0, done.stderr
        run.await_(lambda: not run.requests(), "a is not copied again")
        run.execute("UPDATE a SET name = 'last' WHERE id = 7")
        run.catch_up()
        assert not run.stopped()
        found = run.replica("a")
        assert found is not None
        source = {row["id"]: row["name"] for row in run.source("a")}
        assert {row["id"]: row["name"] for row in found} == source
        assert len(found) == len(source)
        assert {row["id"]: row["note"] for row in found if row["note"]} == {7: "kept"}
        assert run.end() == 0

"""Tables, signals and events of incremental snapshots."""

from __future__ import annotations

import json
from typing import Any

from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, big text);"
    "ALTER TABLE t ALTER big SET STORAGE EXTERNAL;"
    "CREATE TABLE other (a int, b text, v text, UNIQUE (a, b));"
    "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL,"
    " data varchar(2048));"
    "INSERT INTO t SELECT i, 'row ' || i, repeat('x', 3000) FROM generate_series(1, 30) i"
)


def properties(database: Database, **more: str) -> dict[str, str]:
    return database.properties() | {
        "table.include.list": "public\\.(t|other)",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
        "incremental.snapshot.chunk.size": "10",
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def ask(database: Database, kind: str = "execute-snapshot", **data: Any) -> None:
    text = json.dumps({name.replace("_", "-"): value for name, value in data.items()})
    database.execute(
        "INSERT INTO signals VALUES (gen_random_uuid()::text, '"
        + kind
        + "', '"
        + text.replace("'", "''")
        + "')"
    )


def in_window(database: Database, statement: str) -> None:
    """Have the server run `statement` in the transaction that opens the first window."""
    database.execute(
        "CREATE FUNCTION in_window() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NOT EXISTS (SELECT FROM signals WHERE type = 'snapshot-window-close') THEN "
        + statement
        + "; END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER in_window AFTER INSERT ON signals FOR EACH ROW"
        " WHEN (NEW.type = 'snapshot-window-open') EXECUTE FUNCTION in_window()"
    )


def reads(reader: Reader, table: str = "t") -> list[dict]:
    events = [e for e in reader.events() if e.get("op") == "r" and e["source"]["table"] == table]
    assert all(e["source"]["snapshot"] == "incremental" for e in events)
    return events


def rows(database: Database, table: str = "t") -> dict[str, str]:
    return {
        json.dumps({"id": row[0]}): row[1] for row in database.execute(f"SELECT id, v FROM {table}")
    }


def folded(reader: Reader) -> dict[str, str]:
    return {key: row["v"] for key, row in reader.fold("t").items()}


def many(database: Database) -> None:
    database.execute(
        "INSERT INTO t SELECT i, 'row ' || i, 'x' FROM generate_series(31, 1000) i;"
        "INSERT INTO other SELECT i / 7, 'b' || i, 'v' FROM generate_series(1, 55) i"
    )


def opened_windows(database: Database) -> int:
    count_rows = database.execute(
        "SELECT count(*) FROM signals WHERE type = 'snapshot-window-open'"
    )
    return int(count_rows[0][0])

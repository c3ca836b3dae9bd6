"""The table that platforms read, and the configuration that reads it."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.testing.embedded import PostgresServer


def make_table(server: PostgresServer, rows: int, file: Path, **more: str) -> None:
    """The table `t` with so many rows, and a JSON file of properties that capture it; `more` are
    others, with `_` for `.`."""
    server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    server.execute(f"INSERT INTO t SELECT i, 'x' FROM generate_series(1, {rows}) i")
    properties = {
        "connector.class": "postgresql",
        "topic.prefix": "s",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.dbname": "postgres",
        "table.include.list": "public.t",
        "value.converter.schemas.enable": "false",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    file.write_text(json.dumps(properties))

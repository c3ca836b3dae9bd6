"""What tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg

from headrace.testing.embedded import PostgresServer


def properties(server: PostgresServer, **more: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(server.dsn())
    lines = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "s",
        "database.hostname": parts["host"],
        "database.port": parts["port"],
        "database.user": parts["user"],
        "database.password": "secret-word",
        "database.dbname": "postgres",
        "slot.name": "commands",
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def rows_of(output: Path) -> list[dict]:
    return [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []

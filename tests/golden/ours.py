"""Runs a workload through our connector, and gives lines as the recorder writes them."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader
from tests.golden.record import DATABASE, PREFIX, parse
from tests.servers.postgresql import await_free_slot


def run(path: Path, server: PostgresServer) -> list[str]:
    """Lines `{"topic":…,"key":…,"value":…,"headers":{…}}` in total order."""
    properties, phases = parse(path.read_text())
    pace = float(properties.pop("recorder.pace", "0"))
    properties = {k: v for k, v in properties.items() if not k.startswith("recorder.")}
    server.create_database(DATABASE)
    try:
        for block in phases["setup"]:
            server.execute(block, database=DATABASE)
        reader = Reader(
            {
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "topic.prefix": PREFIX,
                "database.hostname": server.host,
                "database.port": str(server.port),
                "database.user": server.user,
                "database.dbname": DATABASE,
                "slot.name": "golden",
                "headrace.compatibility": "debezium-3.6",
                **properties,
            },
            offsets=[{"v": 1, "server": PREFIX}],
        )
        reader.drain()
        for block in phases["stream"]:
            server.execute(block, database=DATABASE)
            if pace:
                reader.drain()
        reader.drain()
        if phases["down"]:
            reader.restart()
            await_free_slot(server, "golden")
            for block in phases["down"]:
                server.execute(block, database=DATABASE)
            reader.drain()
            for block in phases["again"]:
                server.execute(block, database=DATABASE)
            reader.drain()
        reader.stop()
        ordered = sorted(reader.records, key=lambda record: record["sequence"])
        return [_line(record) for record in ordered]
    finally:
        server.drop_database(DATABASE)


def _line(record: dict) -> str:
    headers = ",".join(
        f"{json.dumps(header['key'])}:{header['value'].decode()}" for header in record["headers"]
    )
    return (
        f'{{"topic":{json.dumps(record["topic"])},"key":{record["key"] or "null"},'
        f'"value":{record["value"] or "null"},"headers":{{{headers}}}}}'
    )

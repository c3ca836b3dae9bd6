"""Spark Connect: a client in one process, the server, started as platforms.md says, in another,
the source under the server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.embedded import PostgresServer
from tests.platforms.connect_server import connect_environment, connect_server

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
_CLIENT = Path(__file__).with_name("connect_client.py")


@contextmanager
def client(url: str, properties: dict[str, str], folder: Path) -> Iterator[Callable[[str], Any]]:
    """A function that returns the output of a step of the client, by the step's name."""
    command = [sys.executable, str(_CLIENT), url, json.dumps(properties), str(folder)]
    with (
        (folder / "client.log").open("w") as log,
        subprocess.Popen(
            command, env=connect_environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        ) as process,
    ):  # fmt: skip

        def step(name: str) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, f"{name}: {(folder / 'client.log').read_text()[-3000:]}"
            return json.loads(line)

        try:
            yield step
        finally:
            process.kill()


def test_a_client_streams_and_knows_what_its_query_does(tmp_path: Path) -> None:
    with PostgresServer() as server, connect_server(tmp_path) as url:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        server.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        properties = {
            "connector.class": "postgresql",
            "topic.prefix": "shop",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.dbname": "postgres",
            "table.include.list": "public.t",
            "retriable.restart.connector.wait.ms": "200",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        }
        with client(url, properties, tmp_path) as step:
            assert step("load") == ["topic", "partition", "key", "value", "headers", "sequence"]
            assert step("available_now") == {"rows": 3, "error": "None"}
            assert step("stream")["state"] == "streaming"
            server.execute("UPDATE t SET v = 'B' WHERE id = 2; DELETE FROM t WHERE id = 3")
            stream_state = step("await_rows")
            assert stream_state["seen"] >= 2
            assert stream_state["source"] == {"plugin": "postgres", "server": "shop"}
            server.stop()
            lost = step("lose")
            assert lost["error"] == "postgresql.connection_lost"
            assert "tried" in lost["message"]
            server.start()
            assert step("find")["error"] is None
            assert step("stop") == "stopped"
            assert step("tables") == [[1, "a", False], [2, "B", False], [3, None, True]]
            assert step("apply") == ["t"]
            server.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
            failed = step("fail")
            assert (failed["code"], failed["state"]) == ("postgresql.slot_missing", "failed")
            assert failed["remedy"]

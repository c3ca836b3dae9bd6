"""The metrics of the dashboard and of the alert rules exist when a run is scraped."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.cli.monitoring.runs import Run
from tests.docs.monitoring import declared, expressions, named
from tests.servers.sources import PostgresSource

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
KNOWN = {name for section in declared().values() for name, _ in section}
OF_MONGODB = {name for name, _ in declared()["Databases"] if name.startswith("headrace_oplog")}
"""`test_metrics_of_runs` scrapes them."""


def test_every_metric_that_is_asked_for_is_scraped_and_every_other_is_in_the_guide(
    command: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    with PostgresServer() as server:
        server.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
        server.execute("SELECT pg_reload_conf()")
        source = PostgresSource(server)
        source.insert(1, 20, "existing")
        server.execute("ANALYZE t")
        sink = {
            "headrace.sink.type": "delta",
            "headrace.sink.mode": "replica",
            "headrace.sink.path": str(tmp_path / "lake"),
            "headrace.slot.watch.interval": "500 ms",
            "retriable.restart.connector.wait.ms": "200",
        }
        lines = (f"{name}={value}\n" for name, value in (source.properties() | sink).items())
        (tmp_path / "shop.properties").write_text("".join(lines))
        run = Run(
            command(
                "run", str(tmp_path / "shop.properties"), "--checkpoint", str(tmp_path / "state"),
                "--master", "local[2]", "--metrics-port", "0", "--log-format", "json",
            )
        )  # fmt: skip
        run.awaited(lambda: run.get("/readyz")[0] == 200)
        source.insert(21, 27, "live")
        source.delete(1)
        run.awaited(lambda: run.values().get("headrace_table_changes_total", 0) >= 28)
        run.awaited(lambda: "headrace_slot_safe_bytes" in run.values())
        scraped = set(run.values())
        server.stop()
        run.awaited(lambda: run.values()["headrace_source_attempts"] > 0)
        assert run.get("/healthz")[0] == 200
        assert run.get("/readyz")[0] == 503
        scraped |= set(run.values())
        run.process.kill()
        run.process.wait()
    assert scraped - KNOWN == set()
    assert named(list(expressions())) - scraped == OF_MONGODB & named(list(expressions()))

"""kill -9 of every process, in snapshot and stream: `make chaos`, and a short run of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.cli.embedded import PostgresServer
from tests.chaos.transfers import Transfers, check, consistent_from, wait_for

KINDS = ("driver", "jvm", "source", "worker", "postgresql", "everything")
_SLOT = "SELECT active FROM pg_replication_slots"


class Run:
    """`headrace events` over one state folder, started again whenever it ended."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.output = folder / "out.jsonl"
        self.checkpoint = folder / "state" / "checkpoint"
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"
        self._family: dict[int, psutil.Process] = {}
        properties = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "chaos",
            "database.hostname": server.host,
            "database.port": server.port,
            "database.user": server.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "value.converter.schemas.enable": "false",
            "key.converter.schemas.enable": "false",
            "retriable.restart.connector.wait.ms": "500",
            "status.update.interval.ms": "500",
            "headrace.snapshot.chunk.bytes": "100kB",
            "headrace.range.max.rows": "3000",
        }
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        (folder / "connector.properties").write_text(text)

    def ensure(self) -> None:
        """Start it when it does not run."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-m", "headrace.cli", "events",
                       self.folder / "connector.properties", "--output", self.output,
                       "--state", self.folder / "state"]  # fmt: skip
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def family(self) -> list[psutil.Process]:
        """The run's process and its descendants, also those whose parent is gone."""
        if self.process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                root = psutil.Process(self.process.pid)
                for process in (root, *root.children(recursive=True)):
                    self._family[process.pid] = process
        self._family = {pid: p for pid, p in self._family.items() if p.is_running()}
        return list(self._family.values())

    def find(self, kind: str) -> psutil.Process | None:
        """A process of a kind, if there is one now."""
        found = {}
        for process in self.family():
            with contextlib.suppress(psutil.Error):
                words = " ".join(process.cmdline())
                if process.name() == "java":
                    found["jvm"] = process
                elif "python_streaming_source_runner" in words:
                    found["source"] = process
                elif "headrace.spark.daemon pyspark.worker" in words:
                    found.update(dict.fromkeys(["worker"], process) if process.children() else {})
        if kind == "worker" and "worker" in found:
            with contextlib.suppress(psutil.Error):
                return random.choice(found["worker"].children() or [found["worker"]])
        return found.get(kind)

    def kill(self, kind: str) -> None:
        """SIGKILL, and whatever must not outlive it does not."""
        assert self.process is not None
        family = self.family()
        if kind == "postgresql":
            self.server.kill()
            time.sleep(0.5)
            self.server.start()
        elif kind == "driver":
            self.process.kill()
            self.process.wait()
            self._await_free_slot()
        elif kind == "everything":
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            self.process.wait()
            self._await_free_slot()
        else:
            process = self.find(kind)
            if process is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def _await_free_slot(self) -> None:
        begun = time.monotonic()
        wait_for("the slot stays in use", lambda: (True,) not in self.server.execute(_SLOT), 20)
        print(f"slot free after {time.monotonic() - begun:.2f} s")

    def lines(self) -> int:
        """Committed lines so far."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(
                json.loads((self.folder / "state" / "file" / "state.json").read_text())["rows"]
            )
        return 0

    def position(self) -> int:
        """The LSN that the newest committed micro-batch reached; 0 before streaming."""
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
            committed = max(int(p.name) for p in (self.checkpoint / "commits").glob("[0-9]*"))
            offset = json.loads(
                (self.checkpoint / "offsets" / str(committed)).read_text().split("\n")[-1]
            )
            return 0 if "snapshot" in offset else int(offset.get("lsn_commit", 0))
        return 0

    def catch_up(self) -> None:
        """Until everything that is committed now is in the output; then a clean end."""
        (head,) = self.server.execute("SELECT pg_current_wal_lsn() - '0/0'")[0]
        self.server.execute("SELECT pg_logical_emit_message(true, 'end', '')")

        def reached() -> bool:
            self.ensure()
            return self.position() >= int(head)

        wait_for(f"it never caught up: {self.tail()}", reached)
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(120) == 0, self.tail()

    def tail(self) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""

    def close(self) -> None:
        """Leave nothing running."""
        for process in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with PostgresServer() as server:
        found = Run(server, tmp_path)
        yield found
        found.close()


def survive(run: Run, kinds: list[str], seed: int) -> None:
    """Kill one after the other at random moments, then compare everything."""
    chance = random.Random(seed)
    transfers = Transfers(run.server, seed)
    transfers.start()
    try:
        for number, kind in enumerate(kinds):
            run.ensure()
            if number == 0:
                # Before or during micro-batch 0.
                time.sleep(chance.uniform(1, 15))
            else:
                before = run.lines()
                limit = time.monotonic() + 120

                def moved(before: int = before, kind: str = kind, limit: float = limit) -> bool:
                    run.ensure()
                    alive = kind in ("driver", "everything", "postgresql") or run.find(kind)
                    return time.monotonic() > limit or (run.lines() > before and bool(alive))

                wait_for(f"it stands still: {run.tail()}", moved, 240)
                time.sleep(chance.uniform(0, 2))
            print(f"kill {number}: {kind} at {run.lines()} lines")
            run.kill(kind)
    finally:
        transfers.stop()
    run.ensure()
    run.catch_up()
    check(run.server, run.output, consistent_from(run.checkpoint))


@pytest.mark.postgres
@pytest.mark.spark
def test_five_kills_lose_nothing_and_double_nothing(run: Run) -> None:
    survive(run, ["everything", "source", "worker", "postgresql", "driver"], seed=5)


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_twenty_kills_lose_nothing_and_double_nothing(run: Run) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    chance = random.Random(seed)
    kinds = [*KINDS, *chance.choices(KINDS, k=20 - len(KINDS))]
    chance.shuffle(kinds)
    survive(run, kinds, seed)

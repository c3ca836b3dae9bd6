"""The contenders: each keeps one table of one lake, and takes what the log holds and ends."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import reaped
from benchmarks.tables import debezium, readers
from benchmarks.tables.workload import DATABASE, Sums
from headrace.testing.embedded import PostgresServer

FORMATS = ("iceberg", "delta")
_OPTION = {"iceberg": "warehouse", "delta": "path"}


@dataclass(frozen=True)
class Round:
    """What a lane took for the changes that were in the log; `bytes` are those of files that were
    written into the lake and are there yet."""

    changes: int
    took: reaped.Took
    bytes: int


class Lane:
    """A contender with a lake, a state and a slot of its own, `name`."""

    def __init__(
        self, server: PostgresServer, work: Path, name: str, table_format: str, table: str
    ) -> None:
        self.name, self.table, self.format = name, table, table_format
        self.work = work / name
        self.lake, self.state = self.work / "lake", self.work / "state"
        self.file = self.work / "replica.properties"
        self._server = server
        self.work.mkdir()
        self._peer = ""
        self._target = table

    def configure(self, more: Mapping[str, str]) -> None:
        """Write the properties file."""
        server = self._server
        properties = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "bench",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": "x",
            "database.dbname": DATABASE,
            "publication.name": "bench",
            "slot.name": self.name,
            "table.include.list": f"public.{self.table}",
            **more,
        }
        self.file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def replica(self, more: Mapping[str, str] | None = None) -> Lane:
        """Our replica of the format."""
        self.configure(
            {
                "headrace.sink.type": self.format,
                "headrace.sink.mode": "replica",
                f"headrace.sink.{_OPTION[self.format]}": str(self.lake),
                "headrace.trigger": "availableNow",
                **(more or {}),
            }
        )
        return self

    def peer(self, lane: str, replica: Lane) -> Lane:
        """A program of `benchmarks.tables.peers` from now on, over a table that has the rows of a
        replica."""
        self._make_slot()
        self.configure({"snapshot.mode": "no_data"})
        self._peer = f"peers {lane}"
        if lane == "merge":
            shutil.copytree(replica.lake, self.lake)
            return self
        rows = readers.rows_of(replica.format, replica.lake, replica.table)
        self.lake.mkdir()
        catalog = readers.catalog(self.lake)
        catalog.create_namespace("public")
        catalog.create_table(f"public.{self.table}", rows.schema).append(rows)
        return self

    def engine(self) -> Lane:
        """`benchmarks.tables.debezium`, which appends what comes from now on."""
        self._make_slot()
        self.configure({})
        self._peer = "debezium"
        self._target = debezium.table_name("bench", self.table)
        return self

    def _make_slot(self) -> None:
        sql = f"SELECT pg_create_logical_replication_slot('{self.name}', 'pgoutput')"
        self._server.execute(sql, database=DATABASE)

    def run(self, changes: int) -> Round:
        """Take the changes that are in the log."""
        before = _files(self.lake)
        took = reaped.run([sys.executable, "-m", *self._command(changes)])
        new = {path: size for path, size in _files(self.lake).items() if path not in before}
        return Round(changes, took, sum(new.values()))

    def _command(self, changes: int) -> list[str]:
        if self._peer:
            module, *lane = self._peer.split()
            arguments = (*lane, self.file, self.state, self.lake, self.table, changes)
            return [f"benchmarks.tables.{module}", *map(str, arguments)]
        return ["headrace.cli", "run", str(self.file), "--checkpoint", str(self.state)]

    def maintain(self) -> reaped.Took:
        """Merge the small files of a replica."""
        return self._upkeep("maintain")

    def verify(self) -> reaped.Took:
        """Compare a replica with its source. Raises RuntimeError where they differ."""
        return self._upkeep("verify")

    def _upkeep(self, verb: str) -> reaped.Took:
        command = ["headrace.cli", verb, str(self.file), "--checkpoint", str(self.state)]
        return reaped.run([sys.executable, "-m", *command])

    def require_equal(self, source: Sums) -> None:
        """Raises AssertionError where the table does not have the sums of the source."""
        sums = readers.sums(self.format, self.lake, self.table)
        assert sums == source, f"{self.name}: {sums}, and in the source {source}"

    def require_count(self, rows: int) -> None:
        """Raises AssertionError where the table does not have so many rows."""
        count = readers.count(self.format, self.lake, self._target)
        assert count == rows, f"{self.name}: {count:,} rows, and {rows:,} were written"

    def read_cpu(self, reader: str) -> float:
        """CPU of an independent reader of the whole table, its start left out."""
        command = ["benchmarks.tables.readers", reader, str(self.lake), self.table]
        return float(reaped.output([sys.executable, "-m", *command]))

    def close(self) -> None:
        """Delete the files and the slot."""
        shutil.rmtree(self.work)
        sql = (
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            f"WHERE slot_name = '{self.name}'"
        )
        self._server.execute(sql, database=DATABASE)


def _files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}

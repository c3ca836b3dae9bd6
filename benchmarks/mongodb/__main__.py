"""`python -m benchmarks.mongodb [SCENARIO …]`, part of `make bench`: prints start, rates, CPU,
memory and latency, and our ratio to the others. Results go to benchmarks/results/.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.contenders import Run
from benchmarks.mongodb import workload
from benchmarks.mongodb.server import Server
from benchmarks.scenarios import QUICK, Benchmark, Sizes, arguments, run_all
from headrace.testing.mongodb import MongoServer

SETTINGS = {"oplogSize": "8000", "wiredTigerCacheSizeGB": "1.5"}
_SHARE = 10 if QUICK else 1
SCENARIOS: dict[str, Sizes] = {
    "start": (),
    "snapshot": (200_000 // _SHARE, 1_000_000 // _SHARE),
    "stream": (100_000 // _SHARE, 500_000 // _SHARE),
    "looked_up": (100_000 // _SHARE, 500_000 // _SHARE),
    "latency": (15 if QUICK else 60,),
}


class MongoBenchmark(Benchmark):
    """Snapshot, and streams with and without looked-up documents."""

    server: Server

    def snapshot(self, sizes: Sizes) -> None:
        """The initial snapshot of one collection, of two sizes."""
        self.steady("snapshot", self._snapshots, sizes)

    def _snapshots(self, documents: int) -> dict[str, list[Run]]:
        name = f"orders{documents}"
        workload.insert(self.server.database, name, 1, documents)
        more = {
            "collection.include.list": f"{workload.DATABASE}.{name}",
            "snapshot.mode": "initial_only",
        }
        path = self.contenders.properties(f"snapshot{documents}", more)
        return self._run(f"snapshot of {documents:,}", "snapshot", path, documents)

    def stream(self, sizes: Sizes) -> None:
        """A backlog of inserts, updates and deletes, of two sizes; updates say what changed."""
        self.steady("stream", self._streams, sizes)

    def _streams(self, changes: int) -> dict[str, list[Run]]:
        share = changes // 5
        return self._changes(f"changes{changes}", "change_streams", (share * 2, share * 2, share))

    def looked_up(self, sizes: Sizes) -> None:
        """A backlog of inserts and updates, whose documents the server looks up."""
        self.steady("looked up", self._looked_up, sizes)

    def _looked_up(self, changes: int) -> dict[str, list[Run]]:
        share = changes // 5
        name = f"looked_up{changes}"
        return self._changes(name, "change_streams_update_full", (share * 2, share * 3, 0))

    def _changes(self, name: str, mode: str, kinds: tuple[int, int, int]) -> dict[str, list[Run]]:
        self.server.make_empty(name)
        begin = self.server.from_now_on(name, name)
        count = workload.make_backlog(self.server.database, name, *kinds)
        path = self.contenders.properties(name, begin | {"capture.mode": mode})
        return self._run(f"{name} of {count:,}", "stream", path, count)

    def _run(self, name: str, kind: str, path: Path, count: int) -> dict[str, list[Run]]:
        def start(contender: Callable[..., list[str]]) -> Callable[[int], list[str]]:
            def command(_number: int) -> list[str]:
                self.server.forget_readers()
                return contender(path, count)

            return command

        lanes = {
            "raw cursor": start(self._raw_cursor),
            "Debezium": start(self.contenders.debezium),
            "headrace": start(self.contenders.headrace),
        }
        return self.in_turn(name, kind, lanes, count)

    def _raw_cursor(self, path: Path, count: int) -> list[str]:
        """What the server gives at most, to one cursor."""
        return [sys.executable, "-m", "benchmarks.mongodb.raw_cursor", str(path), str(count)]


def main() -> None:
    """Run the scenarios named, or all."""
    chosen = arguments("mongodb", SCENARIOS)
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
        MongoServer(SETTINGS) as server,
    ):
        benchmark = MongoBenchmark(Server(server), Path(work), chosen.runs, peers=chosen.peers)
        run_all("mongodb", benchmark, SCENARIOS, chosen.scenario)


if __name__ == "__main__":
    main()

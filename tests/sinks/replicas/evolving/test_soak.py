"""An hour of load, statements that change tables, kills, maintenance and another reader. After it,
replicas equal their source, and neither files nor memory have grown: `make chaos
TESTS=tests/sinks/replicas/evolving/test_soak.py`. SECONDS=600 takes less time, too little to see
growth; SEED=1 repeats the kills of a run.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from benchmarks.processes import memory_bytes

from headrace.testing.embedded import PostgresServer
from tests.chaos.run import find_processes
from tests.sinks.lake.readers import LAKES
from tests.sinks.replicas.evolving.load import Load
from tests.sinks.replicas.evolving.marathon import TABLES
from tests.sinks.replicas.evolving.replicated import Replicated, replicated
from tests.sinks.replicas.evolving.statements import TABLE

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
STATEMENTS = (
    ("a", "ALTER TABLE a ADD COLUMN extra text DEFAULT 'x'"),
    ("b", "ALTER TABLE b ADD COLUMN since date"),
    ("c", "ALTER TABLE c ADD COLUMN small int NOT NULL DEFAULT 7"),
    ("a", "ALTER TABLE a RENAME COLUMN extra TO other"),
    ("d", "ALTER TABLE d ADD COLUMN chance float8 DEFAULT random()"),
    ("b", "TRUNCATE b"),
    ("c", "ALTER TABLE c ALTER COLUMN small TYPE bigint"),
    ("a", "ALTER TABLE a DROP COLUMN other"),
    ("b", "ALTER TABLE b DROP COLUMN since"),
    ("c", "ALTER TABLE c DROP COLUMN small"),
    ("d", "ALTER TABLE d DROP COLUMN chance"),
)
"""Statements that leave the tables as they were."""
STOPPING = "random()"
KINDS = ("everything", "worker", "source", "server")
SAMPLE_S, STATEMENT_S, KILL_S, MAINTAIN_S = 10.0, 40.0, 120.0, 150.0
"""The time from one sample of memory to the next, and from each other action to the next."""
FULL_S = 2400.0
"""The shortest run in which growth can be told from a start."""
GROWTH = 1.5
"""The most that the number of files, or the memory, may have grown from an earlier part of the run
to a later one. Each compaction leaves a few files more or less."""


@dataclass
class Soak:
    """A run, and what was seen of it."""

    run: Replicated
    load: Load
    chance: random.Random
    seconds: float
    begun: float = field(default_factory=time.monotonic)
    memory: list[int] = field(default_factory=list)
    """Bytes of all processes since the last start of the command."""
    files: dict[str, list[int]] = field(default_factory=dict)
    """The number of files after each maintenance."""
    kills: int = 0

    def __post_init__(self) -> None:
        self.statements: Iterator[tuple[str, str]] = itertools.cycle(STATEMENTS)

    @property
    def passed(self) -> float:
        return time.monotonic() - self.begun

    def go_on(self) -> None:
        """All actions until the time is over."""
        actions: dict[Callable[[], None], float] = {
            self.sample: SAMPLE_S,
            self.execute: STATEMENT_S,
            self.kill: KILL_S,
            self.maintain: MAINTAIN_S,
        }
        due = {action: self.passed + every for action, every in actions.items()}
        while self.passed < self.seconds:
            action = min(due, key=lambda each: due[each])
            time.sleep(max(0.0, due[action] - self.passed))
            assert self.run.alive, f"it ended: {self.run.said()}"
            action()
            due[action] = self.passed + actions[action]

    def sample(self) -> None:
        process = self.run.process
        assert process is not None
        self.memory.append(memory_bytes(process.pid))

    def execute(self) -> None:
        """One statement; a table that stops is copied again."""
        table, statement = next(self.statements)
        self.run.execute(statement)
        if STOPPING in statement:
            self.run.await_(lambda: table in self.run.stopped(), f"{table} goes on")
            completed = self.run.resync(table)
            assert completed.returncode == 0, completed.stderr
            self.run.await_(lambda: not self.run.requests(), f"{table} is not copied again")
        assert self.run.stopped() == {}

    def kill(self) -> None:
        """Processes of the command are killed until the half of the time, so that its memory can
        be watched after it; the others to the end."""
        kinds = KINDS if self.passed < self.seconds / 2 else KINDS[1:]
        kind = self.chance.choice(kinds)
        print(f"{self.passed:.0f} s: {kind} is killed")
        self.kills += 1
        if kind == "everything":
            self.run.kill()
            self.run.start()
            self.memory.clear()
        elif kind == "server":
            self.run.server.kill()
            time.sleep(self.chance.uniform(0, 1.5))
            self.run.server.start()
        else:
            process = self.run.process
            assert process is not None
            victims = find_processes(process.pid, kind)
            if victims:
                self.chance.choice(victims).kill()

    def maintain(self) -> None:
        """`headrace maintain` beside the query; then a reader that is not headrace's reads."""
        completed = self.run.maintain()
        assert completed.returncode == 0, completed.stderr
        for table in TABLES:
            assert self.run.replica(table) is not None
        for name, count in self.counted().items():
            self.files.setdefault(name, []).append(count)
        file_counts = ", ".join(f"{name} {counts[-1]}" for name, counts in self.files.items())
        print(f"{self.passed:.0f} s: {self.load.done} transactions; {file_counts}", flush=True)

    def counted(self) -> dict[str, int]:
        """The number of files of each kind. Those of earlier versions are counted in Iceberg; Delta
        keeps them until VACUUM."""
        lake = LAKES[self.run.kind](self.run.lake)
        counts = {"live": sum(lake.files("public", table) for table in TABLES)}
        counts["state"] = _number_of_files(self.run.state)
        if self.run.kind == "iceberg":
            counts["lake"] = _number_of_files(self.run.lake)
        return counts


def _number_of_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def has_grown(counts: list[int]) -> bool:
    """Whether the last third is far above the second third. Before, files of the versions that are
    kept for readers of consistent cuts, ten minutes at least, come to be."""
    third = len(counts) // 3
    earlier, later = counts[third:-third], counts[-third:]
    return statistics.median(later) > GROWTH * statistics.median(earlier) + 5


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_equal_their_source_after_an_hour_in_which_nothing_grows(
    kind: str, tmp_path: Path
) -> None:
    seconds = float(os.environ.get("SECONDS") or 3600)
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    name = f"soak_{kind}"
    properties = {
        "headrace_sink_snapshots_keep_minutes": "1",
        "headrace_sink_cuts_keep_minutes": "1",
    }
    with ExitStack() as running:
        server = running.enter_context(PostgresServer())
        run = running.enter_context(replicated(server, kind, tmp_path, name, **properties))
        run.left_alone_s = int(seconds) + 1200
        for table in TABLES:
            run.execute(TABLE.replace("{0}", table))
        run.start()
        run.catch_up()
        with Load(server.dsn(name), list(TABLES), seed=seed) as load:
            soak = Soak(run, load, random.Random(seed), seconds)
            soak.go_on()
        run.catch_up()
        assert run.stopped() == {}
        assert not [each for table in TABLES if (each := run.difference(table))]
        assert run.end() == 0
    print(f"{load.done} transactions, {soak.kills} kills, {len(soak.memory)} samples of memory")
    megabytes = [round(each / 1e6) for each in soak.memory]
    print(f"MB of memory: {megabytes[:: max(1, len(megabytes) // 20)]}")
    assert soak.kills >= seconds / KILL_S / 3
    if seconds >= FULL_S:
        assert not {each: counts for each, counts in soak.files.items() if has_grown(counts)}
        assert not has_grown(soak.memory)

"""Spark's log lost its last entry: by a power failure, or in a checkpoint restored from a copy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.chaos.databases.postgresql import ChaosPostgres
from tests.chaos.run import Run, wait_for

ROWS = 30_000


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        new_run = Run(
            ChaosPostgres(server),
            tmp_path,
            snapshot_mode="no_data",
            table_include_list="public.t",
        )
        yield new_run
        new_run.close()


def state(run: Run) -> dict[str, object]:
    try:
        stored_state: dict[str, object] = json.loads(
            (run.state / "file" / "state.json").read_text()
        )
    except OSError:
        return {}
    return stored_state


def await_lines(run: Run, count: int) -> None:
    def reached() -> bool:
        assert run.alive, run.tail()
        return run.lines() >= count

    wait_for(lambda: f"{run.lines()} of {count} lines: {run.tail()}", reached)


def kill(run: Run) -> None:
    run.kill(run.find("everything"))
    assert run.process is not None
    run.process.wait(60)
    run.await_gone(run.process.pid)


def lose(run: Run, *logs: str) -> None:
    """The end of Spark's log: of `logs` the micro-batch that the output ends with, and of both what
    is after it, from which Spark would continue."""
    last = int(str(state(run)["batchId"]))
    for log in ("offsets", "commits"):
        for file in (run.checkpoint / log).iterdir():
            number = file.name.strip(".").removesuffix(".crc")
            if number.isdigit() and int(number) >= last + (log not in logs):
                file.unlink()


def ids(run: Run) -> list[int]:
    """The ids of the events in the micro-batches that the output has as a whole."""
    content = run.output.read_bytes()[: int(str(state(run)["length"]))]
    return [json.loads(line)["key"]["id"] for line in content.splitlines()]


def limit(run: Run, rows: int) -> None:
    """Sets the number of rows that a micro-batch takes from the next start on."""
    file = run.folder / "connector.properties"
    other_lines = [
        line for line in file.read_text().splitlines() if "headrace.range.max.rows" not in line
    ]
    file.write_text("\n".join([*other_lines, f"headrace.range.max.rows={rows}\n"]))


def go_on(run: Run, rows: int, lines: int = 1) -> None:
    """Start with micro-batches of so many rows, kill when the output has more by `lines`."""
    limit(run, rows)
    lines += run.lines()
    run.ensure()
    await_lines(run, lines)
    kill(run)
    assert ids(run) == list(range(1, run.lines() + 1))


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_a_log_that_lost_its_last_entry_costs_no_event_and_repeats_none(run: Run) -> None:
    """All rows are in one transaction: its end is acknowledged to the server at once, which sends
    nothing again that was acknowledged."""
    limit(run, 100)
    run.ensure()
    wait_for(run.tail, lambda: run.planned() >= 0)
    run.server.execute(f"INSERT INTO t SELECT i, 'v' FROM generate_series(1, {ROWS}) i")
    await_lines(run, 100)
    kill(run)
    lose(run, "offsets", "commits")
    go_on(run, 1000, 1001)  # planned again, it reaches farther
    lose(run, "offsets", "commits")
    go_on(run, 100, 101)  # planned again, it does not reach as far
    lose(run, "commits")
    go_on(run, 1000)  # the same again

    lose(run, "offsets")
    (run.checkpoint / "commits" / str(state(run)["batchId"])).write_text("v1\n{}")
    run.ensure()
    assert run.process is not None
    assert run.process.wait(120) == 1
    assert "[spark.checkpoint_torn]" in run.tail()
    lose(run, "commits")
    limit(run, 5000)
    lines = run.lines()
    run.ensure()
    wait_for(run.tail, lambda: run.lines() != lines, pause=0.001)
    kill(run)  # while it is replaced
    run.ensure()
    await_lines(run, ROWS)
    run.end()
    assert ids(run) == list(range(1, ROWS + 1))

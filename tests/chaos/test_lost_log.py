"""Spark's log lost its last entry: by a power failure, or in a checkpoint restored from a copy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli.embedded import PostgresServer
from tests.chaos.run import Run, wait_for


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        found = Run(
            server,
            tmp_path,
            snapshot_mode="no_data",
            table_include_list="public.t",
            # The server hears nothing of what the checkpoint held before the kill.
            status_update_interval_ms="600000",
        )
        yield found
        found.close()


def insert(run: Run, first: int, last: int, size: int = 10) -> None:
    run.server.execute(
        f"INSERT INTO t SELECT i, repeat('v', {size}) FROM generate_series({first}, {last}) i"
    )


def state(run: Run) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads((run.state / "file" / "state.json").read_text())
    except OSError:
        return {}
    return found


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
    """The end of Spark's log, from the micro-batch that the output ends with."""
    last = int(str(state(run)["batchId"]))
    for log in logs:
        for file in (run.checkpoint / log).iterdir():
            number = file.name.strip(".").removesuffix(".crc")
            if number.isdigit() and int(number) >= last:
                file.unlink()


def ids(run: Run) -> list[int]:
    return [json.loads(line)["key"]["id"] for line in run.output.read_text().splitlines()]


def limit(run: Run, rows: int) -> None:
    """How many rows a micro-batch takes from the next start on."""
    file = run.folder / "connector.properties"
    kept = [line for line in file.read_text().splitlines() if "headrace.range.max.rows" not in line]
    file.write_text("\n".join([*kept, f"headrace.range.max.rows={rows}\n"]))


@pytest.mark.postgres
@pytest.mark.spark
def test_a_log_that_lost_its_last_entry_costs_no_event_and_repeats_none(run: Run) -> None:
    limit(run, 100)
    run.ensure()
    wait_for(run.tail, lambda: run.planned() >= 0)
    insert(run, 1, 3000)
    await_lines(run, 100)
    kill(run)

    lose(run, "offsets", "commits")
    limit(run, 1000)
    run.ensure()
    await_lines(run, 3000)
    assert ids(run) == list(range(1, 3001)), "planned anew, the micro-batch reached farther"
    kill(run)

    lose(run, "offsets", "commits")
    limit(run, 100)
    insert(run, 3001, 3010)
    run.ensure()
    await_lines(run, 3010)
    assert ids(run) == list(range(1, 3011)), "planned anew, the micro-batch did not reach as far"
    kill(run)

    lose(run, "offsets")
    run.ensure()
    assert run.process is not None
    assert run.process.wait(120) == 1
    assert "[spark.checkpoint_torn]" in run.tail()
    lose(run, "commits")
    insert(run, 3011, 3011)
    run.ensure()
    await_lines(run, 3011)
    assert ids(run) == list(range(1, 3012)), "after what was torn was deleted"
    kill(run)

    lose(run, "commits")
    limit(run, 1000)
    insert(run, 3012, 3012)
    run.ensure()
    await_lines(run, 3012)
    assert ids(run) == list(range(1, 3013)), "the same micro-batch came again"
    insert(run, 3013, 3800, 30_000)
    await_lines(run, 3800)
    kill(run)

    lose(run, "offsets", "commits")
    limit(run, 500)
    insert(run, 3801, 3900)
    lines = run.lines()
    run.ensure()
    wait_for(run.tail, lambda: run.lines() != lines, pause=0.001)
    kill(run)
    run.ensure()
    await_lines(run, 3900)
    assert ids(run) == list(range(1, 3901)), "killed while the micro-batch was replaced"
    run.end()

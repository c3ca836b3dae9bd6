"""kill -9 in the first copy of a history or a change log, whose rows change before the restart: no
row has a value before the change that made it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.embedded import PostgresServer
from tests.chaos.run import newest_of
from tests.sinks.replicas.evolving.replicated import Replicated, replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
ROWS = 60_000
TABLE = f"""
CREATE TABLE t (id int PRIMARY KEY, v text, pad text);
INSERT INTO t SELECT n, 'first', repeat(md5(n::text), 8) FROM generate_series(1, {ROWS}) AS n;
ANALYZE t
"""


@pytest.fixture(
    params=[f"{lake}-{mode}" for lake in ("iceberg", "delta") for mode in ("history", "append")]
)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicated]:
    lake, mode = request.param.split("-")
    more = {
        f"headrace_sink_{mode}_tables": "public.t",
        "headrace_snapshot_chunk_bytes": "300kB",
        "headrace_range_direct_max_bytes": "0",
    }
    with (
        PostgresServer() as server,
        replicated(server, lake, tmp_path, "copied", **more) as replica_run,
    ):
        replica_run.execute(TABLE)
        yield replica_run


def test_no_row_of_a_copy_that_was_killed_has_a_value_too_early(run: Replicated) -> None:
    run.start()
    commits = run.state / "checkpoint" / "commits"
    run.await_(lambda: newest_of(commits) >= 1, "it commits nothing")
    run.kill()
    copied = {row["id"] for row in run.replica("t") or ()}
    assert 0 < len(copied) < ROWS
    (before,) = run.server.execute("SELECT clock_timestamp()", database=run.database)[0]
    run.execute("UPDATE t SET v = 'second' WHERE id % 3 > 0")
    run.execute("UPDATE t SET v = 'third' WHERE id % 3 = 2")
    run.start()
    run.catch_up()
    assert run.end() == 0
    rows = run.replica("t")
    assert rows is not None
    expected = {number: ("first", "second", "third")[number % 3] for number in range(1, ROWS + 1)}
    if "headrace.sink.history.tables" in run.lines:
        require_history(rows, expected, before, copied)
    else:
        require_log(rows, expected, copied)


def require_history(
    rows: list[dict[str, Any]], expected: dict[int, str], before: datetime, copied: set[int]
) -> None:
    current = [row for row in rows if row["is_current"]]
    assert {row["id"]: row["v"] for row in current} == expected
    assert len(current) == ROWS
    changed = [row for row in rows if row["v"] != "first"]
    assert min(row["valid_from"] for row in changed) >= before.timestamp()
    assert len(changed) == len([1 for number in expected if number % 3]) + ROWS // 3
    # What was read before the kill keeps its first version.
    first = {row["id"] for row in rows if row["v"] == "first"}
    assert copied <= first
    assert all(row["valid_from"] < before.timestamp() for row in rows if row["v"] == "first")


def require_log(rows: list[dict[str, Any]], expected: dict[int, str], copied: set[int]) -> None:
    known: dict[int, str] = {}
    for row in sorted(rows, key=lambda row: str(row["__position"])):
        if row["__op"] == "r" and row["id"] in known:
            assert row["v"] == known[row["id"]], row
        known[row["id"]] = row["v"]
    assert known == expected
    firsts = {row["id"] for row in rows if row["__op"] == "r" and row["v"] == "first"}
    assert copied <= firsts

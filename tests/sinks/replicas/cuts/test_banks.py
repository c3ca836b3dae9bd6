"""Cuts of two replicas during transfers between their tables: no money is missing in any of them,
and no part of a transaction is seen."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

import headrace
from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.reading import ConsistentVersions
from tests.docs.pages import block
from tests.servers.postgresql import Database
from tests.sinks.lake.jars import spark_delta_jars
from tests.sinks.lake.readers import DeltaLake
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

ACCOUNTS, START = 120, 100
TABLES = ("accounts", "savings")
NAMES = [f"public.{table}" for table in TABLES]
_SMALL = {"headrace.range.max.rows": "100"}
_WITHIN_S = 900
Row = tuple[int, int, int]


@contextmanager
def transfers(database: Database) -> Iterator[None]:
    """Transfers between both tables; every tenth transaction changes all rows of both and gives
    them the next stage, in more rows than a range has."""
    over, chance = threading.Event(), random.Random(7)

    def work() -> None:
        for number in range(1, 1_000_000):
            if over.is_set():
                return
            over.wait(0.2)
            if number % 10 == 0:
                database.execute(
                    f"UPDATE accounts SET balance = balance - 1, stage = {number};"
                    f"UPDATE savings SET balance = balance + 1, stage = {number}"
                )
                continue
            source, target = (chance.randrange(ACCOUNTS) for _ in range(2))
            amount = chance.randrange(20)
            database.execute(
                f"UPDATE accounts SET balance = balance - {amount} WHERE id = {source};"
                f"UPDATE savings SET balance = balance + {amount} WHERE id = {target}"
            )

    client = threading.Thread(target=work)
    client.start()
    try:
        yield
    finally:
        over.set()
        client.join()


def rows_at(replication: Replication, versions: Mapping[str, int | None]) -> dict[str, list[Row]]:
    """The rows of versions of tables, by readers that know nothing of headrace."""
    tables: dict[str, list[Row]] = {}
    for name, version in versions.items():
        namespace, table = name.split(".")
        rows = replication.lake.rows(namespace, table, version)
        tables[name] = [(row["id"], row["balance"], row["stage"]) for row in rows]
    return tables


def assert_whole(tables: Mapping[str, list[Row]], *, of_cut: bool = True) -> int:
    """No part of a transaction is in the rows; returns their stage."""
    assert set(tables) == set(NAMES)
    for rows in tables.values():
        assert len(rows) == ACCOUNTS
        assert len({stage for _, _, stage in rows}) == 1
    stages = {stage for rows in tables.values() for _, _, stage in rows}
    if of_cut:
        assert len(stages) == 1
        assert sum(row[1] for rows in tables.values() for row in rows) == 2 * ACCOUNTS * START
    return max(stages)


def next_cut(replication: Replication, former: ConsistentVersions | None) -> ConsistentVersions:
    """Another cut than the former one."""
    deadline = Deadline(_WITHIN_S)
    while not deadline.is_over:
        try:
            cut = headrace.consistent_versions(replication.state, NAMES)
        except HeadraceError as error:
            if error.code != "replicas.no_cut":
                raise
        else:
            if former is None or cut.versions != former.versions:
                return cut
        deadline.pause(0.1)
    raise AssertionError("there is no other cut")


@pytest.mark.parametrize(
    ("replication", "count"),
    [
        ("delta", 8),
        pytest.param("delta", 100, marks=pytest.mark.chaos),
        pytest.param("iceberg", 100, marks=pytest.mark.chaos),
    ],
    indirect=["replication"],
)
def test_cuts_during_transfers_have_all_money_also_after_a_restart(
    replication: Replication, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = replication.database
    for table in TABLES:
        database.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, balance bigint, stage int)")
        database.execute(
            f"INSERT INTO {table} SELECT i, {START}, 0 FROM generate_series(0, {ACCOUNTS - 1}) i"
        )
    options = {"compact_commits": "5", "snapshots_keep_minutes": "1"}
    cuts: list[ConsistentVersions] = []
    stages = set()
    with transfers(database):
        for run in range(2):
            query = replication.start(_SMALL, trigger="100 milliseconds", **options)
            try:
                while len(cuts) < count * (run + 1) // 2:
                    cuts.append(next_cut(replication, cuts[-1] if cuts else None))
                    stages.add(assert_whole(rows_at(replication, cuts[-1].versions)))
                    last = {
                        f"public.{table}": replication.rows(table, "id", "balance", "stage")
                        for table in TABLES
                    }
                    assert_whole(last, of_cut=False)  # type: ignore[arg-type]
            finally:
                query.stop()
    assert len({cut.place for cut in cuts}) == count
    assert len(stages) > 1
    replication.run({}, **options)
    # A cut is read again as it was.
    again = headrace.consistent_versions(replication.state, at=cuts[0])
    assert again.versions == cuts[0].versions
    assert_whole(rows_at(replication, again.versions))
    whole = headrace.consistent_versions(replication.state)
    tables = rows_at(replication, whole.versions)
    assert_whole(tables)
    for table in TABLES:
        source_rows = database.execute(f"SELECT id, balance, stage FROM {table} ORDER BY id")
        assert sorted(tables[f"public.{table}"]) == source_rows
    if isinstance(replication.lake, DeltaLake) and not spark_delta_jars():
        with pytest.raises(HeadraceError) as raised:  # Delta has no package for this Spark
            headrace.read_consistent(replication.spark, replication.state, at=cuts[0])
        assert raised.value.code == "replicas.no_reader"
    elif isinstance(replication.lake, DeltaLake):
        frames = headrace.read_consistent(replication.spark, replication.state, at=cuts[0])
        read = {name: [tuple(row) for row in f.collect()] for name, f in frames.items()}
        assert_whole(read)
        monkeypatch.chdir(replication.state.parent)
        names = {"headrace": headrace, "spark": replication.spark}
        exec(block("docs/guides/replicas.md", "headrace.read_consistent").text, names)
        assert names["total"] == 2 * ACCOUNTS * START

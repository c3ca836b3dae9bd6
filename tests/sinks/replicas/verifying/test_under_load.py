"""Tables that change all the time are compared without a false alarm, and a lost row among them is
found all the same."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.spark.sinks.comparison import ComparisonRequest, DifferenceKind
from tests.servers.postgresql import Database
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing

pytestmark = [pytest.mark.spark, pytest.mark.postgres]
ROWS = 3000


@contextmanager
def load(database: Database) -> Iterator[list[int]]:
    """Rows are inserted, updated, deleted and put back, and keys change, all the time; gives the
    number of transactions."""
    transactions, is_over = [0], threading.Event()

    def change() -> None:
        drawn = random.Random(7)
        with database.connect() as connection:
            while not is_over.is_set():
                low = drawn.randrange(200, ROWS)
                connection.execute(
                    "UPDATE a SET n = n + 1 WHERE id BETWEEN %s AND %s", (low, low + 9)
                )
                connection.execute("UPDATE a SET n = -n WHERE id = 150")
                connection.execute("DELETE FROM a WHERE id = %s", (low + 3,))
                connection.execute(
                    "INSERT INTO a SELECT %s, 'again', 0 ON CONFLICT DO NOTHING", (low + 3,)
                )
                connection.execute("UPDATE a SET id = id + 100000 WHERE id = %s", (low + 5,))
                connection.execute("UPDATE a SET id = id - 100000 WHERE id = %s", (low + 100005,))
                transactions[0] += 1
                is_over.wait(0.01)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield transactions
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_changes_are_no_differences_and_a_lost_row_is_one(replication: Replication) -> None:
    replication.database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, name text, n int);"
        f"INSERT INTO a SELECT i, 'name ' || i, i FROM generate_series(1, {ROWS}) i"
    )
    replication.run()
    # At this rate the load changes what was read and what is still to be read.
    slow = ComparisonRequest(rate=300)
    with running(replication, compact_commits="10"), load(replication.database) as transactions:
        began = transactions[0]
        clean = compare(replication, request=slow, compact_commits="10")["public.a"]
        assert transactions[0] > began + 50
        assert not clean.why
        assert clean.differences == ()
    with writing(replication, "a") as a:
        a.lose(17)
        a.change(18, n=-5)
        a.change(19, id=-19)
        a.double(20)
    with running(replication, compact_commits="10"), load(replication.database):
        table = compare(replication, compact_commits="10")["public.a"]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "17": DifferenceKind.MISSING,
        "18": DifferenceKind.DIFFERENT,
        "19": DifferenceKind.MISSING,
        "-19": DifferenceKind.SURPLUS,
        "20": DifferenceKind.REPEATED,
    }

"""The moment from which readers see the rows of a table's first copy."""

from __future__ import annotations

import pytest

from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_a_staged_first_copy_of_many_micro_batches_is_one_commit(replication: Replication) -> None:
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    replication.database.execute("INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 900) i")
    small = {"headrace.snapshot.chunk.bytes": "2kB", "headrace.range.max.rows": "100"}
    replication.run(first_copy="staged", source=small)
    replication.assert_equal("t", "id", "v")
    assert len(list((replication.state / "checkpoint" / "commits").glob("[0-9]*"))) > 2
    assert replication.lake.commits("public", "t") == 1
    replication.database.execute("UPDATE t SET v = 'w' WHERE id < 100")
    replication.run(first_copy="staged")
    replication.assert_equal("t", "id", "v")
    assert replication.lake.commits("public", "t") == 2

"""Our events against recordings of the real Debezium: byte for byte but for clocks, cluster times
and session ids.

What differs on purpose is, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

import pytest

from headrace.testing.mongodb import MongoServer
from tests.golden.archive import RECORDS
from tests.golden.conversation import counted_ids
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.mongodb.replayed import RecordedDatabase
from tests.golden.ours import differences
from tests.golden.selection import not_replayed, on_a_server

WORKLOADS = MongoDatabase.names()


def test_every_difference_on_purpose_is_of_a_workload() -> None:
    names = {file.stem for file in (MongoDatabase.folder / "differences").glob("*.txt")}
    assert names <= set(WORKLOADS)


@pytest.mark.mongodb
@pytest.mark.parametrize("name", on_a_server(MongoDatabase.folder, WORKLOADS))
def test_events_equal_the_recording_of_debezium(name: str, mongodb: MongoServer) -> None:
    if not RECORDS or name in not_replayed(MongoDatabase.folder):
        unexpected = differences(name, MongoDatabase(mongodb))
    else:
        database = RecordedDatabase(mongodb)
        with counted_ids():
            unexpected = differences(name, database)
        if not unexpected:
            database.leave(name)
    assert not unexpected, "\n".join(unexpected[:10])

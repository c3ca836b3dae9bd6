"""Our events against recordings of the real Debezium: byte for byte but for clocks, LSNs and xids.

What differs on purpose is, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

import pytest

from headrace.testing.embedded import PostgresServer
from tests.golden.archive import RECORDS
from tests.golden.conversation import counted_ids
from tests.golden.ours import differences
from tests.golden.postgresql.database import PostgresDatabase
from tests.golden.postgresql.replayed import RecordedDatabase, message_by_message
from tests.golden.selection import not_replayed, on_a_server

WORKLOADS = PostgresDatabase.names()


def test_every_difference_on_purpose_is_of_a_workload() -> None:
    names = {file.stem for file in (PostgresDatabase.folder / "differences").glob("*.txt")}
    assert names <= set(WORKLOADS)


@pytest.mark.postgres
@pytest.mark.parametrize("name", on_a_server(PostgresDatabase.folder, WORKLOADS))
def test_events_equal_the_recording_of_debezium(name: str, postgres: PostgresServer) -> None:
    if not RECORDS or name in not_replayed(PostgresDatabase.folder):
        event_differences = differences(name, PostgresDatabase(postgres))
    else:
        database = RecordedDatabase(postgres)
        with message_by_message(), counted_ids():
            event_differences = differences(name, database)
        if not event_differences:
            database.leave(name)
    assert not event_differences, "\n".join(event_differences[:10])

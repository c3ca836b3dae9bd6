"""headrace's events against recordings of Debezium: byte for byte, except for clocks and the times
of commits.

`differences/` lists each intended difference; docs/guides/differences.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace_demo.db2.derby import DerbyServer
from tests.golden.archive import RECORDS
from tests.golden.conversation import counted_ids
from tests.golden.db2.derby import DerbyDatabase
from tests.golden.db2.lacking import declared_in
from tests.golden.db2.replayed import RecordedDatabase
from tests.golden.ours import differences
from tests.golden.selection import not_replayed, on_a_server

FOLDER = DerbyDatabase.folder


@pytest.fixture(scope="module")
def database(derby_server: DerbyServer) -> Iterator[DerbyDatabase]:
    derby_server.start()
    derby_database = DerbyDatabase(derby_server)
    yield derby_database
    derby_database.close()


@pytest.mark.db2
@pytest.mark.parametrize("name", on_a_server(FOLDER, DerbyDatabase.names()))
def test_events_equal_the_recording_of_debezium(
    name: str, database: DerbyDatabase, derby_server: DerbyServer
) -> None:
    with declared_in(DerbyDatabase.workload(name)):
        if not RECORDS or name in not_replayed(FOLDER):
            unexpected = differences(name, database)
        else:
            recorded = RecordedDatabase(derby_server)
            with counted_ids():
                unexpected = differences(name, recorded)
            if not unexpected:
                recorded.leave(name)
            recorded.close()
    assert not unexpected, "\n".join(unexpected[:10])

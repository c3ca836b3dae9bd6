"""Our events against recordings of the real Debezium: byte for byte but for clocks and the times of
commits.

What differs on purpose stands, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace_demo.db2.derby import DerbyServer
from tests.golden.db2.derby import DerbyDatabase
from tests.golden.db2.lacking import declared
from tests.golden.ours import differences

NAMES = DerbyDatabase.names()
ON_THE_WIRE = [name for name in NAMES if not name.startswith("lacking_")]
LACKING = [name for name in NAMES if name.startswith("lacking_")]


@pytest.fixture(scope="module")
def database(derby_server: DerbyServer) -> Iterator[DerbyDatabase]:
    derby_server.start()
    made = DerbyDatabase(derby_server)
    yield made
    made.close()


@pytest.mark.db2
@pytest.mark.parametrize("name", ON_THE_WIRE)
def test_events_equal_the_recording_of_debezium(name: str, database: DerbyDatabase) -> None:
    unexpected = differences(name, database)
    assert not unexpected, "\n".join(unexpected[:10])


@pytest.mark.db2
@pytest.mark.parametrize("name", LACKING)
def test_events_of_types_that_derby_lacks_equal_the_recording_of_debezium(
    name: str, database: DerbyDatabase
) -> None:
    with declared("\n".join(DerbyDatabase.workload(name).phases["setup"])):
        unexpected = differences(name, database)
    assert not unexpected, "\n".join(unexpected[:10])

"""Our events against recordings of the real Debezium: byte for byte but for clocks.

What differs on purpose is, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace_demo.oracle.server import OracleServer
from tests.golden.oracle.database import ScriptedDatabase
from tests.golden.oracle.ours import StandInDatabase
from tests.golden.ours import differences

NAMES = ScriptedDatabase.names()


@pytest.fixture(scope="module")
def database(oracle_stand_in: OracleServer) -> Iterator[StandInDatabase]:
    stand_in_database = StandInDatabase(oracle_stand_in)
    yield stand_in_database
    stand_in_database.close()


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_events_equal_the_recording_of_debezium(name: str, database: StandInDatabase) -> None:
    unexpected = differences(name, database)
    assert not unexpected, "\n".join(unexpected[:10])

"""Our events against recordings of the real Debezium: byte for byte but for clocks, cluster times
and session ids.

What differs on purpose stands, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

import pytest

from headrace.testing.mongodb import MongoServer
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.ours import differences

WORKLOADS = MongoDatabase.names()


def test_every_difference_on_purpose_is_of_a_workload() -> None:
    names = {file.stem for file in (MongoDatabase.folder / "differences").glob("*.txt")}
    assert names <= set(WORKLOADS)


@pytest.mark.mongodb
@pytest.mark.parametrize("name", WORKLOADS)
def test_events_equal_the_recording_of_debezium(name: str, mongodb: MongoServer) -> None:
    unexpected = differences(name, MongoDatabase(mongodb))
    assert not unexpected, "\n".join(unexpected[:10])

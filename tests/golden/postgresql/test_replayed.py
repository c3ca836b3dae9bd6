"""Events of what a PostgreSQL server said once, read through the real driver: the same comparison
as on a server, without one."""

from __future__ import annotations

import pytest

from tests.golden.archive import kept, stale
from tests.golden.conversation import counted_ids
from tests.golden.ours import differences
from tests.golden.postgresql.database import PostgresDatabase
from tests.golden.postgresql.replayed import RECORDER, ReplayedDatabase, message_by_message
from tests.golden.selection import not_replayed

FOLDER = PostgresDatabase.folder
NAMES = sorted({*PostgresDatabase.names()} - not_replayed(FOLDER))
_WATCH = "headrace lock watch"


def test_no_conversation_is_lacking_or_older_than_its_recorder_or_its_workload() -> None:
    assert stale(FOLDER, NAMES, RECORDER) == {}, "make golden-live ONLY=postgresql RECORD=1"


@pytest.mark.parametrize("name", NAMES)
def test_events_of_a_recorded_conversation_equal_the_recording_of_debezium(name: str) -> None:
    database = ReplayedDatabase(kept(FOLDER)[name].conversation)
    with message_by_message(), counted_ids():
        event_differences = differences(name, database)
    # Whether a statement takes long enough to be watched is up to the machine.
    unanswered = [each for each in database.unanswered if _WATCH not in each]
    assert not [*event_differences, *unanswered], "\n".join([*event_differences[:10], *unanswered])

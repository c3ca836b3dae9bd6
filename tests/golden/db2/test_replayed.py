"""Events of what the stand-in for Db2 said once, read through the real driver: the same comparison
as on a server, without one."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.golden.archive import kept, stale
from tests.golden.conversation import counted_ids
from tests.golden.db2.derby import DerbyDatabase
from tests.golden.db2.lacking import declared_in
from tests.golden.db2.replayed import RECORDER, ReplayedDatabase
from tests.golden.ours import differences
from tests.golden.selection import not_replayed

FOLDER = DerbyDatabase.folder
NAMES = sorted({*DerbyDatabase.names()} - not_replayed(FOLDER))


def test_no_conversation_is_lacking_or_older_than_its_recorder_or_its_workload() -> None:
    assert stale(FOLDER, NAMES, RECORDER) == {}, "make golden-live ONLY=db2 RECORD=1"


@pytest.mark.parametrize("name", NAMES)
def test_events_of_a_recorded_conversation_equal_the_recording_of_debezium(name: str) -> None:
    with (
        closing(ReplayedDatabase(kept(FOLDER)[name].conversation)) as database,
        counted_ids(),
        declared_in(DerbyDatabase.workload(name)),
    ):
        event_differences = differences(name, database)
    message = "\n".join([*event_differences[:10], *database.unanswered])
    assert not [*event_differences, *database.unanswered], message

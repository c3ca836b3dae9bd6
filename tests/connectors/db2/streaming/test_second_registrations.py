"""A second change table of a table, which has another column and takes over while it is read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.connectors.db2.lsn import format_lsn
from headrace.connectors.db2.streaming.registered_tables import RegisteredTables
from tests.connectors.db2.test_streaming import TABLE, Reader, reader_of
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2
FIRST = f"CDC_{SCHEMA}_T"
BEFORE_AND_AFTER = pytest.mark.parametrize("second", ["A_SECOND", "Z_SECOND"])
"""The name of the second registration comes before that of the first one, or after it."""


@pytest.fixture
def reading(db2_database: Db2Database) -> Iterator[Reader]:
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database)
    yield reader
    reader.stop()


def take_over(reading: Reader, database: Db2Database, second: str) -> None:
    """Another column, and a change table that has it; the first one is read up to there."""
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN MORE INTEGER")
    database.capture.add_table(SCHEMA, "T", second)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two', 22)")
    assert reading.await_changes(2)[-1]["after"]["MORE"] == 22


def read_all(reading: Reader, database: Db2Database) -> None:
    """The reader has delivered whatever is captured by now."""
    place = format_lsn(database.capture.await_captured())
    reading.step_until(lambda: reading.offsets[-1]["commit_lsn"] >= place)


@BEFORE_AND_AFTER
@pytest.mark.parametrize("restarts", [False, True])
def test_it_continues_where_both_were_pruned_up_to_what_is_read(
    reading: Reader, db2_database: Db2Database, second: str, restarts: bool
) -> None:
    database = db2_database
    take_over(reading, database, second)
    read_all(reading, database)
    database.capture.prune(database.capture.synchpoint())
    if restarts:
        reading.restart()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'three', 33)")
    assert reading.await_changes(3)[-1]["after"] == {"ID": 3, "NAME": "three", "MORE": 33}


@BEFORE_AND_AFTER
def test_it_continues_where_the_first_one_is_pruned_after_its_beginning(
    reading: Reader, db2_database: Db2Database, second: str
) -> None:
    database = db2_database
    take_over(reading, database, second)
    read_all(reading, database)
    database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET CD_OLD_SYNCHPOINT = ? WHERE CD_TABLE = ?",
        (database.capture.synchpoint(), FIRST),
    )
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'three', 33)")
    assert reading.await_changes(3)[-1]["after"] == {"ID": 3, "NAME": "three", "MORE": 33}


def test_no_change_is_lost_where_the_first_one_is_removed_while_a_reading_begins(
    reading: Reader, db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Both have what is not read: of two with the same columns the reader may take either."""
    database = db2_database
    database.capture.add_table(SCHEMA, "T", "A_SECOND")
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    read_all(reading, database)
    database.capture.prune(database.capture.synchpoint())
    describe = RegisteredTables.describe
    chosen: list[str] = []

    def removed(self: RegisteredTables, catalog: object, span: object) -> object:
        name = span.registration.change_table  # type: ignore[attr-defined]
        if not chosen:
            database.capture.remove_table(SCHEMA, "T", name)
        chosen.append(name)
        return describe(self, catalog, span)  # type: ignore[arg-type]

    monkeypatch.setattr(RegisteredTables, "describe", removed)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    assert reading.await_changes(2)[-1]["after"] == {"ID": 2, "NAME": "two"}
    assert len(set(chosen)) == 2
    assert "its changes end here" not in caplog.text

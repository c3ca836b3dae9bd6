"""Tables that are registered again while the stream runs."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.lsn import format_lsn
from headrace.connectors.db2.streaming.beginnings import PRUNED
from headrace.errors import HeadraceError
from tests.connectors.db2.test_streaming import TABLE, Reader, reader_of
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2


def look(reader: Reader, database: Db2Database) -> None:
    """Capture writes on for other tables, and the reader reads that."""
    database.execute(f"INSERT INTO {SCHEMA}.OTHER VALUES ('x')")
    database.capture.advance()
    place = format_lsn(database.capture.synchpoint())
    reader.step_until(lambda: reader.offsets[-1]["commit_lsn"] >= place)


@pytest.mark.parametrize("is_seen_gone", [True, False])
def test_a_table_that_is_registered_again_under_the_same_name_is_a_gap(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture, is_seen_gone: bool
) -> None:
    database, capture = db2_database, db2_database.capture
    database.create_table("T", TABLE)
    database.create_table("OTHER", "NAME VARCHAR(20)")
    reader = reader_of(database)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'read')")
    reader.await_changes(1)
    capture.stop()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'not read')")
    capture.remove_table(SCHEMA, "T")
    if is_seen_gone:
        look(reader, database)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'not captured')")
    capture.add_table(SCHEMA, "T")
    capture.set_state(f"CDC_{SCHEMA}_T", "I")  # Capture does not capture it yet
    look(reader, database)
    assert ("was registered again" in caplog.text) is not is_seen_gone
    capture.set_state(f"CDC_{SCHEMA}_T", "A")
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (4, 'later')")
    capture.start()
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: any(v["after"].get("ID") == 4 for v in reader.values()))
    reader.stop()
    assert caught.value.code == PRUNED
    assert "registered again" in str(caught.value)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_table_that_was_read_is_registered_again_with_a_column_and_one_start_accepts_it(
    db2_database: Db2Database, is_stopped: bool
) -> None:
    """The procedure of the guide for an application that is stopped, while headrace runs or not."""
    database, capture = db2_database, db2_database.capture
    database.create_table("T", TABLE)
    database.create_table("OTHER", "NAME VARCHAR(20)")
    reader = reader_of(database)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'read')")
    reader.await_changes(1)
    if is_stopped:
        reader.stop()
    capture.remove_table(SCHEMA, "T")
    database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN MORE INTEGER")
    capture.add_table(SCHEMA, "T")
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'more', 22)")
    capture.await_captured()
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: len(reader.values()) == 2)
    assert caught.value.code == PRUNED
    reader.configure({**reader.properties, "headrace.change.tables.gap": "accept"})
    (_, value) = reader.await_changes(2)
    reader.configure({**reader.properties, "headrace.change.tables.gap": "fail"})
    database.execute(f"DELETE FROM {SCHEMA}.T WHERE ID = 2")
    assert reader.await_changes(3)[-1]["before"] == {"ID": 2, "NAME": "more", "MORE": 22}
    reader.stop()
    assert value["after"] == {"ID": 2, "NAME": "more", "MORE": 22}

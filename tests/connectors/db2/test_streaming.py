"""Change tables on the wire: what is read of them, and what becomes of them meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.db2.lsn import format_lsn, parse_lsn
from headrace.connectors.db2.starting.readiness import Readiness
from headrace.errors import HeadraceError
from headrace_demo.db2.control_tables import quoted
from headrace_demo.db2.derby import DerbyServer
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

TABLE = "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20)"


class Reader(ConnectorReader):
    """Reads all tables of a database from now on."""

    def values(self) -> list[dict[str, Any]]:
        """Values of changes in total order, tombstones left out."""
        return [value for value in self.events() if value.get("op")]

    def images(self) -> list[tuple[str, dict[str, Any] | None, dict[str, Any] | None]]:
        """Operations and images."""
        return [(value["op"], value["before"], value["after"]) for value in self.values()]

    def await_changes(self, count: int) -> list[dict[str, Any]]:
        """Micro-batches until so many changes came."""
        return self.step_until(lambda: len(self.values()) >= count).values()


def reader_of(database: Db2Database, **more: str) -> Reader:
    """A reader whose position is found."""
    changed = {"snapshot_mode": "no_data", "errors_max_retries": "0", "poll_interval_ms": "20"}
    reader = Reader(database.properties(**(changed | more)))
    return reader.step_until(lambda: len(reader.offsets) > 1)


@pytest.fixture
def reading(db2_database: Db2Database) -> Iterator[Reader]:
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database)
    yield reader
    reader.stop()


def test_changes_of_several_tables_come_in_the_order_of_the_log(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.create_table("OTHER", TABLE)
    with db2_database.transaction() as execute:
        for table in ("T", "OTHER", "T", "OTHER"):
            execute(
                f"INSERT INTO {SCHEMA}.{table} VALUES ((SELECT COUNT(*) FROM {SCHEMA}.{table}), ?)",
                (table,),
            )
    values = reading.await_changes(4)
    assert [value["source"]["table"] for value in values] == ["T", "OTHER", "T", "OTHER"]
    assert len({value["source"]["commit_lsn"] for value in values}) == 1
    numbers = [value["source"]["change_lsn"] for value in values]
    assert numbers == sorted(numbers)


def test_the_source_block_has_the_numbers_of_the_change_table_and_the_commits_time(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    db2_database.execute(f"UPDATE {SCHEMA}.T SET NAME = 'two'")
    _, update = reading.await_changes(2)
    _, deleted, inserted = db2_database.changes("T")
    assert [deleted[2], inserted[2]] == ["D", "I"]
    assert update["source"]["commit_lsn"] == format_lsn(inserted[0])
    assert update["source"]["change_lsn"] == format_lsn(inserted[1])
    ((at,),) = db2_database.execute(
        'SELECT IBMSNAP_LOGMARKER FROM "ASNCDC".IBMSNAP_UOW WHERE IBMSNAP_COMMITSEQ = ?',
        (inserted[0],),
    )
    assert update["source"]["ts_us"] % 1_000_000 == at.microsecond
    assert (update["op"], update["before"]["NAME"], update["after"]["NAME"]) == ("u", "one", "two")


def test_numbers_of_ten_bytes_are_read_and_shown(derby: DerbyServer) -> None:
    database = Db2Database.create(derby, width=10)
    with database.capture:
        database.create_table("T", TABLE)
        reader = reader_of(database)
        database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
        (value,) = reader.await_changes(1)
        reader.restart()
        database.execute(f"DELETE FROM {SCHEMA}.T")
        reader.await_changes(2)
        reader.stop()
    assert len(parse_lsn(value["source"]["commit_lsn"])) == 10
    assert len(parse_lsn(reader.offsets[-1]["commit_lsn"])) == 10
    assert [op for op, _, _ in reader.images()] == ["c", "d"]


def test_numbers_have_their_size_where_a_stream_began_before_capture(derby: DerbyServer) -> None:
    database = Db2Database.create(derby, width=10)
    database.create_table("T", TABLE)
    place = "SYNCHPOINT = {} WHERE GLOBAL_RECORD = 'Y'"
    ((first,),) = database.execute("SELECT MAX(SYNCHPOINT) FROM ASNCDC.IBMSNAP_REGISTER")
    database.execute(f"UPDATE ASNCDC.IBMSNAP_REGISTER SET {place.format('NULL')}")
    reader = reader_of(database, headrace_range_max_rows="2")
    assert reader.offsets[-1]["commit_lsn"] is None
    database.execute(f"UPDATE ASNCDC.IBMSNAP_REGISTER SET {place.format('?')}", (first,))
    with database.transaction() as execute:
        for number in range(5):
            execute(f"INSERT INTO {SCHEMA}.T VALUES ({number}, 'x')", ())
    with database.capture:
        reader.await_changes(5)
        reader.step_until(lambda: "transaction_lsn" not in reader.offsets[-1])
        reader.stop()
    database.close()
    members = ("commit_lsn", "transaction_lsn", "change_lsn")
    numbers = [offset[name] for offset in reader.offsets for name in members if offset.get(name)]
    assert len(numbers) > len(members)
    assert {len(parse_lsn(number)) for number in numbers} == {10}


@pytest.mark.parametrize(
    "more", [{"query_fetch_size": "1"}, {"streaming_query_timespan_seconds": "2"}]
)
def test_a_backlog_is_read_in_windows_and_blocks_of_any_size(
    db2_database: Db2Database, more: dict[str, str]
) -> None:
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database, **more)
    reader.stop()
    for number in range(20):
        db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES ({number}, 'x')")
    db2_database.execute(f"UPDATE {SCHEMA}.T SET NAME = 'y'")
    values = reader.await_changes(40)
    reader.stop()
    assert [value["after"]["ID"] for value in values] == [*range(20), *range(20)]
    assert [value["op"] for value in values] == ["c"] * 20 + ["u"] * 20


def test_a_timespan_may_reach_beyond_the_last_time_that_there_is(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database, streaming_query_timespan_seconds="2")
    reader.stop()
    for number in range(3):
        db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES ({number}, 'x')")
    db2_database.capture.await_captured()
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_UOW SET IBMSNAP_LOGMARKER = '9999-12-31 23:59:59.999999'"
    )
    values = reader.await_changes(3)
    reader.stop()
    assert [value["after"]["ID"] for value in values] == [0, 1, 2]


def test_an_update_without_its_row_before_is_an_update_all_the_same(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    db2_database.capture.stop()
    db2_database.execute(f"DELETE FROM {SCHEMA}.T")
    changes = quoted("ASNCDC", f"CDC_{SCHEMA}_T")
    db2_database.execute(
        f"UPDATE {changes} SET IBMSNAP_OPERATION = 'U' WHERE IBMSNAP_OPERATION = 'D'"
    )
    db2_database.capture.start()
    values = reading.await_changes(2)
    assert (values[1]["op"], values[1]["before"]) == ("u", None)
    assert values[1]["after"] == {"ID": 1, "NAME": "one"}


def test_updates_without_rows_before_are_warned_of_when_streaming_begins(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.create_table("T", TABLE)
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET CHG_UPD_TO_DEL_INS = 'N' WHERE GLOBAL_RECORD = 'N'"
    )
    reader_of(db2_database).stop()
    assert "[db2.updates_without_before]" in caplog.text


def test_a_lost_history_is_written_again_if_the_configuration_says_so(
    db2_database: Db2Database, tmp_path: Path
) -> None:
    based = "snapshot_mode_configuration_based"
    db2_database.create_table("T", TABLE)
    more = {
        "snapshot_mode": "configuration_based",
        f"{based}_start_stream": "true",
        "schema_history_internal_file_filename": str(tmp_path / "history"),
    }
    reader = reader_of(db2_database, **more)
    reader.stop()
    (tmp_path / "history").unlink()
    with pytest.raises(HeadraceError) as caught:
        reader.step()
    assert caught.value.code == "db2.history_lost"
    repairing = f"{based}_snapshot_on_schema_error".replace("_", ".")
    reader.configure({**reader.properties, repairing: "true"})
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    assert reader.await_changes(1)[0]["after"]["ID"] == 1
    reader.stop()
    assert (tmp_path / "history").exists()


def test_a_second_registration_takes_over_with_its_columns(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    reading.stop()
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    db2_database.capture.await_captured()
    db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    db2_database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN MORE INTEGER")
    db2_database.capture.add_table(SCHEMA, "T", "CDC_SECOND")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'three', 33)")
    values = reading.await_changes(3)
    assert [value["after"] for value in values] == [
        {"ID": 1, "NAME": "one"},
        {"ID": 2, "NAME": "two"},
        {"ID": 3, "NAME": "three", "MORE": 33},
    ]


@pytest.mark.parametrize("restarts", [False, True])
def test_schema_changes_are_emitted_without_a_place_to_keep_the_history(
    reading: Reader, db2_database: Db2Database, restarts: bool
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    if restarts:  # a table of the process before is known again from its first event on
        reading.restart()
        db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
        reading.await_changes(2)
    before = len(schema_changes(reading))
    for table in (f"{SCHEMA}.T", quoted("ASNCDC", f"CDC_{SCHEMA}_T")):
        db2_database.execute(f"ALTER TABLE {table} ADD COLUMN MORE INTEGER")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T (ID, NAME) VALUES (3, 'three')")
    db2_database.create_table("LATE", TABLE)
    db2_database.execute(f"INSERT INTO {SCHEMA}.LATE VALUES (1, 'one')")
    reading.await_changes(len(reading.values()) + 2)
    types = [(change["tableChanges"][0]["type"]) for change in schema_changes(reading)[before:]]
    assert types == (["ALTER"] if restarts else ["ALTER", "CREATE"])


def schema_changes(reader: Reader) -> list[dict[str, Any]]:
    return [value for value in reader.events() if "tableChanges" in value]


def test_a_column_that_the_change_table_lacks_is_null_with_a_word(
    reading: Reader, db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN MORE INTEGER")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one', 11)")
    (value,) = reading.await_changes(1)
    assert value["after"] == {"ID": 1, "NAME": "one", "MORE": None}
    assert f"The column MORE of {SCHEMA}.T is missing in the change table" in caplog.text


def test_a_column_without_nulls_that_the_change_table_lacks_is_null_and_no_default(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN MORE INTEGER NOT NULL DEFAULT 7")
    db2_database.execute(f"ALTER TABLE {SCHEMA}.T ADD COLUMN LARGE CLOB NOT NULL DEFAULT 'text'")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one', 11, 'large')")
    (value,) = reading.await_changes(1)
    assert value["after"] == {"ID": 1, "NAME": "one", "MORE": None, "LARGE": None}


def test_a_key_column_that_the_change_table_lacks_is_an_error_and_no_made_up_key(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    reading.stop()
    changes = quoted("ASNCDC", f"CDC_{SCHEMA}_T")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    db2_database.capture.await_captured()
    db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    db2_database.execute(f"ALTER TABLE {changes} DROP COLUMN ID")
    with pytest.raises(HeadraceError) as caught:
        reading.step_until(lambda: False)
    assert caught.value.code == "db2.change_table_altered"
    message = f"The key column ID of {SCHEMA}.T has no values (is missing in the change table"
    assert message in str(caught.value)
    reading.configure({**reading.properties, "message.key.columns": rf"{SCHEMA}\.T:NAME"})
    value = reading.await_changes(2)[1]
    assert (value["key"], value["after"]) == ({"NAME": "two"}, {"ID": None, "NAME": "two"})


def test_a_table_whose_registration_ends_does_not_hold_up_the_others(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.create_table("OTHER", TABLE)
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    db2_database.capture.remove_table(SCHEMA, "T")
    db2_database.execute(f"INSERT INTO {SCHEMA}.OTHER VALUES (1, 'one')")
    values = reading.await_changes(2)
    assert values[1]["source"]["table"] == "OTHER"


def test_a_table_that_is_registered_meanwhile_is_read_from_then_on(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    db2_database.create_table("LATE", TABLE)
    db2_database.execute(f"INSERT INTO {SCHEMA}.LATE VALUES (1, 'one')")
    assert reading.await_changes(2)[1]["source"]["table"] == "LATE"


def _prune(database: Db2Database) -> None:
    database.capture.await_captured()
    database.capture.prune(database.capture.synchpoint())


def test_changes_that_were_pruned_before_they_were_read_are_an_error(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    reading.stop()
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    _prune(db2_database)
    with pytest.raises(HeadraceError) as caught:
        reading.step_until(lambda: False)
    assert caught.value.code == "db2.changes_pruned"
    assert f"of {SCHEMA}.T begins at" in str(caught.value)
    assert "snapshot.mode=when_needed" in caught.value.remedy


def test_a_gap_is_accepted_where_the_configuration_says_so(
    reading: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    reading.configure({**reading.properties, "headrace.change.tables.gap": "accept"})
    _prune(db2_database)
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'three')")
    assert reading.await_changes(2)[1]["after"]["ID"] == 3


def test_what_was_read_may_be_pruned(reading: Reader, db2_database: Db2Database) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reading.await_changes(1)
    place = format_lsn(db2_database.capture.await_captured())
    reading.step_until(lambda: reading.offsets[-1]["commit_lsn"] >= place)
    _prune(db2_database)
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    reading.restart()
    assert reading.await_changes(2)[1]["after"]["ID"] == 2


def test_a_position_ahead_of_the_synchpoint_is_refused(
    reading: Reader, db2_database: Db2Database
) -> None:
    reading.stop()
    reading.offsets[-1] |= {"commit_lsn": "7fffffff:00000000:0000000000000000"}
    with pytest.raises(HeadraceError) as caught:
        reading.step_until(lambda: False)
    assert caught.value.code == "db2.position_ahead"


def test_records_of_a_transaction_without_records_have_no_borders(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database, provide_transaction_metadata="true", skipped_operations="u")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    db2_database.execute(f"UPDATE {SCHEMA}.T SET NAME = 'two'")
    with db2_database.transaction() as execute:
        execute(f"UPDATE {SCHEMA}.T SET NAME = 'three'", ())
        execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'four')", ())

    def borders() -> list[dict[str, Any]]:
        values = [json.loads(record["value"]) for record in reader.in_order()]
        return [value for value in values if "status" in value]

    reader.step_until(lambda: len(borders()) == 4)
    reader.stop()
    assert [(border["status"], border["event_count"]) for border in borders()] == [
        ("BEGIN", None),
        ("END", 1),
        ("BEGIN", None),
        ("END", 1),
    ]
    commits = [value["source"]["commit_lsn"] for value in reader.values()]
    assert [border["id"] for border in borders()][::2] == commits


def test_a_micro_batch_does_not_read_the_catalog_again(
    reading: Reader, db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_again(*_: object) -> None:
        raise AssertionError("the tables were read for a micro-batch")

    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'a')")
    reading.await_changes(1)
    monkeypatch.setattr(Readiness, "prepare", read_again)
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'b')")
    assert len(reading.await_changes(2)) == 2

"""Tables that the connector's user may not read: a stream that goes on has no need to."""

from __future__ import annotations

import logging

import pytest

from headrace.connectors.registry import check
from headrace.errors import HeadraceError
from headrace.findings import statements
from headrace_demo.db2.derby import DerbyServer
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

KEYED = "ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(20)"
CODE = "db2.no_privilege"


def grant_all(database: Db2Database, reader: ConnectorReader) -> None:
    """Grants the privileges that `check` asks for."""
    while errors := [finding for finding in check(reader.config) if finding.level == "error"]:
        for statement in (each for error in errors for each in statements(error.remedy)):
            database.execute(statement.rstrip(";").replace("TO USER", "TO"))


def changes_of_late(reader: ConnectorReader) -> int:
    return [record["topic"] for record in reader.records].count("headrace.INV.LATE")


def test_a_new_table_that_may_not_be_read_stops_a_start_and_no_stream_that_continues(
    guarded_server: DerbyServer, caplog: pytest.LogCaptureFixture
) -> None:
    database = Db2Database.create(guarded_server)
    with database.capture:
        database.create_table("T", KEYED)
        login = {"database_user": "READER", "database_password": "secret-word"}
        reader = ConnectorReader(database.properties(**login))
        for start in (lambda: reader.open().validate(None), reader.step):
            with pytest.raises(HeadraceError) as caught:
                start()
            assert caught.value.code == CODE
        reader.stop()
        grant_all(database, reader)
        reader.step_until(
            lambda: "snapshot" not in reader.offsets[-1] and "commit_lsn" in reader.offsets[-1]
        )
        database.create_table("LATE", KEYED)
        changes = '"ASNCDC"."CDC_INV_LATE"'
        database.execute(f'GRANT SELECT ON {changes} TO "READER"')
        database.execute("INSERT INTO INV.LATE VALUES (1, 'a')")
        reader.step_until(lambda: changes_of_late(reader) == 1)
        reader.stop()
        levels = {
            finding.code: finding.level for finding in check(reader.config, reader.offsets[-1])
        }
        assert (levels[CODE], "error" in levels.values()) == ("warning", False)
        assert {finding.code: finding.level for finding in check(reader.config)}[CODE] == "error"
        database.execute("INSERT INTO INV.LATE VALUES (2, 'b')")
        with caplog.at_level(logging.WARNING, "headrace"):
            reader.open().validate(reader.offsets[-1])
            reader.step_until(lambda: changes_of_late(reader) == 2)
        assert "may not read INV.LATE: its changes arrive" in caplog.text
        reader.stop()
    database.close()

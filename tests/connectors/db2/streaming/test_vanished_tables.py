"""Change tables that are dropped while their registrations stay."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import connect
from headrace.connectors.db2.streaming.registered_tables import RegisteredTables, spans
from headrace.streaming.relations import RelationVersions
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2


def test_a_vanished_change_table_is_reported_once_and_again_after_it_was_back(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    db2_database.capture.stop()
    config = Db2Config.parse(db2_database.properties())
    capture = Capture(config)
    tables = RegisteredTables(capture, RelationVersions(capture.key_rendering), lambda *_: None)

    def described() -> tuple[bool, int]:
        caplog.clear()
        with connect(config) as connection:
            catalog = Catalog(connection)
            (span,) = spans(registrations(connection, config))
            are_described = [tables.describe(catalog, span) is not None for _ in range(3)]
            for is_there in are_described:
                tables.warn_of_vanished([] if is_there else [span])
        assert len(set(are_described)) == 1
        gone = f"The change table ASNCDC.CDC_{SCHEMA}_T of {SCHEMA}.T no longer exists"
        return are_described[0], sum(gone in record.message for record in caplog.records)

    assert described() == (True, 0)
    change_table = f'ASNCDC."CDC_{SCHEMA}_T"'
    backup_table = 'ASNCDC."KEPT"'
    db2_database.execute(f"RENAME TABLE {change_table} TO KEPT")
    assert described() == (False, 1)
    assert described() == (False, 0)
    db2_database.execute(f'RENAME TABLE {backup_table} TO "CDC_{SCHEMA}_T"')
    assert described() == (True, 0)
    db2_database.execute(f"DROP TABLE {change_table}")
    assert described() == (False, 1)

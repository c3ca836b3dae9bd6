"""Change tables whose columns have more digits after the point than those of their tables."""

from __future__ import annotations

import pytest

from headrace_demo.db2.control_tables import SIMULATOR, quoted
from tests.connectors.db2.test_streaming import reader_of
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

CHANGES = quoted("ASNCDC", f"CDC_{SCHEMA}_T")
ID = "ID INTEGER NOT NULL PRIMARY KEY"


@pytest.mark.parametrize(
    ("mode", "value"), [("precise", "MDk="), ("string", "1.2345"), ("double", 1.2345)]
)
def test_a_decimal_has_all_digits_that_the_change_table_has(
    db2_database: Db2Database, mode: str, value: object
) -> None:
    db2_database.create_table("T", f"{ID}, N DECIMAL(10,4) DEFAULT 1.5")
    db2_database.execute(f"DROP TABLE {SCHEMA}.T")
    db2_database.create_table("T", f"{ID}, N DECIMAL(10,2) DEFAULT 1.5", captured=False)
    reader = reader_of(db2_database, decimal_handling_mode=mode)
    with db2_database.transaction() as execute:
        ((number,),) = execute(f"SELECT NUMBER FROM {SIMULATOR}.COMMITS", ())
        values = (int(number).to_bytes(16), (1).to_bytes(16))
        execute(f"INSERT INTO {CHANGES} VALUES (?, ?, 'I', 1, 1.2345)", values)
    (event,) = reader.await_changes(1)
    reader.stop()
    assert event["after"] == {"ID": 1, "N": value}

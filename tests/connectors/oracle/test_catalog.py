"""Tables as the data dictionary describes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, opened
from headrace.connectors.oracle.types.source_type import OracleType
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle


@pytest.fixture
def connection(oracle_database: OracleDatabase) -> Iterator[Connection]:
    with opened(OracleConfig.parse(oracle_database.properties()), "Looking") as connection:
        yield connection


def test_columns_have_their_types_defaults_and_comments(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    oracle_database.create_table(
        "T",
        "ID NUMBER(9,0) NOT NULL",
        "NAME NVARCHAR2(20) DEFAULT 'it''s' NOT NULL COMMENT 'who'",
        "PRICE NUMBER(10,2)",
        "ANY_NUMBER NUMBER",
        "RAW_BYTES RAW(16)",
        "AT TIMESTAMP(3) WITH TIME ZONE",
        'TWICE NUMBER DEFAULT "PRICE"*2 GENERATED',
        "SECRET NUMBER HIDDEN",
        key=["ID"],
    )
    columns = Catalog(connection).columns("INV", "T")
    described = {one.name: (one.type, one.not_null, one.default, one.comment) for one in columns}
    assert described == {
        "ID": (OracleType.of("NUMBER", 22, 9, 0), True, None, None),
        "NAME": (OracleType.of("NVARCHAR2", 20), True, "'it''s'", "who"),
        "PRICE": (OracleType.of("NUMBER", 22, 10, 2), False, None, None),
        "ANY_NUMBER": (OracleType.of("NUMBER", 22), False, None, None),
        "RAW_BYTES": (OracleType.of("RAW", 16), False, None, None),
        "AT": (OracleType.of("TIMESTAMP(3) WITH TIME ZONE", 13, None, 3), False, None, None),
        "TWICE": (OracleType.of("NUMBER", 22), False, None, None),
    }


def test_the_key_is_the_primary_one_or_a_unique_index_of_columns(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    columns = ("A NUMBER", "B NUMBER", "C NUMBER")
    oracle_database.create_table("KEYED", *columns, key=["B", "A"], unique=[["C"]])
    oracle_database.create_table("INDEXED", *columns, unique=[["SYS_NC00004$"], ["C", "A"]])
    oracle_database.create_table("BARE", *columns)
    catalog = Catalog(connection)
    assert catalog.key("INV", "KEYED") == ("B", "A")
    assert catalog.key("INV", "INDEXED") == ("C", "A")
    assert catalog.key("INV", "BARE") == ()
    assert catalog.table("INV", "NOWHERE") is None


def test_tables_are_known_by_their_object_ids(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    oracle_database.create_table("T", "ID NUMBER(9,0)", key=["ID"], object=4711)
    oracle_database.create_table("OTHER.T", "ID NUMBER(9,0)", key=["ID"], object=4712)
    tables = StoredTables(connection)
    assert [(one.name, one.id) for one in tables.tables()] == [("INV.T", 4711), ("OTHER.T", 4712)]
    reading = tables.read([4712, 1])
    assert list(reading.tables) == [4712]
    table = reading.tables[4712]
    assert (table.path, table.key) == (("OTHER", "T"), ("ID",))
    assert [leaf.path for leaf in table.leaves] == [("OTHER", "T")]
    assert Catalog(connection).object_ids("OTHER", "T") == (4712, 4712)
    assert Catalog(connection).object_ids("OTHER", "U") is None


def test_a_table_tells_its_statement(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    oracle_database.create_table("T", "ID NUMBER(9,0)", key=["ID"])
    assert 'CREATE TABLE "INV"."T"' in Catalog(connection).ddl("INV", "T")


def test_ddl_changes_what_is_described(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    server, catalog = oracle_database.server, Catalog(connection)
    server.ddl('CREATE TABLE INV.NEW (ID NUMBER(5) PRIMARY KEY, "v" VARCHAR2(3), D DATE)')
    assert catalog.key("INV", "NEW") == ("ID",)

    def names(table: str = "NEW") -> list[str]:
        return [column.name for column in catalog.columns("INV", table)]

    server.ddl("ALTER TABLE INV.NEW ADD (A NUMBER, B NUMBER(3) DEFAULT 7)")
    assert names() == ["ID", "v", "D", "A", "B"]
    server.ddl("ALTER TABLE INV.NEW DROP COLUMN A")
    server.ddl("ALTER TABLE INV.NEW RENAME COLUMN D TO DAY")
    assert names() == ["ID", "v", "DAY", "B"]
    server.ddl('ALTER TABLE INV.NEW MODIFY ("v" VARCHAR2(30))')
    assert catalog.columns("INV", "NEW")[1].type == OracleType.of("VARCHAR2", 30)
    server.ddl("ALTER TABLE INV.NEW RENAME TO NEWER")
    assert names() == []
    assert names("NEWER") == ["ID", "v", "DAY", "B"]
    server.ddl("DROP TABLE INV.NEWER")
    assert names("NEWER") == []

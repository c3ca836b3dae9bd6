"""Tables as the data dictionary describes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.catalog.stored_tables import WHOLE_SCHEMA_FROM, StoredTables
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
    described = {
        column.name: (column.type, column.not_null, column.default, column.comment)
        for column in columns
    }
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
    assert [(table.name, table.id) for table in tables.tables()] == [
        ("INV.T", 4711),
        ("OTHER.T", 4712),
    ]
    reading = tables.read([4712, 1])
    assert list(reading.tables) == [4712]
    table = reading.tables[4712]
    assert (table.path, table.key) == (("OTHER", "T"), ("ID",))
    assert [leaf.path for leaf in table.leaves] == [("OTHER", "T")]
    assert Catalog(connection).object_ids("OTHER", "T") == (4712, 4712)
    assert Catalog(connection).object_ids("OTHER", "U") is None


@pytest.mark.parametrize("kind", ["EXTERNAL", "HYBRID", "NESTS"])
def test_external_tables_and_parents_of_nested_ones_are_not_among_the_tables(
    oracle_database: OracleDatabase, connection: Connection, kind: str
) -> None:
    oracle_database.create_table("OTHER.ODD", "ID NUMBER(9,0)", key=["ID"])
    oracle_database.create_table("ODD", "ID NUMBER(9,0)", key=["ID"], kind=kind)
    assert [path[:2] for path in Catalog(connection).tables()] == [("OTHER", "ODD")]


@pytest.mark.parametrize(
    ("version", "condition"),
    [
        ((12, 1, 0, 2, 0), ""),
        ((12, 2, 0, 1, 0), " AND T.EXTERNAL = 'NO'"),
        ((18, 3), " AND T.EXTERNAL = 'NO'"),
        ((23, 6), " AND T.EXTERNAL = 'NO' AND T.HYBRID = 'NO'"),
    ],
)
def test_servers_are_asked_for_the_columns_that_their_version_has(
    version: tuple[int, ...], condition: str
) -> None:
    assert sql.TABLES.match(sql.tables(version)) == {"inside": condition}


def test_logs_of_materialized_views_are_not_captured(oracle_database: OracleDatabase) -> None:
    config = OracleConfig.parse(oracle_database.properties())
    assert not Capture(config).takes("INV.MLOG$_T")
    assert Capture(config).takes("INV.MLOGS")
    released = oracle_database.properties(headrace_compatibility="debezium-3.6")
    assert Capture(OracleConfig.parse(released)).takes("INV.MLOG$_T")


def test_invisible_columns_are_the_last_ones_of_a_table(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    oracle_database.create_table(
        "T",
        "SYS_NC00001$ NUMBER HIDDEN",
        "GHOST NUMBER(5,0) INVISIBLE",
        "ID NUMBER(9,0) NOT NULL",
        "NAME VARCHAR2(9)",
        key=["ID"],
    )
    columns = Catalog(connection).columns("INV", "T")
    assert [column.name for column in columns] == ["ID", "NAME", "GHOST"]


def test_the_many_tables_of_a_schema_are_described_at_once(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    columns = ("A NUMBER NOT NULL", "B NUMBER(5,0) DEFAULT 7 COMMENT 'b'", "C VARCHAR2(9)")
    for number in range(WHOLE_SCHEMA_FROM):
        key = ["B", "A"] if number % 2 else []
        unique = [["SYS_NC00004$"], ["C", "A"]] if number % 3 else []
        oracle_database.create_table(f"T{number}", *columns, key=key, unique=unique)
    tables = StoredTables(connection)
    ids = [table.id for table in tables.tables()]
    one_by_one = {**tables.read(ids[:25]).tables, **tables.read(ids[25:]).tables}
    before = oracle_database.server.call("counted")
    assert tables.read(ids).tables == one_by_one
    after = oracle_database.server.call("counted")
    names = ("columns", "primary_key", "unique_indexes", "tables")
    assert [after[name] - before[name] for name in names] == [1, 1, 1, 1]


def test_the_options_of_statements_are_set_once_for_a_session(
    oracle_database: OracleDatabase, connection: Connection
) -> None:
    catalog = Catalog(connection)
    for name in ("T", "U"):
        oracle_database.create_table(name, "ID NUMBER(9,0)", key=["ID"])
        assert f'CREATE TABLE "INV"."{name}"' in catalog.ddl("INV", name)
    assert oracle_database.server.call("counted")["ddl_options"] == 1


def test_a_table_gives_its_statement(
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

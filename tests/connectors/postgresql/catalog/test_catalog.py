"""The catalogue's facts of tables, keys and types, also to a role that may only read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.registry import parse_configuration
from tests.servers.postgresql import Database

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("postgres", [16, 18], indirect=True),
]


@pytest.fixture
def catalog(database: Database) -> Iterator[Catalog]:
    role = f"reader_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN REPLICATION")
    properties = database.properties() | {"database.user": role}
    opened = Catalog(parse_configuration(properties))  # type: ignore[arg-type]
    yield opened
    opened.close()
    database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def described(database: Database, catalog: Catalog, name: str = "t") -> CatalogTable:
    oid = database.execute("SELECT %s::regclass::oid", (name,))[0][0]
    table = catalog.read([oid], sizes=True).describe(oid)
    assert table is not None
    return table


def test_only_tables_that_are_logged_are_listed(database: Database, catalog: Catalog) -> None:
    database.execute(
        "CREATE TABLE t (a int); CREATE UNLOGGED TABLE u (a int); CREATE VIEW v AS SELECT 1;"
        "CREATE MATERIALIZED VIEW m AS SELECT 1; CREATE SEQUENCE s;"
        'CREATE SCHEMA "S"; CREATE TABLE "S"."T.x" (a int);'
        "CREATE TABLE p (a int) PARTITION BY LIST (a);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)"
    )
    assert {t.name for t in catalog.tables()} == {
        "public.t", "S.T.x", "public.p", "public.p1",
    }  # fmt: skip


def test_columns_come_with_what_their_schema_needs(database: Database, catalog: Catalog) -> None:
    database.execute(
        "CREATE TABLE t (a int NOT NULL, gone int, b numeric(5, 2) DEFAULT 1.5, c serial,"
        " d int GENERATED ALWAYS AS (a * 2) STORED, e int GENERATED ALWAYS AS IDENTITY);"
        "ALTER TABLE t DROP gone"
    )
    table = described(database, catalog)
    assert [c.name for c in table.columns] == ["a", "b", "c", "d", "e"]
    assert table.not_null == {"a", "c", "e"}
    assert {c.name: c.default for c in table.columns if c.default} == {
        "b": "1.5",
        "c": "nextval('public.t_c_seq'::regclass)",
    }
    assert [c.name for c in table.columns if c.generated] == ["d"]
    assert table.columns[1].type.typmod == ((5 << 16) | 2) + 4


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("PRIMARY KEY (c, a)", ("c", "a")),
        ("UNIQUE (b), PRIMARY KEY (c)", ("c",)),
        ("UNIQUE (b, a)", ("b", "a")),
        ("PRIMARY KEY (a) INCLUDE (b)", ("a",)),
        ("CHECK (a > 0)", ()),
    ],
)
def test_the_key_is_the_primary_key_or_else_a_unique_index(
    database: Database, catalog: Catalog, keys: str, expected: tuple[str, ...]
) -> None:
    database.execute(f"CREATE TABLE t (a int, b int, c int, {keys})")
    assert described(database, catalog).key == expected


@pytest.mark.parametrize(
    ("keys", "doubt"),
    [
        ("a int PRIMARY KEY DEFERRABLE", "the constraint t_pkey is DEFERRABLE"),
        ("a int UNIQUE, b int", "the unique index t_a_key accepts several rows with NULL in a"),
        ("a int, b int NOT NULL, UNIQUE (b, a)", "accepts several rows with NULL in a"),
        ("a int UNIQUE NOT NULL", ""),
        ("a int UNIQUE, b int PRIMARY KEY", ""),
        ("a int CONSTRAINT c UNIQUE DEFERRABLE, b int PRIMARY KEY", ""),
    ],
)
def test_a_key_that_rows_can_share_or_exchange_is_a_key_with_a_doubt(
    database: Database, catalog: Catalog, keys: str, doubt: str
) -> None:
    database.execute(f"CREATE TABLE t ({keys})")
    table = described(database, catalog)
    assert table.key
    assert doubt in table.key_doubt
    assert bool(doubt) is bool(table.key_doubt)


def test_a_unique_index_with_one_null_at_most_identifies_a_row(
    database: Database, catalog: Catalog
) -> None:
    if int(catalog.setting("server_version_num")) < 150000:
        pytest.skip("NULLS NOT DISTINCT is new in PostgreSQL 15")
    database.execute("CREATE TABLE t (a int UNIQUE NULLS NOT DISTINCT)")
    assert described(database, catalog).key_doubt == ""


@pytest.mark.parametrize("index", ["(lower(v))", "(v) WHERE v > 'a'"])
def test_an_index_over_expressions_or_some_rows_is_no_key(
    database: Database, catalog: Catalog, index: str
) -> None:
    database.execute(f"CREATE TABLE t (v text); CREATE UNIQUE INDEX ON t {index}")
    assert described(database, catalog).key == ()


def test_the_partitions_that_hold_rows_are_the_leaves(database: Database, catalog: Catalog) -> None:
    database.execute(
        "CREATE TABLE p (a int PRIMARY KEY) PARTITION BY RANGE (a);"
        "CREATE TABLE b PARTITION OF p FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (a);"
        "CREATE TABLE b1 PARTITION OF b FOR VALUES FROM (0) TO (5);"
        "CREATE TABLE a1 PARTITION OF p FOR VALUES FROM (9) TO (20);"
        "INSERT INTO p SELECT x FROM generate_series(0, 19) x WHERE x NOT BETWEEN 5 AND 8;"
        "ANALYZE p"
    )
    root = described(database, catalog, "p")
    assert root.partitioned
    assert [(leaf.name, leaf.rows) for leaf in root.leaves] == [("a1", 11), ("b1", 5)]
    inner = described(database, catalog, "b1")
    assert [leaf.name for leaf in inner.leaves] == ["b1"]
    roots = catalog.partition_roots()
    assert roots[inner.id] == roots[described(database, catalog, "b").id] == root.id


def test_the_text_of_a_type_follows_domains_arrays_and_enums(
    database: Database, catalog: Catalog
) -> None:
    database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN d1 AS numeric(6, 2);"
        "CREATE DOMAIN d2 AS d1; CREATE TABLE t (a mood, b mood[], c d2, d int[], e int2vector)"
    )
    facts = [c.type.facts for c in described(database, catalog).columns]
    mood, moods, domain, numbers, vector = facts
    assert (mood.kind, mood.labels, mood.schema) == ("e", ("sad", "ok"), "public")
    assert moods.element == mood
    assert (domain.kind, domain.name) == ("d", "d2")
    assert domain.base is not None
    assert (domain.base.name, domain.base.typmod) == ("d1", ((6 << 16) | 2) + 4)
    assert domain.base.base is not None
    assert domain.base.base.name == "numeric"
    assert numbers.element is not None
    assert numbers.element.name == "int4"
    assert vector.name == "int2vector"
    database.execute("ALTER TYPE mood ADD VALUE 'great' BEFORE 'ok'")
    types = catalog.read(types=[mood.oid, moods.oid])
    assert types.type_facts(mood.oid).labels == ("sad", "great", "ok")
    element = types.type_facts(moods.oid).element
    assert element is not None
    assert element.labels == ("sad", "great", "ok")


def test_what_does_not_exist_is_not_found(database: Database, catalog: Catalog) -> None:
    database.execute("CREATE VIEW v AS SELECT 1")
    view = database.execute("SELECT 'v'::regclass::oid")[0][0]
    assert not catalog.read([view, 1]).tables
    assert catalog.setting("no_such_setting") == ""
    assert catalog.setting("wal_level") == "logical"


def test_a_connection_that_the_server_ended_is_opened_again(
    database: Database, catalog: Catalog
) -> None:
    assert catalog.setting("wal_level") == "logical"
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'headrace catalogue' AND datname = current_database()"
    )
    assert catalog.setting("wal_level") == "logical"

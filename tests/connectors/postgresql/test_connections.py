"""The meaning of names and literals in SQL of headrace and of users."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

import psycopg
import pytest

from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.reading import keeper
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.signals.conditions import checked_filter
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

_numbers = itertools.count()


def configuration(database: Database, **more: str) -> PostgresConfig:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    config = parse_configuration(database.properties() | changes)
    assert isinstance(config, PostgresConfig)
    return config


@pytest.fixture
def eve(database: Database) -> Iterator[str]:
    """A role that may create in `public`, as everybody could before PostgreSQL 15."""
    name = f"eve_{os.getpid()}_{next(_numbers)}"
    database.execute(f"CREATE ROLE {name} LOGIN; GRANT CREATE ON SCHEMA public TO {name}")
    yield name
    database.execute(f"ALTER ROLE {name} NOSUPERUSER; DROP OWNED BY {name}; DROP ROLE {name}")


def is_superuser(database: Database, role: str) -> bool:
    rows = database.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (role,))
    return bool(rows[0][0])


def defines(database: Database, role: str, operator: str, left: str, right: str) -> None:
    """An operator that makes its author a superuser, when one uses it."""
    result = "text" if operator == "||" else "boolean"
    answer = "$1::text || $2::text" if operator == "||" else f"$1::text {operator} $2::text"
    with database.connect(role) as connection:
        connection.execute(
            f"CREATE FUNCTION public.trap({left}, {right}) RETURNS {result} LANGUAGE plpgsql AS $$"
            f" BEGIN IF current_user <> '{role}' THEN"
            f" EXECUTE 'ALTER ROLE {role} SUPERUSER'; END IF;"
            f" RETURN {answer}; END $$;"
            f" CREATE OPERATOR public.{operator} (LEFTARG = {left}, RIGHTARG = {right},"
            " FUNCTION = public.trap)".encode()
        )


def test_estimates_run_nothing_of_those_who_may_create_in_public(
    database: Database, eve: str
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    defines(database, eve, "||", "name", "text")
    catalog = Catalog(configuration(database))
    assert catalog.estimates(["public.t"]) == {"public.t": 0}
    catalog.close()
    assert not is_superuser(database, eve)


def test_chunks_run_nothing_of_those_who_may_create_in_public(database: Database, eve: str) -> None:
    """A key of type varchar has no operator of its own: PostgreSQL takes that of text."""
    database.execute(
        "CREATE TABLE t (id varchar(9) PRIMARY KEY, v text);"
        "INSERT INTO t SELECT i, repeat('x', 3000) FROM generate_series(1, 3000) i; ANALYZE t"
    )
    defines(database, eve, ">=", "varchar", "varchar")
    # The snapshot's transactions may not write, so that the trap is an error there.
    reader = Reader(database.properties() | {"headrace.snapshot.chunk.bytes": "65536"})
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    reader.stop()
    assert len({record["key"] for record in reader.records}) == 3000
    assert not is_superuser(database, eve)


def test_keys_of_an_extensions_type_are_compared_by_its_operators(database: Database) -> None:
    """citext is an example: a type of another schema whose order is not that of text."""
    functions = "".join(
        f"CREATE FUNCTION app.ci_{name}(app.ci, app.ci) RETURNS boolean LANGUAGE sql IMMUTABLE"
        f" AS $$ SELECT pg_catalog.lower($1::text) {operator} pg_catalog.lower($2::text) $$;"
        f"CREATE OPERATOR app.{operator} (LEFTARG = app.ci, RIGHTARG = app.ci,"
        f" FUNCTION = app.ci_{name});"
        for name, operator in (("lt", "<"), ("le", "<="), ("eq", "="), ("ge", ">="), ("gt", ">"))
    )
    database.execute(
        "CREATE SCHEMA app; CREATE TYPE app.ci;"
        "CREATE FUNCTION app.ci_in(cstring) RETURNS app.ci LANGUAGE internal IMMUTABLE STRICT"
        " AS 'textin';"
        "CREATE FUNCTION app.ci_out(app.ci) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT"
        " AS 'textout';"
        "CREATE TYPE app.ci (INPUT = app.ci_in, OUTPUT = app.ci_out, LIKE = text,"
        " CATEGORY = 'S', COLLATABLE = true);"
        "CREATE CAST (app.ci AS text) WITHOUT FUNCTION AS IMPLICIT;"
        f"{functions}"
        "CREATE FUNCTION app.ci_cmp(app.ci, app.ci) RETURNS int LANGUAGE sql IMMUTABLE"
        " AS $$ SELECT pg_catalog.bttextcmp(pg_catalog.lower($1::text),"
        " pg_catalog.lower($2::text)) $$;"
        "CREATE OPERATOR CLASS app.ci_ops DEFAULT FOR TYPE app.ci USING btree AS"
        " OPERATOR 1 app.<, OPERATOR 2 app.<=, OPERATOR 3 app.=, OPERATOR 4 app.>=,"
        " OPERATOR 5 app.>, FUNCTION 1 app.ci_cmp(app.ci, app.ci)"
    )
    database.execute(
        f"ALTER DATABASE {database.name} SET search_path = app, public;"
        "CREATE TABLE public.t (id app.ci PRIMARY KEY, v text);"
        "INSERT INTO public.t SELECT (CASE WHEN i % 2 = 0 THEN 'a' ELSE 'B' END || i)::app.ci,"
        " repeat('x', 3000) FROM generate_series(1, 3000) i; ANALYZE public.t"
    )
    reader = Reader(
        database.properties()
        | {"headrace.snapshot.chunk.bytes": "65536", "include.unknown.datatypes": "true"}
    )
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    reader.stop()
    assert len(reader.records) == 3000
    assert len({record["key"] for record in reader.records}) == 3000


def test_sql_of_users_finds_what_their_search_path_shows(database: Database) -> None:
    database.execute(
        "CREATE SCHEMA app; CREATE TABLE app.t (id int PRIMARY KEY);"
        "CREATE TABLE app.beats (n int);"
        "CREATE FUNCTION app.odd(int) RETURNS boolean LANGUAGE sql AS 'SELECT $1 % 2 = 1';"
        "INSERT INTO app.t SELECT generate_series(1, 9);"
        f"ALTER DATABASE {database.name} SET search_path = app"
    )
    reader = Reader(
        database.properties()
        | {
            "table.include.list": "app.t",
            "snapshot.select.statement.overrides": "app.t",
            "snapshot.select.statement.overrides.app.t": "SELECT * FROM t WHERE odd(id)",
            "heartbeat.interval.ms": "10",
            "heartbeat.action.query": "INSERT INTO beats VALUES (1)",
        }
    )
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    wait_for(lambda: reader.step() and database.execute("SELECT 1 FROM app.beats LIMIT 1"))
    reader.stop()
    rows = [r for r in reader.records if r["topic"] == "headrace.app.t"]
    assert sorted(json.loads(r["value"])["after"]["id"] for r in rows) == [1, 3, 5, 7, 9]


def test_names_of_objects_have_their_schema_in_the_snapshot_and_in_the_stream(
    database: Database,
) -> None:
    database.execute(
        "CREATE TABLE customs (id int PRIMARY KEY, rc regclass, rt regtype, rp regprocedure);"
        "CREATE FUNCTION mine(int) RETURNS int LANGUAGE sql AS 'SELECT $1';"
        "INSERT INTO customs VALUES (1, 'customs', 'int4', 'mine(int)')"
    )
    more = {
        "include.unknown.datatypes": "true",
        "binary.handling.mode": "hex",
        "value.converter.schemas.enable": "false",
    }
    reader = Reader(database.properties() | more)
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    database.execute("INSERT INTO customs SELECT id + 1, rc, rt, rp FROM customs")
    reader.step_until(lambda: len(reader.records) >= 2)
    reader.stop()
    rows = [json.loads(record["value"])["after"] for record in reader.records]
    decoded_names = [
        {n: bytes.fromhex(row[n]).decode() for n in ("rc", "rt", "rp")} for row in rows
    ]
    assert (
        decoded_names
        == [{"rc": "public.customs", "rt": "integer", "rp": "public.mine(integer)"}] * 2
    )


def test_initial_statements_set_the_search_path_of_users_sql(database: Database) -> None:
    database.execute(
        "CREATE SCHEMA app; CREATE TABLE app.t (id int PRIMARY KEY);"
        "INSERT INTO app.t SELECT generate_series(1, 3)"
    )
    reader = Reader(
        database.properties()
        | {
            "table.include.list": "app.t",
            "database.initial.statements": "SET search_path = app",
            "snapshot.select.statement.overrides": "app.t",
            "snapshot.select.statement.overrides.app.t": "SELECT * FROM t WHERE id > 1",
        }
    )
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    reader.stop()
    assert sorted(e["after"]["id"] for e in reader.events()) == [2, 3]


def test_a_filter_means_the_same_where_strings_have_escapes(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, '\\');"
        f"ALTER DATABASE {database.name} SET standard_conforming_strings = off"
    )
    text = r"v = '\' AND v <> ' OR true) --'"
    condition = checked_filter(text, "public.t", {"id", "v"}, dialect="postgres")
    with connect(configuration(database)) as connection:
        rows = connection.execute(
            f"SELECT id FROM public.t WHERE ({condition})\n".encode()
        ).fetchall()
    assert rows == [(2,)]


def test_statements_of_users_keep_the_strings_of_their_database(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text);"
        "INSERT INTO t VALUES (1, 'a'), (2, E'b\\nc');"
        f"ALTER DATABASE {database.name} SET standard_conforming_strings = off"
    )
    reader = Reader(
        database.properties()
        | {
            "snapshot.select.statement.overrides": "public.t",
            "snapshot.select.statement.overrides.public.t":
                r"SELECT * FROM public.t WHERE v = 'b\nc'",
        }
    )  # fmt: skip
    reader.step_until(lambda: any("snapshot" not in offset for offset in reader.offsets[1:]))
    reader.stop()
    assert [e["after"]["id"] for e in reader.events()] == [2]


def test_a_keeper_that_fails_leaves_no_session(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = []

    def fails(config: PostgresConfig) -> int:
        raise HeadraceError("postgresql.too_many_connections", "no", "Wait.", retriable=True)

    def remembered(*values: object, **more: object) -> psycopg.Connection:
        connections.append(connect(*values, **more))  # type: ignore[arg-type]
        return connections[-1]

    monkeypatch.setattr(keeper, "_transaction_id", fails)
    monkeypatch.setattr(keeper, "connect", remembered)
    with pytest.raises(HeadraceError, match="no"):
        keeper.Keeper(configuration(database))
    assert [connection.closed for connection in connections] == [True]


@pytest.mark.parametrize("state", ["22023", "42704", "55000"])
def test_a_snapshot_that_is_gone_is_known_in_any_language(state: str) -> None:
    error = psycopg.errors.lookup(state)("Schnappschuss »00000003-1« existiert nicht")
    lost = keeper.lost_snapshot(error)
    assert lost is not None
    assert (lost.code, lost.retriable) == ("postgresql.snapshot_gone", True)

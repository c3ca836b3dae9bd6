"""New tables of somebody else, in a schema that is captured: a stream that goes on does so."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from headrace.connectors.registry import check
from headrace.errors import HeadraceError
from headrace.findings import statements
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


@pytest.fixture
def role(database: Database) -> Iterator[str]:
    name = f"reads_{database.name}"
    database.execute(f"CREATE ROLE {name} LOGIN REPLICATION; CREATE TABLE t (id int PRIMARY KEY)")
    database.execute(f"GRANT SELECT ON t TO {name}")
    yield name
    database.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def begun(database: Database, role: str, **more: str) -> Reader:
    """A reader whose position is stored, and then somebody else makes a table."""
    properties = {"schema_include_list": "public", "database_user": role, **more}
    reader = Reader(database.properties(**properties))
    reader.drain()
    reader.stop()
    database.execute("CREATE TABLE late (id int PRIMARY KEY)")
    return reader


def test_a_new_table_that_may_not_be_read_does_not_stop_a_stream_that_continues(
    database: Database, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(f"CREATE PUBLICATION {database.name} FOR ALL TABLES")
    reader = begun(database, role)
    database.execute("INSERT INTO t VALUES (1); INSERT INTO late VALUES (2)")
    with caplog.at_level(logging.WARNING, "headrace"):
        reader.open().validate(reader.offsets[-1])
        reader.drain()
    reader.stop()
    topics = [record["topic"] for record in reader.in_order()]
    assert topics == ["headrace.public.t", "headrace.public.late"]
    (warning,) = {text for text in caplog.messages if "[postgresql.no_privilege]" in text}
    assert f"The role {role} may not read public.late: no snapshot of it can be taken" in warning
    assert (
        f'ALTER DEFAULT PRIVILEGES IN SCHEMA "public" GRANT SELECT ON TABLES TO "{role}"' in warning
    )
    (finding,) = (
        finding
        for finding in check(reader.config, reader.offsets[-1])
        if "no_privilege" in finding.code
    )
    assert finding.level == "warning"
    assert finding.remedy.startswith(" ".join(statements(finding.remedy)))
    assert statements(finding.remedy)[-1].startswith("ALTER DEFAULT PRIVILEGES")
    for statement in statements(finding.remedy):
        database.execute(statement)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "headrace"):
        reader.drain()
    reader.stop()
    assert "no_privilege" not in caplog.text


@pytest.mark.parametrize("mode", ["always", "initial"])
def test_a_new_table_that_may_not_be_read_stops_a_start_that_reads_its_rows(
    database: Database, role: str, mode: str
) -> None:
    database.execute(f"CREATE PUBLICATION {database.name} FOR ALL TABLES")
    reader = begun(database, role, snapshot_mode=mode)
    stored = reader.offsets[-1] if mode == "always" else None
    if mode == "initial":
        database.drop_slot(database.name)
        reader = Reader(reader.properties)
    levels = {finding.code: finding.level for finding in check(reader.config, stored)}
    assert levels["postgresql.no_privilege"] == "error"
    for start in (lambda: reader.open().validate(stored), reader.drain):
        with pytest.raises(HeadraceError) as caught:
            start()
        assert caught.value.code == "postgresql.no_privilege"
    reader.stop()


def test_a_schema_that_may_not_be_used_stops_a_start_as_its_tables_do(
    database: Database, role: str
) -> None:
    database.execute("CREATE SCHEMA shut; CREATE TABLE shut.u (id int PRIMARY KEY)")
    database.execute(f"GRANT SELECT ON shut.u TO {role}")
    database.execute(f"CREATE PUBLICATION {database.name} FOR ALL TABLES")
    reader = Reader(database.properties(database_user=role))
    for start in (lambda: reader.open().validate(None), reader.step):
        with pytest.raises(HeadraceError) as caught:
            start()
        assert caught.value.code == "postgresql.no_privilege"
    reader.stop()


def test_a_new_table_that_the_role_may_not_publish_does_not_stop_a_stream_that_continues(
    database: Database, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(f"GRANT CREATE ON DATABASE {database.name} TO {role}")
    database.execute(f"ALTER TABLE t OWNER TO {role}")
    reader = begun(database, role, publication_autocreate_mode="filtered")
    database.execute(f"GRANT SELECT ON late TO {role}")
    database.execute("INSERT INTO t VALUES (1); INSERT INTO late VALUES (2)")
    with caplog.at_level(logging.WARNING, "headrace"):
        reader.open().validate(reader.offsets[-1])
        reader.drain()
    assert [record["topic"] for record in reader.in_order()] == ["headrace.public.t"]
    for code in ("postgresql.publication_privilege", "postgresql.not_published"):
        assert f"[{code}]" in caplog.text
    levels_by_code = {
        finding.code: finding.level for finding in check(reader.config, reader.offsets[-1])
    }
    assert levels_by_code["postgresql.publication_privilege"] == "warning"
    assert "error" not in levels_by_code.values()
    reader.stop()

"""`headrace check`: what it says of databases that are ready, and of those that are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.cli import main
from headrace.cli.check import script
from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.registry import parse_configuration
from headrace.findings import Finding
from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

ROWS = "CREATE TABLE t (id int PRIMARY KEY, v text)"


def findings(database: Database, **more: str) -> list[Finding]:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return check(parse_configuration(database.properties() | changes))


def codes(reported: list[Finding], level: str) -> set[str]:
    return {finding.code for finding in reported if finding.level == level}


def errors(database: Database, **more: str) -> set[str]:
    return codes(findings(database, **more), "error")


@pytest.fixture
def role(database: Database) -> Iterator[str]:
    name = f"checker_{database.name}"
    database.execute(f"CREATE ROLE {name} LOGIN REPLICATION")
    yield name
    database.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_a_ready_database_has_no_errors_and_nothing_is_made(database: Database) -> None:
    database.execute(ROWS)
    reported = findings(database)
    assert codes(reported, "error") == set()
    assert codes(reported, "warning") == {"postgresql.wal_unlimited"}
    assert all(finding.remedy for finding in reported if finding.level != "ok")
    assert database.execute("SELECT count(*) FROM pg_publication") == [(0,)]
    slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
    assert database.execute(slots, (database.name,)) == [(0,)]


@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_the_least_privileges_suffice_for_a_look_and_for_a_start(
    database: Database, role: str
) -> None:
    database.execute(f"{ROWS}; CREATE PUBLICATION {database.name} FOR TABLE t; "
                     f"GRANT SELECT ON t TO {role}")  # fmt: skip
    reported = findings(database, database__user=role, publication__autocreate__mode="disabled")
    assert codes(reported, "error") == set()
    assert {"postgresql.publication", "postgresql.select"} <= codes(reported, "ok")


def test_missing_grants_are_named_with_the_statement_that_gives_them(
    database: Database, role: str
) -> None:
    database.execute(f'{ROWS}; CREATE SCHEMA "Odd"; CREATE TABLE "Odd"."T" (id int PRIMARY KEY); '
                     f'GRANT SELECT ON "Odd"."T" TO {role}')  # fmt: skip
    reported = findings(database, database__user=role)
    missing = [f for f in reported if f.code == "postgresql.no_privilege"]
    assert len(missing) == 2
    assert codes(reported, "error") == {
        "postgresql.no_privilege", "postgresql.publication_privilege",
    }  # fmt: skip
    for finding in missing:
        database.execute(finding.remedy)
    database.execute(f"CREATE PUBLICATION {database.name} FOR ALL TABLES")
    assert errors(database, database__user=role) == set()


def test_a_role_without_replication_is_named(database: Database, role: str) -> None:
    database.execute(f"{ROWS}; GRANT SELECT ON t TO {role}; ALTER ROLE {role} NOREPLICATION; "
                     f"CREATE PUBLICATION {database.name} FOR TABLE t")  # fmt: skip
    assert errors(database, database__user=role) == {"postgresql.no_replication_privilege"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"database__port": "1"}, "postgresql.unreachable"),
        ({"database__hostname": "no-such-host.invalid"}, "postgresql.unreachable"),
        ({"database__dbname": "nowhere"}, "postgresql.unknown_database"),
        ({"database__user": "nobody_known"}, "postgresql.authentication"),
        ({"database__sslmode": "require"}, "postgresql.tls"),
        (
            {"database__sslmode": "verify-ca", "database__sslrootcert": "/nowhere.pem"},
            "postgresql.tls",
        ),
    ],
)
def test_a_login_that_fails_is_the_only_finding(
    database: Database, change: dict[str, str], code: str
) -> None:
    reported = findings(database, **change)
    assert [(f.code, f.level) for f in reported] == [(code, "error")]
    assert "unused" not in reported[0].message


def test_a_missing_role_comes_with_a_hint_that_is_no_statement_of_the_script(
    database: Database,
) -> None:
    reported = findings(database, database__user='no"body')
    lines = list(script(reported))
    hint = '-- CREATE ROLE "no""body" LOGIN REPLICATION PASSWORD \'…\';'
    assert hint in lines
    assert all(line.startswith("--") for line in lines)


def test_tables_that_are_not_there_are_named(database: Database) -> None:
    database.execute(ROWS)
    assert errors(database, table__include__list="public.u") == {"postgresql.no_tables"}
    reported = findings(database, table__include__list="public.t,public.u")
    assert "postgresql.unmatched_expression" in codes(reported, "warning")


def test_every_column_with_a_type_that_is_left_out_is_named(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, a pg_lsn, b tsquery, c bigint)")
    reported = [f for f in findings(database) if f.code == "postgresql.type_left_out"]
    assert ["column a" in f.message for f in reported] == [True, False]
    assert "column b" in reported[1].message
    assert "postgresql.types" in codes(findings(database, column__exclude__list=".*[ab]"), "ok")


@pytest.mark.parametrize(
    ("statement", "code", "level"),
    [
        ("", "postgresql.replica_identity", "ok"),
        ("ALTER TABLE t REPLICA IDENTITY FULL", "postgresql.replica_identity_full", "ok"),
        ("ALTER TABLE t REPLICA IDENTITY NOTHING", "postgresql.no_replica_identity", "warning"),
        ("ALTER TABLE t DROP CONSTRAINT t_pkey", "postgresql.no_replica_identity", "warning"),
        (
            "ALTER TABLE t ALTER v SET NOT NULL; CREATE UNIQUE INDEX i ON t (v);"
            "ALTER TABLE t REPLICA IDENTITY USING INDEX i",
            "postgresql.key_not_in_identity",
            "warning",
        ),
    ],
)
def test_replica_identities_are_distinguished(
    database: Database, statement: str, code: str, level: str
) -> None:
    database.execute(ROWS)
    if statement:
        database.execute(statement)
    assert code in codes(findings(database), level)


def test_a_key_that_the_replica_identity_lacks_is_named(database: Database) -> None:
    database.execute(ROWS)
    reported = findings(database, message__key__columns="public.t:v")
    (partial,) = [each for each in reported if each.code == "postgresql.key_not_in_identity"]
    assert partial.remedy == 'ALTER TABLE "public"."t" REPLICA IDENTITY FULL;'
    reported = findings(database, message__key__columns="public.t:nothing")
    assert "debezium.key_column_missing" in codes(reported, "warning")


def test_the_identity_that_will_be_set_counts(database: Database, role: str) -> None:
    database.execute(f"{ROWS}; GRANT SELECT ON t TO {role}; ALTER TABLE t REPLICA IDENTITY NOTHING")
    rule = {"replica.identity.autoset.values": r"public\.t:FULL"}
    assert "postgresql.replica_identity_full" in codes(findings(database, **rule), "ok")
    reported = findings(database, database__user=role, **rule)
    assert {"postgresql.identity_not_owned", "postgresql.no_replica_identity"} <= codes(
        reported, "warning"
    )
    remedies = " ".join(finding.remedy for finding in reported)
    assert "REPLICA IDENTITY FULL;" in remedies


def test_the_guardrail_and_a_wrong_hash_are_findings(database: Database) -> None:
    database.execute(f"{ROWS}; CREATE TABLE second (id int PRIMARY KEY)")
    most = {"guardrail.collections.max": "1"}
    assert "postgresql.too_many_tables" in codes(findings(database, **most), "warning")
    most["guardrail.collections.limit.action"] = "fail"
    assert "postgresql.too_many_tables" in codes(findings(database, **most), "error")
    hash_rule = {"column.mask.hash.v2.SHA-3.with.salt.x": "public.t.v"}
    assert "config.invalid" in codes(findings(database, **hash_rule), "error")


def test_row_security_is_named(database: Database, role: str) -> None:
    database.execute(f"{ROWS}; GRANT SELECT ON t TO {role}; ALTER TABLE t ENABLE ROW LEVEL "
                     f"SECURITY; CREATE PUBLICATION {database.name} FOR TABLE t")  # fmt: skip
    reported = findings(database, database__user=role)
    assert "postgresql.row_security" in codes(reported, "warning")


def test_slots_that_cannot_serve_are_named(database: Database) -> None:
    database.execute(ROWS)
    name = database.name
    database.execute(f"SELECT pg_create_physical_replication_slot('{name}')")
    try:
        assert errors(database) == {"postgresql.slot_unsuitable"}
    finally:
        database.execute(f"SELECT pg_drop_replication_slot('{name}')")
    make = f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"
    database.server.execute(make)
    try:
        assert errors(database) == {"postgresql.slot_unsuitable"}
    finally:
        database.execute(f"SELECT pg_drop_replication_slot('{name}')")
    database.execute(make)
    assert "postgresql.slot" in codes(findings(database), "ok")


def test_a_publication_without_a_captured_table_is_an_error(database: Database) -> None:
    name = database.name
    database.execute(f"{ROWS}; CREATE TABLE u (id int PRIMARY KEY)")
    database.execute(f"CREATE PUBLICATION {name} FOR TABLE u WITH (publish = 'insert')")
    reported = findings(database)
    assert codes(reported, "error") == {"postgresql.not_published"}
    assert "postgresql.operations_not_published" in codes(reported, "warning")
    database.execute(next(f.remedy for f in reported if f.level == "error").partition(": ")[2])
    assert errors(database) == set()


@pytest.mark.parametrize(
    ("mode", "made", "code"),
    [
        ("disabled", "", "postgresql.publication_missing"),
        ("no_tables", "", "postgresql.not_published"),
        ("filtered", "FOR ALL TABLES", "postgresql.publication_unsuitable"),
        ("filtered", "", None),
        ("filtered", "FOR TABLE u", None),
        ("all_tables", "", None),
    ],
)
def test_each_mode_of_making_the_publication_is_foreseen(
    database: Database, mode: str, made: str, code: str | None
) -> None:
    database.execute(f"{ROWS}; CREATE TABLE u (id int PRIMARY KEY)")
    if made:
        database.execute(f"CREATE PUBLICATION {database.name} {made}")
    expected = {code} if code else set()
    assert errors(database, publication__autocreate__mode=mode) == expected


PARTITIONED = (
    "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
    "CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (10);"
    "CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (10) TO (20)"
)


@pytest.mark.parametrize(
    ("captured", "via_root", "lost"),
    [
        ("public.p", "false", True),
        ("public.p", "true", False),
        ("public.p_.*", "false", False),
        ("public.p_.*", "true", True),
        ("public.p.*", "false", False),
        ("public.p.*", "true", False),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_partitions_whose_changes_carry_another_name_are_an_error(
    database: Database, captured: str, via_root: str, lost: bool, made: bool
) -> None:
    database.execute(PARTITIONED)
    if made:
        database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE p "
                         f"WITH (publish_via_partition_root = {via_root})")  # fmt: skip
    reported = errors(
        database, table__include__list=captured, publish__via__partition__root=via_root
    )
    assert reported == ({"postgresql.partitions_not_captured"} if lost else set())


@pytest.mark.parametrize(
    ("via_root", "name"), [("true", "partitioned table"), ("false", "partition")]
)
def test_partitions_that_are_captured_together_with_their_table_are_a_warning(
    database: Database, via_root: str, name: str
) -> None:
    database.execute(PARTITIONED)
    for captured, is_reported in (
        ("public.p.*", True),
        ("public.p", False),
        ("public.p_.*", False),
    ):
        messages_by_code = {
            each.code: each.message
            for each in findings(
                database, table__include__list=captured, publish__via__partition__root=via_root
            )
            if each.level == "warning"
        }
        message = messages_by_code.get("postgresql.partitions_captured_twice", "")
        assert bool(message) is is_reported
        if is_reported:
            assert "public.p_high" in message
            assert message.endswith(f"only the name of the {name}")


def test_a_server_that_cannot_serve_is_described() -> None:
    settings = {"wal_level": "replica", "max_replication_slots": "0", "wal_sender_timeout": "2s"}
    with PostgresServer(16, settings) as server:
        server.execute(ROWS)
        reported = check(parse_configuration(Database(server, "postgres").properties()))
    assert codes(reported, "error") == {"postgresql.wal_level", "postgresql.limit_reached"}
    assert "postgresql.wal_sender_timeout" in codes(reported, "warning")


def test_the_command_prints_findings_and_ends_with_1_on_errors(
    database: Database, tmp_path, capsys
) -> None:
    database.execute(ROWS)
    file = tmp_path / "check.properties"

    def run(**more: str) -> tuple[int, str]:
        lines = database.properties() | {k.replace("__", "."): v for k, v in more.items()}
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return main(["check", str(file)]), capsys.readouterr().out

    status, output = run()
    assert (status, " 0 errors" in output) == (0, True)
    status, output = run(publication__autocreate__mode="disabled")
    assert status == 1
    assert "[postgresql.publication_missing]" in output
    assert "CREATE PUBLICATION" in output


def test_a_snapshot_without_stream_is_looked_at_for_rows_alone(
    database: Database, role: str
) -> None:
    database.execute(f"CREATE TABLE t (id int PRIMARY KEY); ALTER ROLE {role} NOREPLICATION")
    database.execute(f"GRANT SELECT ON t TO {role}")
    reported = findings(database, **{"snapshot.mode": "initial_only", "database.user": role})
    assert codes(reported, "error") == set()
    assert "postgresql.rows_only" in codes(reported, "ok")


def test_what_a_snapshot_would_not_read_as_meant_is_named(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    overrides = "snapshot.select.statement.overrides"
    more = {overrides: "public.t,public.u", "snapshot.include.collection.list": "public.x"}
    reported = findings(database, **more, **{f"{overrides}.public.t": "SELECT * FROM t"})
    assert {"postgresql.override_missing", "postgresql.unmatched_expression"} <= codes(
        reported, "warning"
    )
    assert errors(database, **more, **{f"{overrides}.public.t": "SELECT x"}) == {
        "postgresql.override"
    }


TWINS = 'CREATE TABLE "a b" (id int PRIMARY KEY); CREATE TABLE "a_b" (id int PRIMARY KEY)'
FAR_TWINS = 'CREATE TABLE "a-b" (id int PRIMARY KEY); CREATE TABLE "a_b" (id int PRIMARY KEY)'


@pytest.mark.parametrize(
    ("tables", "properties", "said"),
    [
        (TWINS, {}, "public.a b and public.a_b get one topic, headrace.public.a_b"),
        (
            FAR_TWINS,
            {"schema__name__adjustment__mode": "avro"},
            "public.a-b and public.a_b get one schema name, headrace.public.a_b.Value",
        ),
        (FAR_TWINS, {}, None),
    ],
)
def test_tables_that_share_a_topic_or_a_schema_name_are_named(
    database: Database,
    caplog: pytest.LogCaptureFixture,
    tables: str,
    properties: dict[str, str],
    said: str | None,
) -> None:
    database.execute(tables)
    reported = [f for f in findings(database, **properties) if f.code == "postgresql.shared_name"]
    assert [f.level for f in reported] == ([] if said is None else ["warning"])
    assert all(said is not None and said in f.message for f in reported)
    changes = {name.replace("__", "."): value for name, value in properties.items()}
    reader = Reader(database.properties() | {"snapshot.mode": "no_data"} | changes)
    reader.step()
    reader.stop()
    warnings = [
        record.getMessage() for record in caplog.records if "get one" in record.getMessage()
    ]
    assert len(warnings) == (0 if said is None else 1)
    assert said is None or said in warnings[0]

"""`headrace check` finds what the first start would refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.findings import Finding
from headrace.sinks.replicas.definition import ReplicaDefinition
from headrace.spark.sinks.registry import find_sink
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


def findings(database: Database, name: str, folder: Path | str, **more: str) -> list[Finding]:
    """The findings of a sink of replicas."""
    definition = find_sink(name)
    assert isinstance(definition, ReplicaDefinition)
    sink = {
        "type": name,
        "mode": "replica",
        "jars": "/nonexistent",
        **definition.format().local(Path(folder)),
    }
    properties = {
        **database.properties(),
        **{f"headrace.sink.{option}": text for option, text in sink.items()},
        "skipped.operations": "none",
        **more,
    }
    config = parse_configuration(read_mapping(properties))
    return list(definition.check(config))


def errors(reported: list[Finding]) -> list[tuple[str, str]]:
    return [
        (each.code, each.message)
        for each in reported
        if each.level == "error" and each.code != "spark.jars_not_found"
    ]


@pytest.mark.parametrize("name", ["iceberg", "delta"])
def test_tables_that_no_replica_can_be_of_are_errors(
    database: Database, tmp_path: Path, name: str
) -> None:
    database.execute(
        "CREATE TABLE good (id int PRIMARY KEY, v text);"
        "CREATE TABLE keyless (id int); ALTER TABLE keyless REPLICA IDENTITY FULL;"
        'CREATE TABLE "a b" (id int PRIMARY KEY); CREATE TABLE a_b (id int PRIMARY KEY);'
        "CREATE TABLE _hidden (id int PRIMARY KEY);"
        "CREATE TABLE k (id int PRIMARY KEY, email text NOT NULL UNIQUE);"
        "ALTER TABLE k REPLICA IDENTITY USING INDEX k_email_key"
    )
    message_by_code = dict(errors(findings(database, name, tmp_path / "lake")))
    assert "public.keyless" in message_by_code.pop("replicas.no_key")
    shared = message_by_code.pop("replicas.shared_name")
    assert "public.a b" in shared
    assert "public.a_b" in shared
    assert "public.k" in message_by_code.pop("replicas.key_not_carried")
    if name == "delta":
        assert "public._hidden" in message_by_code.pop("replicas.table_name_not_taken")
    assert message_by_code == {}
    assert list(tmp_path.iterdir()) == []


def test_keys_that_rows_can_share_or_exchange_are_errors_unless_the_table_is_a_change_log(
    database: Database, tmp_path: Path
) -> None:
    database.execute(
        "CREATE TABLE d (id int PRIMARY KEY DEFERRABLE); ALTER TABLE d REPLICA IDENTITY FULL;"
        "CREATE TABLE n (a int UNIQUE, b int); ALTER TABLE n REPLICA IDENTITY FULL;"
        "CREATE TABLE good (id int PRIMARY KEY DEFERRABLE, u int UNIQUE NOT NULL);"
        "ALTER TABLE good REPLICA IDENTITY FULL"
    )
    named = {"message.key.columns": "public.good:u"}
    (deferrable, nullable) = errors(findings(database, "iceberg", tmp_path, **named))
    assert deferrable[0] == nullable[0] == "replicas.no_key"
    assert "public.d has no key that identifies a row: the constraint d_pkey" in deferrable[1]
    assert "accepts several rows with NULL in a" in nullable[1]
    logs = {"headrace.sink.append.tables": "public.[dn]"}
    assert errors(findings(database, "iceberg", tmp_path, **named, **logs)) == []


def test_columns_of_documents_for_rows_are_an_error(database: Database, tmp_path: Path) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    option = {"headrace.sink.target.schema.public.t": "_id INT"}
    ((code, message),) = errors(findings(database, "iceberg", tmp_path, **option))
    assert code == "replicas.no_documents"
    assert "target.schema.public.t" in message


@pytest.mark.parametrize("name", ["iceberg", "delta"])
def test_a_folder_and_jars_that_are_not_there_are_errors(database: Database, name: str) -> None:
    reported = findings(database, name, "/proc/lake")
    assert [code for code, _ in errors(reported)] == ["replicas.storage_failed"]
    (jars,) = [each for each in reported if each.code == "spark.jars_not_found"]
    assert "/nonexistent" in jars.message


def test_a_publication_that_leaves_changes_out_is_an_error_unless_that_is_meant(
    database: Database, tmp_path: Path
) -> None:
    publication = database.properties()["publication.name"]
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY);"
        f"CREATE PUBLICATION {publication} FOR TABLE t WHERE (id > 5), u"
    )
    ((code, message),) = errors(findings(database, "iceberg", tmp_path))
    assert code == "replicas.incomplete"
    assert "of public.t the publication" in message
    assert "leaves out rows without (id > 5)" in message
    database.execute(f"ALTER PUBLICATION {publication} SET (publish = 'insert, update')")
    reported_errors = errors(findings(database, "iceberg", tmp_path))
    assert [code for code, _ in reported_errors] == ["replicas.incomplete"] * 2
    assert "leaves out DELETE, TRUNCATE" in reported_errors[1][1]
    meant = {"headrace.sink.incomplete": "true"}
    assert errors(findings(database, "iceberg", tmp_path, **meant)) == []


@pytest.mark.parametrize(
    ("captured", "via_root", "refused"),
    [
        ("public.p", "true", ""),
        ("public.p_.*", "false", ""),
        ("public.p", "false", "names changes by the partitions, not by the table"),
        ("public.p.*", "false", "names changes by the partitions, not by the table"),
        ("public.p.*", "true", "so its partitions public.p_1, public.p_2, which are captured"),
    ],
)
@pytest.mark.parametrize("is_made", [False, True])
def test_a_partitioned_table_and_its_partitions_are_an_error_unless_each_gets_its_changes(
    database: Database, tmp_path: Path, captured: str, via_root: str, refused: str, is_made: bool
) -> None:
    publication = database.properties()["publication.name"]
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM (10) TO (20)"
    )
    if is_made:
        database.execute(
            f"CREATE PUBLICATION {publication} FOR TABLE p "
            f"WITH (publish_via_partition_root = {via_root})"
        )
    source = {"table.include.list": captured, "publish.via.partition.root": via_root}
    reported_errors = errors(findings(database, "iceberg", tmp_path, **source))
    assert [code for code, _ in reported_errors] == ["replicas.incomplete"] * bool(refused)
    assert not refused or refused in reported_errors[0][1]
    assert (
        not refused or f"of public.p the publication {publication} names" in reported_errors[0][1]
    )
    meant = {"headrace.sink.incomplete": "true"}
    assert errors(findings(database, "iceberg", tmp_path, **source, **meant)) == []


def test_a_clean_database_and_folder_are_no_errors(database: Database, tmp_path: Path) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    reported = findings(database, "iceberg", tmp_path / "lake")
    assert errors(reported) == []
    assert "replicas.storage" in [each.code for each in reported if each.level == "ok"]

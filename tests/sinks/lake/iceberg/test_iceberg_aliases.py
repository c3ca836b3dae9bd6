"""A file of debezium-server-iceberg with `headrace.sink.mode=replica` in it."""

from __future__ import annotations

import pytest

from headrace.config.formats import read_text
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.iceberg.aliases import translated
from headrace.sinks.iceberg.definition import DEFINITION
from headrace.sinks.iceberg.options import IcebergOptions
from headrace.sinks.replicas.options import Deletes, ReplicaOptions

FILE = """
debezium.sink.type=iceberg
debezium.sink.iceberg.warehouse=/lake
debezium.sink.iceberg.catalog-name=mycatalog
debezium.sink.iceberg.type=rest
debezium.sink.iceberg.uri=http://catalog:8181
debezium.sink.iceberg.credential=id:secret
debezium.sink.iceberg.table-namespace=debeziumevents
debezium.sink.iceberg.table-prefix=debeziumcdc_
debezium.sink.iceberg.upsert=true
debezium.sink.iceberg.upsert-keep-deletes=true
debezium.sink.iceberg.allow-field-addition=true
debezium.sink.iceberg.write.format.default=parquet
debezium.sink.iceberg.write.metadata.previous-versions-max=5
debezium.source.connector.class=io.debezium.connector.postgresql.PostgresConnector
debezium.source.database.hostname=localhost
debezium.source.database.user=u
debezium.source.database.dbname=d
debezium.source.topic.prefix=shop
"""
REPLICA = "headrace.sink.mode=replica\n"


def config(more: str = REPLICA) -> ConnectorConfig:
    return parse_configuration(read_text(FILE + more))


def test_its_properties_are_those_of_a_replica() -> None:
    options = DEFINITION.own_options(config())
    iceberg, common = IcebergOptions.of(options), ReplicaOptions.of(options)
    assert (iceberg.kind, iceberg.catalog, iceberg.warehouse) == ("rest", "mycatalog", "/lake")
    assert iceberg.properties["uri"] == "http://catalog:8181"
    assert iceberg.properties["credential"] == "id:secret"
    assert iceberg.table == {"write.metadata.previous-versions-max": "5"}
    assert (common.namespace, common.prefix) == (("debeziumevents",), "debeziumcdc_")
    assert common.deletes is Deletes.SOFT
    assert DEFINITION.unknown_options(config()) == []


def test_what_has_no_meaning_here_is_named() -> None:
    more = (
        "debezium.sink.iceberg.partition-by=day(__ts)\n"
        "debezium.sink.iceberg.allow-field-addition=false\n"
        "debezium.sink.iceberg.fs.defaultFS=hdfs://h\n"
    )
    assert sorted(DEFINITION.unknown_options(config(REPLICA + more))) == [
        "allow-field-addition",
        "fs.defaultFS",
        "partition-by",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("upsert=false", "upsert = 'false': a replica has one row for each key"),
        ("upsert-keep-deletes=maybe", "upsert-keep-deletes = 'maybe'"),
        ("catalog-impl=org.apache.iceberg.aws.glue.GlueCatalog", "catalog-impl = .* not know this"),
    ],
)
def test_values_that_no_replica_can_have_are_refused(line: str, said: str) -> None:
    with pytest.raises(HeadraceError, match=said) as refused:
        DEFINITION.own_options(config(f"{REPLICA}debezium.sink.iceberg.{line}\n"))
    assert refused.value.code == "iceberg.impossible_option"


def test_a_catalogs_class_is_its_type_and_headraces_names_win() -> None:
    more = (
        "debezium.sink.iceberg.catalog-impl=org.apache.iceberg.jdbc.JdbcCatalog\n"
        "headrace.sink.catalog.name=other\nheadrace.sink.deletes=hard\n"
    )
    text = FILE.replace("debezium.sink.iceberg.type=rest\n", "") + REPLICA + more
    options = DEFINITION.own_options(parse_configuration(read_text(text)))
    assert options["catalog.type"] == "jdbc"
    assert options["catalog.name"] == "other"
    assert options["deletes"] == "hard"


def test_events_have_the_options_of_sparks_format() -> None:
    options = DEFINITION.own_options(config("headrace.sink.mode=events\n"))
    assert options["catalog-name"] == "mycatalog"


def test_options_of_modes_are_no_properties_of_tables() -> None:
    options = {"history.tables": "a", "append.tables": "b", "history.expire.min-snapshots": "3"}
    assert translated(options) == {
        "history.tables": "a",
        "append.tables": "b",
        "table.history.expire.min-snapshots": "3",
    }

"""Options of sinks of replicas."""

from __future__ import annotations

import pytest

from headrace.config.formats import read_mapping
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration, parse_options
from headrace.errors import HeadraceError
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.options import (
    Deletes,
    ReplicaOptions,
    mode_of,
    require_complete,
    require_envelope,
)
from headrace.spark.sinks.registry import find_sink
from tests.cli.first_steps.configurations import SHOP


def config(**properties: str) -> ConnectorConfig:
    base_properties = {
        "connector.class": "postgresql",
        "topic.prefix": "shop",
        "database.hostname": "localhost",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "d",
        "skipped.operations": "none",
    }
    return parse_options(
        {**base_properties, **{n.replace("_", "."): text for n, text in properties.items()}}
    )


def test_options_have_defaults() -> None:
    assert ReplicaOptions.of({}) == ReplicaOptions()


def test_a_mode_is_never_assumed() -> None:
    assert mode_of({}) is None
    assert mode_of({"mode": "Replica "}) is Mode.REPLICA


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mode", "upsert"),
        ("deletes", "none"),
        ("truncates", "no"),
        ("existing", "keep"),
        ("ambiguous.columns", "drop"),
        ("incomplete", "yes"),
        ("threads", "0"),
        ("threads", "many"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(HeadraceError, match=f"headrace.sink.{name}={text} is not a valid value"):
        (mode_of if name == "mode" else ReplicaOptions.of)({name: text})


def test_texts_become_values() -> None:
    replica_options = ReplicaOptions.of(
        {"deletes": "SOFT", "namespace": "lake.shop", "prefix": "cdc_"}
    )
    assert (replica_options.deletes, replica_options.namespace, replica_options.prefix) == (
        Deletes.SOFT,
        ("lake", "shop"),
        "cdc_",
    )


@pytest.mark.parametrize("operation", ["c", "u", "d", "t"])
def test_operations_that_are_skipped_are_refused(operation: str) -> None:
    with pytest.raises(HeadraceError, match=f"skipped.operations={operation} leaves changes out"):
        require_complete(config(skipped_operations=operation), ReplicaOptions())


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"snapshot.mode": "no_data"}, "snapshot.mode=no_data copies no rows"),
        ({"snapshot.mode": "never"}, "snapshot.mode=no_data copies no rows"),
        ({"snapshot.mode": "initial_only"}, "snapshot.mode=initial_only follows no change"),
        (
            {
                "snapshot.mode": "configuration_based",
                "snapshot.mode.configuration.based.start.stream": "true",
            },
            "snapshot.mode=configuration_based copies no rows",
        ),
        ({"snapshot.include.collection.list": "public.t"}, "snapshot.include.collection.list may"),
        (
            {
                "snapshot.select.statement.overrides": "public.t",
                "snapshot.select.statement.overrides.public.t": "SELECT 1",
            },
            "snapshot.select.statement.overrides may leave rows out",
        ),
    ],
)
def test_a_source_of_some_rows_or_changes_is_refused_unless_that_is_meant(
    more: dict[str, str], what: str
) -> None:
    parsed_config = parse_configuration(read_mapping(SHOP | {"skipped.operations": "none"} | more))
    with pytest.raises(HeadraceError, match=what) as caught:
        require_complete(parsed_config, ReplicaOptions())
    assert caught.value.code == "replicas.incomplete"
    require_complete(parsed_config, ReplicaOptions(is_incomplete=True))


@pytest.mark.parametrize("mode", ["initial", "always", "when_needed"])
def test_snapshot_modes_that_copy_and_follow_are_taken(mode: str) -> None:
    require_complete(config(snapshot_mode=mode), ReplicaOptions())


def test_stages_of_the_change_stream_are_refused_and_none_are_taken() -> None:
    mongo = {
        "connector.class": "mongodb",
        "topic.prefix": "shop",
        "mongodb.connection.string": "mongodb://localhost/?replicaSet=rs",
        "skipped.operations": "none",
    }
    require_complete(parse_configuration(read_mapping(mongo)), ReplicaOptions())
    stages = {"cursor.pipeline": '[{"$match": {"fullDocument.a": 1}}]'}
    with pytest.raises(HeadraceError, match=r"cursor\.pipeline may leave rows out"):
        require_complete(parse_configuration(read_mapping(mongo | stages)), ReplicaOptions())


def test_a_transform_that_may_rewrite_events_is_refused() -> None:
    transform_properties = {
        "transforms": "mask",
        "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.mask.fields": "after",
    }
    with pytest.raises(HeadraceError, match=r"the transform mask \(MaskField\$Value\)"):
        require_complete(config(**transform_properties), ReplicaOptions())


def test_a_transform_that_routes_is_taken() -> None:
    transform_properties = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "shop.(.*)",
        "transforms.route.replacement": "$1",
    }
    require_complete(config(**transform_properties), ReplicaOptions())


def test_a_replica_may_be_meant_to_be_incomplete() -> None:
    options = ReplicaOptions.of({"incomplete": "true"})
    require_complete(config(skipped_operations="d"), options)


@pytest.mark.parametrize("name", ["ExtractNewRecordState", "ExtractNewDocumentState"])
def test_a_transform_that_takes_the_envelope_away_is_refused_whatever_is_meant(name: str) -> None:
    transform_properties = {
        "transforms": "unwrap",
        "transforms.unwrap.type": name,
    }
    with pytest.raises(HeadraceError, match=rf"The transform unwrap \({name}\)") as caught:
        require_envelope(config(**transform_properties))
    assert caught.value.code == "replicas.no_envelope"
    assert "incomplete" not in caught.value.remedy
    sink = {"headrace.sink.type": "delta", "headrace.sink.mode": "replica"}
    sink |= {"headrace.sink.path": "lake", "headrace.sink.incomplete": "true"}
    findings = find_sink("delta").check(
        parse_configuration(read_mapping(SHOP | sink | transform_properties))
    )
    assert "replicas.no_envelope" in [each.code for each in findings]


SINK = {"headrace.sink.type": "iceberg", "headrace.sink.mode": "replica"}


def warnings(properties: dict[str, str]) -> list[HeadraceError]:
    return find_sink("iceberg").option_warnings(
        parse_configuration(read_mapping(SHOP | properties))
    )


def test_an_option_that_is_almost_another_one_is_an_error_and_others_are_warnings() -> None:
    with pytest.raises(HeadraceError, match=r"did you mean headrace\.sink\.deletes\?") as caught:
        warnings(SINK | {"headrace.sink.delets": "soft"})
    assert caught.value.code == "spark.unknown_sink_option"
    (warning,) = warnings(SINK | {"headrace.sink.colour": "red"})
    assert "headrace.sink.colour" in warning.message
    assert "did you mean" not in warning.message
    assert "snapshots.keep.minutes" not in str(warning)
    assert warnings(SINK | {"headrace.sink.table.x": "y"}) == []
    with pytest.raises(HeadraceError, match=r"headrace\.sink\.colour"):
        warnings(SINK | {"headrace.sink.colour": "red", "headrace.unknown.properties": "fail"})
    unknown = {"headrace.sink.delets": "soft", "headrace.unknown.properties": "warn"}
    assert len(warnings(SINK | unknown)) == 1


def test_all_options_that_are_almost_others_are_named() -> None:
    with pytest.raises(HeadraceError, match=r"sink\.deletes\?.*sink\.truncates\?") as caught:
        warnings(SINK | {"headrace.sink.delets": "soft", "headrace.sink.trunkates": "fail"})
    assert len(caught.value.parts) == 2


@pytest.mark.parametrize("name", ["mdoe", "mod", "Modes"])
def test_a_misspelt_mode_is_an_error_and_no_option_of_the_format_of_spark(name: str) -> None:
    with pytest.raises(HeadraceError, match=r"did you mean headrace\.sink\.mode\?"):
        warnings({"headrace.sink.type": "iceberg", f"headrace.sink.{name}": "replica"})
    assert warnings({"headrace.sink.type": "iceberg", "headrace.sink.path": "x"}) == []


def test_options_of_debezium_server_are_named_as_they_are_written() -> None:
    (warning,) = warnings(SINK | {"debezium.sink.iceberg.create-identifier-fields": "true"})
    assert warning.message.startswith("debezium.sink.iceberg.create-identifier-fields: ")

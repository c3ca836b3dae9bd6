"""Properties of a schema history."""

from __future__ import annotations

import pytest

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.history import SchemaHistoryConfig
from headrace.errors import HeadraceError


class HistoryConfig(SchemaHistoryConfig, ConnectorConfig):
    """The configuration of any connector with a schema history."""


def parsed(**properties: str) -> HistoryConfig:
    names = {name.replace("_", "."): text for name, text in properties.items()}
    return HistoryConfig.parse({"topic.prefix": "s", **names})


KAFKA = {
    "schema_history_internal_kafka_topic": "t",
    "schema_history_internal_kafka_bootstrap_servers": "b:1",
}
FILE = {"schema_history_internal_file_filename": "/a/b"}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, "memory"),
        ({"headrace_checkpoint_dir": "/c"}, "file"),
        (FILE, "file"),
        (KAFKA, "kafka"),
        ({**KAFKA, "headrace_checkpoint_dir": "/c"}, "kafka"),
        ({**KAFKA, "schema_history_internal": "Memory"}, "memory"),
        ({**FILE, "schema_history_internal": "io.debezium.storage.file.history.FileSchemaHistory"},
         "file"),
        ({"schema_history_internal": "io.debezium.relational.history.MemorySchemaHistory"},
         "memory"),
    ],
    ids=["nothing", "checkpoint", "file", "kafka", "kafka and checkpoint", "memory", "class",
         "class of memory"],
)  # fmt: skip
def test_properties_decide_where_the_schema_history_is_kept(
    given: dict[str, str], kind: str
) -> None:
    assert str(parsed(**given).history_kind()) == kind


def test_the_state_folder_holds_the_file() -> None:
    assert parsed(headrace_checkpoint_dir="/c").history_file() == "/c/schema-history.jsonl"
    assert parsed(headrace_checkpoint_dir="/c", **FILE).history_file() == "/a/b"


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"schema_history_internal": "file"}, "schema.history.internal.file.filename"),
        ({"schema_history_internal": "kafka"}, "schema.history.internal.kafka.topic"),
        ({"schema_history_internal_kafka_topic": "t"},
         "schema.history.internal.kafka.bootstrap.servers"),
    ],
    ids=["file", "kafka", "topic without servers"],
)  # fmt: skip
def test_what_a_store_lacks_is_named(given: dict[str, str], missing: str) -> None:
    with pytest.raises(HeadraceError, match=f"{missing} is missing"):
        parsed(**given)


def test_other_stores_are_refused_and_their_options_have_no_effect() -> None:
    with pytest.raises(HeadraceError, match="expected one of file, kafka, memory"):
        parsed(schema_history_internal="io.debezium.storage.s3.history.S3SchemaHistory")
    (warning,) = parsed(schema_history_internal_s3_bucket_name="b").warnings
    assert warning.code == "config.ignored"


def test_settings_of_clients_lose_their_prefix_and_hide_secrets() -> None:
    config = parsed(**KAFKA, schema_history_internal_producer_sasl_password="p%secret")
    assert dict(config.schema_history_internal_producer) == {"sasl.password": "p%secret"}
    assert "p%secret" not in str(config.redacted())

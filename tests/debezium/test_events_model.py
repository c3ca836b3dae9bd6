"""Topics, keys, envelope, source block and message schemas."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.messages import MessageFacts
from headrace.connectors.postgresql.source import (
    PostgresSettings,
    PostgresSource,
    postgresql_source,
)
from headrace.debezium.envelope import envelope_schema, key_schema, value_schema
from headrace.debezium.event_format import CURRENT
from headrace.debezium.keys import KeyRule, KeyRules
from headrace.debezium.naming.topics import TopicNames, sanitized


def test_a_table_has_its_topic() -> None:
    topics = TopicNames("fulfillment")
    assert topics.data("inventory", "orders") == "fulfillment.inventory.orders"
    assert topics.data("my schema", "tablé$") == "fulfillment.my_schema.tabl__"
    assert topics.transactions == "fulfillment.transaction"
    assert topics.heartbeats == "__debezium-heartbeat.fulfillment"
    assert TopicNames("a", delimiter="_").messages == "a.message"


@given(st.text())
def test_a_topic_name_is_always_one_kafka_accepts(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{0,249}", sanitized(name))


def test_the_envelope_is_debeziums() -> None:
    topic = "fulfillment.inventory.orders"
    columns = (Field("id", Schema(Type.INT32, default=0)),)
    value = value_schema(topic, columns)
    images = Field("before", value), Field("after", value)
    envelope = envelope_schema(topic, images, postgresql_source(CURRENT), CURRENT.envelope)
    schema = json.loads(envelope.json)
    assert schema["name"] == f"{topic}.Envelope"
    assert schema["version"] == 2
    assert [f["field"] for f in schema["fields"]] == [
        "before",
        "after",
        "source",
        "transaction",
        "op",
        "ts_ms",
        "ts_us",
        "ts_ns",
    ]
    assert [f["optional"] for f in schema["fields"]] == [True, True, False, True, False] + [
        True
    ] * 3
    assert schema["fields"][3]["name"] == "event.block"
    assert key_schema(topic, columns).json == (
        '{"type":"struct","fields":[{"type":"int32","optional":false,"default":0,"field":"id"}],'
        f'"optional":false,"name":"{topic}.Key"}}'
    )


def test_the_source_block_keeps_debeziums_order() -> None:
    names = "version connector name ts_ms snapshot db sequence ts_us ts_ns "
    names += "schema table txId lsn xmin origin origin_lsn"
    members = {f.name: f.schema for f in postgresql_source(CURRENT).fields}
    assert " ".join(members) == names
    snapshot = members["snapshot"]
    assert snapshot.default == "false"
    assert dict(snapshot.parameters)["allowed"] == (
        "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    )


def test_messages_have_their_own_schemas() -> None:
    settings = PostgresSettings("s", PostgresSource("d"))
    shape = MessageFacts("s.message", transactional=True).shape(settings)
    assert shape.key is not None
    assert shape.key.schema.name == "io.debezium.connector.postgresql.MessageKey"
    assert [f.name for f in shape.value.schema.fields] == (
        ["op", "ts_ms", "source", "transaction", "message"]
    )


def rules_of(*texts: str) -> KeyRules:
    expressions = (text.replace(":", ".") for text in texts)
    return KeyRules(
        tuple(
            KeyRule(text, re.compile(expression, re.IGNORECASE))
            for text, expression in zip(texts, expressions, strict=True)
        )
    )


def test_the_columns_of_all_rules_that_match_are_the_key_in_the_order_of_the_rules() -> None:
    rules = rules_of("s.one:b", "s.*:c", "S.ONE:A", ".*:nope", "s.three:x.*", "s.one:b")
    assert rules.key_columns("s.one", ["a", "b", "c"], ["a"]) == ("b", "c", "a")
    assert rules.key_columns("s.three", ["x1", "y", "x2"], ["y"]) == ("x1", "x2")


def test_without_a_rule_that_matches_the_primary_key_or_unique_index_is_the_key() -> None:
    assert KeyRules().key_columns("s.t", ["a", "b"], ["b"]) == ("b",)
    assert rules_of("s.t:c").key_columns("s.t", ["a", "b"], ["b"]) == ("b",)
    assert rules_of("s.t:c").key_columns("s.t", ["a", "b"], []) == ()


def test_a_rule_without_a_column_in_any_table_is_named() -> None:
    rules = rules_of("s.t:c", ".*:a", "s.u:b")
    assert rules.unmatched([("s.t", ["a", "b"]), ("s.u", ["a", "b"])]) == ["s.t:c"]

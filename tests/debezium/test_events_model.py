"""Topics, keys, envelope, source block and message schemas."""

from __future__ import annotations

import json
import re

import pytest
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
from headrace.debezium.keys import KeyRules
from headrace.debezium.naming.topics import TopicNames, sanitized
from headrace.errors import HeadraceError


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


def test_the_first_rule_that_matches_names_the_key_columns() -> None:
    rules = KeyRules.parse(r"inventory\.cust.*:email,name;.*\.orders:number")
    assert rules.columns_for("Inventory.Customers") == ("email", "name")
    assert rules.columns_for("sales.orders") == ("number",)
    assert rules.columns_for("sales.orders2") == ()


def test_without_a_rule_the_primary_key_decides_then_a_unique_index() -> None:
    rules = KeyRules.parse(None)
    assert rules.key_columns("s.t", ["a", "b"], ["b"], [["a"]]) == ("b",)
    assert rules.key_columns("s.t", ["a", "b"], [], [[], ["a"]]) == ("a",)
    assert rules.key_columns("s.t", ["a", "b"], []) == ()


def test_a_key_column_that_is_not_there_is_named() -> None:
    with pytest.raises(HeadraceError, match=r"the column c for s\.t"):
        KeyRules.parse("s.t:c").key_columns("s.t", ["a"], ["a"])


@pytest.mark.parametrize("text", ["s.t", "s.t:", ":a", "a:b:c", "(:a"])
def test_a_malformed_key_rule_is_named(text: str) -> None:
    with pytest.raises(HeadraceError, match=r"message\.key\.columns") as raised:
        KeyRules.parse(text)
    assert raised.value.code == "config.invalid"

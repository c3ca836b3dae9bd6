"""Schema change events: rows of the log that converters render like any other."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np

from headrace.connect.images import make_image
from headrace.connect.json_values import load_schema
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import group_by_shape
from headrace.connect.rows import MARKERS, NULL, ROW, TRANSACTION, RowTable, Sequences
from headrace.connectors.db2.events import Db2Settings, Db2Source
from headrace.converters.json.values import JsonOptions
from headrace.relational.schema_changes import OPERATION, SchemaChangeFacts, schema_change_image
from headrace.streaming.facts import unpack
from tests.converters.json_converter import json_converter
from tests.relational.history.cases import CASES, EVENTS

SETTINGS = Db2Settings("fulfillment", Db2Source("TESTDB"))
FACTS = SchemaChangeFacts("fulfillment", "MYSCHEMA", "CUSTOMERS")


def event(number: int, *, schemas: bool = False) -> dict[str, Any]:
    """The event of a case, as the JSON converter writes it."""
    image = schema_change_image(CASES[number])
    memory = np.frombuffer(image + make_image(["…:c4"]) + bytes(PADDING), np.uint8)
    rows, transactions = np.zeros(1, ROW), np.zeros(1, TRANSACTION)
    rows["new"], rows["operation"] = address_of(memory), OPERATION
    rows["marker"] = MARKERS.index("true")
    transactions["image"], transactions["size"] = address_of(memory) + len(image), 10
    transactions["commit_ms"], transactions["xid"] = 1_700_000_000_123, NULL
    table = RowTable(rows, transactions, (memory,))
    (records,) = group_by_shape(table, {0: FACTS.shape(SETTINGS)})
    options = JsonOptions(schemas_enable=schemas)
    (batch,) = json_converter(options, options, options).convert([records], Sequences(1))
    (record,) = batch.to_pylist()
    return {name: json.loads(record[name]) for name in ("key", "value")} | {
        "topic": record["topic"]
    }


def test_an_event_has_the_members_of_debezium() -> None:
    change_event = event(0)
    assert change_event["topic"] == "fulfillment"
    assert change_event["key"] == {"databaseName": "TESTDB"}
    value = change_event["value"]
    assert list(value) == [
        "source", "ts_ms", "databaseName", "schemaName", "ddl", "tableChanges",
    ]  # fmt: skip
    assert value["databaseName"] == "TESTDB"
    assert (value["schemaName"], value["ddl"]) == ("MYSCHEMA", None)
    source = value["source"]
    assert (source["schema"], source["table"]) == ("MYSCHEMA", "CUSTOMERS")
    assert (source["snapshot"], source["change_lsn"], source["commit_lsn"]) == (
        "true", None, "…:c4",
    )  # fmt: skip
    recorded = json.loads(EVENTS.read_text().split("\n")[0])
    assert value["tableChanges"] == recorded["payload"]


def test_a_change_of_the_stream_has_an_empty_database() -> None:
    change_event = event(1)
    assert change_event["key"] == {"databaseName": ""}
    assert (change_event["value"]["databaseName"], change_event["value"]["ddl"]) == ("", "N/A")


def test_its_schema_is_that_of_debezium() -> None:
    change_event = event(2, schemas=True)
    assert change_event["key"]["schema"]["name"] == "io.debezium.connector.db2.SchemaChangeKey"
    schema = change_event["value"]["schema"]
    assert (schema["name"], schema["version"]) == ("io.debezium.connector.db2.SchemaChangeValue", 1)
    (changes,) = (field for field in schema["fields"] if field["field"] == "tableChanges")
    recorded = json.loads(EVENTS.read_text().split("\n")[2])
    assert load_schema(changes) == load_schema(recorded["schema"])
    assert change_event["value"]["payload"]["tableChanges"] == recorded["payload"]
    assert change_event["key"]["payload"] == {"databaseName": ""}


def test_its_facts_travel_to_tasks() -> None:
    assert unpack(pickle.dumps(FACTS)) == FACTS
    assert FACTS.collection == ""
    assert not FACTS.holds_changes

"""Change events without schemas: what becomes of them is what becomes of those with schemas."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.transforms import apply_json

ROW = {
    "type": "struct", "optional": True, "name": "s.t.Value",
    "fields": [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "to"},
    ],
}  # fmt: skip
SOURCE = {
    "type": "struct", "optional": False, "name": "io.debezium.connector.postgresql.Source",
    "fields": [
        {"type": "string", "optional": False, "field": "table"},
        {"type": "int64", "optional": True, "field": "lsn"},
    ],
}  # fmt: skip
ENVELOPE = {
    "type": "struct", "optional": False, "name": "s.t.Envelope",
    "fields": [
        {**ROW, "field": "before"}, {**ROW, "field": "after"}, {**SOURCE, "field": "source"},
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ],
}  # fmt: skip
KEY = {
    "type": "struct", "optional": False, "name": "s.t.Key",
    "fields": [{"type": "int32", "optional": False, "field": "id"}],
}  # fmt: skip


def payload(before: Any, after: Any, op: str) -> dict[str, Any]:
    source = {"table": "t", "lsn": 17}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 5}


PAYLOADS = [
    payload(None, {"id": 1, "to": "a \"q\" é😀\n"}, "c"),
    payload({"id": 1, "to": None}, {"id": 1, "to": " "}, "u"),
    payload({"id": 2, "to": "b"}, None, "d"),
    None,
    payload(None, None, "t"),
]  # fmt: skip


def records(*, with_schemas: bool) -> list[dict[str, Any]]:
    def part(schema: Any, payload_value: Any) -> Any:
        return {"schema": schema if with_schemas else None, "payload": payload_value}

    return [
        {
            "topic": "s.t", "partition": None, "timestamp": None, "headers": [],
            "key": part(KEY, {"id": 1}),
            "value": None if payload_value is None else part(ENVELOPE, payload_value),
        }
        for payload_value in PAYLOADS
    ]  # fmt: skip


def shown(entries: list[Any]) -> list[Any]:
    """The content of records without their schemas."""

    def held(part: Any) -> Any:
        return None if part is None else part["payload"]

    return [
        each
        and {
            "topic": each["topic"],
            "key": held(each["key"]),
            "value": held(each["value"]),
            "headers": [(header["name"], header["payload"]) for header in each["headers"]],
        }
        for each in entries
    ]


def unwrap(options: dict[str, str]) -> dict[str, str]:
    named = {f"transforms.u.{name}": text for name, text in options.items()}
    return {"transforms": "u", "transforms.u.type": "ExtractNewRecordState", **named}


MODE = "delete.tombstone.handling.mode"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {MODE: "drop"},
        {MODE: "rewrite", "add.fields": "op,source.lsn,table,ts_ms:when"},
        {MODE: "rewrite-with-tombstone", "add.headers": "op,source.table"},
        {MODE: "delete-to-tombstone"},
        {"route.by.field": "to"},
    ],
)  # fmt: skip
def test_they_are_unwrapped_as_those_with_schemas_are(options: dict[str, str]) -> None:
    ours = apply_json(unwrap(options), records(with_schemas=False))
    theirs = apply_json(unwrap(options), records(with_schemas=True))
    assert shown(ours) == shown(theirs)
    assert all(
        each is None or each["value"] is None or each["value"]["schema"] is None for each in ours
    )


def test_a_field_that_the_row_has_is_not_added_twice() -> None:
    (outcome, *_) = apply_json(
        unwrap({"add.fields": "op:id", "add.fields.prefix": ""}), records(with_schemas=False)
    )
    assert outcome is not None
    assert "transforms.field_name_twice" in str(outcome["error"])


def test_the_released_behaviour_leaves_them_alone() -> None:
    entries = records(with_schemas=False)
    outcomes = apply_json(unwrap({}) | {"headrace.compatibility": "debezium-3.6"}, entries[:3])
    assert shown(outcomes) == shown(entries[:3])


def test_other_maps_pass_as_they_are() -> None:
    entries = records(with_schemas=False)[:1]
    for payload_value in ({"op": "c"}, {"op": "c", "source": 1}, [1, 2], "text", {"source": {}}):
        entries[0]["value"]["payload"] = payload_value
        assert shown(apply_json(unwrap({}), entries)) == shown(entries)


def document(after: Any, **more: Any) -> dict[str, Any]:
    value = {"after": after, "source": {"rs": "r0", "ord": 1}, "op": "u", "ts_ms": 1, **more}
    return {
        "topic": "m.c", "partition": None, "timestamp": None, "headers": [],
        "key": {"schema": None, "payload": {"id": '{"$oid":"596e275826f08b2730779e1f"}'}},
        "value": {"schema": None, "payload": value},
    }  # fmt: skip


def test_documents_of_every_release_are_unwrapped_from_json_without_schemas() -> None:
    events = [
        document('{"_id":1,"a":{"b":"x"}}', updateDescription=None),
        document(None, updateDescription={
            "updatedFields": '{"n":2}', "removedFields": ["gone"], "truncatedArrays": None}),
        # Connectors 1.9 to 2.5.
        document(None, patch='{"$set":{"n":{"$numberInt":"3"}},"$unset":{"m":true}}',
                 filter='{"_id":1}'),
        document('{"_id":2}', patch=None, filter=None),
        document(None, op="d"),
    ]  # fmt: skip
    properties = {
        "transforms": "u",
        "transforms.u.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
        "transforms.u.add.fields": "op,source.rs",
        "transforms.u.add.headers": "op",
    }
    outcomes = shown(apply_json(properties, events))
    added = {"__op": "u", "__source_rs": "r0"}
    identifier = "596e275826f08b2730779e1f"
    assert [each and each["value"] for each in outcomes] == [
        {"_id": 1, "a": {"b": "x"}, **added},
        {"n": 2, "gone": None, "_id": identifier, **added},
        {"n": 3, "m": None, "_id": identifier, **added},
        {"_id": 2, **added},
        None,
    ]
    assert outcomes[0]["headers"] == [("__op", "u")]
    assert outcomes[0]["key"] == {"id": identifier}

"""ExtractNewDocumentState with its defaults: the worked examples of Debezium's manual, and events
of old connectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.transforms import apply_json
from tests.golden.transforms.inputs.documents import ITEMS
from tests.golden.transforms.inputs.schemas import JSON, STRING, optional, part, struct

TYPE = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"


def unwrapped(record: dict[str, Any], **options: str) -> Any:
    """The payload after the transform with these options, `_` for `.`."""
    named = {f"transforms.t.{name.replace('_', '.')}": text for name, text in options.items()}
    (outcome,) = apply_json({"transforms": "t", "transforms.t.type": TYPE, **named}, [record])
    assert outcome is not None
    value: Any = outcome["value"]
    return None if value is None else value["payload"]


def old_event(operation: str, after: str | None, patch: str | None) -> dict[str, Any]:
    """An event of a connector before 2.2."""
    fields = {
        "after": optional(JSON),
        "patch": optional(JSON),
        "filter": optional(JSON),
        "op": STRING,
    }
    schema = struct(f"{ITEMS.topic}.Envelope", fields)
    value = {"after": after, "patch": patch, "filter": None, "op": operation}
    return ITEMS.event("c", {"_id": 1}) | {"value": part(schema, value)}


def test_arrays_become_structs() -> None:
    event = ITEMS.event("c", {"_id": 1, "a": [{"b": 1}, "x", [2, None]]})
    expected = {"_id": 1, "a": {"_0": {"b": 1}, "_1": "x", "_2": {"_0": 2, "_1": None}}}
    assert unwrapped(event, array_encoding="document") == expected


def test_inner_documents_are_flattened() -> None:
    event = ITEMS.event("c", {"_id": 1, "a": {"b": 1, "c": "x"}})
    assert unwrapped(event, flatten_struct="true") == {"_id": 1, "a_b": 1, "a_c": "x"}
    dotted = unwrapped(event, flatten_struct="true", flatten_struct_delimiter=".")
    assert dotted == {"_id": 1, "a.b": 1, "a.c": "x"}


@pytest.mark.parametrize(("handling", "more"), [("null", {"phone": None}), ("omit", {})])
def test_a_field_that_was_unset_is_null_or_left_out(handling: str, more: dict[str, None]) -> None:
    full = ITEMS.event("u", {"_id": 1, "name": "Ana"}, None, ({}, ["phone"]))
    assert unwrapped(full, unset_handling=handling) == {"_id": 1, "name": "Ana"} | more
    partial = ITEMS.event("u", None, None, ({}, ["phone"]), identifier=1)
    assert unwrapped(partial, unset_handling=handling) == {"_id": 1} | more


def test_a_renamed_field_is_null_under_its_old_name() -> None:
    partial = ITEMS.event("u", None, None, ({"mobile": "1"}, ["phone"]), identifier=1)
    assert unwrapped(partial) == {"mobile": "1", "phone": None, "_id": 1}
    full = ITEMS.event("u", {"_id": 1, "mobile": "1"}, None, ({"mobile": "1"}, ["phone"]))
    assert unwrapped(full) == {"_id": 1, "mobile": "1", "phone": None}


def test_a_field_unset_in_a_document_is_null_in_it() -> None:
    event = ITEMS.event("u", {"_id": 1, "a": {"b": 1}}, None, ({}, ["a.c", "gone.d"]))
    assert unwrapped(event) == {"_id": 1, "a": {"b": 1, "c": None}}


def test_a_rewritten_delete_has_the_id() -> None:
    mode = "delete.tombstone.handling.mode"
    options = {
        mode.replace(".", "_"): "rewrite",
        f"{mode}.rewrite-with-id".replace(".", "_"): "true",
    }
    assert unwrapped(ITEMS.event("d", identifier=7), **options) == {"__deleted": True, "_id": 7}


def test_added_fields_that_events_lack_are_null() -> None:
    event = ITEMS.event("c", {"_id": 1})
    added = unwrapped(event, add_fields="rs,collection")
    assert added == {"_id": 1, "__rs": None, "__collection": "items"}


def test_elements_of_an_array_have_the_fields_of_all_of_them() -> None:
    event = ITEMS.event("c", {"_id": 1, "a": [{"x": {"y": 1}}, None, {"x": {"z": [1]}}, {}]})
    filled = [{"x": {"y": 1, "z": None}}, None, {"x": {"y": None, "z": [1]}}, {"x": None}]
    assert unwrapped(event) == {"_id": 1, "a": filled}


def test_events_of_old_connectors_pass() -> None:
    assert unwrapped(old_event("c", '{"_id": 1,"n": 2}', None)) == {"_id": 1, "n": 2}
    patch = '{"$v": 1,"$set": {"n": 3},"$unset": {"gone": true}}'
    assert unwrapped(old_event("u", None, patch)) == {"n": 3, "gone": None, "_id": 1}
    assert unwrapped(old_event("u", None, '{"_id": 1,"n": 4}')) == {"_id": 1, "n": 4}
    assert unwrapped(old_event("d", None, None)) is None

"""Events of outbox tables and outbox collections, by name."""

from __future__ import annotations

import json
from typing import Any

import bson

from tests.golden.transforms.inputs.documents import OBJECT_ID, Collection
from tests.golden.transforms.inputs.envelopes import COMMITTED, DB2, ORACLE, POSTGRESQL, Table
from tests.golden.transforms.inputs.schemas import (
    BOOLEAN,
    BYTES,
    INT32,
    INT64,
    JSON,
    MICRO_TIMESTAMP,
    NANO_TIMESTAMP,
    STRING,
    TIMESTAMP,
    UUID,
    Record,
    header,
    optional,
    raw,
    struct,
)

NESTED = {
    "number": 1,
    "large": 2**40,
    "price": 1.5,
    "flag": True,
    "none": None,
    "text": "Łódź",
    "inner": {"a": 1, "b": {"c": "d"}},
    "list": [1, 2],
    "texts": ["a", "b"],
    "rows": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}],
    "empty": [],
    "nothing": {},
}
COLUMNS: dict[str, dict[str, Any]] = {
    "id": UUID,
    "aggregatetype": STRING,
    "aggregateid": STRING,
    "type": STRING,
    "payload": optional(JSON),
    "at": optional(TIMESTAMP),
    "at_us": optional(MICRO_TIMESTAMP),
    "at_ns": optional(NANO_TIMESTAMP),
    "version": optional(INT32),
    "tenant": optional(STRING),
    "urgent": optional(BOOLEAN),
    "part": optional(INT32),
    "tracingspancontext": optional(STRING),
}
ROW = {
    "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "aggregatetype": "order",
    "aggregateid": "10",
    "type": "created",
    "payload": json.dumps({"id": 10, "total": "19.99"}),
    "at": COMMITTED - 1000,
    "at_us": (COMMITTED - 2000) * 1000,
    "at_ns": (COMMITTED - 3000) * 1_000_000,
    "version": 3,
    "tenant": "acme",
    "urgent": True,
    "part": 2,
    "tracingspancontext": None,
}
TRACED = "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OUTBOX = Table(POSTGRESQL, "public.outbox", {"id": UUID}, COLUMNS)
BINARY = Table(POSTGRESQL, "public.outbox", {"id": UUID}, COLUMNS | {"payload": optional(BYTES)})
TYPED = Table(
    POSTGRESQL,
    "public.outbox",
    {"id": INT64},
    COLUMNS
    | {"id": INT64, "aggregateid": INT32,
       "payload": optional(struct("order", {"id": INT64, "note": optional(STRING)}))},
)  # fmt: skip
UPPER = {name.upper(): kind for name, kind in COLUMNS.items()}
UPPER_ROW = {name.upper(): value for name, value in ROW.items()}
ORACLE_OUTBOX = Table(ORACLE, "APP.OUTBOX", {"ID": UUID}, UPPER)
DB2_OUTBOX = Table(DB2, "APP.OUTBOX", {"ID": UUID}, UPPER)


def _texts() -> dict[str, str | None]:
    """Payloads by a name."""
    return {
        "nested": json.dumps(NESTED),
        "list": '[{"a": 1}, {"a": 2}]',
        "numbers": "[1, 2, 3]",
        "mixed": '[1, "a"]',
        "empty_list": '{"l": []}',
        "nulls": '{"a": null, "b": {"c": null}, "l": [null, 1]}',
        "number": "5",
        "quoted": '"just text"',
        "broken": '{"a": ',
        "plain": "no JSON",
        "empty": "",
        "empty_object": "{}",
        "json_null": "null",
        "null": None,
        "other_documents": '[{"a": 1}, {"b": "x"}]',
        "big": '{"n": 123456789012345678901234567890, "d": 1e400, "i": 2147483648}',
        "long": '{"a": 12345678901234567890}',
        "long_even": '{"a": 18446744073709551616}',
        "long_beyond": '{"a": 1' + "0" * 400 + "}",
        "long_below": '{"a": [-9223372036854775809]}',
        "half": '{"a": "\\ud800", "b": ["x\\udc00"], "c": "\\ud83d\\ude00"}',
        "half_name": '{"a\\ud800": 1}',
        "null_items": '{"a": [null], "b": [null, null], "c": [[null]], "d": 1}',
        "null_list": "[null]",
        "null_rows": '{"a": [{"x": null}, null, {"x": 1}]}',
        "names": '{"a b": 1, "1x": 2, "": 3, "ä": 4, "a-b": 5, "a.b": 6, "_c": 7, "A": 8, "a": 9}',
        "names_inside": '{"o": {"a b": 1}, "l": [{"1x": 2}]}',
        "objects": '[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
        "objects_inside": '{"l": [{"a": 1}, {"a": 2}]}',
        "objects_differ": '{"l": [{"a": 1}, {"a": "x"}]}',
        "objects_more": '{"l": [{"a": 1}, {"a": 2, "b": true}]}',
        "objects_fewer": '{"l": [{"a": 1, "b": true}, {"a": 2}]}',
        "objects_widen": '{"l": [{"a": 1}, {"a": 5000000000}, {"a": 1.5}]}',
        "objects_and_empty": '{"l": [{}, {"a": 2}], "m": [{}]}',
        "empty_array": "[]",
        "empty_arrays": '{"l": [[], []], "m": [[], [1]], "n": {"l": []}}',
        "empty_in_objects": '{"l": [{"a": []}, {"a": []}]}',
        "arrays_differ": '{"l": [[1], ["a"]]}',
        "widen": '{"l": [1, 5000000000], "m": [1, 1.5], "n": [5000000000, 1.5]}',
        "mixed_inside": '{"l": [1, "a"], "m": [true, 1], "n": [{"a": 1}, 1]}',
        "huge": '{"a": 9223372036854775807, "b": 9223372036854775808, "c": -9223372036854775809}',
        "huge_exponent": '{"a": 1e308, "b": 1e309, "c": 1E2, "d": 0.1e-400}',
        "minus_zero": '{"a": -0.0, "b": -0, "c": 0.0}',
        "twice": '{"a": 1, "a": "x"}',
        "blanks": ' {"a": 1} ',
        "more": '{"a": 1} {"b": 2}',
        "array_more": "[1, 2] x",
        "null_nested": '{"b": [{"l": [null]}], "c": {"l": [null]}}',
    }


def outbox_records() -> dict[str, Record]:
    """Rows of outbox tables."""
    trace = [header("here", STRING, "yes")]
    records = {
        "out_create": OUTBOX.event("c", None, ROW, partition=1, timestamp=5, headers=trace),
        "out_read": OUTBOX.event("r", None, ROW),
        "out_other": OUTBOX.event(
            "c", None, ROW | {"aggregatetype": "Customer", "aggregateid": "7", "tenant": None,
                              "urgent": None, "version": None, "part": None, "at": None}
        ),
        "out_update": OUTBOX.event("u", ROW, ROW | {"type": "changed"}),
        "out_delete": OUTBOX.event("d", ROW, None),
        "out_tombstone": OUTBOX.tombstone(ROW),
        "out_truncate": OUTBOX.event("t"),
        "out_binary": BINARY.event("c", None, ROW | {"payload": raw(b'{"id": 10}')}),
        "out_binary_null": BINARY.event("c", None, ROW | {"payload": None}),
        "out_struct": TYPED.event(
            "c", None, ROW | {"id": 5, "aggregateid": 10, "payload": {"id": 10, "note": None}}
        ),
        "out_traced": OUTBOX.event("c", None, ROW | {"tracingspancontext": TRACED}),
        "out_oracle": ORACLE_OUTBOX.event("c", None, UPPER_ROW),
        "out_oracle_delete": ORACLE_OUTBOX.event("d", UPPER_ROW, None),
        "out_db2": DB2_OUTBOX.event("c", None, UPPER_ROW),
    }  # fmt: skip
    for name, payload in _texts().items():
        records[f"out_payload_{name}"] = OUTBOX.event("c", None, ROW | {"payload": payload})
    return records


EVENTS = Collection("outbox")
EVENT: dict[str, Any] = {
    "_id": OBJECT_ID,
    "aggregatetype": "order",
    "aggregateid": "10",
    "type": "created",
    "payload": {"id": 10, "total": 19.99, "lines": [{"sku": "a", "n": bson.Int64(2)}]},
    "at": bson.Int64(COMMITTED - 1000),
    "date": bson.DatetimeMS(COMMITTED - 1000),
    "version": 3,
    "tenant": "acme",
    "urgent": True,
    "part": 2,
}


def outbox_documents() -> dict[str, Record]:
    """Documents of outbox collections."""
    payloads: dict[str, Any] = {
        "nested": {key: value for key, value in NESTED.items() if key != "nothing"},
        "text": "just text",
        "blank": " ",
        "json": '{"a": 1}',
        "number": 5,
        "long": bson.Int64(5),
        "double": 1.5,
        "boolean": True,
        "null": None,
        "id": OBJECT_ID,
        "date": bson.DatetimeMS(COMMITTED),
        "binary": b"abc",
        "decimal": bson.Decimal128("1.50"),
        "list": [1, 2],
        "rows": [{"a": 1}, {"a": 2}],
        "empty": {},
        "empty_list": [],
    }
    without = {name: value for name, value in EVENT.items() if name != "payload"}
    records = {
        "outdoc_create": EVENTS.event("c", EVENT, headers=[header("here", STRING, "yes")]),
        "outdoc_read": EVENTS.event("r", EVENT),
        "outdoc_other": EVENTS.event(
            "c", EVENT | {"aggregatetype": "Customer", "aggregateid": "7", "_id": 5, "tenant": None}
        ),
        "outdoc_text_id": EVENTS.event("c", EVENT | {"_id": "five", "aggregateid": 10}),
        "outdoc_update": EVENTS.event("u", EVENT, None, ({"type": "changed"}, None)),
        "outdoc_delete": EVENTS.event("d", identifier=OBJECT_ID),
        "outdoc_tombstone": EVENTS.tombstone(OBJECT_ID),
        "outdoc_no_payload": EVENTS.event("c", without),
        "outdoc_few": EVENTS.event("c", {"_id": 1, "name": "no outbox"}),
    }
    for name, payload in payloads.items():
        records[f"outdoc_payload_{name}"] = EVENTS.event("c", EVENT | {"payload": payload})
    return records

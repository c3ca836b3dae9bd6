"""Change events with texts and bytes that may be too long, by name."""

from __future__ import annotations

import base64

from tests.golden.transforms.inputs.envelopes import (
    DB2,
    ORACLE,
    POSTGRESQL,
    TRANSACTION_PAYLOAD,
    Table,
    context_headers,
)
from tests.golden.transforms.inputs.schemas import (
    BYTES,
    DOUBLE,
    INT32,
    JSON,
    STRING,
    TIMESTAMP,
    VARIABLE_SCALE_DECIMAL,
    ZONED_TIMESTAMP,
    Record,
    array,
    decimal,
    mapping,
    optional,
    part,
    raw,
    scaled,
    struct,
    unscaled,
)
from tests.golden.transforms.inputs.tables import (
    COLUMN_TYPES,
    FULL_TYPES,
    NULL_TYPES,
    OTHER_TYPES,
    TYPES,
)

NOTES = Table(
    POSTGRESQL,
    "public.notes",
    {"id": INT32},
    {"id": INT32, "title": optional(STRING), "body": optional(STRING), "file": optional(BYTES)},
)
# What is cut of the one long text shows the whole estimate.
_INNER = struct("inner", {"n": INT32, "price": optional(decimal(2)), "file": optional(BYTES)})
_NESTED = {
    "body": STRING,
    "prices": optional(array(optional(decimal(2)))),
    "rows": optional(array(optional(_INNER))),
    "files": optional(mapping(STRING, optional(BYTES))),
    "lists": optional(mapping(INT32, array(optional(STRING)))),
}
_PRESENT = {
    "prices": [unscaled(-1), None, unscaled(128), unscaled(-129), unscaled(10**30)],
    "rows": [{"n": 1, "price": unscaled(5), "file": raw(b"12345")}, None,
             {"n": 2, "price": None, "file": None}],
    "files": {"é": raw(b"abc"), "none": None},
    "lists": [[1, ["a", None, "€"]], [2, []]],
}  # fmt: skip
_EMPTY = {"prices": [], "rows": [], "files": {}, "lists": []}
_ABSENT = dict.fromkeys(_EMPTY)
EVERYTHING = Table(
    POSTGRESQL,
    "public.everything",
    TYPES.key,
    {name: kind for name, (kind, _, _) in COLUMN_TYPES.items() if name != "price"} | _NESTED,
)
PRICES = Table(
    POSTGRESQL,
    "public.prices",
    {"id": INT32},
    {"id": INT32, "body": STRING, "price": optional(decimal(2))},
)
DEFAULTS = Table(
    POSTGRESQL,
    "public.defaults",
    {"id": INT32},
    {"id": INT32, "body": optional(STRING, default="d" * 100), "note": optional(STRING)},
)
ORACLE_NOTES = Table(
    ORACLE,
    "INVENTORY.NOTES",
    {"ID": VARIABLE_SCALE_DECIMAL},
    {"ID": VARIABLE_SCALE_DECIMAL, "BODY": optional(STRING), "SEEN": optional(ZONED_TIMESTAMP),
     "CREATED": optional(TIMESTAMP)},
)  # fmt: skip
DB2_NOTES = Table(
    DB2,
    "MYSCHEMA.NOTES",
    {"ID": INT32},
    {"ID": INT32, "BODY": optional(STRING), "SCORE": optional(DOUBLE), "DETAILS": optional(JSON)},
)


def wide_text(length: int) -> str:
    """A text of this many bytes."""
    return base64.b64encode(bytes(range(256)) * (length // 192 + 1)).decode()[:length]


def sized_records() -> dict[str, Record]:
    """Rows with texts and bytes that are too long."""
    table = NOTES
    short = {"id": 1, "title": "short", "body": "x" * 40, "file": raw(b"y" * 30)}
    long = {"id": 2, "title": "t" * 300, "body": wide_text(900), "file": raw(b"\0\1\2" * 200)}
    wide = {"id": 3, "title": "é" * 200, "body": "😀" * 150, "file": None}
    return {
        "sized_short": table.event("c", None, short),
        "sized_long": table.event("c", None, long),
        "sized_wide": table.event("u", long, wide),
        "sized_delete": table.event("d", long, None),
        "sized_tombstone": table.tombstone(short),
        "sized_row": {**table.event("c", None, long), "value": part(table.row_schema(), long)},
        "sized_text": {**table.event("c", None, long), "value": part(STRING, "z" * 2000)},
        "sized_keyless": {**table.event("c", None, long), "key": None},
        "sized_text_key": {**table.event("c", None, long), "key": part(STRING, "a key")},
        "sized_headers": table.event(
            "u", short, long, transaction=TRANSACTION_PAYLOAD, headers=context_headers(POSTGRESQL)
        ),
        "sized_pairs": table.event("c", None, wide | {"title": "a", "body": "a" + "😀" * 1500}),
    } | _sized_types()


def _sized_types() -> dict[str, Record]:
    """One long text beside every type of column, in records of several databases."""
    body = wide_text(4000)
    rows = [
        {**types, "body": body, **nested}
        for types, nested in ((FULL_TYPES, _PRESENT), (OTHER_TYPES, _EMPTY), (NULL_TYPES, _ABSENT))
    ]
    full, other, nulls = ({n: v for n, v in row.items() if n != "price"} for row in rows)
    price = {"id": 1, "body": body, "price": unscaled(12345)}
    note = {"ID": scaled(10**20, 2), "BODY": body, "SEEN": "2018-03-03T13:52:34.000001+01:00",
            "CREATED": 1_520_085_154_000}  # fmt: skip
    line = {"ID": 5, "BODY": body, "SCORE": None, "DETAILS": '{"a": [1, null]}'}
    return {
        "sized_types": EVERYTHING.event("c", None, full),
        "sized_types_update": EVERYTHING.event("u", full, other),
        "sized_types_nulls": EVERYTHING.event("u", nulls, other),
        "sized_price": PRICES.event("c", None, price),
        "sized_price_null": PRICES.event("c", None, price | {"price": None}),
        "sized_default": DEFAULTS.event("u", None, {"id": 1, "body": None, "note": "n" * 2000}),
        "sized_oracle": ORACLE_NOTES.event("u", note, note | {"SEEN": None}),
        "sized_db2": DB2_NOTES.event("d", line, None),
    }

"""Records that are no change events: every Connect type, nesting, nulls and defaults; by name."""

from __future__ import annotations

from typing import Any

from tests.golden.transforms.inputs.schemas import (
    BOOLEAN,
    BYTES,
    CONNECT_DATE,
    CONNECT_TIME,
    CONNECT_TIMESTAMP,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Record,
    array,
    decimal,
    header,
    mapping,
    optional,
    part,
    raw,
    record,
    schema,
    struct,
    unscaled,
)

AT = 1_700_000_000_123
INNER = struct("inner", {"x": INT32, "y": optional(STRING), "deep": optional(
    struct("deep", {"z": optional(BOOLEAN)}))})  # fmt: skip

# name: schema, a value, another value
MEMBERS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "i8": (INT8, -8, 127),
    "i16": (INT16, -300, 32767),
    "i32": (INT32, 100_000, -(2**31)),
    "i64": (INT64, 2**53 + 1, -(2**63)),
    "f32": (FLOAT, 1.5, -0.1),
    "f64": (DOUBLE, 0.1, 1e21),
    "flag": (BOOLEAN, True, False),
    "text": (STRING, "12", "Łódź €😀"),
    "bytes": (BYTES, raw(b"\0\xffabc"), raw(b"")),
    "price": (decimal(2), unscaled(12345), unscaled(-1)),
    "date": (CONNECT_DATE, 19675, -1),
    "time": (CONNECT_TIME, 80_000_123, 0),
    "at": (CONNECT_TIMESTAMP, AT, -1),
    "inner": (INNER, {"x": 1, "y": "why", "deep": {"z": True}},
              {"x": 2, "y": None, "deep": None}),
    "list": (array(INT32), [1, 2, 3], []),
    "rows": (array(INNER), [{"x": 3, "y": None, "deep": None}], []),
    "map": (mapping(STRING, INT64), {"a": 1, "b": 2}, {}),
    "pairs": (mapping(INT32, optional(STRING)), [[1, "one"], [2, None]], []),
}  # fmt: skip
OPTIONAL = {
    f"o_{name}": (optional(kind), value, None) for name, (kind, value, _) in MEMBERS.items()
}
DEFAULTS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "d_i32": (optional(INT32, default=7), 1, None),
    "d_text": (optional(STRING, default="none", doc="a text"), "x", None),
    "d_flag": (optional(BOOLEAN, default=True), False, None),
    "d_f64": (optional(DOUBLE, default=2.5), 1.5, None),
    "d_required": (STRING | {"default": "here"}, "there", "there"),
    "d_at": (optional(CONNECT_TIMESTAMP, default=0), AT, None),
}
EVERY = {**MEMBERS, **OPTIONAL, **DEFAULTS}
EVERY_STRUCT = struct("every", {name: kind for name, (kind, _, _) in EVERY.items()}, version=3,
                      doc="every type", parameters={"owner": "tests"})  # fmt: skip
UNMAPPED_STRUCT = struct("unmapped", {name: kind for name, (kind, _, _) in EVERY.items()
                                      if kind["type"] != "map"}, version=3)  # fmt: skip
KEY = struct("key", {"id": INT64, "part": optional(STRING)})
KEY_PAYLOAD = {"id": 9, "part": None}
SMALL = struct("small", {"id": INT64, "name": optional(STRING, default="nobody"), "n": INT32,
                         "secret": optional(STRING)})  # fmt: skip
SMALL_PAYLOAD = {"id": 9, "name": "Ann", "n": 5, "secret": "s3"}

INSTANTS = struct(
    "instants",
    {
        "unix": INT64,
        "o_unix": optional(INT64),
        "text": STRING,
        "o_text": optional(STRING),
        "date": CONNECT_DATE,
        "time": CONNECT_TIME,
        "at": CONNECT_TIMESTAMP,
        "o_at": optional(CONNECT_TIMESTAMP),
        "d_at": optional(CONNECT_TIMESTAMP, default=1000),
        "flag": BOOLEAN,
    },
)
INSTANT = {"unix": AT, "o_unix": None, "text": "2023-11-14 22:13:20", "o_text": None,
           "date": 19675, "time": 80_000_123, "at": AT, "o_at": None, "d_at": None,
           "flag": True}  # fmt: skip
INSTANT_2 = INSTANT | {"unix": -1, "o_unix": 1_000_000, "text": "1969-12-31 23:59:59", "at": -1,
                       "o_text": "2024-02-29 12:00:00", "o_at": 86_400_000, "d_at": 5}  # fmt: skip

ONE_VALUES: dict[str, tuple[dict[str, Any], Any]] = {
    "i8": (INT8, 5),
    "i16": (INT16, 500),
    "i32": (INT32, 50_000),
    "i64": (INT64, AT),
    "f32": (FLOAT, 1.75),
    "f64": (DOUBLE, -2.5),
    "flag": (BOOLEAN, True),
    "text": (STRING, "2023-11-14 22:13:20"),
    "number_text": (STRING, "17"),
    "bytes": (BYTES, raw(b"abc")),
    "price": (decimal(2), unscaled(12345)),
    "date": (CONNECT_DATE, 19675),
    "time": (CONNECT_TIME, 80_000_123),
    "at": (CONNECT_TIMESTAMP, AT),
    "list": (array(STRING), ["a", "b"]),
    "map": (mapping(STRING, STRING), {"a": "b"}),
    "null": (optional(STRING), None),
    "null_at": (optional(CONNECT_TIMESTAMP), None),
}
YEAR = struct("year", {"text": STRING})
OLD_YEARS = ("0001", "0004", "0900", "1000", "1300", "1500", "1581", "1582", "1583", "1900")
OLD_DAYS = ("1582-10-04", "1582-10-05", "1582-10-14", "1582-10-15", "1500-02-29", "1300-02-29",
            "0004-02-29", "0900-03-01", "1582-01-01", "1582-12-31", "1400-12-25")  # fmt: skip
OLD_INSTANTS = (-62135596800000, -62167219200000, -12219292800000, -12219292800001,
                -12220156800000, -14831769600000, -33784905600000, -62135769600000)  # fmt: skip
YEARS = ("01/02/24", "01/02/2024", "1/2/124", "01/02/99", "1/2/9", " 3/4/ 10", "01/02/0024")


def _without_maps(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if EVERY[name][0]["type"] != "map"}


def _headers() -> list[dict[str, Any]]:
    return [
        header("trace", STRING, "t-1"),
        header("number", INT32, 5),
        header("trace", STRING, "t-2"),
        header("none", optional(STRING), None),
        header("list", array(STRING), ["a"]),
        header("place", struct("place", {"x": DOUBLE}), {"x": 1.5}),
    ]


def plain_records() -> dict[str, Record]:
    """Structs, single values, values without schemas and records without values."""
    key = part(KEY, KEY_PAYLOAD)
    first = {name: value for name, (_, value, _) in EVERY.items()}
    second = {name: value for name, (_, _, value) in EVERY.items()}
    records = {
        "every": record("plain", key, part(EVERY_STRUCT, first), [], 0, AT),
        "every_nulls": record("plain", key, part(EVERY_STRUCT, second)),
        **{
            name: record("plain", None, part(UNMAPPED_STRUCT, _without_maps(payload)))
            for name, payload in (("unmapped", first), ("unmapped_nulls", second))
        },
        "small": record("plain", key, part(SMALL, SMALL_PAYLOAD), _headers(), 1, AT),
        "small_nulls": record(
            "plain", key, part(SMALL, SMALL_PAYLOAD | {"name": None, "secret": None}), [], 1, 0
        ),
        "small_other": record(
            "other.topic", part(STRING, "k"), part(SMALL, SMALL_PAYLOAD | {"n": -1}), _headers()[:1]
        ),
        "small_keyless": record("plain", None, part(SMALL, SMALL_PAYLOAD), [], None, AT),
        "nested": record(
            "plain",
            part(struct("outer", {"id": KEY, "n": INT32}), {"id": KEY_PAYLOAD, "n": 1}),
            part(
                struct("nest", {"a": optional(INNER), "b.c": INT32, "l": array(INNER),
                                "e": optional(struct("none", {}))}),
                {"a": {"x": 1, "y": "q", "deep": {"z": None}}, "b.c": 4,
                 "l": [{"x": 5, "y": None, "deep": None}], "e": None},
            ),
        ),
        "nested_null": record(
            "plain",
            part(STRING, "k"),
            part(struct("nest", {"a": optional(INNER), "n": INT32}), {"a": None, "n": 1}),
        ),
        "instants": record("plain", part(INSTANTS, INSTANT), part(INSTANTS, INSTANT), [], 0, AT),
        "instants_2": record("plain", key, part(INSTANTS, INSTANT_2), [], 0, -1),
        "null_with_schema": record("plain", key, part(optional(SMALL), None), _headers()),
        "tombstone": record("plain", key, None, _headers(), 2, AT),
        "tombstone_other": record("other.topic", part(STRING, "k"), None),
        "empty": record("plain", None, None),
        "no_schema": record(
            "plain",
            part(None, {"id": 9}),
            part(None, {"id": 9, "name": "Ann", "n": 5, "secret": "s3", "price": 1.5,
                        "ok": True, "none": None, "inner": {"x": 1, "l": [1, "a"]}}),
            [header("free", None, "text")], 0, AT,
        ),
        "no_schema_map": record(
            "plain", part(None, {"a": {"b": 1}}),
            part(None, {"a": {"b": {"c": 1, "d": None}}, "e": "x", "f": None}),
        ),
        "clash": record(
            "plain", None,
            part(struct("clash", {"a": struct(None, {"b": INT32}), "a.b": INT32}),
                 {"a": {"b": 1}, "a.b": 2}),
        ),
        "no_schema_text": record("plain", part(None, "k"), part(None, "just a text")),
    }  # fmt: skip
    for name, (kind, first_value, second_value) in MEMBERS.items():
        single = struct("single", {"v": kind, "o": optional(kind)})
        records |= {
            f"field_{name}": record("fields", None, part(single, {"v": first, "o": other}))
            for name, first, other in (
                (name, first_value, first_value),
                (f"{name}_2", second_value, None),
            )
        }
    for prefix, texts in (("old_year", OLD_YEARS), ("old_day", OLD_DAYS)):
        for number, text in enumerate(texts):
            records[f"{prefix}_{number}"] = record("years", None, part(YEAR, {"text": text}))
    for number, instant in enumerate(OLD_INSTANTS):
        value = part(struct("old", {"unix": INT64}), {"unix": instant})
        records[f"old_instant_{number}"] = record("years", None, value)
    for number, text in enumerate(YEARS):
        records[f"year_{number}"] = record("years", None, part(YEAR, {"text": text}))
    for name, (kind, value) in ONE_VALUES.items():
        typed_value = part(kind, value)
        records[f"one_{name}"] = record("ones", typed_value, typed_value, [], 0, AT)
    return records


def routed_records() -> dict[str, Record]:
    """Records whose topics routers distinguish."""
    topics = ["shop.public.orders_1", "shop.public.orders_22", "shop.sales.items", "a", "ORDERS",
              "shop.public.orders_1.more", "träume", "a$b\\c"]  # fmt: skip
    return {
        f"topic_{number}": record(
            topic, part(STRING, "k"), part(schema("int32"), number), [], None, AT + number
        )
        for number, topic in enumerate(topics)
    }

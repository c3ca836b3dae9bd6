"""Connect schemas and values that the goldens are made of."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL, decimal_schema

CONNECT = "org.apache.kafka.connect.data."


class Case(NamedTuple):
    name: str
    schema: Schema
    value: object


def struct(name: str | None, optional: bool = False, /, **fields: Schema) -> Schema:
    return Schema(
        Type.STRUCT,
        optional=optional,
        name=name,
        fields=tuple(Field(key, schema) for key, schema in fields.items()),
    )


TEXT, INT32, INT64 = Schema(Type.STRING), Schema(Type.INT32), Schema(Type.INT64)
OPTIONAL_TEXT = TEXT.as_optional()
NUMBERS = struct(
    "server.shop.Numbers",
    i8=Schema(Type.INT8), i16=Schema(Type.INT16, optional=True), i32=INT32, i64=INT64,
    f32=Schema(Type.FLOAT32), f64=Schema(Type.FLOAT64, optional=True), flag=Schema(Type.BOOLEAN),
    text=TEXT, raw=Schema(Type.BYTES), maybe=OPTIONAL_TEXT,
)  # fmt: skip
FULL = {"i8": -128, "i16": 32767, "i32": -(2**31), "i64": 2**63 - 1, "f32": 1.5, "f64": -0.1,
        "flag": True, "text": 'a "b" \\ é漢😀', "raw": b"\x00\xff", "maybe": "x"}  # fmt: skip
SPARSE = {"i8": 0, "i16": None, "i32": 63, "i64": -64, "f32": 0.0, "f64": None, "flag": False,
          "text": "", "raw": b"", "maybe": None}  # fmt: skip
ROW = struct("server.shop.orders.Value", True, id=INT32, note=OPTIONAL_TEXT)
ENVELOPE = struct(
    "server.shop.orders.Envelope",
    before=ROW, after=ROW,
    source=struct("io.debezium.connector.postgresql.Source", version=TEXT, lsn=INT64.as_optional()),
    op=TEXT, ts_ms=INT64.as_optional(),
)  # fmt: skip
SOURCE = {"version": "3.6.3.Final", "lsn": 23803690}
DEFAULTS = struct(
    "d.Defaults",
    a=Schema(Type.INT32, default=7), b=Schema(Type.STRING, optional=True, default='q"'),
    c=Schema(Type.FLOAT64, optional=True, default=1e-5), d=Schema(Type.BOOLEAN, default=False),
    e=Schema(Type.BYTES, default=b"\x00\x7f\xff"), f=Schema(Type.FLOAT32, default=0.1),
    g=Schema(Type.INT64, optional=True, default=-1), h=Schema(Type.INT16, default=3),
)  # fmt: skip
NAMED = struct(
    "n.Named",
    json=Schema(Type.STRING, optional=True, name="io.debezium.data.Json", version=1),
    time=Schema(Type.INT64, name="io.debezium.time.MicroTime", version=1),
    kind=Schema(Type.STRING, name="io.debezium.data.Enum", version=1, default="a",
                parameters=(("allowed", "a,b"),)),
    documented=Schema(Type.INT32, doc="how many"),
    variable=VARIABLE_SCALE_DECIMAL.as_optional(),
)  # fmt: skip
DECIMALS = struct(
    None,
    plain=decimal_schema(2, None), precise=decimal_schema(4, 10).as_optional(),
    whole=decimal_schema(0, 38),
)  # fmt: skip
DATES = struct(
    "c.Dates",
    date=Schema(Type.INT32, name=f"{CONNECT}Date", version=1),
    time=Schema(Type.INT32, optional=True, name=f"{CONNECT}Time", version=1),
    at=Schema(Type.INT64, name=f"{CONNECT}Timestamp", version=1),
)  # fmt: skip
COLLECTIONS = struct(
    "c.Collections",
    list=Schema(Type.ARRAY, values=INT32), texts=Schema(Type.ARRAY, optional=True,
                                                        values=OPTIONAL_TEXT),
    map=Schema(Type.MAP, keys=TEXT, values=INT64),
    pairs=Schema(Type.MAP, optional=True, keys=INT32, values=OPTIONAL_TEXT),
    rows=Schema(Type.ARRAY, values=ROW.as_optional(False)),
)  # fmt: skip

CASES = (
    Case("numbers", NUMBERS, FULL),
    Case("nulls", NUMBERS, SPARSE),
    Case("create", ENVELOPE, {"before": None, "after": {"id": 1, "note": "n"}, "source": SOURCE,
                              "op": "c", "ts_ms": 1_790_000_000_123}),
    Case("update", ENVELOPE, {"before": {"id": 1, "note": "n"}, "after": {"id": 1, "note": None},
                              "source": {"version": "x", "lsn": None}, "op": "u", "ts_ms": None}),
    Case("delete", ENVELOPE, {"before": {"id": -1, "note": ""}, "after": None, "source": SOURCE,
                              "op": "d", "ts_ms": 0}),
    Case("defaults given", DEFAULTS, {"a": 1, "b": "x", "c": 2.5, "d": True, "e": b"e", "f": 2.0,
                                      "g": 5, "h": -3}),
    Case("defaults", DEFAULTS, {"a": 7, "b": None, "c": None, "d": False, "e": b"\x00\x7f\xff",
                                "f": 0.1, "g": None, "h": 3}),
    Case("named", NAMED, {"json": '{"a": 1}', "time": 1, "kind": "b", "documented": 2,
                          "variable": {"scale": 2, "value": b"\x01\xe2\x40"}}),
    Case("named nulls", NAMED, {"json": None, "time": 86_399_999_999, "kind": "a", "documented": 0,
                                "variable": None}),
    Case("decimals", DECIMALS, {"plain": Decimal("12345.67"), "precise": Decimal("-0.0001"),
                                "whole": Decimal("9" * 30)}),
    Case("small decimals", DECIMALS, {"plain": Decimal("-1.28"), "precise": None,
                                      "whole": Decimal("-1")}),
    Case("dates", DATES, {"date": 20_000, "time": 3_723_004, "at": 1_790_000_000_123}),
    Case("early dates", DATES, {"date": -100_000, "time": None, "at": -1}),
    Case("collections", COLLECTIONS, {"list": [1, -2, 3], "texts": ["a", None, ""],
                                      "map": {"k": 1}, "pairs": {1: "one"},
                                      "rows": [{"id": 1, "note": None}, {"id": 2, "note": "b"}]}),
    Case("empty collections", COLLECTIONS, {"list": [], "texts": None, "map": {}, "pairs": {},
                                            "rows": []}),
    Case("unnamed", struct(None, a=INT32), {"a": 1}),
    Case("no namespace", struct("Plain", inner=struct("x.Inner", a=INT32),
                                other=struct("Other", a=INT32)),
         {"inner": {"a": 1}, "other": {"a": 2}}),
    Case("same twice", struct("s.Outer", a=struct("s.Row", v=INT32), b=struct("s.Row", v=INT32),
                              c=struct("t.Deep", d=struct("s.Row", v=INT32))),
         {"a": {"v": 1}, "b": {"v": 2}, "c": {"d": {"v": 3}}}),
    Case("a text", TEXT, "plain é"),
    Case("an optional text", OPTIONAL_TEXT, "maybe"),
    Case("a long", INT64, -300),
    Case("an optional int", INT32.as_optional(), 5),
    Case("a double", Schema(Type.FLOAT64), 1e21),
    Case("a boolean", Schema(Type.BOOLEAN), True),
    Case("bytes", Schema(Type.BYTES), b"\x01\x02"),
    Case("optional bytes", Schema(Type.BYTES, optional=True), b"\x01\x02"),
    Case("an int with a name", Schema(Type.INT32, name="io.debezium.time.Date", version=1), 5),
    Case("a list", Schema(Type.ARRAY, values=INT64), [1, 2]),
    Case("a map", Schema(Type.MAP, keys=TEXT, values=TEXT), {"a": "b"}),
    Case("nothing", OPTIONAL_TEXT, None),
)  # fmt: skip

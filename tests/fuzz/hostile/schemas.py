"""Connect's schemas in JSON with values of them, sound and broken."""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.hostile.values import SCALES, Raw, anything, length, name, number, repeated, text

Described = tuple[Any, Any]
"""A schema's JSON, and a payload."""
DECIMAL = "org.apache.kafka.connect.data.Decimal"
_TIME = "io.debezium.time."


def _raw(random: Random) -> str:
    size = length(random)
    raw = random.choice((b"\0", b"\x7f", b"\xff", b"\x80", b"ab")) * size
    return base64.b64encode(raw[:size]).decode()


def _integer(random: Random) -> object:
    if random.randrange(3):
        return Raw(str(random.choice((0, 1, -1, 5, 20_000, 1_700_000_000_000))))
    return number(random)


_LEAVES: tuple[tuple[str, str | None, Callable[[Random], object]], ...] = (
    *((kind, None, _integer) for kind in ("int8", "int16", "int32", "int64")),
    *((kind, None, number) for kind in ("float", "double")),
    ("boolean", None, lambda random: random.choice((True, False))),
    ("string", None, text),
    ("bytes", None, _raw),
    *(("int32", f"{_TIME}{each}", _integer) for each in ("Date", "Time", "Year")),
    *(
        ("int64", f"{_TIME}{each}", _integer)
        for each in (
            "MicroTime", "NanoTime", "Timestamp", "MicroTimestamp", "NanoTimestamp",
            "MicroDuration", "NanoDuration",
        )
    ),
    *(
        ("string", f"{_TIME}{each}", text)
        for each in ("ZonedTimestamp", "ZonedTime", "Interval", "IsoDate", "IsoTimestamp")
    ),
    *(("string", f"io.debezium.data.{each}", text) for each in ("Json", "Xml", "Uuid", "Enum")),
    ("bytes", "io.debezium.data.Bits", _raw),
    ("int32", "org.apache.kafka.connect.data.Date", _integer),
    ("int32", "org.apache.kafka.connect.data.Time", _integer),
    ("int64", "org.apache.kafka.connect.data.Timestamp", _integer),
)  # fmt: skip


def _decimal(random: Random) -> Described:
    scale = random.choice(SCALES) if random.randrange(3) == 0 else random.choice(("0", "2", "10"))
    parameters: dict[str, Any] = {"scale": scale}
    if random.randrange(4) == 0:
        parameters["connect.decimal.precision"] = random.choice(SCALES)
    payload = number(random) if random.randrange(2) else _raw(random)
    return {
        "type": "bytes", "optional": True, "name": DECIMAL, "version": 1, "parameters": parameters,
    }, payload  # fmt: skip


def _of(struct: str, **members: Described) -> Described:
    fields = [schema | {"field": each} for each, (schema, _) in members.items()]
    payload = {each: value for each, (_, value) in members.items()}
    return {"type": "struct", "optional": True, "name": struct, "version": 1, "fields": fields}, (
        payload
    )


def _plain(kind: str, payload: object) -> Described:
    return {"type": kind, "optional": True}, payload


def _semantic(random: Random) -> Described:
    match random.randrange(5):
        case 0:
            scale, raw = _plain("int32", _integer(random)), _plain("bytes", _raw(random))
            return _of("io.debezium.data.VariableScaleDecimal", scale=scale, value=raw)
        case 1:
            fields = {"wkb": _plain("bytes", _raw(random)), "srid": _plain("int32", number(random))}
            which = random.choice(("Geometry", "Geography", "Point"))
            if which == "Point":
                fields |= {each: _plain("double", number(random)) for each in "xy"}
            return _of(f"io.debezium.data.geometry.{which}", **fields)
        case 2:
            items = [number(random) for _ in range(random.randrange(4))]
            which = random.choice(("Double", "Float"))
            schema = {"type": "array", "items": {"type": which.lower(), "optional": True}}
            return schema | {"optional": True, "name": f"io.debezium.data.{which}Vector"}, items
        case 3:
            keys = {"type": "int16", "optional": False}
            vector = {"type": "map", "keys": keys, "values": {"type": "double"}, "optional": True}
            pairs = [[_integer(random), number(random)] for _ in range(random.randrange(4))]
            return _of(
                "io.debezium.data.SparseDoubleVector",
                dimensions=_plain("int16", _integer(random)),
                vector=(vector, pairs),
            )
    return _decimal(random)


def _long_array(random: Random) -> Described:
    """An array of so many small values as fill a record."""
    kind, named, _ = random.choice(_LEAVES)
    schema: dict[str, Any] = {"type": kind, "optional": True}
    if named is not None:
        schema["name"] = named
    item_text = {"boolean": "true", "string": '""', "bytes": '"AQ=="', "double": "1.5"}.get(
        kind, "1"
    )
    match random.randrange(6):
        case 0:
            schema = {"type": "bytes", "name": DECIMAL, "parameters": {"scale": "2"}}
            item_text = random.choice(('"AQ=="', "1", "0.25"))
        case 1:
            schema = {"type": "struct", "optional": True, "fields": [schema | {"field": "a"}]}
            item_text = f'{{"a":{item_text}}}'
        case 2:
            schema = {"type": "array", "items": schema}
            item_text = random.choice(("[]", f"[{item_text}]"))
    if random.randrange(4) == 0:
        schema, item_text = schema | {"optional": True}, "null"
    times = random.choice((40_000, _FILLED // (len(item_text) + 1)))
    return {"type": "array", "items": schema, "optional": True}, [Raw(item_text)] * times


_FILLED = 950_000
"""Bytes of a value that fills a record."""


def described(random: Random, depth: int = 0) -> Described:
    """A schema and a value of it, either of them broken now and then."""
    if depth == 0 and random.randrange(200) == 0:
        return _long_array(random)
    if depth < 3 and random.randrange(150) == 0:
        many = random.choice((30, 6_000))
        inner = _of("s.Long", **{f"k{number}": _plain("int8", Raw("1")) for number in range(many)})
        return _of("s.Outer", **{"n" * random.choice((300, 100_000)): inner})
    match random.randrange(9):
        case 0 if depth < 3:
            schema, items = described(random, depth + 1)
            many = random.choice((0, 1, 3)) if random.randrange(20) else length(random)
            described_value: Described = (
                {"type": "array", "items": schema, "optional": True},
                repeated([items], many),
            )
        case 1 if depth < 3:
            keys = {"type": random.choice(("string", "int32")), "optional": False}
            schema, item = described(random, depth + 1)
            pairs = {name(random): item for _ in range(random.randrange(3))}
            as_object = keys["type"] == "string"
            payload = pairs if as_object else [[n, item] for n in range(len(pairs))]
            described_value = (
                {"type": "map", "keys": keys, "values": schema, "optional": True},
                payload,
            )
        case 2 if depth < 3:
            members = {name(random): described(random, depth + 1) for _ in range(3)}
            described_value = _of(f"s.Inner{depth}", **members)
        case 3 | 4 | 5:
            described_value = _semantic(random)
        case _:
            kind, named, value = random.choice(_LEAVES)
            described_value = (
                {"type": kind, "optional": random.choice((True, False))},
                value(random),
            )
            if named is not None:
                described_value[0].update(name=named, version=1)
            if named == "io.debezium.data.Enum":
                described_value[0]["parameters"] = {"allowed": text(random)}
    if random.randrange(12) == 0:
        break_schema(random, described_value[0])
    if random.randrange(12) == 0:
        described_value = described_value[0], anything(random)
    return described_value


def break_schema(random: Random, schema: dict[str, Any]) -> None:
    """One member of a schema becomes something else."""
    member, values = random.choice(_BREAKS)
    schema[member] = anything(random) if random.randrange(3) == 0 else random.choice(values)


_BREAKS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (
        "parameters",
        (
            [1],
            "x",
            5,
            {},
            None,
            True,
            {"scale": None},
            {"scale": "1000000000"},
            {"scale": "-1000000000"},
            {"scale": "x"},
            {"a": None},
            {"a": [1]},
            {"length": "x"},
            {"allowed": None},
            {"a": "\ud800"},
            {"": ""},
            {"scale": {"a": 1}},
            [["scale", 2]],
        ),
    ),
    (
        "name",
        (
            None,
            5,
            [],
            {},
            "",
            "\ud800",
            "a b.c",
            "a.b.é",
            DECIMAL,
            True,
            "io.debezium.time.Date",
            "io.debezium.data.VariableScaleDecimal",
            "io.debezium.time.ZonedTimestamp",
            "x" * 70_000,
        ),
    ),
    ("version", (None, "1", 1.5, -1, 10**30, True, [], {}, 0)),
    ("doc", (None, 5, [], "\ud800", {})),
    ("optional", (None, "yes", 0, [], "false")),
    (
        "default",
        (0, 1, "x", [], {}, "AA==", True, 1.5, Raw("1e99999999"), "\ud800", [None], 10**30),
    ),
    ("type", (None, 5, "any", "INT32", "int128", "bytes", "struct", "map", "array", [], "string")),
    (
        "fields",
        (
            None,
            [],
            {},
            [None],
            [{}],
            [{"field": "a"}],
            [{"field": 5, "type": "int8"}],
            [{"field": "a", "type": "int8"}, {"field": "a", "type": "string"}],
            "x",
            5,
        ),
    ),
    ("items", (None, [], "int8", {"type": "bytes", "name": DECIMAL}, 5, {})),
    (
        "keys",
        (
            None,
            [],
            {"type": "struct", "fields": []},
            {"type": "array", "items": {"type": "int8"}},
            {"type": "double"},
            {"type": "string", "optional": True},
            5,
        ),
    ),
    ("values", (None, [], {"type": "any"}, 5, {})),
    ("field", (None, 5, "", "\ud800", "a b")),
    ("unknown", (1,)),
)


def envelope(random: Random) -> Described:
    """A change event of rows."""
    members = {"id": _plain("int32", _integer(random))}
    if random.randrange(40) == 0:
        wide = random.choice((300, 3_000, 8_000, 9_500))
        mixed = 0 if wide == 9_500 else 300
        members |= {f"c{n}": described(random, 3) for n in range(min(wide, mixed))}
        members |= {f"w{n:x}": _plain("int8", None) for n in range(wide)}
    else:
        members |= {name(random): described(random) for _ in range(random.randrange(1, 5))}
    if random.randrange(3) == 0:
        members |= {
            "aggregateid": _plain("string", text(random)),
            "aggregatetype": _plain("string", text(random)),
            "payload": _plain("string", text(random)),
            "type": _plain("string", "t"),
        }
    row, value = _of("s.t.Value", **members)
    if random.randrange(3) == 0:
        return row | {"optional": False}, value
    source = _of(
        "io.debezium.connector.postgresql.Source",
        ts_ms=_plain("int64", _integer(random)),
        db=_plain("string", text(random)),
        table=_plain("string", text(random)),
    )
    deleted = random.randrange(5) == 0
    schema, payload = _of(
        "s.t.Envelope",
        before=(row, value if deleted else random.choice((None, value))),
        after=(row, None if deleted else value),
        source=source,
        op=_plain(
            "string",
            "d" if deleted else random.choice("cur") if random.randrange(9) else text(random),
        ),
        ts_ms=_plain("int64", _integer(random)),
    )
    schema["optional"] = False
    if random.randrange(20) == 0:
        break_schema(random, schema)
    return schema, payload

"""Hostile keys, values and headers of records, as bytes: JSON with schemas and without, Avro, and
events whose rows are Extended JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from headrace.converters.avro.values import long
from tests.fuzz.hostile.schemas import Described, described, envelope
from tests.fuzz.hostile.values import (
    MAX_BYTES,
    SCALES,
    TEXTS,
    Raw,
    anything,
    deep,
    dumped,
    length,
    name,
    number,
    repeated,
    text,
)
from tests.fuzz.mutations import mutated


def limited_bytes(random: Random, source_text: str) -> bytes:
    """The text in at most MAX_BYTES bytes, now and then mutated."""
    raw = source_text.encode(errors="surrogatepass")[:MAX_BYTES]
    return mutated(random, raw) if random.randrange(10) == 0 else raw


def with_schema(random: Random, described_value: Described | None = None) -> bytes:
    """JSON with a schema."""
    schema, payload = described_value or (
        envelope(random) if random.randrange(4) else described(random)
    )
    members = {"schema": schema, "payload": payload}
    match random.randrange(60):
        case 0:
            members = {"payload": payload, "schema": schema}
        case 1:
            members["schema"] = anything(random)
        case 2:
            members["more"] = 1
    return limited_bytes(random, dumped(members, escapes=random.randrange(2) == 0))


def without_schema(random: Random) -> bytes:
    """JSON without a schema: often the payload of an event."""
    payload = envelope(random)[1] if random.randrange(3) else anything(random)
    return limited_bytes(random, dumped(payload, escapes=random.randrange(2) == 0))


# -- documents -----------------------------------------------------------------------------------


def _special(random: Random) -> dict[str, object]:
    word = random.choice(
        ("$numberDouble", "$numberLong", "$numberInt", "$numberDecimal", "$symbol", "$oid", "$uuid")
    )
    content: object = text(random) if random.randrange(2) else str(number(random))
    match random.randrange(12):
        case 0:
            content = anything(random)
        case 1:
            return {"$date": random.choice((content, {"$numberLong": content}, number(random)))}
        case 2:
            return {
                "$binary": {"base64": content, "subType": random.choice(("00", "04", "x", 5, ""))}
            }
        case 3:
            return {"$regularExpression": {"pattern": content, "options": text(random)}}
        case 4:
            return {"$code": content, "$scope": document(random, 3)}
        case 5:
            return {"$timestamp": {"t": number(random), "i": number(random)}}
        case 6:
            return {"$dbPointer": {"$ref": content, "$id": {"$oid": "5f" * 12}}}
        case 7:
            return {random.choice(("$minKey", "$maxKey", "$undefined")): anything(random)}
        case 8:
            content = random.choice(
                ("1E+6144", "1E-6176", "9" * 34 + "E6111", "-NaN", "sNaN", "1e99999999")
            )
            return {"$numberDecimal": content}
    return {word: content}


def document(random: Random, depth: int = 0) -> dict[str, object]:
    """A document of Extended JSON."""
    if random.randrange(150) == 0:
        inner = {f"k{number}": {"a": Raw("1")} for number in range(random.choice((30, 9_000)))}
        return {"n" * random.choice((300, 100_000)): random.choice((inner, [inner]))}
    return {name(random): _member(random, depth) for _ in range(random.randrange(5))}


def _member(random: Random, depth: int) -> object:
    match random.randrange(9):
        case 0 | 1 | 2:
            return _special(random)
        case 3 if depth < 3:
            return document(random, depth + 1)
        case 4 if depth < 3:
            items = [_member(random, depth + 1) for _ in range(random.randrange(4))]
            return repeated(items, length(random)) if random.randrange(40) == 0 else items
        case 5 if random.randrange(6) == 0:
            return deep(random)
        case 6 if random.randrange(8) == 0:
            many = random.choice((30, 300, 1_500, 4_000))
            return [{f"k{number}": Raw("1")} for number in range(many)]
    return anything(random)


def document_event(random: Random) -> Described:
    """A change event of a collection."""
    after = {"_id": random.choice((1, "a", {"$oid": "5f" * 12}))} | document(random)
    if random.randrange(4) == 0:
        after |= {
            "aggregateid": text(random),
            "payload": random.choice((text(random), document(random))),
        }
        after |= {"aggregatetype": text(random)}
    document_text = dumped(after, escapes=random.randrange(2) == 0)
    if random.randrange(10) == 0:
        document_text = mutated(random, document_text.encode()).decode(errors="replace")
    fields = [
        {
            "type": "string",
            "optional": True,
            "name": "io.debezium.data.Json",
            "version": 1,
            "field": f,
        }
        for f in ("before", "after")
    ]
    update = [
        {"type": "array", "items": {"type": "string"}, "optional": True, "field": "removedFields"},
        {
            "type": "string",
            "optional": True,
            "name": "io.debezium.data.Json",
            "field": "updatedFields",
        },
    ]
    op = random.choice("crud")
    fields += [
        {"type": "struct", "optional": True, "name": "io.debezium.connector.mongodb.changestream."
         "updatedescription", "fields": update, "field": "updateDescription"},
        {"type": "string", "optional": True, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ]  # fmt: skip
    by_parts = op == "u" and random.randrange(2) == 0
    payload = {
        "before": document_text if op == "d" else None,
        "after": None if op == "d" or by_parts else document_text,
        "updateDescription": {"removedFields": [name(random)], "updatedFields": document_text}
        if op == "u"
        else None,
        "op": op,
        "ts_ms": number(random) if random.randrange(9) == 0 else 1,
    }
    return {"type": "struct", "fields": fields, "optional": False, "name": "r.c.Envelope"}, payload


def document_key(random: Random) -> Described:
    """The key of an event of a document."""
    identifier = (
        _special(random)
        if random.randrange(3) == 0
        else random.choice((1, "a", {"$oid": "5f" * 12}))
    )
    identifier_text = dumped(identifier) if random.randrange(9) else text(random)
    fields = [{"type": "string", "optional": False, "field": "id"}]
    return {"type": "struct", "fields": fields, "optional": False, "name": "r.c.Key"}, {
        "id": identifier_text
    }


# -- Avro ----------------------------------------------------------------------------------------

Encode = Callable[[], bytes]


def _avro_type(random: Random, depth: int) -> tuple[Any, Encode]:
    """An Avro type, and what makes a value of it."""

    def block(raw: bytes) -> bytes:
        return long(len(raw)) + raw

    match random.randrange(12):
        case 0:
            kind = random.choice(("int", "long"))
            logical = random.choice(("date", "time-millis", "timestamp-millis", "timestamp-micros"))
            avro_schema = {"type": kind, "logicalType": logical}
            if random.randrange(3) == 0:
                avro_schema["connect.type"] = random.choice(("int8", "int16"))
            return avro_schema, lambda: long(
                random.choice((0, -1, 1 << 31, (1 << 63) - 1, -(1 << 63)))
            )
        case 1 | 2:
            scale = random.choice(SCALES) if random.randrange(2) else 2
            avro_schema = {
                "type": "bytes",
                "logicalType": "decimal",
                "scale": scale,
                "precision": random.choice((10, 64, 0, -1, 10**9, "x", None)),
            }
            return avro_schema, lambda: block(random.randbytes(length(random)))
        case 3:
            text_bytes = text(random).encode(errors="surrogatepass")
            return "string", lambda: block(text_bytes)
        case 4:
            return random.choice(("double", "float")), lambda: struct.pack("<d", random.random())[
                :8
            ]
        case 5 if depth < 3:
            inner, encode = _avro_type(random, depth + 1)
            many = random.choice((0, 1, 2, length(random)))
            return {
                "type": "array",
                "items": inner,
            }, lambda: (long(many) + encode() * many if many else b"") + b"\0"
        case 6 if depth < 3:
            inner, encode = _avro_type(random, depth + 1)
            return {
                "type": "map",
                "values": inner,
            }, lambda: long(1) + block(b"k") + encode() + b"\0"
        case 7 if depth < 3:
            return _avro_record(random, depth + 1)
        case 8:
            symbols = random.choice((["a", "b"], [], ["a", "a"], ["\ud800"], [5], "ab"))
            avro_schema = {
                "type": "enum",
                "name": f"e{random.randrange(10**9)}",
                "symbols": symbols,
            }
            return avro_schema, lambda: long(random.choice((0, 1, -1, 2, 1 << 40)))
        case 9:
            size = random.choice((0, 4, 12, -1, 10**12, "x", 2.5))
            avro_schema = {"type": "fixed", "name": f"f{random.randrange(10**9)}", "size": size}
            if random.randrange(2):
                avro_schema |= {"logicalType": "decimal", "scale": random.choice(SCALES)}
            return avro_schema, lambda: bytes(4)
        case 10:
            inner, encode = _avro_type(random, depth + 1)
            return ["null", inner], lambda: long(1) + encode()
    return "long", lambda: long(random.randrange(1 << 40))


_AVRO_MEMBERS = (
    "connect.name", "connect.version", "connect.doc", "connect.parameters", "connect.default",
    "namespace", "name", "fields", "doc",
)  # fmt: skip


def _avro_record(random: Random, depth: int) -> tuple[Any, Encode]:
    fields, parts = [], []
    for number_of in range(random.randrange(1, 4)):
        inner, encode = _avro_type(random, depth)
        each: dict[str, Any] = {
            "name": random.choice((f"f{number_of}", name(random))),
            "type": inner,
        }
        if random.randrange(8) == 0:
            each["default"] = anything(random)
        fields.append(each)
        parts.append(encode)
    record_schema: dict[str, Any] = {
        "type": "record",
        "name": f"r{random.randrange(10**9)}",
        "fields": fields,
    }
    if random.randrange(8) == 0:
        member = random.choice(_AVRO_MEMBERS)
        record_schema[member] = anything(random)
    return record_schema, lambda: b"".join(encode() for encode in parts)


def _small_items() -> tuple[tuple[Any, tuple[bytes, ...]], ...]:
    """Types of each kind, and small values of them."""
    numbers = (b"\0", b"\x02", b"\x7f")
    of_int = ("date", "time-millis"), {"connect.type": "int8"}
    of_long = "timestamp-millis", "timestamp-micros"
    decimal = {"logicalType": "decimal", "precision": 9, "scale": 2}
    blocks = (b"\x02\x05", b"\x04\x01\x00", b"\x06\x80\x00\x01")
    dense = {"type": "array", "connect.name": "io.debezium.data.FloatVector", "items": "float"}
    fields = [{"name": "a", "type": ["null", {"type": "bytes", **decimal}]}]
    small_items: list[tuple[Any, tuple[bytes, ...]]] = [
        *((kind, numbers) for kind in ("int", "long")),
        *(({"type": "int", "logicalType": each}, numbers) for each in of_int[0]),
        ({"type": "int", **of_int[1]}, (b"\x02",)),
        *(({"type": "long", "logicalType": each}, numbers) for each in of_long),
        ("boolean", (b"\0", b"\1")), ("string", (b"\0", b"\x02a", b"\x04\xc3\xa9")),
        ("bytes", (b"\0", b"\x02\xff")), ({"type": "bytes", **decimal}, blocks),
        ("float", (b"\xcd\xcc\x8c?", b"\0\0\xc0\x7f")),
        ("double", (b"\x9a\x99\x99\x99\x99\x99\xb9?",)),
        ({"type": "fixed", "name": "x1", "size": 1, **decimal}, (b"\x05",)),
        ({"type": "fixed", "name": "x0", "size": 0}, (b"",)),
        ({"type": "enum", "name": "e", "symbols": ["a", "b"]}, (b"\0", b"\2")),
        ({"type": "array", "items": "int"}, (b"\0", b"\2\2\0")), (dense, (b"\2\0\0\x80?\0",)),
        ({"type": "map", "values": "int"}, (b"\0", b"\2\2a\2\0")),
        ({"type": "record", "name": "r0", "fields": []}, (b"",)),
        ({"type": "record", "name": "r1", "fields": fields}, (b"\0", b"\2\2\5")),
    ]  # fmt: skip
    return tuple(small_items)


_SMALL_ITEMS = _small_items()


def _long_array(random: Random) -> tuple[Any, Encode]:
    """An array of so many small values as a record of MAX_BYTES holds."""
    kind, values = random.choice(_SMALL_ITEMS)
    if random.randrange(3) == 0:
        kind, values = ["null", kind], (b"\0", *(b"\2" + each for each in values))
    items = [random.choice(values) for _ in range(100)]
    if kind == "float" or (isinstance(kind, dict) and kind.get("scale") == 2 and len(values) > 1):
        size = b"" if kind == "float" else b"\6"
        items = [size + random.randbytes(4 - len(size)) for _ in range(240_000)]
    raw = b"".join(items)
    times = min((MAX_BYTES - 100) // max(1, len(raw)), 999_000 // len(items))
    body = long(times * len(items)) + raw * times + long(0)
    fields = [{"name": "f0", "type": {"type": "array", "items": kind}}]
    return {"type": "record", "name": "long", "fields": fields}, lambda: body


def _wide_record(random: Random) -> tuple[Any, Encode]:
    """A record of many fields, now and then deep in others."""
    kind = random.choice(("int", ["null", "string"], {"type": "bytes", "logicalType": "decimal"}))
    many = random.choice((300, 3_000, 15_000))
    fields = [{"name": f"f{each}", "type": kind} for each in range(many)]
    record_schema: dict[str, Any] = {"type": "record", "name": "wide", "fields": fields}
    for depth in range(random.choice((0, 0, 3, 30, 60))):
        fields = [{"name": "f0", "type": record_schema}]
        record_schema = {"type": "record", "name": f"around{depth}", "fields": fields}
    return record_schema, lambda: b"\0" * many


def avro(random: Random) -> tuple[str, bytes]:
    """A schema, and a value of it."""
    large = random.choice((_long_array, _long_array, _wide_record))
    schema, encode = large(random) if random.randrange(12) == 0 else _avro_record(random, 0)
    schema_text = dumped(schema)
    if random.randrange(40) == 0:
        schema_text = dumped(anything(random))
    raw = encode()[:MAX_BYTES]
    return schema_text, mutated(random, raw) if random.randrange(5) == 0 else raw


# -- headers -------------------------------------------------------------------------------------


def _is_whole(schema_text: str) -> bool:
    """Whether a text has no unpaired surrogate."""
    return not any("\ud800" <= each <= "\udfff" for each in schema_text)


def headers(random: Random, value: Callable[[], bytes | None]) -> list[dict[str, object]] | None:
    """The headers of a record."""
    if random.randrange(3):
        return None
    many = random.choice((0, 1, 2, 2, 3)) if random.randrange(60) else 3_000
    names = ("trace", "id", "", "x" * 3_000, *filter(_is_whole, TEXTS))
    entries = [{"key": random.choice(names), "value": value()} for _ in range(min(many, 3))]
    size = sum(len(str(each["key"])) + len(bytes(each["value"] or b"")) for each in entries)
    entries *= max(1, min(many // 3, MAX_BYTES // (2 * size + 1)))
    if random.randrange(30) == 0:
        entries.append({"key": None, "value": b"1"})
    return entries


def sound(number: int) -> tuple[bytes, bytes]:
    """The key and the value of an event that every transform takes, with schemas."""
    fields = [
        {"type": "int32", "field": "id"},
        {"type": "string", "optional": True, "field": "a"},
    ]
    key = {"type": "struct", "optional": False, "name": "s.t.Key", "fields": fields[:1]}
    row = {"type": "struct", "optional": True, "name": "s.t.Value", "fields": fields}
    images = [
        row | {"field": "before"},
        row | {"field": "after"},
        {"type": "string", "field": "op"},
    ]
    value = {"type": "struct", "optional": False, "name": "s.t.Envelope", "fields": images}
    payload = {"before": None, "after": {"id": number, "a": "x"}, "op": "c"}
    key_and_value = (
        {"schema": key, "payload": {"id": number}},
        {"schema": value, "payload": payload},
    )
    first, second = (json.dumps(each, separators=(",", ":")).encode() for each in key_and_value)
    return first, second

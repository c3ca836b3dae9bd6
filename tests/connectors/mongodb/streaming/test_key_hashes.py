"""Hashes of documents' keys: records whose keys come out alike are in one slice, whatever the types
of their `_id`."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import bson
import numpy as np
import pytest
from bson.code import Code
from bson.regex import Regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.connect.images import BINARY, NULL, TEXT, image_of
from headrace.connect.kernels.memory import PADDING
from headrace.connect.slices import Plan
from headrace.connectors.engine import _plan
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.events import CollectionFacts, MongoSource
from headrace.connectors.mongodb.reading.document_images import document_images
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.waiting import Waiting
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.changes.key_hashes import key_hashes
from headrace.streaming.facts import EventSettings
from headrace.transforms import apply_json
from tests.documents.plain_bson import Pointer, Symbol, Undefined, encode, encode_value
from tests.documents.values import values
from tests.golden.transforms.inputs.documents import ITEMS
from tests.golden.transforms.inputs.schemas import part

CONNECTION = {
    "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
    "topic.prefix": "shop",
    "mongodb.connection.string": "mongodb://localhost/?replicaSet=rs0",
}
UNWRAP = {"type": "ExtractNewDocumentState"}
ROUTE = {"type": "RegexRouter", "regex": ".*", "replacement": "all"}
HEX = "6b04ac6e596e275826f08b27"
NUMBERS = ("5", "-5", "0", "0.5", "100", "4611686018427387904", "9223372036854775807", "1E+19")


def _as_dates(millis: int) -> list[object]:
    return [bson.DatetimeMS(millis), bson.Timestamp(abs(millis) % 2**32, 0)]


def _alike() -> list[object]:
    """Values of several types that some key shows alike."""
    alike_ids: list[object] = [bson.ObjectId(HEX), HEX, Symbol(HEX), Code(HEX)]
    for text in NUMBERS:
        number = bson.Decimal128(text).to_decimal()
        alike_ids += [text, Symbol(text), bson.Decimal128(text), bson.Decimal128(number * 1)]
        alike_ids += [float(number), str(float(number)), f"{float(number):.1f}"]
        if number == int(number) and abs(number) < 2**63:
            alike_ids += [bson.Int64(int(number)), *_as_dates(int(number))]
            if abs(number) < 2**31:
                alike_ids.append(int(number))
    alike_ids += [
        bson.Decimal128("5.00"),
        bson.Decimal128("5E+2"),
        500,
        500.0,
        bson.Decimal128("-0.5"),
    ]
    alike_ids += [
        -0.0,
        float("nan"),
        "NaN",
        bson.Decimal128("NaN"),
        "Infinity",
        bson.Decimal128("-Infinity"),
    ]
    alike_ids += [b"abc", "YWJj", bson.Binary(b"abc", 128), bson.Binary(b"abc", 2), True, "true"]
    moment = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    alike_ids += [moment, "2024-05-01T00:00:00Z", bson.Timestamp(1714521600, 0)]
    alike_ids += [bson.Timestamp(2**32 - 1, 1), bson.DatetimeMS(-1000), bson.Int64(-1000)]
    alike_ids += [bson.MinKey(), "MinKey", bson.MaxKey(), "MaxKey", None, Undefined()]
    alike_ids += [Pointer("a.b", bson.ObjectId(HEX)), {"$ref": "a.b", "$id": HEX}]
    alike_ids += [Regex("a", "im"), {"regex": "a", "options": "im"}, Code("a", {"b": 5})]
    alike_ids += [{"code": "a", "scope": {"b": bson.Int64(5)}}, "a\ufffd", '{"a": 5}', "[5]"]
    return alike_ids


ALIKE = _alike()
alike = st.sampled_from(ALIKE)
members = st.dictionaries(st.sampled_from("ab"), alike, min_size=1, max_size=2)
arrays = st.builds(lambda x, y: {"k": [{"a": x, "b": y}, {"b": y, "a": x}]}, alike, alike)
ids = alike | members | arrays | values.filter(lambda value: not isinstance(value, list))

unwraps = st.sampled_from(
    [
        UNWRAP,
        UNWRAP | {"array.encoding": "document"},
        UNWRAP | {"headrace.compatibility": "debezium-3.6"},
        *(
            UNWRAP | {"target.schema": f"_id {declared}"}
            for declared in (
                "STRING", "DOUBLE", "FLOAT", "INT", "BIGINT", "DECIMAL(30,2)", "BINARY", "BOOLEAN",
                "TIMESTAMP", "DATE", "VARIANT", "STRUCT<a: INT>",
            )
        ),
        UNWRAP | {"target.schema": "name STRING"},
    ]
)  # fmt: skip
others = st.sampled_from(
    [
        {"type": "Flatten$Key"},
        {"type": "HoistField$Key", "field": "whole"},
        {"type": "InsertField$Key", "static.field": "more", "static.value": "x"},
        {"type": "ReplaceField$Key", "renames": "id:key"},
        {"type": "SetSchemaMetadata$Key", "schema.name": "key"},
        {"type": "Cast$Key", "spec": "id:string"},
        ROUTE,
    ]
)
chains = st.builds(lambda first, more: [*first, *more], st.lists(unwraps, max_size=1),
                   st.lists(others, max_size=2, unique_by=lambda step: step["type"]))  # fmt: skip


def transforms(steps: list[dict[str, str]]) -> dict[str, str]:
    aliases = [f"t{number}" for number in range(len(steps))]
    named = zip(aliases, steps, strict=True)
    options = {f"transforms.{a}.{name}": v for a, step in named for name, v in step.items()}
    return {"transforms": ",".join(aliases)} | options


def shown_key(properties: dict[str, str], value: object) -> str | None:
    """The key of a delete; None: the chain refuses the value."""
    text = value_to_extended_json(encode_value(value), Dialect.RELAXED)
    schema = ITEMS.key(1)["schema"]
    record: Any = ITEMS.event("d", None, {"a": 1}) | {"key": part(schema, {"id": text})}
    (transformed,) = apply_json(properties, [record])
    # What the chain refuses comes out as an error.
    return (
        json.dumps(transformed["key"]["payload"])
        if transformed is not None and "key" in transformed
        else None
    )


def hashes(config: MongoConfig, given_ids: list[object]) -> list[int]:
    run = Run.of(config, Plan(1, "key"), Waiting(lambda: False), inline=True)
    block = document_images(b"".join(encode({"_id": value}) for value in given_ids), "a.b")
    facts = run.facts("inventory", "items")
    return key_hashes(block.images, block.offsets, facts, run.key_rendering).tolist()


def clashes(steps: list[dict[str, str]], given_ids: list[object], **more: str) -> list[object]:
    """Values whose keys come out as that of a value with another hash."""
    properties = transforms(steps) if steps else {}
    config = MongoConfig.parse(CONNECTION | properties | more)
    if _plan(config, 4).slices == 1:
        return []
    first: dict[str, int] = {}
    clashing = []
    for value, hashed in zip(given_ids, hashes(config, given_ids), strict=True):
        key = shown_key(properties, value) if properties else None
        if key is not None and first.setdefault(key, hashed) != hashed:
            clashing.append((key, value))
    return clashing


@settings(max_examples=40, deadline=None)
@given(chains, st.lists(ids, max_size=12))
@example([UNWRAP], ALIKE)
@example([UNWRAP, {"type": "Flatten$Key"}], [{"a": value} for value in ALIKE])
@example([UNWRAP | {"target.schema": "_id STRING"}], ALIKE)
@example([UNWRAP | {"target.schema": "_id DOUBLE"}], ALIKE)
@example([UNWRAP | {"target.schema": "_id DECIMAL(30,2)"}], ALIKE)
@example([UNWRAP | {"target.schema": "_id BIGINT"}], ALIKE)
def test_keys_that_come_out_alike_have_one_hash(
    steps: list[dict[str, str]], given_ids: list[object]
) -> None:
    assert clashes(steps, given_ids) == []


def test_keys_of_one_type_are_spread_over_slices() -> None:
    config = MongoConfig.parse(CONNECTION | transforms([UNWRAP]))
    assert _plan(config, 4).slices == 4
    for pool in (
        [bson.ObjectId() for _ in range(64)],
        [bson.Int64(n) for n in range(2**60, 2**60 + 64)],
        [f"order {n}" for n in range(64)],
        [{"region": "eu", "number": n} for n in range(64)],
    ):
        assert len(set(hashes(config, pool))) == 64


@pytest.mark.parametrize(
    ("steps", "slices"),
    [
        ([UNWRAP], 4),
        ([UNWRAP | {"target.schema": "_id BIGINT"}], 4),
        ([UNWRAP | {"target.schema": "_id TIMESTAMP"}], 1),
        ([UNWRAP | {"target.schema": "sampled"}], 1),
        ([UNWRAP, UNWRAP | {"target.schema": "_id STRING"}], 1),
        ([UNWRAP | {"predicate": "gone"}], 1),
        ([UNWRAP | {"predicate": "named"}], 4),
        ([UNWRAP | {"predicate": "named"}, ROUTE], 1),
        ([{"type": "ReplaceField$Key", "renames": "a:x,b:x"}], 1),
        ([{"type": "ReplaceField$Key", "renames": "a:x,b:y"}], 4),
    ],
)  # fmt: skip
def test_a_range_is_one_slice_where_keys_do_not_show_what_they_become(
    steps: list[dict[str, str]], slices: int
) -> None:
    predicates = {
        "predicates": "gone,named",
        "predicates.gone.type": "RecordIsTombstone",
        "predicates.named.type": "TopicNameMatches",
        "predicates.named.pattern": "shop.*",
    }
    config = MongoConfig.parse(CONNECTION | predicates | transforms(steps))
    assert _plan(config, 4).slices == slices


@pytest.mark.parametrize(
    ("more", "slices"),
    [
        ({"key.converter": "org.apache.kafka.connect.storage.StringConverter"}, 1),
        ({"key.converter": "row", "key.converter.fields.unknown": "drop"}, 1),
        ({"key.converter": "org.apache.kafka.connect.json.JsonConverter"}, 4),
    ],
)
def test_a_converter_that_shows_keys_alike_makes_one_slice_of_a_range(
    more: dict[str, str], slices: int
) -> None:
    config = MongoConfig.parse(CONNECTION | transforms([UNWRAP]) | more)
    assert _plan(config, 4).slices == slices


def test_texts_in_a_column_of_documents_are_left_to_python() -> None:
    """No kernel is called for them: JSON's is not there for the columns of a collection."""
    facts = CollectionFacts("shop.a.b", "a", "b")
    images = [image_of([(kind, b"abc"), (NULL, b"")]) for kind in (TEXT, TEXT, BINARY)]
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    offsets = np.cumsum([0, *map(len, images)])
    rendering = KeyRendering(EventSettings("shop", MongoSource()))
    first, second, broken = key_hashes(memory, offsets, facts, rendering).tolist()
    assert first == second == broken

"""Records that stopped a query of `headrace.transforms.apply`, or came out broken: each between two
sound ones, in one process, without Spark. `make fuzz KIND=records` found them."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.spark.frames.task import run_frame
from tests.fuzz.records import INPUT, OUTPUT

DECIMAL = "org.apache.kafka.connect.data.Decimal"
LETTERS = "letters"
BYTE = {"type": "int8"}
READ = {
    "headrace.input.topic": "t", "header.converter": "string", "key.converter": "string",
    "value.converter": "json", "headrace.input.value.converter": "json",
    "errors.tolerance": "all", "errors.deadletterqueue.topic.name": LETTERS,
}  # fmt: skip
DOCUMENTS = READ | {
    "key.converter": "json", "transforms": "unwrap",
    "transforms.unwrap.type": "ExtractNewDocumentState", "value.converter.schemas.enable": "false",
}  # fmt: skip


def decimal(scale: object = "2", **more: object) -> dict[str, Any]:
    """The schema of a Decimal."""
    return {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": scale}} | more


def row(schema: dict[str, Any], payload: str) -> bytes:
    """A struct with the field `v`, whose payload is JSON."""
    described = {"type": "struct", "optional": False, "fields": [schema | {"field": "v"}]}
    return f'{{"schema":{json.dumps(described)},"payload":{{"v":{payload}}}}}'.encode()


def document(after: str, key: str = "1") -> tuple[bytes, bytes]:
    """The key and the value of an insert of a document."""
    text = {"type": "string", "optional": True}
    fields = [text | {"field": name} for name in ("before", "after", "op")]
    schema = {"type": "struct", "name": "r.c.Envelope", "fields": fields}
    of_key = {"type": "struct", "name": "r.c.Key", "fields": [text | {"field": "id"}]}
    return (
        json.dumps({"schema": of_key, "payload": {"id": key}}).encode(),
        json.dumps(
            {"schema": schema, "payload": {"before": None, "after": after, "op": "c"}}
        ).encode(),
    )


SOUND = row({"type": "int32"}, "7")


def made_of(
    value: bytes, properties: dict[str, str] = READ, key: bytes = b"k", sound: bytes = SOUND
) -> list[dict[str, Any]]:
    """The output for a record; its neighbours are written."""
    values = [sound, value, sound]
    rows = [{"key": key, "value": each, "number": n} for n, each in enumerate(values)]
    batch = pa.RecordBatch.from_pylist(rows, INPUT)
    written_rows = [
        row for part in run_frame(properties, OUTPUT, [batch]) for row in part.to_pylist()
    ]
    assert [row["topic"] for row in written_rows if row["number"] != 1] == ["t", "t"]
    return [row for row in written_rows if row["number"] == 1]


def reason(letter: dict[str, Any]) -> str:
    """The reason in a dead letter."""
    assert letter["topic"] == LETTERS
    headers = {each["key"]: each["value"] for each in letter["headers"]}
    return bytes(headers["__connect.errors.exception.message"]).decode()


@pytest.mark.parametrize(
    "number", ["1e99999999", "-1e9999999999", "1e-99999999", "1e99999999999999999999", "1e9000"]
)
def test_a_decimal_with_a_huge_exponent_is_a_dead_letter_at_once(number: str) -> None:
    begun = time.process_time()
    (letter,) = made_of(row(decimal(), number))
    assert "the value of a record of t" in reason(letter)
    assert time.process_time() - begun < 2


def test_many_numbers_with_exponents_are_refused_before_their_digits_are_made() -> None:
    array = {"type": "array", "items": decimal()}
    numbers = ",".join(["1e900"] * 100_000)
    begun = time.process_time()
    (letter,) = made_of(row(array, f"[{numbers}]"))
    assert "bytes" in reason(letter)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        (decimal("1000000000"), "the scale '1000000000'"),
        (decimal("-1000000000"), "the scale '-1000000000'"),
        (decimal("x"), "the scale 'x'"),
        (decimal("1_0"), "the scale '1_0'"),
        (decimal("٣"), "the scale"),
        (decimal(None), "parameters that are not texts"),
        (decimal(parameters={"scale": "2", "connect.decimal.precision": "x"}), "the precision 'x'"),
        (decimal(parameters=[1]), "a list instead of an object as its parameters"),
        (decimal(parameters="scale"), "a str instead of an object as its parameters"),
        ({"type": "int32", "name": 5}, "an int instead of a text as its name"),
        ({"type": "int32", "name": "\ud800"}, "an unpaired surrogate"),
        ({"type": "int32", "doc": []}, "a list instead of a text as its doc"),
        ({"type": "int32", "version": "1"}, "a version that is not a whole number"),
        ({"type": "int32", "version": 10**30}, "a version that is not a whole number"),
        ({"type": "int32", "parameters": {"a": "\udfff"}}, "an unpaired surrogate"),
        ({"type": "string", "default": "\ud800"}, "an unpaired surrogate"),
        ({"type": "struct", "fields": [BYTE | {"field": "\ud83d"}]}, "an unpaired surrogate"),
        ({"type": "struct", "fields": [BYTE | {"field": "a"}] * 2}, "two fields of one name"),
    ],
)  # fmt: skip
def test_a_broken_schema_is_a_dead_letter_that_says_what_is_wrong(
    schema: dict[str, Any], what: str
) -> None:
    (letter,) = made_of(row(schema, "null"))
    assert what.replace("an int", "a int") in reason(letter).replace("an int", "a int")


@pytest.mark.parametrize("depth", [101, 850, 100_000])
def test_a_schema_or_a_value_that_is_nested_too_deep_is_a_dead_letter(depth: int) -> None:
    items = '{"type":"array","items":' * depth + '{"type":"int8"}' + "}" * depth
    for value in (
        f'{{"schema":{items},"payload":{"[" * depth}{"]" * depth}}}',
        f'{{"schema":{{"type":"string","default":{"[" * depth}{"]" * depth}}},"payload":"a"}}',
    ):
        (letter,) = made_of(value.encode())
        assert "the value of a record of t" in reason(letter)


def test_without_tolerance_a_poisoned_record_raises_an_error_with_a_code() -> None:
    strict = READ | {"errors.tolerance": "none"}
    for schema, payload in ((decimal("x"), "1"), (decimal(), "1e99999999")):
        batch = pa.RecordBatch.from_pylist([{"value": row(schema, payload)}], INPUT)
        with pytest.raises(HeadraceError) as raised:
            list(run_frame(strict, OUTPUT, [batch]))
        assert raised.value.code.startswith("connect.")


def test_a_decimal_in_an_array_has_the_scale_of_its_schema() -> None:
    numeric = READ | {"value.converter.decimal.format": "NUMERIC"}
    (converted,) = made_of(row({"type": "array", "items": decimal()}, "[1.5,2,1e2]"), numeric)
    assert '"payload":{"v":[1.50,2.00,100.00]}' in converted["value"].decode()


def test_a_whole_decimal_of_more_than_4300_digits_is_read() -> None:
    digits = "7" * 20_000
    numeric = READ | {"value.converter.decimal.format": "NUMERIC"}
    (converted,) = made_of(row(decimal("0"), digits), numeric)
    assert f'"v":{digits}}}' in converted["value"].decode()


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "\\udc00\\ud800"])
def test_an_unpaired_surrogate_in_a_document_becomes_a_replacement_character(half: str) -> None:
    key, value = document(f'{{"_id":"x{half}y","n{half}":1}}')
    (converted,) = made_of(value, DOCUMENTS, key, document('{"_id":1}')[1])
    count = half.count("\\u")
    replacement = "\N{REPLACEMENT CHARACTER}" * count
    assert json.loads(converted["value"].decode()) == {
        "_id": f"x{replacement}y",
        f"n{replacement}": 1,
    }


def test_an_unpaired_surrogate_in_the_name_of_a_removed_field_becomes_a_replacement_character() -> (
    None
):
    text = {"type": "string", "optional": True}
    removed = {"type": "array", "optional": True, "items": {"type": "string"}}
    members = [text | {"field": "updatedFields"}, removed | {"field": "removedFields"}]
    update = {"type": "struct", "optional": True, "fields": members, "field": "updateDescription"}
    fields = [update, *(text | {"field": name} for name in ("before", "after", "op"))]
    schema = {"type": "struct", "name": "r.c.Envelope", "fields": fields}
    described = {"updatedFields": '{"_id":1}', "removedFields": ["n\udfff"]}
    payload = {"updateDescription": described, "before": None, "after": None, "op": "u"}
    key, sound = document('{"_id":1}')
    value = json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
    (converted,) = made_of(value, DOCUMENTS, key, sound)
    assert json.loads(converted["value"].decode())["n\N{REPLACEMENT CHARACTER}"] is None


@pytest.mark.parametrize("special", ['"$numberDouble":"1_000"', '"$numberInt":"1_0"',
                                     '"$numberLong":"٣"', '"$numberDouble":"0x1p_3"'])  # fmt: skip
def test_a_number_that_java_does_not_parse_is_a_dead_letter(special: str) -> None:
    key, value = document(f'{{"_id":1,"a":{{{special}}}}}')
    (letter,) = made_of(value, DOCUMENTS, key, document('{"_id":1}')[1])
    assert "not Extended JSON" in reason(letter)


def distinct_names(count: int) -> str:
    """An array of documents that share no field."""
    return "[" + ",".join(f'{{"k{n}":1}}' for n in range(count)) + "]"


def test_a_document_that_has_too_many_values_taken_apart_is_a_dead_letter() -> None:
    key, value = document(f'{{"_id":1,"a":{distinct_names(1_500)}}}')
    begun = time.process_time()
    (letter,) = made_of(value, DOCUMENTS, key, document('{"_id":1}')[1])
    assert "has more than 1,000,000 values" in reason(letter)
    assert time.process_time() - begun < 2


def test_the_most_values_of_a_record_are_configured() -> None:
    key, value = document(f'{{"_id":1,"a":{distinct_names(30)}}}')
    sound = document('{"_id":1}')[1]
    (converted,) = made_of(value, DOCUMENTS, key, sound)
    assert len(json.loads(converted["value"])["a"]) == 30
    (letter,) = made_of(value, DOCUMENTS | {"headrace.record.max.cells": "900"}, key, sound)
    assert "has more than 900 values" in reason(letter)


OUTBOX = READ | {
    "transforms": "outbox", "transforms.outbox.type": "EventRouter",
    "transforms.outbox.route.topic.replacement": "t",
}  # fmt: skip


def outbox_row(payload: str, at: int) -> bytes:
    """The event of a row of an outbox table that is inserted, with its schema."""
    text = {"type": "string", "optional": True}
    columns = [text | {"field": n} for n in ("id", "aggregatetype", "aggregateid", "payload")]
    columns.append({"type": "int64", "optional": True, "field": "at",
                    "name": "io.debezium.time.Timestamp"})  # fmt: skip
    of_row = {"type": "struct", "optional": True, "fields": columns}
    fields = [of_row | {"field": "before"}, of_row | {"field": "after"}, text | {"field": "op"},
              {"type": "int64", "field": "ts_ms"}]  # fmt: skip
    schema = {"type": "struct", "name": "s.t.Envelope", "fields": fields}
    after = {"id": "1", "aggregatetype": "x", "aggregateid": "1", "payload": payload, "at": at}
    event = {"before": None, "after": after, "op": "c", "ts_ms": 1}
    return json.dumps({"schema": schema, "payload": event}).encode()


def test_an_outbox_payload_that_has_too_many_values_taken_apart_is_a_dead_letter() -> None:
    outbox = OUTBOX | {"transforms.outbox.table.expand.json.payload": "true"}
    for more in ("", ',{"n":{"$x":1}}'):  # the second is not read by a kernel
        payload = distinct_names(1_500)[:-1] + more + "]"
        sound = outbox_row('{"a":1}', at=1)
        (letter,) = made_of(outbox_row(payload, at=1), outbox, sound=sound)
        assert "has more than 1,000,000 values" in reason(letter)


@pytest.mark.parametrize(("milliseconds", "is_null"), [
    (253_402_300_799_999, False), (-(2**63), True), (1_700_000_000_000_000_000, True),
])  # fmt: skip
def test_a_time_that_spark_cannot_hold_is_null(milliseconds: int, is_null: bool) -> None:
    outbox = OUTBOX | {"transforms.outbox.table.field.event.timestamp": "at"}
    sound = outbox_row("{}", at=1_700_000_000_000)
    (converted,) = made_of(outbox_row("{}", at=milliseconds), outbox, sound=sound)
    assert converted["topic"] == "t"
    assert (converted["timestamp"] is None) == is_null


def test_an_array_of_empty_objects_with_many_fields_is_a_dead_letter() -> None:
    fields = [{"type": "int8", "optional": True, "field": f"c{n}"} for n in range(3_000)]
    array = {"type": "array", "items": {"type": "struct", "fields": fields}}
    begun = time.process_time()
    (letter,) = made_of(row(array, "[" + ",".join(["{}"] * 100_000) + "]"))
    assert "has more than 1,000,000 values" in reason(letter)
    assert time.process_time() - begun < 2

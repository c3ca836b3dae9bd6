"""Extended JSON against recordings of the real Java classes (`make golden`), byte for byte."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import bson
import pytest

from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import to_extended_json, value_to_extended_json
from tests.documents.golden_documents import doubles, golden_documents
from tests.documents.plain_bson import encode_value

RECORDINGS = Path(__file__).parent / "recordings"
DIALECTS = {
    "after": Dialect.STRICT,
    "updatedFields": Dialect.RELAXED_SPACED,
    "extended": Dialect.CANONICAL,
    "relaxed": Dialect.RELAXED,
}


SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def escaped(point: int) -> str:
    raw = chr(point).encode("utf-16-be")
    return "".join(f"\\u{raw[i : i + 2].hex()}" for i in range(0, len(raw), 2))


def lines(name: str) -> list[object]:
    return [json.loads(line) for line in (RECORDINGS / name).read_text().splitlines()]


def recorded() -> list[tuple[bytes, dict[str, str]]]:
    return [(base64.b64decode(raw), texts) for raw, texts in lines("extended_json.jsonl")]  # type: ignore[misc]


def test_the_documents_are_those_that_were_recorded() -> None:
    assert [raw for raw, _ in recorded()] == golden_documents()
    assert len(recorded()) >= 200
    assert [bits for bits, _, _ in lines("doubles.jsonl")] == [  # type: ignore[misc]
        struct.pack(">d", value).hex() for value in doubles()
    ]


@pytest.mark.parametrize("purpose", DIALECTS)
def test_documents_have_the_text_that_java_writes(purpose: str) -> None:
    for raw, texts in recorded():
        assert to_extended_json(raw, DIALECTS[purpose]) == texts[purpose]


def test_keys_have_the_text_that_java_writes() -> None:
    keys = 0
    for raw, texts in recorded():
        if texts["relaxed"] == '{"_id": ' + texts["key"] + "}":
            value = raw[4:5] + raw[9:-1]
            assert value_to_extended_json(value, Dialect.RELAXED) == texts["key"]
            keys += 1
    assert keys > 180


def test_doubles_of_all_sizes_have_the_text_that_java_writes() -> None:
    older = 0
    for bits, text, is_older in lines("doubles.jsonl"):  # type: ignore[misc]
        (value,) = struct.unpack(">d", bytes.fromhex(bits))
        json_text = value_to_extended_json(encode_value(value), Dialect.STRICT)
        if (
            is_older
        ):  # Java before version 19: more digits than needed, or others of the same number
            assert float(json_text) == float(text) == value
            assert len(json_text) <= len(text)
            older += 1
        else:
            assert json_text == text
    assert older < 40


def test_every_character_is_escaped_or_not_as_by_java() -> None:
    raw = set()
    for line in lines("raw_characters.jsonl"):
        first, last = (int(end, 16) for end in str(line).split("-"))
        raw.update(range(first, last + 1))
    assert '"' not in map(chr, raw)
    for block in range(0, 0x110000, 0x400):
        points = [p for p in range(block, block + 0x400) if not 0xD800 <= p < 0xE000]
        text = "".join(map(chr, points))
        json_text = value_to_extended_json(encode_value(text), Dialect.STRICT)
        assert json.loads(json_text) == text
        expected = "".join(chr(p) if p in raw else SHORT.get(p) or escaped(p) for p in points)
        assert json_text == f'"{expected}"'


@pytest.mark.parametrize(
    ("value", "manual", "shown"),
    [
        (bson.Int64(1234), "1234", "1234"),
        (1234, "1234", "1234"),
        (12.34, "12.34", "12.34"),
        ("1234", '"1234"', '"1234"'),
        (
            {"hi": "kafka", "nums": [10.0, 100.0, 1000.0]},
            '{"hi" : "kafka", "nums" : [10.0, 100.0, 1000.0]}',
            '{"hi": "kafka","nums": [10.0,100.0,1000.0]}',
        ),
        (
            bson.ObjectId("596e275826f08b2730779e1f"),
            '{"$oid" : "596e275826f08b2730779e1f"}',
            '{"$oid": "596e275826f08b2730779e1f"}',
        ),
        (
            b"kafka",
            '{"$binary" : "a2Fma2E=", "$type" : "00"}',
            '{"$binary": {"base64": "a2Fma2E=","subType": "00"}}',
        ),
    ],
)
def test_keys_of_the_manual_are_written_in_both_spellings(
    value: object, manual: str, shown: str
) -> None:
    assert value_to_extended_json(encode_value(value), Dialect.MANUAL) == manual
    assert value_to_extended_json(encode_value(value), Dialect.RELAXED) == shown

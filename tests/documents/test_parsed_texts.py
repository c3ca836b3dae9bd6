"""Texts of Extended JSON parsed by the kernels: the same BSON as plain Python and pymongo make."""

from __future__ import annotations

import ctypes
import json
import math
import random
import struct
from collections.abc import Sequence

import bson
import numpy as np
import pytest
from bson import json_util
from bson.codec_options import DatetimeConversion
from bson.errors import BSONError
from bson.json_util import JSONMode, JSONOptions
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.connect.images import TEXT
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import MAX_DEPTH
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import to_extended_json, value_to_extended_json
from headrace.documents.parsing.kernels.document_kernel import PLAIN, parse_texts
from headrace.documents.parsing.plain import bson_of
from headrace.documents.parsing.texts import parsed
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode, encode_value
from tests.documents.values import encodable_documents, values

_PYMONGO = JSONOptions(
    json_mode=JSONMode.CANONICAL, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_WORDS = st.sampled_from(["", "a", "_id", "$oid", "$date", "$numberLong", "$gt", "$ref", "é"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text() | _WORDS,
    lambda inner: st.lists(inner) | st.dictionaries(_WORDS | st.text(), inner),
    max_leaves=20,
)


def cells_of(texts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Cells of texts that are one after the other, and the memory they are in."""
    memory = np.frombuffer(b"".join(texts) + bytes(PADDING), np.uint8)
    lengths = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(lengths)
    return np.stack([np.full(len(texts), TEXT), address_of(memory) + ends - lengths, lengths], 1), (
        memory
    )


def parse(*texts: str | bytes) -> list[bytes]:
    """The values of texts: type byte and bytes each."""
    cells, _memory = cells_of([text.encode() if isinstance(text, str) else text for text in texts])
    parsed_cells = parsed(cells)
    return [ctypes.string_at(address, length) for _, address, length in parsed_cells.cells.tolist()]


def by_kernel(text: str) -> bytes | None:
    """The value as the kernel makes it; None: it leaves the text to plain Python."""
    cells, _memory = cells_of([text.encode()])
    values_made = np.zeros((1, 3), np.int64)
    out = np.zeros(16 * len(text) + 1024, np.uint8)
    names = np.zeros(16 * 4096, np.uint8)
    start = address_of(out)
    assert parse_texts(
        address_of(cells), 1, address_of(values_made), start, start + len(out) - PADDING,
        address_of(names), 4095, 1,
    ) == 1  # fmt: skip
    length = int(values_made[0, 2])
    return None if length == PLAIN else out[:length].tobytes()


@given(values, st.sampled_from(list(Dialect)))
def test_what_the_writer_writes_is_parsed_as_by_plain_python(
    value: object, dialect: Dialect
) -> None:
    text = value_to_extended_json(encode_value(value), dialect)
    try:
        expected = bson_of(text)
    except HeadraceError:
        with pytest.raises(HeadraceError):
            parse(text)
        return
    assert parse(text) == [expected]


@given(encodable_documents, st.sampled_from([Dialect.CANONICAL, Dialect.RELAXED]))
def test_documents_of_pymongo_are_parsed_as_by_pymongo(
    document: dict[str, object], dialect: Dialect
) -> None:
    text = to_extended_json(encode(document), dialect)
    try:
        expected = bson.encode(json_util.loads(text, json_options=_PYMONGO))
    except (TypeError, ValueError, KeyError, OverflowError, BSONError):
        # A field of the document has a name that means a type.
        assume(False)
        raise
    assert parse(text) == [b"\3" + expected]


@given(json_values, st.booleans(), st.sampled_from([None, 0, 2]))
def test_any_json_is_parsed_as_by_plain_python(
    value: object, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        expected = bson_of(text)
    except HeadraceError:
        assume("\\ud" not in text)
        with pytest.raises(HeadraceError):
            parse(text)
        return
    assert parse(text.encode(errors="surrogatepass")) == [expected]


@given(
    st.from_regex(r"-?(0|[1-9]\d{0,24})(\.\d{1,25})?([eE][+-]?\d{1,3})?", fullmatch=True)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: f"{number:.16e}")
    | st.integers(-(2**64), 2**64).map(str)
)
def test_numbers_are_parsed_exactly(text: str) -> None:
    text = "".join(character if character.isascii() else "7" for character in text)
    try:
        expected = bson_of(text)
    except HeadraceError:
        with pytest.raises(HeadraceError):
            parse(text)
        return
    assert parse(text) == [expected]


def test_doubles_of_17_digits_are_the_kernels_own() -> None:
    numbers = random.Random(3)
    for _ in range(20_000):
        bits = numbers.getrandbits(64) & ~(1 << 62) | numbers.getrandbits(1) << 62
        (number,) = struct.unpack("<d", struct.pack("<Q", bits))
        if math.isfinite(number) and abs(number) >= 2.3e-308:
            assert by_kernel(f"{number:.16e}") == b"\1" + struct.pack("<d", number)


_RARE = ('"$scope"', '"$dbPointer"', '"02"', "\\ud", "E-3")


@given(values)
def test_only_rare_types_of_canonical_texts_are_left_to_plain_python(value: object) -> None:
    text = value_to_extended_json(encode_value(value), Dialect.CANONICAL)
    assume(not any(mark in text for mark in (*_RARE, "\\u0024")))
    assert by_kernel(text) is not None


@given(values)
def test_no_text_without_types_is_left_to_plain_python(value: object) -> None:
    raw = encode_value(value)
    texts = [
        value_to_extended_json(raw, dialect)
        for dialect in Dialect
        if dialect is not Dialect.CANONICAL
    ]
    without = [text for text in texts if not any(mark in text for mark in (*_RARE, "$"))]
    assume(without)
    for text in without:
        assert by_kernel(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,"b": 2,"a": 3}',
        '{"a": {"b": 1,"c": 2,"b": [1]},"d": {"b": 1}}',
        '{"\\u0024oid": "596e275826f08b2730779e1f"}',
        '{"$\\u006fid": "596e275826f08b2730779e1f"}',
        '{"$oid": "596e275826f08b2730779e1f","a": 1}',
        '{"a": 1,"$oid": 5}',
        '{"$uuid": "b68a35a7-17ad-35b3-af2a-ae46edb4545a"}',
        '{"$code": "x","$scope": {"a": {"$numberLong": "5"}}}',
        '{"$binary": "AAAA","$type": "02"}',
        '{"$binary": "AAE=","$type": 128}',
        '{"$binary": {"subType": "80","base64": "AB=="}}',
        '{"$regex": {"$gt": 1}}',
        '{"$regularExpression": {"pattern": "a\\\\d","options": "xmi"}}',
        '{"$numberLong": 5}',
        '{"$numberDouble": "5"}',
        '{"$numberDouble": "-0"}',
        '{"$numberDecimal": "1234567890123456789012345678901234E-6176"}',
        '{"$numberDecimal": "0.00E+6111"}',
        '{"$numberDecimal": "-NaN"}',
        '{"$date": "0001-01-01T00:00:00Z"}',
        '{"$date": "2024-02-29T23:59:59.9999Z"}',
        '{"$date": "2024-05-01T02:00:00+02:00"}',
        '{"$date": "1969-12-31T23:59:59.001Z"}',
        '{"$timestamp": {"t": 4294967295,"i": 1}}',
        "NaN",
        "-Infinity",
        "-0",
        "-0.0",
        "5e-324",
        "1e400",
        "9007199254740993.0",
        "\t[ 1 , { } , [ ] ]\r\n",
        '"\\ud83d\\ude00 \\ud83d \\ude00\\ud83d\\u0041"',
        '"\x7f\u0080\u07ff\u0800\uffff\U00010000"',
        '"' + "a" * 15 + "\\n" + "b" * 16 + "é" + '"',
    ],
)
def test_these_texts_are_parsed_as_by_plain_python(text: str) -> None:
    assert parse(text) == [bson_of(text)]


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "[", '"', '"a', '{"a"', '{"a":', '{"a": 1', '{"a": 1,', '{"a": 1,}', "[1,]",
        "[,]", "[1 2]", "1 2", "01", "1.", ".5", "-", "1e", "+1", "nul", "truex", '"\\x"', '"\n"',
        '"\\u12g4"', '"\\', '"\\u12', '{"a\\u0000": 1}', "{1: 2}", "{'a': 1}",
        '{"$oid": "596e275826f08b2730779e1g"}', '{"$oid": "596e275826f08b2730779e"}',
        '{"$oid": 5}', '{"$oid": "596e275826f08b2730779e1f"', '{"$date": "2024-13-01T00:00:00Z"}',
        '{"$date": "2023-02-29T00:00:00Z"}', '{"$date": "2024-05-01T24:00:00Z"}',
        '{"$date": {" $numberLong": "5"}}', '{"$date": {"\r$numberLong": "5"}}',
        '{"$date": "2024-05-01T00:00:00"}', '{"$date": null}', '{"$numberInt": "2147483648"}',
        '{"$numberInt": 1e400}', '{"$numberLong": "9223372036854775808"}',
        '{"$numberDecimal": "."}', '{"$numberDecimal": 5}', '{"$numberDecimal": "1E6145"}',
        '{"$timestamp": {"t": 4294967296,"i": 1}}', '{"$timestamp": {"t": -1,"i": 1}}',
        '{"$binary": {"base64": "A===","subType": "00"}}', '{"$binary": "AAAA"}',
        '{"$code": "x","$scope": 5}', '{"$symbol": 5}', '{"$uuid": 5}',
        '{"$regularExpression": {"pattern": 5,"options": ""}}', '{"$regex": "a","$options": 5}',
        "9223372036854775808",
    ],
)  # fmt: skip
def test_a_broken_text_is_refused_by_both(text: str) -> None:
    for refuse in (bson_of, parse):
        with pytest.raises(HeadraceError) as caught:
            refuse(text)
        assert caught.value.code == "documents.text_not_understood"


def test_a_text_that_plain_python_reads_is_in_its_place_among_others() -> None:
    texts = ['{"a": 1}', '{"a": 1,"a": 2}', '"x"', '{"$uuid": "' + "0" * 32 + '"}', "[]"]
    assert parse(*texts) == [bson_of(text) for text in texts]


def test_small_elements_get_the_memory_they_need() -> None:
    many = "[" + ",".join("1" * 1 for _ in range(20_000)) + "]"
    empty = "[" + ",".join(["[]"] * 20_000) + "]"
    texts = ['{"a": 1}', many, '{"b": 2}', empty, '{"c": 3}']
    assert parse(*texts) == [bson_of(text) for text in texts]
    assert parse(many) == [bson_of(many)]


def test_documents_of_many_names_are_parsed() -> None:
    documents = [
        json.dumps({f"name{i}": i for i in range(count)}) for count in (3, 600, 5, 20_000, 7)
    ]
    assert parse(*documents) == [bson_of(text) for text in documents]
    assert by_kernel(documents[1]) is not None


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 100_000])
def test_depth_is_bounded(depth: int) -> None:
    text = '{"a":' * depth + "1" + "}" * depth
    if depth <= MAX_DEPTH:
        assert by_kernel(text) == bson_of(text)
        return
    assert by_kernel(text) is None
    with pytest.raises(HeadraceError):
        parse(text)


def test_bytes_that_are_no_text_are_replaced() -> None:
    for raw in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80", b"\xe2\x82"):
        text = b'{"a": "' + raw + b'"}'
        assert parse(text) == [bson_of(text.decode(errors="replace"))]

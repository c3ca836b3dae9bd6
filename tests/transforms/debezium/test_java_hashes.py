"""Hashes of columns against plain ones of each value by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.json_records import read_records
from headrace.connect.records import Records
from headrace.transforms.debezium.java_hashes import java_hashes, murmur_hashes

WORD = (1 << 64) - 1
TEXTS = st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=40), min_size=1)


def records_of(payloads: list[object], kind: str) -> Records:
    schema = {"type": kind, "optional": True}
    key = {"schema": {"type": "string", "optional": False}, "payload": "k"}
    [records] = read_records(
        [
            {"topic": "t", "key": key, "value": {"schema": schema, "payload": payload}}
            for payload in payloads
        ]
    )
    return records


def hash_code(text: str) -> int:
    """Java's `String.hashCode`, unsigned."""
    code = 0
    units = text.encode("utf-16-be")
    for place in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[place : place + 2], "big")) % (1 << 32)
    return code


def rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & WORD


def final(word: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor & WORD
    return word ^ word >> 33


def murmur(data: bytes) -> int:
    """Infinispan's MurmurHash3_x64_32 with seed 9001, unsigned."""
    h1, h2 = 0x9368E53C2F6AF274 ^ 9001, 0x586DCD208F7CD3FD ^ 9001
    factor, other_factor = 0x87C37B91114253D5, 0x4CF5AD432745937F
    for place in range(0, len(data), 16):
        block = data[place : place + 16]
        words = [0, 0]
        for index, byte in enumerate(block):
            is_signed = len(block) < 16 and byte > 127
            words[index // 8] ^= (byte - 256 * is_signed) << 8 * (index % 8) & WORD
        h1 ^= rotated(words[0] * factor & WORD, 23) * other_factor & WORD
        h1 = (h1 + h2) & WORD
        h2 = rotated(h2, 41)
        h2 ^= rotated(words[1] * other_factor & WORD, 23) * factor & WORD
        h2 = (h2 + h1) & WORD
        h1, h2 = (3 * h1 + 0x52DCE729) & WORD, (3 * h2 + 0x38495AB5) & WORD
        factor = (5 * factor + 0x7B7D159C) & WORD
        other_factor = (5 * other_factor + 0x6BCE6396) & WORD
    h2 ^= len(data)
    h1 = (h1 + h2) & WORD
    h2 = (h2 + h1) & WORD
    return ((final(h1) + final(h2)) & WORD) >> 32


@given(TEXTS)
def test_texts_have_the_hash_code_of_java(texts: list[str | None]) -> None:
    records = records_of(list(texts), "string")
    assert records.shape.value is not None
    hashes = java_hashes(records, records.shape.value).tolist()
    assert hashes == [hash_code(text or "") for text in texts]


@given(TEXTS)
def test_texts_have_the_murmur_hash_of_their_utf_8(texts: list[str | None]) -> None:
    records = records_of(list(texts), "string")
    assert records.shape.value is not None
    hashes = murmur_hashes(records, records.shape.value).tolist()
    assert hashes == [murmur((text or "").encode()) for text in texts]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1))
def test_longs_have_the_hash_code_of_java(numbers: list[int]) -> None:
    records = records_of(list(numbers), "int64")
    assert records.shape.value is not None
    hashes = java_hashes(records, records.shape.value).tolist()
    assert hashes == [(number & WORD ^ (number & WORD) >> 32) % (1 << 32) for number in numbers]

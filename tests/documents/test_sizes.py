"""Extended JSON of documents of every size, depth and type, and of what is left of them when they
are cut off."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from random import Random

import bson
import pytest
from bson.binary import UuidRepresentation
from bson.code import Code
from bson.codec_options import CodecOptions
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING
from headrace.documents.bson import MAX_DEPTH, NO_ROOM, Kind
from headrace.documents.dialects import Dialect
from headrace.documents.elements import elements
from headrace.documents.extended_json import to_extended_json, value_to_extended_json
from headrace.documents.kernels.writer import GROWTH, MAX_GROWTH, SLACK
from tests.documents.golden_documents import golden_documents
from tests.documents.plain_bson import encode, encode_value
from tests.documents.plain_extended_json import extended_json
from tests.documents.values import encodable_scalars, scalars
from tests.fuzz.bson_values import is_sound, write_text
from tests.fuzz.guarded import Guarded, read

OPTIONS: CodecOptions = CodecOptions(uuid_representation=UuidRepresentation.STANDARD)
SPECIAL = ['"', "\\", "\x01", "\x7f", "é", "ー", "क", "\u2028", "😀"]


@pytest.mark.parametrize("dialect", Dialect)
def test_a_character_is_escaped_at_every_place_of_texts_of_every_length(dialect: Dialect) -> None:
    for length in (*range(1, 36), 47, 48, 49, 63, 64, 65):
        texts = [
            "x" * place + character + "y" * (length - place - 1)
            for place in range(length)
            for character in SPECIAL
        ]
        document = {"texts": texts, **{f"{text}{n}": n for n, text in enumerate(texts[:9])}}
        raw = bson.encode(document)
        assert to_extended_json(raw, dialect) == extended_json(document, dialect)


@given(
    st.lists(st.tuples(encodable_scalars, encodable_scalars), min_size=1, max_size=150),
    st.lists(st.sampled_from(["document", "array", "scope"]), min_size=1, max_size=150),
    st.sampled_from(list(Dialect)),
)
def test_values_come_before_and_after_containers_of_every_depth(
    neighbours: list[tuple[object, object]], kinds: list[str], dialect: Dialect
) -> None:
    value: object = None
    for (before, after), kind in zip(neighbours, kinds, strict=False):
        if kind == "array":
            value = [before, value, after]
        else:
            value = {"a": before, "": value, "z": after}
            value = Code("f()", value) if kind == "scope" else value
    document = {"v": value}
    raw = encode(document)
    assert to_extended_json(raw, dialect) == extended_json(document, dialect)
    assert bson.encode(document, codec_options=OPTIONS) == raw


@pytest.mark.parametrize("dialect", Dialect)
def test_documents_of_many_members_are_written(dialect: Dialect) -> None:
    for document in (
        {"a": list(range(20_000))},
        {"a": [{}] * 20_000, "b": [[]] * 20_000},
        {f"name {n}": n / 7 for n in range(20_000)},
    ):
        raw = bson.encode(document)
        assert to_extended_json(raw, dialect) == extended_json(document, dialect)


@pytest.mark.parametrize("dialect", Dialect)
def test_long_texts_and_bytes_are_written(dialect: Dialect) -> None:
    escapes = {"x": "x", '"': '\\"', "\x01": "\\u0001", "ü": "ü", "ー": "\\u30fc"}
    empty = extended_json({"t": ""}, dialect)[:-2]
    for unit, text in escapes.items():
        raw = bson.encode({"t": unit * 100_000})
        assert to_extended_json(raw, dialect) == empty + text * 100_000 + '"}'
    content = extended_json({"b": b"="}, dialect)
    for count in (1, 2, 3, 300_000, 300_001):
        encoded = base64.b64encode(bytes(range(256))[-count:] * (count // 256 + 1)).decode()
        raw = bson.encode({"b": base64.b64decode(encoded)})
        assert to_extended_json(raw, dialect) == content.replace("PQ==", encoded)


def test_a_document_of_16_megabytes_is_written() -> None:
    size = 16 << 20
    raw = bson.encode({"t": "x" * (size - 20), "n": 1})
    assert size - 10 < len(raw) <= size
    expected = '{"t": "' + "x" * (size - 20) + '","n": 1}'
    assert to_extended_json(raw, Dialect.STRICT) == expected


@given(st.lists(scalars, max_size=200), st.sampled_from(list(Dialect)))
@example([bytes(n) for n in range(70)], Dialect.STRICT)
@example([bson.Binary(bytes(n), 2) for n in range(70)], Dialect.CANONICAL)
def test_long_arrays_of_every_type_are_written(array: list[object], dialect: Dialect) -> None:
    assert value_to_extended_json(encode_value(array), dialect) == extended_json(array, dialect)


def kinds_of(document: bytes) -> Iterator[int]:
    for kind, _, value in elements(document):
        yield kind
        if kind in (Kind.DOCUMENT, Kind.ARRAY):
            yield from kinds_of(value)


def test_every_type_of_bson_is_among_the_recorded_documents() -> None:
    assert {kind for raw in golden_documents() for kind in kinds_of(raw)} == set(Kind)


def test_a_document_that_is_cut_off_anywhere_is_refused_whatever_lies_after_it() -> None:
    random = Random("cut off")
    source, text = Guarded(4096), Guarded(MAX_GROWTH * 4096 + SLACK)
    for number, raw in enumerate(golden_documents()):
        cell = bytes([Kind.DOCUMENT]) + raw
        if len(cell) > 1000:
            continue
        dialect = list(Dialect)[number % len(Dialect)]
        for length in range(len(cell) + 1):
            following = bytes([random.choice((0, 1, 255))]) * PADDING
            address = source.take(
                cell[:length] + random.choice((following, cell[length:] + following))
            )
            room = MAX_GROWTH * length + SLACK
            out = text.take(room)
            end = write_text(address, length, int(dialect), 0, MAX_GROWTH, out)
            assert end != NO_ROOM, (raw, length)
            if length < len(cell):
                assert end < 0, (raw, length)
            else:
                assert read(out, end - out).decode() == to_extended_json(raw, dialect)


def test_levels_that_are_too_deep_are_refused_before_they_overrun_anything() -> None:
    for opening in (b"\x03\0", b"\x04\0"):
        for levels in (MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 4 * MAX_DEPTH):
            raw = b"\x05\0\0\0\0"
            for _ in range(levels - 1):
                raw = (len(raw) + 7).to_bytes(4, "little") + opening + raw + b"\0"
            cell = bytes([Kind.DOCUMENT]) + raw
            memory, text = Guarded(len(cell) + PADDING), Guarded(GROWTH * len(cell) + SLACK)
            out = text.take(GROWTH * len(cell) + SLACK)
            address = memory.take(cell + bytes(PADDING))
            end = write_text(address, len(cell), 0, 0, GROWTH, out)
            assert (end > 0) == (levels <= MAX_DEPTH) == is_sound(cell)

"""Mutated texts of Extended JSON: the compiled parser against plain Python, in guarded memory."""

from __future__ import annotations

from random import Random

import numpy as np

from headrace.connect.images import TEXT
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.parsing.kernels.document_kernel import (
    MARGIN,
    NAME_BYTES,
    NO_ROOM,
    PLAIN,
    parse_texts,
)
from headrace.documents.parsing.plain import bson_of
from headrace.errors import HeadraceError
from tests.documents.golden_documents import golden_documents
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated

_MOST = 4_000
_MAX_BSON = 16 * _MOST + MARGIN + PADDING
_NAMES = 4_096
_TEXTS = [
    '{"a": [1, -2.5e10, true, false, null, NaN, -Infinity], "b\\u0041\\n\\ud83d\\ude00": {"": {}}}',
    '{"$date": "2024-05-01T00:00:00.25Z"}',
    '[{"$uuid": "b68a35a7-17ad-35b3-af2a-ae46edb4545a"}, {"a": 1, "a": 2}, 9223372036854775807]',
    '{"$numberDecimal": "-1234567890123456789012345678901234E-6176"}',
]


class ExtendedJsonTexts:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        documents = [b"\x03" + raw for raw in golden_documents() if len(raw) < _MOST // 4]
        self._texts = [text.encode() for text in _TEXTS]
        for dialect in Dialect:
            self._texts += [value_to_extended_json(raw, dialect).encode() for raw in documents]
        self._input = Guarded(_MOST + PADDING)
        self._output = Guarded(_MAX_BSON)
        self._names = Guarded(_NAMES * NAME_BYTES)
        self._names_at = self._names.take(_NAMES * NAME_BYTES)
        self._number = 0

    def one(self, random: Random, planted: str | None) -> None:
        text = mutated(random, random.choice(self._texts))[:_MOST]
        source = self._input.take(text + random.randbytes(PADDING))
        room = random.choice((_MAX_BSON, len(text) + MARGIN + PADDING))
        out = self._output.take(room if planted != "overrun" else 1)
        cells = np.array([[TEXT, source, len(text)]], np.int64)
        values = np.zeros((1, 3), np.int64)
        self._number += 1
        outcome = parse_texts(
            address_of(cells), 1, address_of(values), out, out + room - PADDING, self._names_at,
            _NAMES - 1, self._number,
        )  # fmt: skip
        if outcome < 0:
            assert outcome >> 32 == NO_ROOM
            assert room < _MAX_BSON
            return
        length = int(values[0, 2])
        if length == PLAIN:
            return
        assert 0 < length <= room - PADDING
        value = read(out, length)
        if planted == "wrong":
            value += b"wrong"
        try:
            expected = bson_of(text.decode())
        except (HeadraceError, UnicodeDecodeError):
            raise AssertionError(f"{text!r} is broken, and was parsed: {value!r}") from None
        assert value == expected, (text, value, expected)

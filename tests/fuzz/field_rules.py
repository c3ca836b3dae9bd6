"""Field rules over mutated BSON: the compiled pass against plain Python."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import bson
from bson.errors import BSONError

from headrace.connect.kernels.memory import PADDING
from headrace.documents.bson import NO_ROOM
from headrace.documents.fields import FieldRules, PathRule
from headrace.documents.kernels.field_kernel import FIELD_EXISTS, filter_fields, filter_names
from tests.documents.golden_fields import field_cases
from tests.documents.plain_bson import encode, encode_value
from tests.documents.plain_fields import PlainRules, Taken
from tests.fuzz.bson_values import is_sound
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated

_MOST = 2_000
_ROOM = 4 * _MOST
_NAMES = 2
"""Inputs from here on are arrays of names, and of documents with names."""


class FieldRuleInputs:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        self._cases = field_cases()
        self._input = Guarded(_MOST + PADDING)
        self._spare, self._output = Guarded(_ROOM + PADDING), Guarded(_ROOM + PADDING)

    def one(self, random: Random, planted: str | None) -> None:
        case = random.choice(self._cases)
        paths = [tuple(random.choices("abc", k=random.choice((1, 1, 2, 3)))) for _ in range(3)]
        rules = [PathRule(path, random.choice((None, None, "z", "d"))) for path in paths]
        compiled = FieldRules(rules)
        operation = random.randrange(4)
        arrays = [{"field": name, "newSize": size} for size, name in enumerate(case.removed)]
        values: tuple[object, ...] = (case.document, case.updated, case.removed, arrays)
        raw = mutated(random, encode_value(values[operation])[1:])[:_MOST]
        source = self._input.take(raw + random.randbytes(PADDING))
        room = _ROOM if planted != "overrun" else _MOST
        out = self._output.take(_ROOM + PADDING if planted != "overrun" else 1)
        if operation >= _NAMES:
            end = filter_names(
                compiled.address, compiled.count, source, len(raw), compiled.longest, out, room
            )
        else:
            spare = self._spare.take(_ROOM + PADDING)
            end = filter_fields(
                compiled.address, compiled.count, operation, source, len(raw), spare, out, room
            )
        assert end != NO_ROOM, raw
        if end < 0:
            assert end == FIELD_EXISTS or not is_sound(b"\x03" + raw), (raw, end)
            return
        filtered = read(out, end - out)
        expected = _plain(rules, operation, raw)
        if planted == "wrong":
            expected = b"wrong"
        assert expected is None or filtered == expected, (rules, raw, filtered, expected)


def _plain(rules: list[PathRule], operation: int, raw: bytes) -> bytes | None:
    """The result of plain Python, if pymongo makes the same bytes of what it reads."""
    plain = PlainRules(rules, as_debezium=False)
    try:
        members: dict[str, Any] = bson.decode(raw)
        if bson.encode(members) != raw:
            return None
    except (BSONError, ValueError, TypeError):
        return None
    if operation >= _NAMES:
        return None  # names are compared in tests/documents
    try:
        apply = plain.updated_fields if operation else plain.document
        return encode(apply(copy.deepcopy(members)))
    except (Taken, TypeError):
        return None

"""Texts of bits, durations, vectors and maps: what is written is read again."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.debezium.java_collections import json_text
from headrace.errors import HeadraceError
from headrace.relational.types import bits, durations, scalars, vectors
from headrace.relational.types.geometry import ewkb
from headrace.relational.types.temporal import timestamp_nanos

PARTS = st.integers(-(10**9), 10**9)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@given(st.text("01", max_size=200))
def test_a_bit_string_is_its_number_with_the_last_bit_first(text: str) -> None:
    value = bits.bit_string(text.encode())
    assert int.from_bytes(value, "little") == int(text or "0", 2)
    assert value[-1:] != b"\0"


@given(st.lists(DOUBLES, max_size=20))
def test_a_vector_has_the_numbers_of_its_text(numbers: list[float]) -> None:
    text = f"[{','.join(repr(number) for number in numbers)}]".encode()
    assert vectors.double_vector(text) == numbers
    with np.errstate(over="ignore"):
        assert vectors.float_vector(text) == [float(np.float32(number)) for number in numbers]


@given(st.dictionaries(st.integers(1, 2**15 - 1), DOUBLES, max_size=20))
def test_a_sparse_vector_has_the_places_of_its_text(pairs: dict[int, float]) -> None:
    entries = ",".join(f"{place}:{number!r}" for place, number in pairs.items())
    value = vectors.sparse_vector(f"{{{entries}}}/32767".encode())
    assert value == {"dimensions": 32767, "vector": pairs}
    assert vectors.sparse_vector(f"{{{entries}}}/32768".encode()) is None


@given(PARTS, PARTS, PARTS, st.integers(-(10**15), 10**15))
def test_each_part_of_a_duration_has_its_own_sign(
    years: int, months: int, days: int, micros: int
) -> None:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    hours, rest = divmod(seconds, 3600)
    sign = "-" if micros < 0 else ""
    time = f"{sign}{hours:02}:{rest // 60:02}:{rest % 60:02}.{fraction:06}"
    text = f"{years} years {months} mons {days} days {time}".encode()
    value = durations.duration_struct(text, precision=6)
    assert value is not None
    assert (value["years"], value["months"], value["days"]) == (years, months, days)
    parts = (Fraction(int(str(value[name]))) for name in ("hours", "minutes", "seconds", "nanos"))
    scales = (3_600_000_000, 60_000_000, 1_000_000, Fraction(1, 1000))
    assert sum(part * scale for part, scale in zip(parts, scales, strict=True)) == micros


@given(st.dictionaries(st.text(), st.none() | st.text()))
def test_a_map_is_json_that_reads_the_same(members: dict[str, str | None]) -> None:
    assert json.loads(json_text(members)) == members


@given(st.integers(-(2**70), 2**70))
def test_an_integer_is_exact_or_refused(number: int) -> None:
    for declaration, low, high in (
        (scalars.INT16, -(2**15), 2**15),
        (scalars.INT32, -(2**31), 2**31),
        (scalars.INT64, -(2**63), 2**63),
        (scalars.UINT32, 0, 2**32),
    ):
        assert declaration.reads(str(number)) == (low <= number < high)
        assert declaration.default(str(number)) == (number if low <= number < high else None)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_refusal(text: bytes) -> None:
    for decoder in (
        bits.bit,
        bits.bit_string,
        durations.duration_micros,
        durations.duration_text,
        ewkb,
        vectors.double_vector,
        vectors.float_vector,
        vectors.sparse_vector,
    ):
        with contextlib.suppress(HeadraceError):
            decoder(text)


@pytest.mark.parametrize("text", [b"infinity", b"-infinity"])
def test_an_infinite_duration_is_null(text: bytes) -> None:
    assert durations.duration_micros(text) is None
    assert durations.duration_struct(text, precision=6) is None


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        (b"1677-09-21 00:12:43.145224191", None),
        (b"1677-09-21 00:12:43.145224192", -(2**63)),
        (b"2262-04-11 23:47:16.854775807", 2**63 - 1),
        (b"2262-04-11 23:47:16.854775808", None),
    ],
)
def test_timestamps_in_nanoseconds_have_all_of_64_bits(text: bytes, nanos: int | None) -> None:
    assert timestamp_nanos(text) == nanos

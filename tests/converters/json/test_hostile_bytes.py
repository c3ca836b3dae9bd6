"""The cell encoders on bytes that no database sends."""

from __future__ import annotations

import json

import hypothesis
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import address_of
from headrace.converters.json.kernels import cells as json_cells
from tests.compiled import callable_part
from tests.converters.json.encoders import (
    encoded,
    given,
    output_of,
)
from tests.examples import examples

_encode = callable_part(json_cells.encode)

CODES = [*Encoding, 19, -1, 1000]
hostile = (
    st.binary(max_size=120)
    | st.text("0123456789-+.eE:/ \\x", max_size=60).map(str.encode)
    | st.text("0123456789.", min_size=1000, max_size=1100).map(str.encode)
)


@settings(max_examples=examples(400), deadline=None)
@hypothesis.given(hostile, st.integers(-10, 60) | st.integers(-(2**63), 2**63 - 1))
def test_no_bytes_harm_any_encoder(data: bytes, parameter: int) -> None:
    for code in CODES:

        def call(address: int, length: int, out: int, code: int = int(code)) -> int:
            return _encode(address, length, code, parameter, out)

        results = {output_of(data, call, poison=poison) for poison in (0x39, 0x00, 0x2E, 0xFF)}
        assert len(results) == 1
        (result,) = results
        if result is not None and code not in (
            Encoding.STRING,
            Encoding.TRUNCATED_STRING,
            Encoding.JSON,
        ):
            json.loads(result.decode())


@given(
    st.sampled_from(
        [
            (b"2018-06-20 15:13:16.945104+00", Encoding.TIMESTAMPTZ),
            (b"2018-06-20 15:13:16.945104", Encoding.TIMESTAMP_US),
            (b"2018-06-20", Encoding.DATE),
            (b"15:13:16.945104", Encoding.TIME_US),
            (b"-1234567.89", Encoding.DECIMAL),
            (b"-12345678901234567890123.89", Encoding.DECIMAL),
            (b"-12345.6789e+10", Encoding.DOUBLE),
            (rb"\x00112233445566778899", Encoding.BYTES_HEX),
        ]
    ),
    st.data(),
)
def test_one_wrong_character_is_noticed_or_harmless(
    sample: tuple[bytes, Encoding], data: st.DataObject
) -> None:
    text, code = bytearray(sample[0]), sample[1]
    place = data.draw(st.integers(0, len(text) - 1))
    right = text[place]
    text[place] = data.draw(
        st.integers(0, 255).filter(lambda b: b != right and chr(b) not in "0123456789abcdefABCDEF")
    )
    result = encoded(bytes(text), code, 2 if code == Encoding.DECIMAL else 6)
    if result is not None:
        json.loads(result)
        assert bytes(text[:1]) in b"-E" or text[place] in b".eE+-"


def test_codes_without_a_kernel_and_lengths_below_zero_are_left_to_python() -> None:
    for code in (Encoding.PYTHON, Encoding.TIMETZ):
        assert encoded("12:00:00+00", code) is None
    out = np.zeros(64, np.uint8)
    for code in Encoding:
        assert _encode(address_of(out), -5, int(code), 0, address_of(out)) == -1

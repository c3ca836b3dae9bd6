"""Strings, booleans and bytes as JSON, against plain Python."""

from __future__ import annotations

import base64
import json

from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels import json_text
from headrace.debezium.column_rules import truncated
from tests.compiled import callable_part
from tests.converters.json.encoders import (
    encoded,
    given,
    jackson_string,
    output_of,
)

_put_bytes = callable_part(json_text.put_bytes)

_put_string = callable_part(json_text.put_string)


@given(st.text(st.characters(codec="utf-8")) | st.text('ab"\\\n\t\x01\x1f\x7f\u00e9\U0001f600'))
def test_a_string_has_jacksons_escapes(text: str) -> None:
    result = encoded(text, Encoding.STRING)
    assert result == jackson_string(text)
    assert json.loads(result) == text
    assert output_of(text.encode(), _put_string) == result


def test_every_character_is_escaped_as_jackson_does_at_every_place_of_a_block() -> None:
    for code in range(128):
        for place in range(18):
            text = "x" * place + chr(code) + "y" * 3
            assert encoded(text, Encoding.STRING) == jackson_string(text)


@given(
    st.text(st.characters(codec="utf-8")) | st.text("ab\u00e9\u20ac\U0001f600"), st.integers(0, 40)
)
def test_a_truncated_string_is_cut_at_utf16_units_and_never_inside_a_character(
    text: str, units: int
) -> None:
    cut = encoded(text, Encoding.TRUNCATED_STRING, units)
    assert cut == jackson_string(truncated(text, units))


def test_booleans_and_bits() -> None:
    assert encoded("t", Encoding.BOOLEAN) == encoded("1", Encoding.BIT1) == b"true"
    assert encoded("f", Encoding.BOOLEAN) == encoded("0", Encoding.BIT1) == b"false"
    for text in ("", "1", "true", "T"):
        assert encoded(text, Encoding.BOOLEAN) is None
    for text in ("", "t", "10", "2"):
        assert encoded(text, Encoding.BIT1) is None


@given(st.binary(max_size=80))
def test_bytea_becomes_base64(data: bytes) -> None:
    expected = b'"' + base64.b64encode(data) + b'"'
    assert encoded(rb"\x" + data.hex().encode(), Encoding.BYTES_HEX) == expected
    assert encoded(rb"\x" + data.hex().upper().encode(), Encoding.BYTES_HEX) == expected
    assert output_of(data, _put_bytes) == expected


def test_every_character_that_is_not_hexadecimal_is_refused() -> None:
    valid = b"0123456789abcdefABCDEF"
    for code in range(256):
        for place in range(12):
            text = bytearray(rb"\x" + b"0" * 12)
            text[2 + place] = code
            assert (encoded(bytes(text), Encoding.BYTES_HEX) is None) == (code not in valid)
    for text in (b"", b"\\", rb"\x0", b"00", b"x0", rb"\X00"):
        assert encoded(text, Encoding.BYTES_HEX) is None

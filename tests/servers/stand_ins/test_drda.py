"""Changes that the bridge makes to DRDA's bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_demo.db2.drda import (
    CREATING,
    ENDING,
    Part,
    Replies,
    Requests,
    Untranslatable,
    join_parts,
    split_parts,
)

PARTS = st.lists(st.builds(Part, st.integers(0, 0x7FFF), st.binary(max_size=60)), max_size=5)


def dss(kind: int, body: bytes) -> bytes:
    return (len(body) + 6).to_bytes(2) + bytes((0xD0, kind, 0, 1)) + body


def pieces(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)})
    return [stream[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@given(PARTS)
def test_parts_come_back(parts: list[Part]) -> None:
    assert split_parts(join_parts(parts)) == parts


def test_a_long_part_comes_back() -> None:
    parts = [Part(1, b"x" * 100_000), Part(2, b"")]
    assert split_parts(join_parts(parts)) == parts


@given(st.binary(max_size=40))
def test_bytes_that_are_no_parts_give_no_parts(body: bytes) -> None:
    parts = split_parts(body)
    assert parts is None or sum(len(part.value) + 4 for part in parts) <= len(body)


@given(PARTS, st.lists(st.integers(0, 400), max_size=6))
def test_where_the_bytes_are_cut_makes_no_difference(parts: list[Part], cuts: list[int]) -> None:
    stream = dss(1, join_parts(parts)) + dss(3, join_parts(parts))
    requests = Requests()
    cut = b"".join(requests.feed(piece) for piece in pieces(stream, cuts))
    assert cut == Requests().feed(stream)


def test_a_request_of_many_segments_comes_out_whole() -> None:
    statement = Part(0x2414, b"x" * 70_000)
    body = join_parts([statement])
    whole = bytes((0xD0, 3, 0, 1)) + body
    first, rest = whole[:32_765], whole[32_765:]
    stream = b"\xff\xff" + first
    while rest:
        segment, rest = rest[:32_765], rest[32_765:]
        stream += ((len(segment) + 2) | (0x8000 if rest else 0)).to_bytes(2) + segment
    assert Requests().feed(stream) == stream


def parameters(kind: int, length: int, value: bytes) -> bytes:
    description = bytes((6, 0x76, 0xD0, kind)) + length.to_bytes(2)
    operands = join_parts([Part(0x0010, description), Part(0x147A, b"\x00" + value)])
    return dss(3, join_parts([Part(0x2412, operands)]))


@given(st.text(max_size=30))
def test_graphic_characters_become_utf8(text: str) -> None:
    text = text.encode("utf-16-be", "ignore").decode("utf-16-be")
    encoded, plain = text.encode("utf-16-be"), text.encode()
    sent = parameters(0x38, 200, (len(encoded) // 2).to_bytes(2) + encoded)
    assert Requests().feed(sent) == parameters(0x3E, 0x7FFF, len(plain).to_bytes(2) + plain)


def test_a_null_stays_one() -> None:
    assert Requests().feed(parameters(0x39, 200, b"\xff")) == parameters(0x3F, 0x7FFF, b"\xff")


def test_a_parameter_of_an_unknown_type_is_an_error() -> None:
    with pytest.raises(Untranslatable, match="0xC8"):
        Requests().feed(parameters(0xC8, 4, b"\x00\x00\x00\x01"))


@pytest.mark.parametrize("encoding", ["cp500", "utf-8"])
def test_a_database_is_made_or_ended_on_the_ports_that_do_so(encoding: str) -> None:
    def request(name: str) -> bytes:
        operand = Part(0x2110, name.encode(encoding))
        return dss(1, join_parts([Part(0x106D, join_parts([operand]))]))

    name = "T1".ljust(18)
    assert Requests().feed(request(name)) == request(name)
    assert Requests(CREATING).feed(request(name)) == request("T1;create=true".ljust(18))
    assert Requests(ENDING).feed(request(name)) == request("T1;shutdown=true".ljust(18))


def test_the_servers_release_is_put_right_but_not_in_rows() -> None:
    message = dss(
        2, join_parts([Part(0x1443, join_parts([Part(0x115A, "CSS10161".encode("cp500"))]))])
    )
    diagnosed = dss(3, join_parts([Part(0x2408, b"\x00CSS10161\xff")]))
    rows = dss(3, join_parts([Part(0x241B, b"CSS10161")]))
    replies = Replies()
    assert "SQL08020".encode("cp500") in replies.feed(message)
    assert b"SQL08020" in replies.feed(diagnosed)
    assert replies.feed(rows) == rows


@pytest.mark.parametrize(("code", "state"), [(10_000, b"02000"), (10_000, b"01003")])
def test_a_warning_loses_its_text_and_one_without_rows_its_code(code: int, state: bytes) -> None:
    def outcome(code: int, texts: bytes) -> bytes:
        value = b"\x00" + code.to_bytes(4) + state + b"SQL08020" + bytes(25) + b" " * 11 + texts
        return dss(3, join_parts([Part(0x2408, value)]))

    text = b"No row was found"
    message = Replies().feed(outcome(code, bytes((0, 0, 0, len(text))) + text + b"\x00\x00\xff"))
    expected = 100 if state == b"02000" else code
    assert message == outcome(expected, bytes(6) + b"\xff")


@pytest.mark.parametrize(
    ("seconds", "number"), [(0, b"0.0"), (7200, b"20000.0"), (-12_600, b"-33000.0")]
)
def test_derby_has_a_number_in_the_place_of_the_distance_from_utc(
    seconds: int, number: bytes
) -> None:
    text = b"SELECT CURRENT TIMEZONE FROM SYSIBM.SYSDUMMY1"
    expected = b"SELECT " + number.rjust(16) + b" FROM SYSIBM.SYSDUMMY1"
    sent, received = (dss(3, join_parts([Part(0x2414, content)])) for content in (text, expected))
    assert Requests(distance=lambda: seconds).feed(sent) == received

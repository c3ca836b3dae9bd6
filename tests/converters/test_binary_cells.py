"""Binary cells: the compiled encoders against the plain renderer, and cells in whole events."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.connect import images
from headrace.connect.encoding import FIRST_DOCUMENT, Encoding
from headrace.connect.images import CellKind, split, split_checked
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Image, Shape, group_by_shape, struct_of
from headrace.connect.rows import ROW, TRANSACTION, RowTable, Sequences
from headrace.connect.schema import Schema, Type
from headrace.converters.json.kernels import binary
from headrace.converters.json.values import JsonOptions, render
from tests.compiled import callable_part
from tests.converters.json_converter import json_converter

_split_checked = callable_part(split_checked)

_split = callable_part(split)

OPTIONS = JsonOptions()


@entry
def _encode(address: int, length: int, code: int, out: int) -> int:
    return binary.encode_binary(address, length, code, out)


def encoded(raw: bytes, encoding: Encoding) -> str | None:
    """None: the cell is for Python."""
    source = np.frombuffer(raw + bytes(PADDING), np.uint8)
    out = np.zeros(6 * len(raw) + 64 + PADDING, np.uint8)
    end = _encode(address_of(source), len(raw), int(encoding), address_of(out))
    return None if end < 0 else out[: end - address_of(out)].tobytes().decode()


def shown(kind: Type, value: object) -> str:
    return render(Schema(kind), value)


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
def test_integers(value: int) -> None:
    assert encoded(value.to_bytes(8, "little", signed=True), Encoding.INT64_LE) == str(value)
    for size, encoding in ((4, Encoding.INT32_LE), (2, Encoding.INT16_LE)):
        raw = value.to_bytes(8, "little", signed=True)[:size]
        assert encoded(raw, encoding) == str(int.from_bytes(raw, "little", signed=True))


def bits_of_doubles() -> st.SearchStrategy[int]:
    """Doubles of every exponent, near borders of binades, decimal ones, and small integers."""
    return st.one_of(
        st.integers(0, 2**64 - 1),
        st.builds(
            lambda sign, exponent, low: (sign << 63 | exponent << 52) + low & (2**64 - 1),
            st.integers(0, 1), st.integers(0, 2047), st.integers(-3, 3),
        ),
        st.floats().map(lambda value: int.from_bytes(struct.pack("<d", value), "little")),
        st.builds(lambda n, e: n * 10.0**e, st.integers(-(10**6), 10**6), st.integers(-30, 30)).map(
            lambda value: int.from_bytes(struct.pack("<d", value), "little")
        ),
    )  # fmt: skip


@given(bits_of_doubles())
@example(1)
@example(2)
@example(3)
@example(0x7FEFFFFFFFFFFFFF)
@example(0x0010000000000000)
@example(0x4480F0CF064DD592)
def test_doubles_are_as_java_writes_them(bits: int) -> None:
    raw = bits.to_bytes(8, "little")
    (value,) = struct.unpack("<d", raw)
    assert encoded(raw, Encoding.FLOAT64_LE) == shown(Type.FLOAT64, value)


@given(
    st.one_of(
        st.integers(0, 2**32 - 1),
        st.builds(
            lambda sign, exponent, low: (sign << 31 | exponent << 23) + low & (2**32 - 1),
            st.integers(0, 1),
            st.integers(0, 255),
            st.integers(-3, 3),
        ),
        st.floats(width=32).map(lambda v: int.from_bytes(struct.pack("<f", v), "little")),
    )
)
@example(1)
@example(7)
@example(8)
def test_floats_are_as_java_writes_them(bits: int) -> None:
    raw = bits.to_bytes(4, "little")
    (value,) = struct.unpack("<f", raw)
    assert encoded(raw, Encoding.FLOAT32_LE) == shown(Type.FLOAT32, value)


@given(st.binary(max_size=200))
def test_bytes(raw: bytes) -> None:
    assert encoded(raw, Encoding.BYTES) == shown(Type.BYTES, raw)
    assert encoded(raw, Encoding.BINARY_HEX) == f'"{raw.hex()}"'


@given(
    st.binary(max_size=9),
    st.sampled_from([encoding for encoding in Encoding if encoding < FIRST_DOCUMENT]),
)
def test_what_has_not_the_form_of_its_encoding_is_left_to_python(
    raw: bytes, encoding: Encoding
) -> None:
    sizes = {
        Encoding.INT16_LE: 2, Encoding.INT32_LE: 4, Encoding.INT64_LE: 8,
        Encoding.FLOAT32_LE: 4, Encoding.FLOAT64_LE: 8,
        Encoding.BYTES: len(raw), Encoding.BINARY_HEX: len(raw),
    }  # fmt: skip
    fits = sizes.get(encoding) == len(raw)
    if encoding is Encoding.BINARY_BOOLEAN:
        fits = raw in (b"\0", b"\1")
    assert (encoded(raw, encoding) is not None) == fits


def test_booleans() -> None:
    assert encoded(b"\1", Encoding.BINARY_BOOLEAN) == "true"
    assert encoded(b"\0", Encoding.BINARY_BOOLEAN) == "false"
    assert encoded(b"\2", Encoding.BINARY_BOOLEAN) is None


CELLS = st.lists(
    st.tuples(st.sampled_from(list(CellKind)), st.binary(max_size=20)), min_size=1, max_size=6
)


def image_of(cells: list[tuple[CellKind, bytes]]) -> bytes:
    out = struct.pack("!H", len(cells))
    for kind, raw in cells:
        out += bytes([kind])
        if kind in (CellKind.TEXT, CellKind.BINARY):
            out += struct.pack("!I", len(raw)) + raw
    return out


@given(CELLS, st.binary(max_size=5))
def test_the_codec_reads_what_was_written(
    cells: list[tuple[CellKind, bytes]], following: bytes
) -> None:
    raw = image_of(cells)
    values = [raw if kind in (CellKind.TEXT, CellKind.BINARY) else None for kind, raw in cells]
    read_cells = images.cells(raw + following, unavailable=images.ABSENT)
    for (kind, _), value, read_cell in zip(cells, values, read_cells, strict=True):
        assert read_cell is images.ABSENT if kind is CellKind.UNAVAILABLE else read_cell == value
    assert images.is_whole(raw + following) == all(
        kind != CellKind.UNAVAILABLE for kind, _ in cells
    )
    if all(kind is not CellKind.BINARY for kind, _ in cells):
        assert images.make_image(read_cells) == raw
    memory = np.frombuffer(raw + following + bytes(PADDING), np.uint8)
    at = address_of(memory)
    checked = np.zeros((len(cells), 3), np.int64)
    assert _split_checked(at, at + len(raw), len(cells), address_of(checked)) == at + len(raw)
    assert _split_checked(at, at + len(raw) - 1, len(cells), address_of(checked)) == -1
    plain = np.zeros((len(cells) + 1, 3), np.int64)
    _split(at, address_of(plain), len(cells) + 1)
    assert plain[-1, 0] == images.NO_CELL
    assert plain[:-1, 0].tolist() == [int(kind) for kind, _ in cells]
    for row, value in zip(plain, values, strict=False):
        if value is not None:
            assert memory[row[1] - at :][: row[2]].tobytes() == value


@pytest.mark.parametrize("source", [Image.NEW, Image.EXTRA, Image.TRANSACTION])
def test_binary_cells_of_every_image_are_shown(source: Image) -> None:
    raw = image_of(
        [
            (CellKind.BINARY, struct.pack("<q", -7)),
            (CellKind.BINARY, struct.pack("<d", 2e23)),
            (CellKind.TEXT, b"AAAB.001"),
            (CellKind.NULL, b""),
        ]
    )
    memory = np.frombuffer(raw + bytes(PADDING), np.uint8)
    rows, transactions = np.zeros(1, ROW), np.zeros(1, TRANSACTION)
    rows["operation"] = ord("c")
    if source is Image.TRANSACTION:
        transactions["image"], transactions["size"] = address_of(memory), len(raw)
    else:
        rows[source.name.lower()], rows["size"] = address_of(memory), len(raw)

    def cell(kind: Type, column: int, encoding: Encoding) -> Cell:
        return Cell(Schema(kind, optional=True), source, column, encoding, 0, bytes.decode)

    value = struct_of(
        None,
        {
            "count": cell(Type.INT64, 0, Encoding.INT64_LE),
            "share": cell(Type.FLOAT64, 1, Encoding.FLOAT64_LE),
            "rs_id": cell(Type.STRING, 2, Encoding.STRING),
            "user_name": cell(Type.STRING, 3, Encoding.STRING),
        },
    )
    records = group_by_shape(RowTable(rows, transactions, (memory,)), {0: Shape("t", None, value)})
    (batch,) = json_converter(OPTIONS, OPTIONS, OPTIONS).convert(records, Sequences(1))
    (record,) = batch.to_pylist()
    assert json.loads(record["value"]) == {
        "count": -7, "share": 2e23, "rs_id": "AAAB.001", "user_name": None
    }  # fmt: skip
    assert '"share":2.0E23' in record["value"]

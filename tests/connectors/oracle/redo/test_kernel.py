"""The kernel of redo statements against the plain parser, and the bytes that it may read."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.redo.reference import parse_statement
from headrace.connectors.oracle.redo.statements import RedoImages, RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.errors import HeadraceError
from tests.connectors.oracle.redo.tables import TYPES, images_of, parsed, table

TABLE = table()
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
CLOCKS = st.datetimes().map(lambda time: f"{time:%Y-%m-%d %H:%M:%S}".rjust(19, "0"))
FRACTIONS = st.sampled_from(("", ".", ".5", ".120", ".123456", ".000000000", ".123456789"))
OFFSETS = st.sampled_from((" +00:00", " -11:00", " +05:30", "+01:00", ""))
NUMBERS = st.one_of(
    st.integers().map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from((".5", "-.5", "0", "-0", "00", "1.", "1E+5", "-0.0", "")),
)


def quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def unistr(text: str) -> str:
    """A text as LogMiner writes it where it is not in the database's character set."""
    raw = text.encode("utf-16-be")
    units = (int.from_bytes(raw[place : place + 2], "big") for place in range(0, len(raw), 2))
    return "UNISTR('" + "".join(f"\\{unit:04X}" for unit in units) + "')"


WORDS = st.one_of(TEXTS.map(quoted), TEXTS.map(unistr))
JOINED = st.lists(WORDS, min_size=1, max_size=3).map(" || ".join)
TIMES = st.tuples(CLOCKS, FRACTIONS).map("".join)
ZONED = st.tuples(CLOCKS, FRACTIONS, OFFSETS).map(lambda p: f"TO_TIMESTAMP_TZ('{''.join(p)}')")
NUMERIC = st.one_of(NUMBERS.map(quoted), NUMBERS.filter(bool))
LITERALS = {
    "ID": NUMERIC,
    "NAME": JOINED,
    "AMOUNT": NUMERIC,
    "DAY": CLOCKS.map(lambda text: f"TO_DATE('{text}', 'YYYY-MM-DD HH24:MI:SS')"),
    "AT": TIMES.map(lambda text: f"TO_TIMESTAMP('{text}')"),
    "ZONED": ZONED,
    "LOCAL": ZONED,
    "BYTES": st.binary(max_size=20).map(lambda raw: f"HEXTORAW('{raw.hex()}')"),
    "LARGE": st.one_of(JOINED, st.just("EMPTY_CLOB()")),
    "NATIONAL": JOINED,
    "SINGLE": st.floats(width=32).map(lambda number: f"'{number:.8E}'"),
    "YEARS": st.integers(0, 99).map(lambda years: f"TO_YMINTERVAL('+{years:02}-03')"),
    "DAYS": st.integers(0, 99).map(lambda days: f"TO_DSINTERVAL('-{days:02} 01:02:03.5')"),
    "TRUTH": st.sampled_from(("TRUE", "'FALSE'", "1", "'0'", "HEXTORAW('01')")),
}
ALWAYS = st.sampled_from(("NULL", "Unsupported Type", "Unsupported"))


def value(name: str) -> st.SearchStrategy[str]:
    """A literal of a column's type, NULL, or what LogMiner does not support."""
    return st.one_of(LITERALS[name], LITERALS[name], ALWAYS)


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A statement as LogMiner writes it, of some columns in some order."""
    names = draw(st.one_of(st.permutations(list(TYPES)), st.just(list(TYPES))))
    names = names[: draw(st.integers(1, len(names)))]
    alias = draw(st.sampled_from(("", "a.")))
    of = '"S"."T"' + (" a" if alias else "")
    set_names = names[: draw(st.integers(1, len(names)))]
    conditions = " and ".join(
        f'{alias}"{name}" IS NULL'
        if draw(st.integers(0, 5)) == 0
        else f'{alias}"{name}" = {draw(value(name))}'
        for name in names
    )
    match draw(st.integers(0, 3)):
        case 0:
            listed = ",".join(f'"{name}"' for name in names)
            values = ",".join(draw(value(name)) for name in names)
            return f'insert into "S"."T"({listed}) values ({values});'
        case 1:
            return f"delete from {of} where {conditions};"
        case 2:
            return f"delete from {of};"
    assigned = ", ".join(f'{alias}"{name}" = {draw(value(name))}' for name in set_names)
    return f"update {of} set {assigned} where {conditions};"


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement in which something was replaced, left out or doubled."""
    text = draw(statements())
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        pieces = st.sampled_from(
            ("", "'", '"', "''", "(", ")", ",", ";", " ", "||", " and ", " where ", "a.", "\\", "0")
        )
        text = text[:start] + draw(pieces) * draw(st.integers(0, 2)) + text[end:]
    return text


def expected(sql: str, of: RedoTable) -> bytes:
    """The plain parser's result for a statement: empty if it refuses it."""
    try:
        change = parse_statement(sql, of)
    except HeadraceError:
        return b""
    return change.old + change.new


@given(st.lists(st.one_of(statements(), mutated()), min_size=1, max_size=4))
def test_the_kernel_makes_the_images_of_the_plain_parser(batch: list[str]) -> None:
    images = parsed(batch, TABLE)
    for row, sql in enumerate(batch):
        assert images_of(images, row) == expected(sql, TABLE)
        assert (row in images.errors) == (images_of(images, row) == b"")


@given(statements())
def test_most_statements_are_read_by_the_kernel(sql: str) -> None:
    odd = ("SINGLE", "YEARS", "DAYS", "LOCAL", "ZONED", "ID", "AMOUNT", "TRUTH")
    if not any(f'"{name}" = ' in sql or f'"{name}"' in sql.split(" values ")[0] for name in odd):
        assert parsed([sql], TABLE).odd == 0


def before_a_guard(texts: list[bytes], page: mmap.mmap) -> pa.Array:
    """The texts in memory after which no byte can be read."""
    raw = b"".join(texts)
    start = mmap.PAGESIZE * 16 - len(raw)
    assert start >= 0
    page[start : start + len(raw)] = raw
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int32)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page)) + start
    values = pa.foreign_buffer(address, len(raw), page)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), values)


@pytest.fixture(scope="module")
def guarded() -> mmap.mmap:
    """Sixteen pages, and one after them that cannot be read."""
    page = mmap.mmap(-1, mmap.PAGESIZE * 17)
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page)) + mmap.PAGESIZE * 16
    assert libc.mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0
    return page


@given(texts=st.lists(st.one_of(statements(), mutated()), min_size=1, max_size=3))
def test_no_statement_is_read_outside_of_its_bytes(guarded: mmap.mmap, texts: list[str]) -> None:
    raw = [text.encode()[:15_000] for text in texts]
    redo = RedoStatements()
    numbers = np.full(len(raw), redo.add(TABLE), np.int32)
    images = redo.parse(before_a_guard(raw, guarded), numbers)
    assert_same(images, texts)


def assert_same(images: RedoImages, texts: list[str]) -> None:
    """Each statement is what it is alone, whatever follows it."""
    for row, text in enumerate(texts):
        assert images_of(images, row) == images_of(parsed([text], TABLE), 0)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5), st.data())
def test_any_bytes_are_safe(raw: list[bytes], data: st.DataObject) -> None:
    starts = st.sampled_from((b"", b'insert into "S"."T"(', b'update "S"."T" set "ID" = ', b"d"))
    texts = [data.draw(starts) + text for text in raw]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int32)
    array = pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))
    )
    redo = RedoStatements()
    images = redo.parse(array, np.full(len(texts), redo.add(TABLE), np.int32))
    assert len(images.offsets) == len(texts) + 1


def test_tables_are_mixed_in_a_batch_and_slices_are_read() -> None:
    redo = RedoStatements()
    first, second = redo.add(table("ID")), redo.add(table("NAME", "ID"))
    texts = pa.array(
        ['delete from "S"."T";', 'insert into "S"."T"("ID") values (\'1\');',
         'insert into "S"."T"("NAME","ID") values (\'a\',\'2\');'],
        pa.large_string(),
    )  # fmt: skip
    images = redo.parse(texts.slice(1), np.array([first, second]))
    assert images.operations.tobytes() == b"cc"
    assert [images_of(images, row) for row in (0, 1)] == [
        b"\0\1t\0\0\0\x011",
        b"\0\2t\0\0\0\x01at\0\0\0\x012",
    ]


def test_a_batch_without_statements_has_no_images() -> None:
    images = parsed([], TABLE)
    assert (len(images.images), list(images.offsets)) == (0, [0])

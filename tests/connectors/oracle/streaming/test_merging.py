"""Values apart from their rows, put into changes: frames in, frames out."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from headrace.connect.images import ABSENT, cells, make_image
from headrace.connectors.oracle.redo.tables import Form, RedoColumn, RedoTable
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.lobs.frames import held_row
from headrace.connectors.oracle.streaming.lobs.merging import LobTable, Merging

RELATION, PLAIN = 7, 8
Row = Sequence[str | bytes | None]
TABLE = RedoTable(
    "S",
    "T",
    (
        RedoColumn("ID", Form.NUMBER),
        RedoColumn("V", Form.TEXT),
        RedoColumn("C", Form.TEXT, is_apart=True),
        RedoColumn("B", Form.BYTES, is_apart=True),
    ),
)
TABLES = {RELATION: LobTable((0,), (2, 3)), PLAIN: LobTable((0,), ())}
LOCATOR = (
    'DECLARE \n loc_{0} CLOB; \nBEGIN\n select "{1}" into loc_{0} from "S"."T" where '
    "\"ID\" = '{2}' for update;\n"
)
EXTENDED = (
    'DECLARE \n buf_c VARCHAR2(32767); \nBEGIN\n  Stmt := \'update "S"."T" a set a."C" = :1 '
    "where a.\"ID\" = ''1''';\n"
)


def frame(kind: str, *rows: Row, row_id: str = "A", relation: int = RELATION) -> bytes:
    """A change as it is held."""
    extra = make_image((None, row_id, None, None))
    body = struct.pack("!IQq", relation, 10, 20) + extra + b"".join(map(make_image, rows))
    return struct.pack("!IB", 5 + len(body), ord(kind)) + body


def apart(code: int, sql: str | None, info: str | None = None, row_id: str = "A") -> bytes:
    """A row of redo of a value apart from its row, as it is held."""
    kind, raw = held_row(code, sql, info, TABLE, "utf-8")
    body = struct.pack("!IQq", RELATION, 11, 21) + make_image((None, row_id, None, None)) + raw
    return struct.pack("!IB", 5 + len(body), kind) + body


def locator(number: int = 1, column: str = "C", kind: str = "c") -> bytes:
    return apart(redo_rows.SELECT_LOB_LOCATOR, LOCATOR.format(kind, column, number))


def write(text: str, offset: int = 1, kind: str = "c") -> bytes:
    value = f"HEXTORAW('{text}')" if kind == "b" else f"'{text}'"
    size = len(text) // 2 if kind == "b" else len(text)
    return apart(
        redo_rows.LOB_WRITE,
        f" buf_{kind} := {value}; \n  dbms_lob.write(loc_{kind}, {size}, {offset}, buf_{kind});\n",
    )


def merged(*held: bytes) -> list[tuple[str, list[list[str | None]]]]:
    """Kinds and images of what comes out; unavailable cells are `?`."""
    told = []
    for out in Merging(TABLES).merged((one, False) for one in held):
        size, kind = struct.unpack_from("!IB", out)
        assert size == len(out)
        rest, images = out[25:], []
        while rest:
            row = cells(rest, unavailable=ABSENT)
            texts = [None if v is None else "?" if v is ABSENT else v.decode() for v in row]
            images.append(texts)
            rest = rest[len(make_image(row)) :]
        told.append((chr(kind), images[1:]))
    return told


def test_parts_are_put_where_they_belong_and_gaps_are_filled() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)),
        locator(), write("cd", 3), write("a", 1),
        locator(1, "B", "b"), write("0a0b", 3, "b"),
    )  # fmt: skip
    assert out == [("c", [["1", "v", "a cd", "\\x00000a0b"]])]


def test_a_value_alone_is_an_update() -> None:
    row = ["1", None, "?", "?"]
    assert merged(locator(), write("x")) == [("u", [row, ["1", None, "x", "?"]])]


def test_a_value_that_is_named_and_not_written_is_null() -> None:
    row = ["1", None, "?", "?"]
    assert merged(locator()) == [("u", [row, ["1", None, None, "?"]])]


def test_a_value_that_is_erased_is_no_event() -> None:
    erase = apart(redo_rows.LOB_ERASE, "")
    assert merged(locator(), write("x"), erase, frame("c", ("2", "v", None, None))) == [
        ("c", [["2", "v", None, None]])
    ]


def test_an_update_is_put_into_the_insert_before_it() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)),
        frame("u", ("1", "v", ABSENT, ABSENT), ("1", "w", ABSENT, ABSENT)),
        locator(), write("x"),
    )  # fmt: skip
    assert out == [("c", [["1", "w", "x", None]])]


@pytest.mark.parametrize(
    ("second", "row_id", "count"), [("x", "A", 1), ("x", "B", 2), (ABSENT, "A", 2)]
)
def test_an_update_is_put_into_another_of_its_row_that_sets_a_large_value(
    second: str | bytes, row_id: str, count: int
) -> None:
    before: Row = ("1", "v", ABSENT, ABSENT)
    out = merged(
        frame("u", before, ("1", "w", ABSENT, ABSENT)),
        frame("u", before, ("1", "w", second, ABSENT), row_id=row_id),
    )
    assert len(out) == count


def test_a_delete_is_an_event_of_its_own() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)), locator(), write("x"),
        frame("d", ("1", "v", ABSENT, ABSENT)),
    )  # fmt: skip
    assert [kind for kind, _ in out] == ["c", "d"]
    assert out[0][1] == [["1", "v", "x", None]]


def test_rows_wait_apart_and_come_in_the_order_in_which_they_came() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)),
        frame("c", ("2", "v", None, None)),
        locator(2), write("two"), locator(1), write("one"),
    )  # fmt: skip
    assert out == [("c", [["1", "v", "one", None]]), ("c", [["2", "v", "two", None]])]


def test_changes_of_tables_without_large_values_go_out_as_they_are() -> None:
    plain = frame("c", ("1", "v"), relation=PLAIN)
    assert list(Merging(TABLES).merged([(plain, False)])) == [plain]


def test_extended_strings_and_xml_are_put_together() -> None:
    out = merged(
        apart(redo_rows.LONG_BEGIN, EXTENDED),
        apart(redo_rows.LONG_WRITE, " buf_c := 'one, '; \n  x;\n"),
        apart(redo_rows.LONG_WRITE, " buf_c := 'two'; \n  x;\n"),
    )
    assert out[0][1][1][2] == "one, two"
    begin = 'XML DOC BEGIN:  select "C" from "S"."T" where "ID" = \'1\''
    told = "XML sql_redo not re-executable"
    out = merged(
        apart(redo_rows.XML_BEGIN, begin, told),
        apart(redo_rows.XML_WRITE, "XML_REDO := HEXTORAW('3c612f3e'):4", told),
    )
    assert out[0][1][1][2] == "<a/>"
    out = merged(
        apart(redo_rows.XML_BEGIN, begin, told),
        apart(redo_rows.XML_WRITE, "XML_REDO := NULL", told),
    )
    assert out[0][1][1][2] is None


def test_values_of_a_change_that_was_rolled_back_are_in_no_event() -> None:
    held = [
        (frame("c", ("1", "v", None, None)), True),
        (locator(), False),
        (write("x"), False),
        (frame("c", ("2", "v", None, None)), False),
        (locator(2), False),
        (write("y"), False),
    ]
    (out,) = Merging(TABLES).merged(held)
    assert b"y" in out
    assert b"x" not in out

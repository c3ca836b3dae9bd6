"""Values apart from their rows, put into changes: frames in, frames out."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import ABSENT, cells, make_image
from headrace.connectors.oracle.redo.tables import LiteralForm, RedoColumn, RedoTable
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.lobs import frames
from headrace.connectors.oracle.streaming.lobs.changes import LobTable
from headrace.connectors.oracle.streaming.lobs.frames import held_row, unread_row
from headrace.connectors.oracle.streaming.lobs.merging import Merging
from headrace.connectors.oracle.streaming.lobs.survey import Survey, surveyed
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.errors import HeadraceError
from headrace.relational.table import Column
from headrace.relational.table import Table as RelationalTable

RELATION, PLAIN = 7, 8
Row = Sequence[str | bytes | None]
TABLE = RedoTable(
    "S",
    "T",
    (
        RedoColumn("ID", LiteralForm.NUMBER),
        RedoColumn("V", LiteralForm.TEXT),
        RedoColumn("C", LiteralForm.TEXT, is_apart=True),
        RedoColumn("B", LiteralForm.BYTES, is_apart=True),
    ),
)
COLUMNS = tuple(
    Column(name, OracleType(declared), not_null=False)
    for name, declared in (("ID", "NUMBER"), ("V", "VARCHAR2"), ("C", "CLOB"), ("B", "BLOB"))
)
TABLES = {
    RELATION: LobTable.of(RelationalTable("S", "T", COLUMNS, ("ID",)), TABLE, ["ID"]),
    PLAIN: LobTable("S.P", (0,), ()),
}
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


def unread(code: int, row_id: str = "A") -> bytes:
    """A row of redo of a value apart from its row that cannot be read, as it is held."""
    kind, raw = unread_row(code)
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


def undo(operation: int, row_id: str = "A", record: str | None = None) -> bytes:
    """A row of redo that takes a change back."""
    body = struct.pack("!IQq", RELATION, 12, 22) + make_image((record, row_id, None, None))
    return struct.pack("!IB", 6 + len(body), frames.UNDOES) + body + bytes([operation])


def reselect(
    table: RelationalTable, columns: Sequence[int], key: Sequence[int], row: Sequence[bytes | None]
) -> dict[int, bytes | None]:
    """The present values of a row: the names of its columns, and its key."""
    names = [table.columns[place].name.encode() for place in columns]
    (number,) = (row[place] for place in key)
    assert number is not None
    return {place: name + number for place, name in zip(columns, names, strict=True)}


def made(held_frames: list[tuple[bytes, bool]]) -> list[bytes]:
    """The merged frames, which are the same whether simple rows wait like others or not."""
    survey = surveyed(lambda: held_frames, TABLES)
    out = list(Merging(TABLES, reselect, failed).merged(lambda: held_frames, survey))
    waiting = Survey(survey.undone, np.zeros_like(survey.simple))
    assert list(Merging(TABLES, reselect, failed).merged(lambda: held_frames, waiting)) == out
    return out


def failed(error: HeadraceError) -> None:
    raise error


def merged(*held_frames: bytes) -> list[tuple[str, list[list[str | None]]]]:
    """Kinds and images of what comes out; unavailable cells are `?`."""
    frames = []
    for out in made([(frame, False) for frame in held_frames]):
        size, kind = struct.unpack_from("!IB", out)
        assert size == len(out)
        rest, images = out[25:], []
        while rest:
            row = cells(rest, unavailable=ABSENT)
            texts = [None if v is None else "?" if v is ABSENT else v.decode() for v in row]
            images.append(texts)
            rest = rest[len(make_image(row)) :]
        frames.append((chr(kind), images[1:]))
    return frames


def test_parts_are_put_where_they_belong_and_gaps_are_filled() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)),
        locator(), write("cd", 3), write("a", 1),
        locator(1, "B", "b"), write("0a0b", 3, "b"),
    )  # fmt: skip
    assert out == [("c", [["1", "v", "a cd", "\\x00000a0b"]])]


@pytest.mark.parametrize("code", [redo_rows.LOB_WRITE, redo_rows.LONG_WRITE, redo_rows.XML_WRITE])
def test_a_part_that_cannot_be_read_makes_its_value_unavailable(code: int) -> None:
    insert = frame("c", ("1", "v", None, None))
    out = merged(
        insert, locator(), write("a"), unread(code), write("b", 2), locator(1, "B", "b"),
        write("0a", 1, "b"),
    )  # fmt: skip
    assert out == [("c", [["1", "v", "?", "\\x0a"]])]


@pytest.mark.parametrize(
    "code", [redo_rows.SELECT_LOB_LOCATOR, redo_rows.LONG_BEGIN, redo_rows.XML_BEGIN]
)
def test_a_value_whose_row_cannot_be_read_is_written_to_no_other(code: int) -> None:
    part = apart(redo_rows.LONG_WRITE, " buf_c := 'tail'; call;")
    held_frames = [
        frame("c", ("1", "v", None, None)), locator(), write("a"),
        frame("c", ("2", "v", "inline", None), row_id="B"), unread(code, "B"), part,
        frame("c", ("3", "v", None, None), row_id="C"),
    ]  # fmt: skip
    first, second, third = (images[0] for _, images in merged(*held_frames))
    assert first == ["1", "v", "a", "?"]
    assert second == ["2", "v", "inline", "?"]
    assert third == ["3", "v", None, None]
    undone = [(frame, False) for frame in (*held_frames, undo(redo_rows.DELETE, "C"))]
    assert len(made(undone)) == 2


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
    assert made([(plain, False)]) == [plain]


def test_extended_strings_and_xml_are_put_together() -> None:
    out = merged(
        apart(redo_rows.LONG_BEGIN, EXTENDED),
        apart(redo_rows.LONG_WRITE, " buf_c := 'one, '; \n  x;\n"),
        apart(redo_rows.LONG_WRITE, " buf_c := 'two'; \n  x;\n"),
    )
    assert out[0][1][1][2] == "one, two"
    begin = 'XML DOC BEGIN:  select "C" from "S"."T" where "ID" = \'1\''
    info = "XML sql_redo not re-executable"
    out = merged(
        apart(redo_rows.XML_BEGIN, begin, info),
        apart(redo_rows.XML_WRITE, "XML_REDO := HEXTORAW('3c612f3e'):4", info),
    )
    assert out[0][1][1][2] == "<a/>"
    out = merged(
        apart(redo_rows.XML_BEGIN, begin, info),
        apart(redo_rows.XML_WRITE, "XML_REDO := NULL", info),
    )
    assert out[0][1][1][2] is None


def test_values_of_a_change_that_the_buffer_cancelled_are_in_no_event() -> None:
    held_frames = [
        (frame("c", ("1", "v", None, None)), True),
        (locator(), False),
        (write("x"), False),
        (frame("c", ("2", "v", None, None), row_id="B"), False),
        (apart(redo_rows.SELECT_LOB_LOCATOR, LOCATOR.format("c", "C", 2), row_id="B"), False),
        (write("y"), False),
    ]
    (out,) = made(held_frames)
    assert b"y" in out
    assert b"x" not in out


INSERTED = frame("c", ("1", "v", None, None))
UPDATED = frame("u", ("1", "v", ABSENT, ABSENT), ("1", "w", ABSENT, ABSENT))
BY_UPDATE, BY_DELETE = undo(redo_rows.UPDATE), undo(redo_rows.DELETE)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ((INSERTED, locator(), write("x"), BY_UPDATE), [("c", [["1", "v", None, None]])]),
        ((INSERTED, UPDATED, BY_UPDATE), [("c", [["1", "v", None, None]])]),
        ((INSERTED, locator(), write("x"), BY_DELETE), []),
        ((INSERTED, locator(), write("x"), BY_UPDATE, BY_DELETE), []),
        (
            (INSERTED, BY_DELETE, INSERTED, locator(), write("y")),
            [("c", [["1", "v", "y", None]])],
        ),
        (
            (locator(), write("x"), BY_UPDATE, locator(), write("y")),
            [("u", [["1", None, "?", "?"], ["1", None, "y", "?"]])],
        ),
        (
            (locator(), write("a"), locator(), write("b", 2), BY_UPDATE),
            [("u", [["1", None, "?", "?"], ["1", None, "a", "?"]])],
        ),
        (
            (frame("d", ("1", "v", ABSENT, ABSENT)), undo(redo_rows.INSERT), locator(), write("x")),
            [("u", [["1", None, "?", "?"], ["1", None, "x", "?"]])],
        ),
        ((INSERTED, undo(redo_rows.UPDATE, "B")), [("c", [["1", "v", None, None]])]),
        ((INSERTED, UPDATED, undo(redo_rows.UPDATE, "A" * 18)), [("c", [["1", "v", None, None]])]),
    ],
)  # fmt: skip
def test_a_rollback_to_a_savepoint_takes_the_newest_change_of_its_row(
    held: tuple[bytes, ...], expected: list[tuple[str, list[list[str | None]]]]
) -> None:
    assert merged(*held) == expected


NO_ROW = "A" * 18


@pytest.mark.parametrize(("operation", "count"), [(redo_rows.DELETE, 0), (redo_rows.UPDATE, 1)])
def test_a_record_without_rowids_is_taken_back_at_once(operation: int, count: int) -> None:
    sql = LOCATOR.format("c", "C", 1)
    record = (
        frame("c", ("1", "v", None, None), row_id=NO_ROW),
        apart(redo_rows.SELECT_LOB_LOCATOR, sql, row_id=NO_ROW),
        apart(
            redo_rows.LOB_WRITE,
            " buf_c := 'x'; \n  dbms_lob.write(loc_c, 1, 1, buf_c);\n",
            row_id=NO_ROW,
        ),
    )
    assert len(merged(*record, undo(operation, "B"))) == count


def test_parts_of_a_row_are_not_lost_where_another_row_changes_between_them() -> None:
    out = merged(locator(), frame("c", ("2", "v", None, None)), write("x"))
    assert out[0] == ("u", [["1", None, "?", "?"], ["1", None, "x", "?"]])


def test_a_change_that_says_more_goes_out_where_its_value_is_erased() -> None:
    erase = apart(redo_rows.LOB_ERASE, "")
    out = merged(frame("c", ("1", "v", None, None)), locator(), write("x"), erase)
    assert out == [("c", [["1", "v", "?", None]])]


def test_large_values_are_read_again_where_the_key_changes() -> None:
    out = merged(frame("u", ("1", "v", ABSENT, ABSENT), ("2", "v", ABSENT, "\\x00")))
    assert out == [("u", [["1", "v", "?", "?"], ["2", "v", "C2", "\\x00"]])]


def test_a_row_whose_key_changes_waits_after_what_it_was() -> None:
    moved = frame("u", ("1", "v", ABSENT, ABSENT), ("2", "v", ABSENT, ABSENT))
    gone = frame("d", ("2", "v", ABSENT, ABSENT))
    other = frame("c", ("3", "v", None, None))
    assert [kind for kind, _ in merged(INSERTED, moved, gone)] == ["c", "u", "d"]
    assert [rows[-1][0] for _, rows in merged(other, INSERTED, moved)] == ["3", "1", "2"]
    again = merged(INSERTED, moved, INSERTED)
    assert [(kind, rows[-1][0]) for kind, rows in again] == [("c", "1"), ("u", "2"), ("c", "1")]


def test_simple_rows_come_in_the_order_in_which_they_came_among_others() -> None:
    out = merged(
        frame("c", ("1", "v", None, None)), locator(1), write("one"),
        frame("c", ("2", "v", None, None)),
        frame("c", ("3", "v", None, None)), locator(3), write("three"),
        locator(2), write("two"),
        frame("d", ("4", "v", ABSENT, ABSENT)),
        locator(5),
    )  # fmt: skip
    assert [(kind, rows[-1][0], rows[-1][2]) for kind, rows in out] == [
        ("c", "1", "one"), ("c", "2", "two"), ("c", "3", "three"), ("d", "4", "?"), ("u", "5", None)
    ]  # fmt: skip


KINDS = ("c", "u", "d", "L", "W", "X", "M")


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 3)), max_size=12))
def test_simple_rows_are_made_as_if_they_had_waited(steps: list[tuple[str, int]]) -> None:
    held_frames = []
    for kind, number in steps:
        row, row_id = (str(number), "v", ABSENT, ABSENT), "ABC"[number - 1]
        match kind:
            case "c":
                held_frames.append(frame("c", (str(number), "v", None, None), row_id=row_id))
            case "u":
                held_frames.append(
                    frame("u", row, (str(number), "w", ABSENT, "\\x00"), row_id=row_id)
                )
            case "M":
                held_frames.append(frame("u", row, (str(number % 3 + 1), "w", ABSENT, ABSENT)))
            case "d":
                held_frames.append(frame("d", row, row_id=row_id))
            case "L":
                held_frames.append(locator(number))
            case "W":
                held_frames.append(write("x" * number, number))
            case _:
                held_frames.append(apart(redo_rows.LOB_ERASE, ""))
    made([(frame, False) for frame in held_frames])


@pytest.mark.parametrize(
    ("kind", "column", "value"), [("c", "B", "'text'"), ("c", "C", "HEXTORAW('ff')")]
)
def test_parts_that_do_not_belong_to_their_column_are_an_error(
    kind: str, column: str, value: str
) -> None:
    part = apart(redo_rows.LOB_WRITE, f" b := {value}; \n  dbms_lob.write(l, 1, 1, b);\n")
    with pytest.raises(HeadraceError) as caught:
        merged(locator(1, column, kind), part)
    assert caught.value.code == "oracle.redo_not_understood"
    assert "S.T" in caught.value.message


def test_bytes_of_a_text_are_read_in_its_character_set() -> None:
    hexadecimal = " b := HEXTORAW('c3a9'); \n  dbms_lob.write(l, 2, 1, b);\n"
    ((_, (_, after)),) = merged(locator(), apart(redo_rows.LOB_WRITE, hexadecimal))
    assert after[2] == "é"


def test_a_part_that_begins_too_late_in_the_value_is_an_error() -> None:
    with pytest.raises(HeadraceError):
        merged(locator(), write("x", 1 << 30))
    with pytest.raises(HeadraceError):
        write("x", 1 << 31)


def test_rows_that_are_simple_need_no_memory_of_their_own() -> None:
    def held(count: int) -> Iterator[tuple[bytes, bool]]:
        for number in range(count):
            row = (str(number), "v", None, None)
            yield frame("c", row, row_id=str(number)), False
            yield locator(number), False
            yield write("x" * 1000), False

    def peak(count: int) -> int:
        tracemalloc.start()
        survey = surveyed(lambda: held(count), TABLES)
        out = Merging(TABLES, reselect, failed).merged(lambda: held(count), survey)
        assert sum(1 for _ in out) == count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(600) - peak(300) < 300 * 600

"""Statements of values that the log holds apart, and what they put together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import cells
from headrace.connectors.oracle.redo import lob_statements as lobs
from headrace.connectors.oracle.redo.lob_statements import LobWrite
from headrace.connectors.oracle.redo.lob_values import LobValue
from headrace.errors import HeadraceError
from tests.connectors.oracle.redo.tables import UNAVAILABLE, table

TABLE = table("ID", "NAME", "LARGE")
DECLARATIONS = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n "
    "loc_nc NCLOB; \n buf_nc NVARCHAR2(6174); \nBEGIN\n"
)
BINARY = "XML sql_redo is not re-executable"


def row(named: lobs.NamedValue) -> list[bytes | None]:
    """The cells of the row that is named."""
    return cells(named.image, unavailable=UNAVAILABLE)


@pytest.mark.parametrize(("into", "is_binary"), [("loc_c", False), ("loc_b", True)])
def test_a_locator_names_a_row_and_a_column(into: str, is_binary: bool) -> None:
    sql = (
        f'{DECLARATIONS} select "LARGE" into {into} from "S"."T" where "ID" = \'1\' and '
        "\"NAME\" = 'it''s for update' for update;\n\n\n"
    )
    named = lobs.parse_locator(sql, TABLE)
    assert (named.column, named.is_binary) == (2, is_binary)
    assert row(named) == [b"1", b"it's for update", UNAVAILABLE]


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        (" buf_c := 'It''s, a := ''x''; text'; \n  dbms_lob.write(loc_c, 22, 1, buf_c);\n",
         LobWrite(0, "It's, a := 'x'; text")),
        (" buf_c := 'abcdef';\n dbms_lob.write(loc_c, 3, 11, buf_c);\nEND;", LobWrite(10, "abc")),
        (" buf_b := HEXTORAW('00ff10');\n dbms_lob.write(loc_b, 2, 1, buf_b);\n",
         LobWrite(0, b"\x00\xff")),
    ],
)  # fmt: skip
def test_a_write_has_a_place_and_a_part(sql: str, part: LobWrite) -> None:
    assert lobs.parse_lob_write(sql, TABLE) == part


def test_a_long_text_begins_with_a_statement_in_a_text() -> None:
    sql = (
        'DECLARE \n buf_c VARCHAR2(32767);\nBEGIN\n Stmt := \'update "S"."T" a set a."NAME" = :1 '
        "where a.\"ID\" = ''1'' and a.\"NAME\" IS NULL';\n"
    )
    named = lobs.parse_extended_begin(sql, TABLE)
    assert (named.column, row(named)) == (1, [b"1", None, UNAVAILABLE])
    written = lobs.parse_extended_write(" buf_c := 'it's; here';  EXECUTE IMMEDIATE x;", TABLE)
    assert written == "it's; here"


BLANKS = st.text(" \t\n", min_size=1, max_size=3)


@given(BLANKS, BLANKS, BLANKS, st.text("a';:= \n", max_size=12))
def test_blanks_around_assignments_say_nothing(
    before: str, left: str, right: str, text: str
) -> None:
    assigned = f"{before}buf_c{left}:={right}"
    call = "dbms_lob.writeappend(TempLob, length(buf_c), buf_c);"
    assert lobs.parse_extended_write(f"{assigned}'{text}'; {call}", TABLE) == text
    doubled = text.replace("'", "''")
    large = f"{assigned}'{doubled}'; dbms_lob.write(loc_c, {len(text)}, 1, buf_c);"
    assert lobs.parse_lob_write(large, TABLE) == LobWrite(0, text)
    begin = (
        f"DECLARE \n buf_c VARCHAR2(32767);\nBEGIN\n{before}Stmt{left}:={right}"
        """'update "S"."T" a set a."NAME" = :1 where a."ID" = ''1''';\n"""
    )
    named = lobs.parse_extended_begin(begin, TABLE)
    assert (named.column, row(named)) == (1, [b"1", None, UNAVAILABLE])
    hexadecimal = f"XML_REDO{left}:={right}HEXTORAW('3c612f3e'):4"
    assert lobs.parse_xml_write(hexadecimal, BINARY, "utf-8", TABLE) == "<a/>"
    assert lobs.parse_xml_write(f"XML_REDO{left}:={right}NULL", BINARY, "utf-8", TABLE) is None


def test_a_locator_of_a_table_with_relaxed_quotes_is_read() -> None:
    relaxed = table("ID", "NAME", "LARGE", relaxed=True)
    sql = (
        f"""{DECLARATIONS} select "LARGE" into loc_c from "S"."T" where "ID" = '1' for update;\n"""
    )
    assert row(lobs.parse_locator(sql, relaxed)) == [b"1", None, UNAVAILABLE]


def test_xml_is_binary_or_a_text() -> None:
    sql = 'XML DOC BEGIN:  select "LARGE" from "S"."T" where "ID" = \'1\''
    assert row(lobs.parse_xml_begin(sql, BINARY, TABLE)) == [b"1", None, UNAVAILABLE]
    sql = 'update "S"."T" a set a."LARGE" = XMLType(:1)  where a."ID" = \'1\';'
    assert lobs.parse_xml_begin(sql, None, TABLE).column == 2


@pytest.mark.parametrize(
    ("sql", "info", "text"),
    [
        ("XML_REDO := HEXTORAW('3c612f3e'):4", BINARY, "<a/>"),
        ("XML_REDO := HEXTORAW('3c612f3e):4", BINARY, "<a/>"),
        ("XML_REDO := '<a b=\"it's\"/>'||'':15", BINARY, "<a b=\"it's\"/>'||'"),
        ("XML_REDO := NULL", BINARY, None),
        ("<a>\n</a>", None, "<a>\n</a>"),
        (None, None, None),
    ],
)
def test_a_part_of_xml(sql: str | None, info: str | None, text: str | None) -> None:
    assert lobs.parse_xml_write(sql, info, "utf-8", TABLE) == text


def test_other_forms_are_refused() -> None:
    for attempt in (
        lambda: lobs.parse_locator("BEGIN null; END;", TABLE),
        lambda: lobs.parse_lob_write(" buf_c := 'a'; null;", TABLE),
        lambda: lobs.parse_extended_begin("BEGIN null; END;", TABLE),
        lambda: lobs.parse_extended_write("x", TABLE),
        lambda: lobs.parse_xml_begin("x", BINARY, TABLE),
        lambda: lobs.parse_xml_write("XML_REDO := HEXTORAW('3c6'):4", BINARY, "utf-8", TABLE),
    ):
        with pytest.raises(HeadraceError) as caught:
            attempt()
        assert caught.value.code == "oracle.redo_not_understood"


PARTS = st.lists(
    st.tuples(st.integers(0, 20), st.text("ab\u00e4\U0001f600", max_size=8)), max_size=6
)


@given(PARTS)
def test_parts_of_a_text_are_put_together(parts: list[tuple[int, str]]) -> None:
    value, units = LobValue(is_binary=False), []
    for offset, text in parts:
        value.write(LobWrite(offset, text))
        raw = text.encode("utf-16-le")
        written = [raw[place : place + 2] for place in range(0, len(raw), 2)]
        units += [b" \0"] * (offset - len(units))
        units[offset : offset + len(written)] = written
    assert value.text() == b"".join(units).decode("utf-16-le", "replace")


@given(st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=8)), max_size=6))
def test_parts_of_bytes_are_put_together(parts: list[tuple[int, bytes]]) -> None:
    value, whole = LobValue(is_binary=True), bytearray()
    for offset, raw in parts:
        value.write(LobWrite(offset, raw))
        whole.extend(bytes(max(0, offset - len(whole))))
        whole[offset : offset + len(raw)] = raw
    assert value.text() == "\\x" + whole.hex()


def test_texts_and_bytes_do_not_mix() -> None:
    value = LobValue.beginning_with("abc")
    assert value.text() == "abc"
    with pytest.raises(ValueError, match="one LOB"):
        value.write(LobWrite(0, b"x"))

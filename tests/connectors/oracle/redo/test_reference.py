"""Redo statements as LogMiner writes them: what they say of a row."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.redo.reference import parse_statement
from headrace.errors import HeadraceError
from tests.connectors.oracle.redo.tables import UNAVAILABLE, images_of, parsed, shown, table

SHORT = ("ID", "NAME", "LARGE")


@pytest.mark.parametrize(
    ("sql", "operation", "old", "new"),
    [
        ('insert into "S"."T"("ID","NAME","LARGE") values (\'1\',\'a\',NULL);',
         "c", [], [b"1", b"a", None]),
        ('insert into "S"."T" ("NAME","ID") values (\'it\'\'s, (a) || b and " where \',2);',
         "c", [], [b"2", b'it\'s, (a) || b and " where ', None]),
        ('insert into "S"."T"("ID","NAME") values (Unsupported Type,Unsupported Type);',
         "c", [], [None, None, None]),
        ('insert into "S"."T"("ID","LARGE") values (\'.5\',EMPTY_CLOB());',
         "c", [], [b"0.5", None, None]),
        ('insert into "S"."T"("ID","ORA_ARCHIVE_STATE") values (\'1\',\'0\');',
         "c", [], [b"1", None, None]),
        ('update "S"."T" set "NAME" = \'b\' where "ID" = \'1\' and "NAME" = \'a\';',
         "u", [b"1", b"a", UNAVAILABLE], [b"1", b"b", UNAVAILABLE]),
        ('update "S"."T" a set a."NAME" = NULL where a."ID" = \'1\' or a."NAME" IS NULL;',
         "u", [b"1", None, UNAVAILABLE], [b"1", None, UNAVAILABLE]),
        ('update "S"."T" set "NAME" = \'b\', "LARGE" = NULL, "ID" = Unsupported;',
         "u", [None, None, UNAVAILABLE], [None, b"b", None]),
        ('update "S"."T" set "NAME" = \'b\' where "LARGE" = \'short\';',
         "u", [None, None, b"short"], [None, b"b", b"short"]),
        ('delete from "S"."T" where "ID" = \'1\' and "NAME" = \'a\'',
         "d", [b"1", b"a", UNAVAILABLE], []),
        ('delete from "S"."T";', "d", [None, None, UNAVAILABLE], []),
        ('delete from "UNKNOWN"."OBJ# 74858" where "COL 1" = HEXTORAW(\'c102\') and '
         '"COL 2" = HEXTORAW(\'6162\');', "d", [b"1", b"ab", UNAVAILABLE], []),
        ('insert into "S"."T"("ID","NAME") values (\'1\',/* JSON */ \'{}\');',
         "c", [], [b"1", b"{}", None]),
    ],
)  # fmt: skip
def test_a_statement_is_read(
    sql: str, operation: str, old: list[bytes | None], new: list[bytes | None]
) -> None:
    assert shown(parse_statement(sql, table(*SHORT))) == (operation, old, new)


@pytest.mark.parametrize(
    ("name", "literal", "text"),
    [
        ("ID", "'-12'", b"-12"),
        ("ID", "7", b"7"),
        ("AMOUNT", "'4.4444'", b"4.4444"),
        ("AMOUNT", "'-.5'", b"-0.5"),
        ("AMOUNT", "'1.5E+3'", b"1500"),
        ("NAME", "'a'", b"a"),
        ("NAME", "''", b""),
        ("NAME", "'a''b'||'c' ||  'd'", b"a'bcd"),
        ("NAME", r"UNISTR('\D83D') || UNISTR('\DE00x')", "😀x".encode()),
        ("NAME", r"UNISTR('\D83D') || 'x'", "\ufffdx".encode()),
        ("NAME", r"UNISTR('\0412\00E4') || UNISTR('\D83D\DE00x\\')", "Вä😀x\\".encode()),
        ("NAME", "HEXTORAW('c3a4')", "ä".encode()),
        ("NATIONAL", "HEXTORAW('00e4')", "ä".encode()),
        ("DAY", "TO_DATE('2018-03-27 00:00:00', 'YYYY-MM-DD HH24:MI:SS')", b"2018-03-27 00:00:00"),
        ("DAY", "TO_DATE('2018-03-27 01:02:03','YYYY-MM-DD HH24:MI:SS')", b"2018-03-27 01:02:03"),
        ("AT", "TO_TIMESTAMP('2018-03-27 12:34:56.007890000')", b"2018-03-27 12:34:56.00789"),
        ("AT", "TO_TIMESTAMP('2018-03-27 12:34:56.')", b"2018-03-27 12:34:56"),
        ("AT", "TO_TIMESTAMP('27-MAR-18 12.34.56.5 PM')", b"2018-03-27 12:34:56.5"),
        ("AT", "TO_TIMESTAMP('0000-03-27 12:34:56')", b"0001-03-27 12:34:56 BC"),
        ("AT", "HEXTORAW('78760c1b0d2339')", b"2018-12-27 12:34:56"),
        ("ZONED", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.007891 -11:00')",
         b"2018-03-27T01:34:56.007891-11:00"),
        ("ZONED", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.5 +00:00')",
         b"2018-03-27T01:34:56.500000Z"),
        ("LOCAL", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.007 +00:00')", b"2018-03-27T01:34:56.007Z"),
        ("LOCAL", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.007 -11:00')", b"2018-03-27T12:34:56.007Z"),
        ("BYTES", "HEXTORAW('01FFab')", rb"\x01ffab"),
        ("SINGLE", "'3.14000010E+000'", b"3.14"),
        ("SINGLE", "'-Inf'", b"-Infinity"),
        ("YEARS", "TO_YMINTERVAL('-03-06')", b"-3 years -6 mons"),
        ("DAYS", "TO_DSINTERVAL('-001 02:03:04.56')", b"-1 days -02:03:04.56"),
        # No manual says how LogMiner writes a BOOLEAN.
        *(("TRUTH", yes, b"t") for yes in ("TRUE", "'TRUE'", "true", "1", "'1'", "HEXTORAW('01')")),
        *(("TRUTH", no, b"f") for no in ("FALSE", "'FALSE'", "0", "'0'", "HEXTORAW('00')")),
        ("LARGE", "EMPTY_CLOB()", b""),
        ("BYTES", "EMPTY_BLOB()", rb"\x"),
        ("NAME", "LM_EMPTY_STRING", b""),
    ],
)  # fmt: skip
def test_a_literal_becomes_the_text_of_its_column(name: str, literal: str, text: bytes) -> None:
    of = table(name, not_null=(name,))
    insert = f'insert into "S"."T"("{name}") values ({literal});'
    update = f'update "S"."T" set "{name}" = {literal} where "{name}" = {literal};'
    assert shown(parse_statement(insert, of)) == ("c", [], [text])
    assert shown(parse_statement(update, of)) == ("u", [text], [text])
    batch = parsed([insert, update], of)
    for row, sql in enumerate((insert, update)):
        change = parse_statement(sql, of)
        assert images_of(batch, row) == change.old + change.new


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ('insert into "S"."T"("OTHER") values (\'1\');', "the table has no column OTHER"),
        ('insert into "S"."T"("ID") values (\'x\');', "the value of column ID is not a valid one"),
        ('insert into "S"."T"("ID","NAME") values (\'1\');', ", is lacking"),
        ('insert into "S"."T"("ID") values (\'1', "a text has no end"),
        ('update "S"."T" set "ID" = ', "a value is lacking"),
        ('update "S"."T" where "ID" = \'1\';', "set is lacking"),
        ('delete from "S"."T" where "ID" = \'1\' and;', "there is text after its end"),
        ('delete from "S"."T" where "ID" > \'1\';', "= is lacking"),
        ("merge into x", "it is not an insert, update or delete"),
        ("", "it is not an insert, update or delete"),
    ],
)
def test_an_odd_statement_is_refused_with_a_reason(sql: str, reason: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        parse_statement(sql, table(*SHORT))
    assert caught.value.code == "oracle.redo_not_understood"
    assert reason in str(caught.value)
    assert "S.T" in str(caught.value)
    assert set(parsed([sql], table(*SHORT)).errors) == {0}


def test_values_stay_out_of_messages() -> None:
    with pytest.raises(HeadraceError) as caught:
        parse_statement('insert into "S"."T"("ID") values (\'secret\');', table("ID"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ('insert into "S"."T"("ID","NAME") values (\'1\',\'it\'s\');', b"it's"),
        ('update "S"."T" set "NAME" = \'it\'s\', "ID" = \'1\';', b"it's"),
        ('update "S"."T" set "ID" = \'1\', "NAME" = \'it\'s\' where "ID" = \'1\';', b"it's"),
        ('update "S"."T" set "ID" = \'1\', "NAME" = \'it\'\'s\';', b"it's"),
    ],
)
def test_relaxed_quotes_need_not_be_doubled(sql: str, text: bytes) -> None:
    assert shown(parse_statement(sql, table("ID", "NAME", relaxed=True)))[2] == [b"1", text]
    batch = parsed([sql], table("ID", "NAME", relaxed=True))
    assert (batch.odd, dict(batch.errors)) == (1, {})


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        (
            """insert into "S"."T"("ID","NAME","NATIONAL") values ('1',''Insert1'',''Insert2'');""",
            ("c", [], [b"1", b"'Insert1'", b"'Insert2'"]),
        ),
        (
            """update "S"."T" set "NAME" = ''Update1'', "NATIONAL" = ''Update2'' """
            """where "ID" = '1' and "NAME" = '''Insert1''' and "NATIONAL" = '''Insert2''';""",
            ("u", [b"1", b"'Insert1'", b"'Insert2'"], [b"1", b"'Update1'", b"'Update2'"]),
        ),
        (
            """update "S"."T" set "NATIONAL" = 'a''', "NAME" = '''';""",
            ("u", [None, None, None], [None, b"'", b"a'"]),
        ),
        (
            """update "S"."T" set "NATIONAL" = 'a'';""",
            ("u", [None, None, None], [None, None, b"a'"]),
        ),
        (
            # A text whose quotes are doubled, and which looks as if it ended before.
            """insert into "S"."T"("ID","NAME","NATIONAL") values ('1','O'',N','x');""",
            ("c", [], [b"1", b"O',N", b"x"]),
        ),
        (
            """delete from "S"."T" where "NAME" = 'x'' and "y' and "ID" = '1';""",
            ("d", [b"1", b"x' and \"y", None], []),
        ),
        (
            """delete from "S"."T" where "NAME" = 'it's' and "NATIONAL" = ''a'';""",
            ("d", [None, b"it's", b"'a'"], []),
        ),
    ],
)
def test_values_in_relaxed_quotes_may_begin_and_end_with_quotes(
    sql: str, read: tuple[str, list[bytes | None], list[bytes | None]]
) -> None:
    of = table("ID", "NAME", "NATIONAL", relaxed=True)
    assert shown(parse_statement(sql, of)) == read
    assert dict(parsed([sql], of).errors) == {}


_TEXT = st.text("ab'é ", max_size=8)


@given(_TEXT, _TEXT, st.booleans())
def test_relaxed_quotes_are_read_whether_they_are_doubled_or_not(
    name: str, national: str, is_doubled: bool
) -> None:
    if not is_doubled and "''" in name + national:
        return  # no different from one quote that is doubled
    of = table("ID", "NAME", "NATIONAL", relaxed=True)
    name_text, other = (
        text.replace("'", "''") if is_doubled else text for text in (name, national)
    )
    insert = (
        f"""insert into "S"."T"("ID","NAME","NATIONAL") values ('1','{name_text}','{other}');"""
    )
    update = (
        f"""update "S"."T" set "NAME" = '{name_text}', "NATIONAL" = '{other}' where "ID" = '1';"""
    )
    cells = [b"1", name.encode(), national.encode()]
    assert shown(parse_statement(insert, of)) == ("c", [], cells)
    assert shown(parse_statement(update, of)) == ("u", [b"1", None, None], cells)


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("DAY", "TO_DATE('-4712-01-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS')"),
        ("DAY", "TO_DATE('27-MAR-18', 'DD-MON-RR')"),
        ("AT", "TO_TIMESTAMP('nonsense')"),
        ("ZONED", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.007891 UTC')"),
        ("LOCAL", "TO_TIMESTAMP_TZ('2018-03-27 01:34:56.007891 Europe/Berlin')"),
    ],
)
def test_a_time_in_another_form_than_the_sessions_is_null_or_an_error(
    name: str, literal: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The outcome is that of event.converting.failure.handling.mode, as in Debezium."""
    sql = f"""insert into "S"."T"("ID","{name}") values ('1',{literal});"""
    with caplog.at_level(logging.WARNING):
        assert shown(parse_statement(sql, table("ID", name))) == ("c", [], [b"1", None])
    (message,) = caplog.messages
    assert f"{name} of S.T" in message
    assert "2018" not in message
    caplog.clear()
    assert shown(parse_statement(sql, table("ID", name, converting="skip")))[2] == [b"1", None]
    assert not caplog.messages
    with pytest.raises(HeadraceError, match=f"column {name} is not a valid"):
        parse_statement(sql, table("ID", name, converting="fail"))

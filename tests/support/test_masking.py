"""Masks of a support bundle keep shapes, and nothing else of names and values."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.support.masking import Masks

MASKS = Masks()
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=12, max_size=60)
LONG = st.from_regex(r"[a-z]{8}[0-9]{8}", fullmatch=True)


@given(WORDS)
def test_a_masked_text_has_as_many_characters_and_bytes(text: str) -> None:
    masked = MASKS.text(text)
    assert len(masked) == len(text)
    assert len(masked.encode()) == len(text.encode())
    assert [one.isascii() and one.isdigit() for one in masked] == [
        one.isascii() and one.isdigit() for one in text
    ]


@given(st.binary(max_size=100))
def test_a_digest_of_bytes_has_as_many_bytes(data: bytes) -> None:
    assert len(bytes.fromhex(MASKS.data(data))) == len(data)


def test_equal_values_have_equal_masks_in_one_bundle_and_others_in_the_next() -> None:
    assert MASKS.text("secret value") == MASKS.text("secret value") != Masks().text("secret value")
    assert MASKS.name("OWNER") == MASKS.name("OWNER") != MASKS.name("OTHER")


@given(LONG, LONG, LONG, LONG)
def test_nothing_of_a_redo_statement_is_kept_but_its_sql(
    table: str, column: str, text: str, comment: str
) -> None:
    statement = (
        f'update "{table}"."T" set "{column}" = \'{text}\', "N" = \'{text[8:]}\' '
        f"where \"D\" = TO_DATE('2024-05-06 07:08:09', 'YYYY-MM-DD HH24:MI:SS') /* {comment} */"
    )
    masked = MASKS.sql(statement)
    for canary in (table, column, text, comment):
        assert canary not in masked
        assert canary.upper() not in masked
    assert masked.startswith('update "NAME_')
    assert "'YYYY-MM-DD HH24:MI:SS'" in masked
    assert re.search(r"TO_DATE\('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'", masked)


@pytest.mark.parametrize(
    ("statement", "form"),
    [
        (
            "CREATE TABLE sales.orders (amount NUMBER(10, 2) DEFAULT 4711, note VARCHAR2(40 CHAR))",
            r"CREATE TABLE NAME_\d+\.NAME_\d+ \(NAME_\d+ NUMBER\(10, 2\) DEFAULT \d{4}, "
            r"NAME_\d+ VARCHAR2\(40 CHAR\)\)",
        ),
        ("COMMENT ON COLUMN a.b.c IS 'it''s'", r"COMMENT ON COLUMN NAME.* IS '[a-z]{2}''?[^ ]*'"),
        ("insert into \"A\" values (HEXTORAW('00ff'))", r'insert into "NAME_\d+" values .*'),
        ("x = q'[it's here]'", r"NAME_\d+ = '[a-z]{2}'[a-z] [a-z]{4}'"),
        ("-- a note\nSELECT 1", r"-- [a-z] [a-z]{4}\nSELECT \d"),
        ("'unfinished", "'[a-z]{10}'"),
    ],
)
def test_sql_keeps_its_shape(statement: str, form: str) -> None:
    assert re.fullmatch(form, Masks().sql(statement), re.DOTALL), Masks().sql(statement)


@given(st.text(max_size=200))
def test_any_text_is_masked_without_an_error(text: str) -> None:
    MASKS.sql(text)
    MASKS.text(text)
    MASKS.own_sql(text, OWN)


OWN = frozenset({"HEADRACE_KIT_TEXTS", "ID", "A"})


@given(LONG, LONG, LONG)
def test_a_workloads_statement_shows_its_own_names_and_values_and_no_others(
    schema: str, word: str, comment: str
) -> None:
    statement = (
        f'insert into "{schema}"."HEADRACE_KIT_TEXTS"("ID","A") values (\'12\',\'it\'\'s é\') '
        f"{word} /* {comment} */"
    )
    masked = MASKS.own_sql(statement, OWN)
    for hidden in (schema, word, comment):
        assert hidden.upper() not in masked.upper()
    assert "\"HEADRACE_KIT_TEXTS\"(\"ID\",\"A\") values ('12','it''s é')" in masked


@given(LONG, LONG)
def test_a_statement_within_a_workloads_literal_is_masked_like_one(schema: str, name: str) -> None:
    """As LogMiner writes long texts."""
    inner = f'update "{schema}"."HEADRACE_KIT_TEXTS" set "{name}" = :1'
    masked = MASKS.own_sql(f"Stmt := '{inner}';", OWN)
    for hidden in (schema, name):
        assert hidden.upper() not in masked.upper()
    assert "HEADRACE_KIT_TEXTS" in masked

"""Masks of a support bundle keep shapes, and nothing else of names and values."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.support.masking import KEPT, Masks

MASKS = Masks()
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=12, max_size=60)
LONG = st.from_regex(r"[a-z]{8}[0-9]{8}", fullmatch=True)


@given(WORDS)
def test_a_masked_text_has_as_many_characters_and_bytes(text: str) -> None:
    masked = MASKS.text(text)
    assert len(masked) == len(text)
    assert len(masked.encode()) == len(text.encode())
    assert [character.isascii() and character.isdigit() for character in masked] == [
        character.isascii() and character.isdigit() for character in text
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
        ("x = q'!it's NOT 12!' OR 1", r"NAME_\d+ = '[a-z]{2}'[a-z] [A-Z]{3} \d\d' OR \d"),
        ("-- a note\nSELECT 1", r"-- [a-z] [a-z]{4}\nSELECT \d"),
        ("'unfinished", "'[a-z]{10}'"),
    ],
)
def test_sql_keeps_its_shape(statement: str, form: str) -> None:
    assert re.fullmatch(form, Masks().sql(statement), re.DOTALL), Masks().sql(statement)


@pytest.mark.parametrize(
    "default",
    [
        "CHAR(5551234)", "CHAR(55512)", "DECIMAL(73500.50)", "DECIMAL(73500.50, 2)",
        "CAST(55512 AS CHAR(55512))", "TIMESTAMP(55512)", "(RAW(55512))", "f(55512, CHAR(55512))",
    ],
)  # fmt: skip
def test_numbers_of_a_default_are_masked_whatever_word_is_before_them(default: str) -> None:
    statements = [default, f"DEFAULT {default}", f"CREATE TABLE t (a CHAR(77) DEFAULT {default})"]
    for statement in statements:
        masked = Masks(b"key").sql(statement)
        for number in re.findall(r"\d{5,}", default):
            assert number not in masked
        assert ("CHAR(77)" in masked) == ("CHAR(77)" in statement)


@pytest.mark.parametrize(
    "declared",
    [
        "NUMBER(10, -2)", "VARCHAR2(4000 BYTE)", "TIMESTAMP(6) WITH TIME ZONE", "RAW(16)",
        "INTERVAL DAY(2) TO SECOND(6)", "INTERVAL YEAR(4) TO MONTH",
    ],
)  # fmt: skip
def test_sizes_of_declared_columns_are_kept(declared: str) -> None:
    assert MASKS.column_type(declared) == declared
    for statement in (
        f"CREATE TABLE t (a {declared}, b {declared})",
        f"ALTER TABLE t ADD b {declared}",
        f"ALTER TABLE t ALTER COLUMN b SET DATA TYPE {declared}",
    ):
        masked = MASKS.sql(statement)
        assert masked.count(declared) == statement.count(declared)


def test_the_type_of_an_object_is_a_name() -> None:
    assert re.fullmatch(r"NAME_\d+", MASKS.column_type("CANARY_TYPE"))


VALUES = st.lists(
    st.sampled_from(["NOT", "DATE", "CHAR(40712)", "raw (6655)", "😀", "–", "''", "40712", "canary",
                     "DEFAULT", ";", '"', "it"]),
    min_size=5, max_size=40,
)  # fmt: skip


@given(VALUES, st.integers(1, 40))
def test_parts_of_a_statement_are_masked_as_the_whole_and_cut_where_they_were(
    words: list[str], size: int
) -> None:
    value = " ".join(words)
    whole = f"""insert into "S"."T"("A") values ('{value}');"""
    masked = MASKS.sql(whole)
    names = [f'"{MASKS.name(name)}"' for name in "STA"]
    assert masked == "insert into {}.{}({}) values ('{}');".format(*names, MASKS.text(value))
    data = whole.encode()
    parts = [data[at : at + size].decode(errors=KEPT) for at in range(0, len(data), size)]
    masked_parts = MASKS.parts(parts)
    assert len(masked_parts) == len(parts)
    assert "".join(masked_parts).encode(errors=KEPT).decode() == masked
    if size == 40 and len(masked.encode()) == len(data):
        assert [len(piece.encode(errors=KEPT)) for piece in masked_parts[:-1]] == [size] * (
            len(masked_parts) - 1
        )


def test_parts_that_are_cut_between_characters_stay_so() -> None:
    values = ["é" * 10, "é" * 30]
    whole = f"""insert into "LONG_NAME_OF_A_SCHEMA"."T"("A") values ('{values[0]}"""
    for part in MASKS.parts([whole, f"{values[1]}');"], frozenset("TA")):
        part.encode()  # UTF-8


@pytest.mark.parametrize(
    "text",
    [
        "may NOT drive; CHAR(40712) 🚀','canary');",
        " buf_c := 'it's NOT 40712 🚀 canary'; \n  dbms_lob.write(loc_c, 5, 1, buf_c);",
        'DECLARE BEGIN Stmt := \'update "S"."T" set "C" = :1 where "A" = \'NOT canary 40712 🚀\';',
        "<a>it's NOT 40712 🚀 canary</a>",
        "create a DATE, drop NOT canary 40712 🚀",
        "select NOT canary 40712 🚀",
    ],
)
def test_what_does_not_begin_as_a_statement_is_masked_as_a_text(text: str) -> None:
    """The rest of a statement, and parts of large values, whose quotation marks may be anything."""
    masks = Masks(b"key")
    (masked,) = masks.parts([text])
    assert masked == masks.text(text)
    for word in ("NOT", "drive", "CHAR", "40712", "🚀", "canary"):
        assert word not in masked


def test_parts_of_large_values_of_a_workload_are_shown() -> None:
    text = " buf_c := 'small'; \n  dbms_lob.write(loc_c, 5, 1, buf_c);"
    workload_names = frozenset({"BUF_C", "LOC_C", "DBMS_LOB", "WRITE"})
    assert MASKS.parts([text], workload_names) == [text]


def test_statements_of_rows_are_put_together_by_what_goes_on() -> None:
    texts = ['update "T" set "A" = \'a', "b NOT", None, "c'", "commit;", "'d", "NOT"]
    masked = Masks(b"key").statements(texts, [1, 1, 1, 0, 0, None, 1], [None] * 7)
    assert [text is None for text in masked] == [text is None for text in texts]
    assert masked[4] == "commit;"
    assert "NOT" not in str(masked)


OWN = frozenset({"HEADRACE_KIT_TEXTS", "ID", "A"})


@given(st.text(max_size=200))
def test_any_text_is_masked_without_an_error(text: str) -> None:
    MASKS.sql(text)
    MASKS.text(text)
    MASKS.own_sql(text, OWN)
    MASKS.parts([text, text], OWN)


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
    """LogMiner writes long texts in this form."""
    inner = f'update "{schema}"."HEADRACE_KIT_TEXTS" set "{name}" = :1'
    masked = MASKS.own_sql(f"Stmt := '{inner}';", OWN)
    for hidden in (schema, name):
        assert hidden.upper() not in masked.upper()
    assert "HEADRACE_KIT_TEXTS" in masked

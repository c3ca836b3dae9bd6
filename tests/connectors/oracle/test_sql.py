"""The statements of the connector, and the page that lists them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.reading.dialect import PRESENT
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.sql.statement import Statement
from headrace.connectors.oracle.statement_page import instances, page

PAGE = Path(__file__).parents[3] / "docs/reference/oracle-statements.md"
BUILT_ELSEWHERE = ("FILLED", "COUNTED", "BOUNDS", "FILTERED", "OVERRIDDEN", "PROBED")
"""Statements that `relational.reading` and the dialect build; the page has instances of them."""
RESERVED = (
    "ACCESS ADD ALL ALTER AND ANY AS ASC AUDIT BETWEEN BY CHAR CHECK CLUSTER COLUMN COMMENT "
    "COMPRESS CONNECT CREATE CURRENT DATE DECIMAL DEFAULT DELETE DESC DISTINCT DROP ELSE EXCLUSIVE "
    "EXISTS FILE FLOAT FOR FROM GRANT GROUP HAVING IDENTIFIED IMMEDIATE IN INCREMENT INDEX INITIAL "
    "INSERT INTEGER INTERSECT INTO IS LEVEL LIKE LOCK LONG MAXEXTENTS MINUS MLSLABEL MODE MODIFY "
    "NOAUDIT NOCOMPRESS NOT NOWAIT NULL NUMBER OF OFFLINE ON ONLINE OPTION OR ORDER PCTFREE PRIOR "
    "PUBLIC RAW RENAME RESOURCE REVOKE ROW ROWID ROWNUM ROWS SELECT SESSION SET SHARE SIZE "
    "SMALLINT START SUCCESSFUL SYNONYM SYSDATE TABLE THEN TO TRIGGER UID UNION UNIQUE UPDATE "
    "USER VALIDATE VALUES VARCHAR VARCHAR2 VIEW WHENEVER WHERE WITH"
)
"""SQL Language Reference, Oracle SQL Reserved Words: no bind may be called so (ORA-01745)."""


def joined(conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(conditions, min_size=2, max_size=3)
    operator = st.sampled_from([" AND ", " OR "])
    return st.builds(lambda parts, by: f"({by.join(parts)})", several, operator)


def test_the_page_of_statements_is_what_is_sent() -> None:
    """`make docs` writes it."""
    assert PAGE.read_text() == page()


@pytest.mark.parametrize("statement", sql.STATEMENTS, ids=lambda statement: statement.name)
def test_each_statement_is_recognized_and_has_its_place_in_the_manual(
    statement: Statement,
) -> None:
    text = instances()[statement.name] if statement.slots else statement()
    recognized = sql.recognized(text)
    assert recognized is not None
    assert recognized[0] is statement
    assert re.match(r"(Reference|PL/SQL|SQL|Globalization|Utilities), ", statement.manual)
    binds = {name.upper() for name in re.findall(r":([a-z]+)", text)}
    assert binds & set(RESERVED.split()) == set()


def test_each_statement_is_sent() -> None:
    """A statement that nothing names is a right that nobody needs."""
    folder = Path(sql.__file__).parent
    module = "\n".join(file.read_text() for file in folder.glob("*.py"))
    others = folder.parent.rglob("*.py")
    texts = "\n".join(file.read_text() for file in others if file.name != "statement_page.py")
    names = re.findall(r"(?m)^([A-Z_]+) = declared\(", module)
    assert len(names) == len(sql.STATEMENTS)
    sent = {
        name
        for name in names
        if re.search(rf"\bsql\.{name}\b", texts)
        or re.search(rf"(?:= |else |return ){name}\b", module)
    }
    assert set(names) - sent - {"BUILD_DICTIONARY"} == set(BUILT_ELSEWHERE)


def test_names_of_statements_are_their_own() -> None:
    assert Counter(statement.name for statement in sql.STATEMENTS).most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE T",
        'SELECT CURRENT_SCN FROM V$DATABASE; DROP TABLE "T"',
        'LOCK TABLE "S"."T" IN EXCLUSIVE MODE',
        "ALTER SESSION SET CONTAINER = X",
        "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, ENDSCN => :last, OPTIONS => 1); "
        "END;",
        "",
        # Shapes whose slots are filled by builders.
        'SELECT PASSWORD FROM "SYS"."USER$"; DROP TABLE "X"',
        'SELECT PASSWORD FROM "SYS"."USER$" "t"',
        'SELECT "t"."ID" FROM "S"."T" "t"; DROP TABLE "X"',
        'SELECT "t"."ID" FROM "S"."T" "t" WHERE DELETE',
        'SELECT "t"."ID" FROM "S"."T" "t" WHERE ("t"."ID" > 1',
        'SELECT "t"."ID" FROM "S"."T" "t" WHERE "t"."ID" IS 1',
        'SELECT "t"."ID" FROM "S"."T" "t" WHERE "t"."ID" IN (SELECT 1 FROM DUAL)',
        'SELECT "t"."ID" FROM "S"."T" "t" WHERE "t"."ID" > 1 UNION ALL SELECT 1 FROM DUAL',
        """SELECT SYS_CONTEXT('A', 'B') FROM "S"."T" "t" """.strip(),
        'SELECT "t"."ID" FROM "S"."T" "t" ORDER BY 1',
        'SELECT "t"."ID" FROM "S"."T" "t" FOR UPDATE',
        'SELECT "t"."ID" FROM "S"."T" AS OF SCN :scn "t"',
        "(SELECT anything at all",
        '(SELECT 0 FROM "S"."T" "t" FETCH FIRST 1 ROWS ONLY) UNION ALL (DELETE FROM "S"."T")',
        "SELECT (SELECT DELETE",
        'SELECT (SELECT count(*) FROM "S"."T" "t") + (SELECT 1 FROM DUAL) FROM DUAL',
        "SELECT XID, START_SCN FROM DBA_USERS WHERE START_SCN < :scn",
        'SELECT 1 FROM "S"."T" WHERE 1 = 1',
        'SELECT 1 FROM "S"."T" WHERE 0 = 1 AND (1 = 1) OR (1 = 1)',
        'SELECT * FROM (DELETE FROM "T")',
        "SELECT * FROM (SELECT 1 FROM DUAL) WHERE (1 = 1)",
        "SELECT * FROM (SELECT 1 FROM DUAL; DROP TABLE T)",
        'SELECT "t"."ID" FROM (SELECT 1 FROM DUAL -- ) "t"',
        "SELECT 1 FROM USER$ WHERE 1 = 0",
        # Conditions of redo.
        "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high AND PASSWORD = 'x'",
        "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high AND 1 = 1 OR",
        "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high",
        "SELECT SCN, (SELECT 1 FROM DUAL) FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND "
        "SCN <= :high AND 1 = 1",
        "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high AND "
        "SEG_OWNER = DBMS_RANDOM.STRING('x', 1)",
        "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high AND INFO = 'x';",
    ],
)
def test_other_statements_are_not_recognized(text: str) -> None:
    assert sql.recognized(text) is None


@given(st.text(st.characters(blacklist_characters="\0"), min_size=1))
def test_a_name_cannot_end_its_quotes(name: str) -> None:
    text = sql.LOCK(table=sql.quoted("S", name))
    statement = sql.recognized(text)
    assert statement is not None
    assert statement[0] is sql.LOCK
    assert statement[1]["table"] == sql.quoted("S", name)


CONDITIONS = [
    '"ID" = 1', 'NOT "ID" IS NULL', """"NAME" LIKE 'a%'""", '"ID" BETWEEN 1 AND -2.5',
    '"ID" IN (1, 2)', """LOWER("NAME") <> 'it''s ('""", 'COALESCE("A", "B") >= "C" * (2 + 1)',
    'CAST("A" AS NUMBER(9, 2)) < 3', '"AT" < CURRENT_TIMESTAMP', "1 = 0",
]  # fmt: skip


@given(st.recursive(st.sampled_from(CONDITIONS), joined, max_leaves=12))
def test_conditions_of_any_form_are_recognized(condition: str) -> None:
    def recognized(condition: str) -> tuple[Statement, dict[str, str]] | None:
        return sql.recognized(PRESENT.count([("S", "T")], condition))

    statement = recognized(condition)
    assert statement is not None
    assert statement[1]["where"] == f" WHERE {condition}"
    for broken in (
        f"({condition}",
        f"{condition} OR",
        f"{condition}; {condition}",
        f"{condition})",
    ):
        assert recognized(broken) is None


@given(st.text())
def test_a_text_cannot_end_its_quotes(value: str) -> None:
    text = sql.start_logmnr("dictionary_from_file", value or "x")
    assert sql.START_LOGMNR.match(text) is not None


def test_options_of_logminer_are_those_of_the_strategy() -> None:
    def options(*arguments: str, committed: bool = False) -> str:
        slots = sql.START_LOGMNR.match(sql.start_logmnr(*arguments, committed=committed))
        assert slots is not None
        return slots["options"].replace("SYS.DBMS_LOGMNR.", "") + slots["dictionary"]

    online = "DICT_FROM_ONLINE_CATALOG + NO_ROWID_IN_STMT"
    assert options("online_catalog") == online
    assert options("hybrid") == online
    assert options("online_catalog", committed=True) == f"{online} + COMMITTED_DATA_ONLY"
    catalog = "DICT_FROM_REDO_LOGS + DDL_DICT_TRACKING + NO_ROWID_IN_STMT"
    assert options("redo_log_catalog") == catalog
    file = "NO_ROWID_IN_STMT, DICTFILENAME => '/tmp/d''x'"
    assert options("dictionary_from_file", "/tmp/d'x") == file


def test_long_lists_of_names_are_cut_as_oracle_takes_them() -> None:
    names = [f"S.T{number}" for number in range(2500)]
    (included,) = redo_conditions.table_filter(names, [], regex=False)
    assert included.count(" IN (") == 3
    assert included.count(" OR ") == 3
    (excluded,) = redo_conditions.table_filter([], names, regex=False)
    assert excluded.count(" NOT IN (") == 3
    assert excluded.count(" AND ") == 2


def test_ddl_is_read_whatever_the_filters_say_unless_it_is_filtered_too() -> None:
    filters = ["F"]
    outside = redo_conditions.contents_condition("PDB", filters)
    assert outside == (
        "(SRC_CON_NAME = 'PDB' OR OPERATION_CODE = 34) AND "
        "((OPERATION_CODE IN (1,2,3,6,7,27,34,36,255) AND F) OR "
        "(OPERATION_CODE = 5 AND INFO NOT LIKE 'INTERNAL DDL%'))"
    )
    inside = redo_conditions.contents_condition(None, filters, lobs=True, ddl_is_filtered=True)
    assert inside == (
        "(OPERATION_CODE IN (1,2,3,6,7,27,34,36,255,9,10,11,29,68,70,71,91,92,93) OR "
        "(OPERATION_CODE = 5 AND INFO NOT LIKE 'INTERNAL DDL%')) AND F"
    )

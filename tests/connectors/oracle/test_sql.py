"""The statements of the connector, and the page that lists them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.statement import Statement, listed
from headrace.connectors.oracle.streaming import row_filters

CONNECTOR = Path(sql.__file__).parent
PAGE = Path(__file__).parents[3] / "docs/reference/oracle-statements.md"
SLOTS = {
    "container": '"PDB"', "options": "DBMS_LOGMNR.NO_ROWID_IN_STMT", "dictionary": "",
    "columns": "SCN", "condition": "1 = 1", "flush_table": '"F"', "table": '"S"."T"',
    "view": "V$LOG", "rest": "", "name": '"C"',
}  # fmt: skip
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


def test_the_page_of_statements_is_what_is_sent() -> None:
    """`make docs` writes it."""
    assert PAGE.read_text() == listed(sql.STATEMENTS)


@pytest.mark.parametrize("statement", sql.STATEMENTS, ids=lambda one: one.name)
def test_each_statement_is_recognized_and_has_its_place_in_the_manual(
    statement: Statement,
) -> None:
    text = statement(**SLOTS)
    assert "{" not in text
    assert statement.match(text) is not None
    assert re.match(r"(Reference|PL/SQL|SQL|Globalization|Utilities), ", statement.manual)
    binds = {name.upper() for name in re.findall(r":([a-z]+)", text)}
    assert binds & set(RESERVED.split()) == set()


def test_every_statement_is_sent() -> None:
    """But what a refused log.mining.strategy needs, and what `relational.reading` puts together."""
    sources = [path.read_text() for path in CONNECTOR.rglob("*.py") if path.name != "sql.py"]
    own = re.sub(r"^(\w+) = _statement", "", (CONNECTOR / "sql.py").read_text(), flags=re.M)
    names = {name for name, one in vars(sql).items() if isinstance(one, Statement)}
    unsent = {name for name in names if not re.search(rf"\b{name}\b", "".join([*sources, own]))}
    assert unsent == {"BUILD_DICTIONARY", "SEVERAL", "COUNTED"}


def test_names_of_statements_are_their_own() -> None:
    assert Counter(one.name for one in sql.STATEMENTS).most_common(1)[0][1] == 1


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


@given(st.text())
def test_a_text_cannot_end_its_quotes(value: str) -> None:
    text = sql.start_logmnr("dictionary_from_file", value or "x")
    assert sql.START_LOGMNR.match(text) is not None


def test_options_of_logminer_are_those_of_the_strategy() -> None:
    def options(*arguments: str, committed: bool = False) -> str:
        slots = sql.START_LOGMNR.match(sql.start_logmnr(*arguments, committed=committed))
        assert slots is not None
        return slots["options"].replace("DBMS_LOGMNR.", "") + slots["dictionary"]

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
    (included,) = row_filters.table_filter(names, [], regex=False)
    assert included.count(" IN (") == 3
    assert included.count(" OR ") == 3
    (excluded,) = row_filters.table_filter([], names, regex=False)
    assert excluded.count(" NOT IN (") == 3
    assert excluded.count(" AND ") == 2


def test_ddl_is_read_whatever_the_filters_say_unless_it_is_filtered_too() -> None:
    filters = ["F"]
    outside = row_filters.contents_condition("PDB", filters)
    assert outside == (
        "SRC_CON_NAME = 'PDB' AND ((OPERATION_CODE IN (1,2,3,6,7,27,34,36,255) AND F) OR "
        "(OPERATION_CODE = 5 AND INFO NOT LIKE 'INTERNAL DDL%'))"
    )
    inside = row_filters.contents_condition(None, filters, lobs=True, ddl_is_filtered=True)
    assert inside == (
        "(OPERATION_CODE IN (1,2,3,6,7,27,34,36,255,9,10,11,29,68,70,71,91,92,93) OR "
        "(OPERATION_CODE = 5 AND INFO NOT LIKE 'INTERNAL DDL%')) AND F"
    )

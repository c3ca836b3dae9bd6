"""The statements of a workload are those of an Oracle: the stand-in has no PL/SQL that would say
so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.connectors.oracle.support import kit
from headrace.support.archive import read

_OF_SQL = """
    ACCESS ADD ALL ALTER AND ANY AS ASC AUDIT BETWEEN BY CHAR CHECK CLUSTER COLUMN COLUMN_VALUE
    COMMENT COMPRESS CONNECT CREATE CURRENT DATE DECIMAL DEFAULT DELETE DESC DISTINCT DROP ELSE
    EXCLUSIVE EXISTS FILE FLOAT FOR FROM GRANT GROUP HAVING IDENTIFIED IMMEDIATE IN INCREMENT INDEX
    INITIAL INSERT INTEGER INTERSECT INTO IS LEVEL LIKE LOCK LONG MAXEXTENTS MINUS MLSLABEL MODE
    MODIFY NESTED_TABLE_ID NOAUDIT NOCOMPRESS NOT NOWAIT NULL NUMBER OF OFFLINE ON ONLINE OPTION OR
    ORDER PCTFREE PRIOR PUBLIC RAW RENAME RESOURCE REVOKE ROW ROWID ROWNUM ROWS SELECT SESSION SET
    SHARE SIZE SMALLINT START SUCCESSFUL SYNONYM SYSDATE TABLE THEN TO TRIGGER UID UNION UNIQUE
    UPDATE USER VALIDATE VALUES VARCHAR VARCHAR2 VIEW WHENEVER WHERE WITH
"""
"""Oracle SQL Reserved Words, SQL Language Reference."""
_OF_PLSQL = """
    ALL ALTER AND ANY AS ASC AT BEGIN BETWEEN BY CASE CHECK CLUSTER CLUSTERS COLAUTH COLUMNS
    COMPRESS CONNECT CRASH CREATE CURRENT CURSOR DECLARE DEFAULT DELETE DESC DISTINCT DROP ELSE END
    EXCEPTION EXCLUSIVE EXISTS FETCH FOR FROM FUNCTION GOTO GRANT GROUP HAVING IDENTIFIED IF IN
    INDEX INDEXES INSERT INTERSECT INTO IS LIKE LOCK MINUS MODE NOCOMPRESS NOT NOWAIT NULL OF ON
    OPTION OR ORDER OVERLAPS PRIOR PROCEDURE PUBLIC RAISE RESOURCE REVOKE SELECT SHARE SIZE SQL
    START SUBTYPE TABAUTH TABLE THEN TO TYPE UNION UNIQUE UPDATE VALUES VIEW VIEWS WHEN WHERE WITH
"""
"""PL/SQL Reserved Words, PL/SQL Language Reference, table D-1."""
RESERVED = frozenset(_OF_SQL.split()) | frozenset(_OF_PLSQL.split())
_BINDS = re.compile(r":(\w+)")
_NAMED = re.compile(r"\b(?:TABLE|TYPE|INDEX|SAVEPOINT|INTO|UPDATE|FROM|ADD \() ?(\w+)")
_VARIABLES = re.compile(r"DECLARE (.*?) BEGIN ")
_ATTRIBUTES = re.compile(r"AS OBJECT \((.*)\)$")
_COLUMNS = re.compile(r"CREATE TABLE \w+ \((.*)\)$")
_LITERAL = re.compile(r"'(?:[^']|'')*'")


def identifiers() -> Iterator[str]:
    """Names that the workload gives: of binds, variables, tables, columns, attributes."""
    for question in kit.listed():
        text = _LITERAL.sub("''", question.text)
        yield from _BINDS.findall(text)
        yield from _NAMED.findall(text)
        for of, separator in ((_VARIABLES, ";"), (_ATTRIBUTES, ","), (_COLUMNS, ",")):
            for declared in of.findall(re.sub(r"\(\d+(?:,\d+)?\)", "", text)):
                parts = filter(str.strip, declared.split(separator))
                yield from (part.split()[0] for part in parts)


def test_no_name_of_the_workload_is_a_reserved_word_of_sql_or_plsql() -> None:
    names = {identifier.upper() for identifier in identifiers()}
    assert {"ID", "FOUND", "ERASED", "X", "HEADRACE_KIT", "HEADRACE_KIT_LOBS", "L"} <= names
    assert names & RESERVED == set()


@pytest.mark.oracle
def test_times_are_taken_by_each_kind_of_column(file: Path, tmp_path: Path) -> None:
    """The stand-in refuses a text with a zone for a column with the local one (ORA-01830), and has
    no TO_DATE of the date before Christ."""
    bundle = tmp_path / "bundle.zip"
    arguments = ["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]
    assert main([*arguments, "--workload"]) == 0
    _, records = read(bundle)
    inserts = [
        record
        for record in records
        if record["name"] == "kit_insert" and record["place"].endswith("KIT_TIMES")
    ]
    assert [insert.get("error", {}).get("code") for insert in inserts] == [None, None, 900]

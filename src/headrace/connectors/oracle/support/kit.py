"""The workload of a support bundle: tables of its own, and changes whose redo has an unknown
form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.sql.statement import Statement
from headrace.connectors.oracle.support.questions import VIEWS, question
from headrace.support.questions import Question, Shown

PLACE = "the schema of database.user"
TABLES: Mapping[str, str] = {
    "TEXTS": "A VARCHAR2(4000), B VARCHAR2(4000), N NVARCHAR2(1000)",
    "TIMES": "D DATE, T TIMESTAMP(9), Z TIMESTAMP(6) WITH TIME ZONE, "
    "L TIMESTAMP(6) WITH LOCAL TIME ZONE, Y INTERVAL YEAR(4) TO MONTH, "
    "S INTERVAL DAY(4) TO SECOND(6)",
    "NUMBERS": "N NUMBER, F FLOAT(63), G BINARY_FLOAT, H BINARY_DOUBLE, R RAW(100)",
    "COMMITS": "N NUMBER(9)",
    "SAVEPOINTS": "A VARCHAR2(20), C CLOB",
    "INVISIBLES": "A VARCHAR2(20), H VARCHAR2(20) INVISIBLE",
    "ALTERED": "A VARCHAR2(20)",
    "LOBS": "C CLOB, B BLOB, N NCLOB",
    "XMLS": "X XMLTYPE",
    "OBJECTS": "P HEADRACE_KIT_POINT",
    "JSONS": "J JSON",
    "BOOLEANS": "B BOOLEAN",
}
"""Columns besides the key ID, by the tables' names after `HEADRACE_KIT_`."""
LEAST = {"JSONS": (21,), "BOOLEANS": (23,)}
"""The lowest versions of servers that have such columns."""
NAMES = frozenset(f"{sql.KIT}{table}" for table in TABLES)
_WORDS = """
    A B BEGIN BUF_B BUF_C BUF_NC C CONSTRAINTS D DBMS_LOB DECLARE DOC ERASE F G H
    HEADRACE_KIT_POINT HEADRACE_KIT_UPPER ID J L LOC_B LOC_B_NC LOC_C LOC_C_NC LOC_NC LOG N P R
    READ S STMT T TRANSACTION TRIM UNSUPPORTED UPPER WRITE X XML_REDO Y Z
"""
OWN = NAMES | frozenset(_WORDS.split())
SESSIONS = 3
"""The number of sessions that make changes."""
_COMMITS = 20
_ZONED = "TO_TIMESTAMP_TZ(:{}, 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')"
"""An explicit conversion: columns with local time zone convert texts by a format without a zone."""
_EURO, _LARGE = "€é", "large é text, "
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class WorkloadStep:
    """A statement of the workload, in one of its sessions, which may commit after it."""

    question: Question
    table: str = ""
    text: str = ""
    binds: Mapping[str, object] = field(default_factory=dict)
    session: int = 0
    commits: bool = True


def _asked(statement: Statement, why: str, text: str = "") -> Question:
    return question(statement, why, PLACE, text=text or statement.text)


EXISTING = question(
    sql.KIT_TABLES, "whether such tables are there already: then nothing is made", PLACE,
    columns={"TABLE_NAME": Shown.NAME},
)  # fmt: skip
TYPE = _asked(sql.KIT_TYPE, "an object type; where it may not be made, its table is left out")
TABLE = _asked(sql.KIT_TABLE, "a table for each open question")
LOGGING = _asked(sql.KIT_LOGGING, "its redo has all columns, as that of captured tables")
INDEX = _asked(sql.KIT_INDEX, "a column that Oracle hides itself")
INSERT = _asked(sql.KIT_INSERT, "changes, whose redo is mined")
UPDATE = _asked(sql.KIT_UPDATE, "changes, whose redo is mined")
DELETE = _asked(sql.KIT_DELETE, "changes, whose redo is mined")
LOB = _asked(sql.KIT_LOB, "how parts of a large text are written")
SAVEPOINT = _asked(sql.KIT_SAVEPOINT, "what is taken back by ROLLBACK TO SAVEPOINT")
UNDO = _asked(sql.KIT_UNDO, "what is taken back by ROLLBACK TO SAVEPOINT")
COLUMN = _asked(sql.KIT_COLUMN, "redo of a table that is altered")
DROP = _asked(sql.KIT_DROP, "the workload's tables are dropped at the end, in every case")
DROP_TYPE = _asked(sql.KIT_DROP_TYPE, "and its type")
CONTENTS = question(
    sql.CONTENTS, "redo rows of the workload's tables; their values are shown", "root", rows=500,
    own=OWN, goes_on="CSF",
    columns={
        **VIEWS, "SQL_REDO": Shown.OWN_SQL, "INFO": Shown.OWN_SQL, "TABLE_NAME": Shown.VALUE,
        "ROW_ID": Shown.VALUE, "RS_ID": Shown.VALUE,
    },
)  # fmt: skip


def listed() -> Iterator[Question]:
    """Yield every statement, for `--dry-run`: each text once."""
    yield EXISTING
    yield TYPE
    for table, columns in TABLES.items():
        yield replace(TABLE, text=create(table, columns))
        yield replace(LOGGING, text=sql.KIT_LOGGING(kit=table))
    yield INDEX
    texts = {step.text or step.question.text: step.question for step in changes()}
    for text, listed_question in texts.items():
        yield replace(listed_question, text=text)
    yield CONTENTS
    for table in TABLES:
        yield replace(DROP, text=sql.KIT_DROP(kit=table))
    yield DROP_TYPE


def create(table: str, columns: str) -> str:
    """Return the statement that creates a table."""
    return sql.KIT_TABLE(kit=table, kit_columns=f"ID NUMBER(9) PRIMARY KEY, {columns}")


def changes() -> Iterator[WorkloadStep]:
    """Yield all changes, in their order."""
    for number in range(1, 5):  # each part of SQL_REDO ends at another byte of a character
        text = "a" * number + _EURO * 700
        yield _insert("TEXTS", number, a=text, b=text, n=_EURO * 300)
    yield _update("TEXTS", 1, a="it's", b="a ; \" || 'b'")
    yield from _times()
    yield _insert("NUMBERS", 1, n=".1", f="-1.5", g="1.5", h="-1e-100", r="00ff")
    yield _insert("NUMBERS", 2, n="99999999999999999999999999999999999999", f="0", g="0", h="0")
    yield from _commits()
    yield from _savepoints()
    yield _insert("INVISIBLES", 1, a="seen", h="not seen")
    yield _update("INVISIBLES", 1, h="still not seen")
    yield _delete("INVISIBLES", 1)
    yield _insert("ALTERED", 1, a="before")
    yield WorkloadStep(COLUMN, "ALTERED")
    yield _insert("ALTERED", 2, a="after", b="2")
    yield _insert("LOBS", 1, c="small", b="00ff", n="small é")
    yield _insert("LOBS", 2, c=_LARGE * 800, b="00ff" * 900, n=_LARGE * 200)
    yield _update("LOBS", 1, c=_LARGE * 500)
    yield WorkloadStep(LOB, "LOBS", binds={"id": 2})
    yield _delete("LOBS", 1)
    yield _insert("XMLS", 1, {"X": "XMLTYPE(:x)"}, x="<a b='c'>é</a>")
    yield _insert("OBJECTS", 1, {"P": "HEADRACE_KIT_POINT(:p, 2)"}, p="1")
    yield _insert("JSONS", 1, j='[1, {"a": null}]')
    yield _insert("BOOLEANS", 1, {"B": "TRUE"})
    yield _insert("BOOLEANS", 2, {"B": "FALSE"})
    yield _update("COMMITS", 1, n="0")  # the redo continues after all of this


def _times() -> Iterator[WorkloadStep]:
    for number, day in enumerate(("2024-02-29", "9999-12-31"), 1):
        time = f"{day} 23:59:58"
        yield _insert(
            "TIMES", number, {"L": _ZONED.format("l")}, d=time, t=f"{time}.123456789",
            z=f"{time}.123456 +02:00", l=f"{time}.123456 +02:00", y="-0003-06",
            s="-0001 02:03:04.56",
        )  # fmt: skip
    # The session's formats have no years before Christ.
    yield _insert("TIMES", 3, {"D": "TO_DATE(:d, 'SYYYY-MM-DD')"}, d="-4712-01-01")


def _commits() -> Iterator[WorkloadStep]:
    """Yield transactions of several sessions, which are open at the same time and are committed in
    another order."""
    for number in range(_COMMITS):
        first = number * SESSIONS + 1
        for session in range(SESSIONS):
            yield _insert("COMMITS", first + session, session=session, commits=False, n="1")
        for session in reversed(range(SESSIONS)):
            yield _update("COMMITS", first + session, session=session, n="2")


def _savepoints() -> Iterator[WorkloadStep]:
    yield _insert("SAVEPOINTS", 1, commits=False, a="kept", c="kept")
    yield WorkloadStep(SAVEPOINT, "SAVEPOINTS", commits=False)
    yield _update("SAVEPOINTS", 1, commits=False, a="taken back", c=_LARGE * 500)
    yield _insert("SAVEPOINTS", 2, commits=False, a="taken back")
    yield WorkloadStep(UNDO, "SAVEPOINTS", commits=False)
    yield _insert("SAVEPOINTS", 3, a="kept, too")


def _insert(
    table: str,
    number: int,
    expressions: Mapping[str, str] = _NONE,
    *,
    session: int = 0,
    commits: bool = True,
    **values: str,
) -> WorkloadStep:
    """Return the step that inserts a row; `values` are binds of the columns of these names, unless
    `expressions` has the column."""
    expression_of = {"ID": ":id", **{name.upper(): f":{name}" for name in values}, **expressions}
    text = sql.KIT_INSERT(
        kit=table, kit_names=", ".join(expression_of), kit_values=", ".join(expression_of.values())
    )
    return WorkloadStep(INSERT, table, text, {"id": number, **values}, session, commits)


def _update(
    table: str, number: int, *, session: int = 0, commits: bool = True, **values: str
) -> WorkloadStep:
    assigned = ", ".join(f"{name.upper()} = :{name}" for name in values)
    text = sql.KIT_UPDATE(kit=table, kit_assignments=assigned)
    return WorkloadStep(UPDATE, table, text, {"id": number, **values}, session, commits)


def _delete(table: str, number: int) -> WorkloadStep:
    return WorkloadStep(DELETE, table, sql.KIT_DELETE(kit=table), {"id": number})

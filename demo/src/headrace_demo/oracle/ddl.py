"""DDL on the stand-in, as far as scripts and the demo need it: CREATE, ALTER, DROP and TRUNCATE of
tables. The statement's text is in the redo."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.definitions import UNLIMITED, Column, Table
from headrace_demo.oracle.store import name
from headrace_demo.oracle.texts import stored
from headrace_demo.oracle.transactions import Transactions

_NAME = r'((?:"[^"]+"|\w+)\.(?:"[^"]+"|[\w$#]+))'
_STATEMENT = re.compile(
    rf"\s*(CREATE|ALTER|DROP|TRUNCATE)\s+(?:GLOBAL\s+TEMPORARY\s+)?TABLE\s+{_NAME}\s*(.*?);?\s*$",
    re.IGNORECASE | re.DOTALL,
)
_KEY = re.compile(r"(?:CONSTRAINT\s+\S+\s+)?PRIMARY\s+KEY\s*\(([^)]*)\)", re.IGNORECASE)
_INLINE_KEY = re.compile(r"\s+PRIMARY\s+KEY\b", re.IGNORECASE)
_NO_ROW = "AAAAAAAAAAAAAAAAAA"
_NOT_A_COLUMN = re.compile(r"(?:CONSTRAINT|UNIQUE|FOREIGN|CHECK|SUPPLEMENTAL)\b", re.IGNORECASE)


def execute_ddl(
    database: Database, transactions: Transactions, text: str, user: str = "APP", thread: int = 1
) -> None:
    """Runs and logs the statement. Raises OracleError if it is not supported."""
    match = _STATEMENT.match(text)
    if match is None:
        raise OracleError(900, f"the stand-in does not understand {text}")
    verb, full_name, rest = match[1].upper(), _plain(match[2]), match[3].strip()
    with database.lock:
        if verb != "CREATE":
            database.table(full_name)
        _log(database, transactions, text, full_name, user, thread)
        if verb == "CREATE":
            _create(database, full_name, rest)
        elif verb == "DROP":
            database.apply([{"drop_table": full_name}])
        elif verb == "TRUNCATE":
            database.store.connection.execute(
                f'UPDATE {name(full_name)} SET "$end" = ? WHERE "$end" = {UNLIMITED}',
                (database.state.scn,),
            )
        else:
            _alter(database, database.table(full_name), rest)
        table = database.state.tables.get(full_name)
        if table is not None:
            table.last_ddl_scn = database.state.scn
        database.next_scn()
        database.show()


def _log(
    database: Database,
    transactions: Transactions,
    text: str,
    full_name: str,
    user: str,
    thread: int,
) -> None:
    xid = transactions.begin(user, None, thread)
    transactions.rollback(xid)  # only its number is used: a DDL is its own transaction
    line: dict[str, Any] = {"xid": xid, "user": user, "thread": thread, "table": full_name}
    database.state.scn += database.peculiarities.lateness
    statement = text.strip().rstrip(";") + ";"
    info = "USER DDL (PlSql=0 RecDep=0)"
    database.state.apply(
        [
            {"redo": "START", "sql": "set transaction read write;", **line, "table": None},
            {"redo": "DDL", "sql": statement, "info": info, "row_id": _NO_ROW, **line},
            {"redo": "COMMIT", "sql": "commit;", **line, "table": None},
        ]
    )


def _create(database: Database, full_name: str, rest: str) -> None:
    body = rest[rest.index("(") + 1 : rest.rindex(")")]
    columns, key = [], []
    for part in _parts(body):
        if primary := _KEY.match(part):
            key = _names(primary[1])
        elif not _NOT_A_COLUMN.match(part):
            plain = _INLINE_KEY.sub("", part)
            columns.append(plain)
            if plain != part:
                key = [Column.parse(plain).name]
    database.apply([{"table": {"name": full_name, "columns": columns, "key": key, "ddl": None}}])


def _alter(database: Database, table: Table, rest: str) -> None:
    words = rest.upper().split()
    connection, quoted = database.store.connection, name(table.full_name)
    if words[0] == "ADD" and (primary := _KEY.search(rest)):
        table.key = _names(primary[1])
    elif words[:2] == ["ADD", "SUPPLEMENTAL"]:
        table.log_groups = ["ALL COLUMN LOGGING"]
    elif words[:3] == ["DROP", "PRIMARY", "KEY"]:
        table.key = []
    elif words[:2] == ["DROP", "SUPPLEMENTAL"]:
        table.log_groups = []
    elif words[0] == "ADD":
        for part in _parts(_inside(rest[3:])):
            column = Column.parse(part)
            declaration = database.store.declaration(column)
            connection.execute(f"ALTER TABLE {quoted} ADD COLUMN {declaration}")
            default = (column.default or "").strip("'")
            if column.default is not None and default.upper() != "NULL":
                connection.execute(
                    f"UPDATE {quoted} SET {name(column.name)} = ?", (stored(column, default),)
                )
            table.columns.append(column)
    elif words[0] == "MODIFY":
        for part in _parts(_inside(rest[6:])):
            _modify(table, part)
    elif words[:2] == ["RENAME", "TO"]:
        _rename(database, table, _plain(rest.split(None, 2)[2]))
    elif words[:2] == ["RENAME", "COLUMN"]:
        _, _, before, _, after = rest.split()
        old, new = _plain(before), _plain(after)
        connection.execute(f"ALTER TABLE {quoted} RENAME COLUMN {name(old)} TO {name(new)}")
        table.columns = [
            replace(column, name=new) if column.name == old else column for column in table.columns
        ]
        table.key = [new if column == old else column for column in table.key]
    elif words[0] == "DROP":
        names = _names(_inside(re.sub(r"^DROP\s+(COLUMN\s+)?", "", rest, flags=re.IGNORECASE)))
        for column_name in names:
            connection.execute(f"ALTER TABLE {quoted} DROP COLUMN {name(column_name)}")
        table.columns = [column for column in table.columns if column.name not in names]
    else:
        raise OracleError(900, f"the stand-in does not understand ALTER TABLE … {rest}")


def _modify(table: Table, part: str) -> None:
    first, _, definition = part.partition(" ")
    old = next((column for column in table.columns if column.name == _plain(first)), None)
    if old is None:
        raise OracleError(904, f"{first}: invalid identifier")
    upper = definition.upper().strip()
    if upper in ("NULL", "NOT NULL"):
        new = replace(old, nullable=upper == "NULL")
    else:
        new = replace(Column.parse(part), name=old.name)
    table.columns = [new if column is old else column for column in table.columns]


def _rename(database: Database, table: Table, new: str) -> None:
    before, after = table.full_name, f"{table.schema}.{new.rpartition('.')[2]}"
    database.store.connection.execute(f"ALTER TABLE {name(before)} RENAME TO {name(after)}")
    del database.state.tables[before]
    table.name = after.partition(".")[2]
    database.state.tables[after] = table


def _parts(body: str) -> list[str]:
    """The parts of a text that are separated by commas outside parentheses and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in body:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
        parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _inside(text: str) -> str:
    text = text.strip()
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _names(text: str) -> list[str]:
    return [_plain(part) for part in text.split(",")]


def _plain(written: str) -> str:
    """A name of one or two parts in the form of the data dictionary."""
    parts = re.findall(r'"([^"]+)"|([\w$#]+)', written)
    return ".".join(quoted or bare.upper() for quoted, bare in parts)

"""Statements that change tables: CREATE, ALTER, DROP, TRUNCATE, RENAME and COMMENT.

Source: Oracle Database SQL Language Reference. Clauses that change no column and no key (storage,
partitions, indexes, other constraints, supplemental logging) are skipped; statements of other
objects change no table.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.oracle.ddl.changes import (
    AddColumns,
    CommentColumn,
    CommentTable,
    DdlKind,
    DropColumns,
    ModifyColumns,
    Path,
    RenameColumn,
    SetKey,
    Step,
    TableDdl,
    Unstated,
    refuse,
)
from headrace.connectors.oracle.ddl.columns import ColumnDefinition, read_column
from headrace.connectors.oracle.ddl.tokens import DdlNotUnderstood, TokenCursor, TokenKind

_CREATED = frozenset({
    "GLOBAL", "PRIVATE", "TEMPORARY", "SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN",
})  # fmt: skip
"""Words between CREATE and TABLE."""
_CONSTRAINTS = frozenset({"UNIQUE", "FOREIGN", "CHECK", "SUPPLEMENTAL", "PERIOD", "REF", "SCOPE"})
_NOT_ADDED = _CONSTRAINTS | {"PARTITION", "SUBPARTITION", "OVERFLOW", "VALUES"}
_NOT_MODIFIED = frozenset({
    "CLUSTERING", "CONSTRAINT", "DEFAULT", "LOB", "NESTED", "OPAQUE", "PARTITION", "PRIMARY",
    "SUBPARTITION", "UNIQUE", "VARRAY",
})  # fmt: skip
_Read = Callable[[TokenCursor, Path], TableDdl]
"""Reads the text after the table's name."""
_CLAUSES = frozenset({"ADD", "MODIFY", "DROP", "RENAME", "SET"})


def parse_ddl(sql: str, schema: str) -> tuple[TableDdl, ...]:
    """Return a statement's changes of tables; empty: it changes none. `schema` is the schema of
    names without one. Raises HeadraceError `oracle.ddl_not_understood` for a statement of a table
    that has no known form."""
    cursor = TokenCursor(sql)
    if cursor.take("CREATE"):
        while cursor.sees_any(_CREATED):
            cursor.next()
        if cursor.take("TABLE"):
            return _of_table(cursor, schema, _create)
    elif cursor.take("ALTER", "TABLE"):
        return _of_table(cursor, schema, _alter)
    elif cursor.take("DROP", "TABLE"):
        return _of_table(cursor, schema, lambda _cursor, path: TableDdl(DdlKind.DROP, path))
    elif cursor.take("TRUNCATE", "TABLE"):
        return _of_table(cursor, schema, lambda _cursor, path: TableDdl(DdlKind.TRUNCATE, path))
    elif cursor.take("RENAME"):
        return _of_table(cursor, schema, _rename)
    elif cursor.take("COMMENT", "ON"):
        return _comment(cursor, schema)
    return ()


def _of_table(cursor: TokenCursor, schema: str, read: _Read) -> tuple[TableDdl, ...]:
    path = (schema, "?")
    try:
        if cursor.take("IF"):
            cursor.take("NOT")
            cursor.expect("EXISTS")
        path = cursor.path(schema)
        return (read(cursor, path),)
    except DdlNotUnderstood as error:
        refuse(path, str(error))


def _create(cursor: TokenCursor, path: Path) -> TableDdl:
    columns: list[ColumnDefinition] = []
    key: tuple[str, ...] = ()
    if cursor.sees("OF") or not cursor.sees("("):
        reason = "its columns are those of a query or of a type"
        return TableDdl(DdlKind.CREATE, path, steps=(Unstated(reason),))
    cursor.expect("(")
    while True:
        stated = _key(cursor)
        if stated is not None:
            key = key or stated
        else:
            columns.append(read_column(cursor))
        if not cursor.take(","):
            break
    cursor.expect(")")
    steps: list[Step] = [AddColumns(tuple(columns))]
    if key:
        steps.append(SetKey(key))
    return TableDdl(DdlKind.CREATE, path, steps=tuple(steps))


def _key(cursor: TokenCursor) -> tuple[str, ...] | None:
    """Return the columns of a primary key that is a constraint of the table; empty for another
    constraint, which is skipped. None: a column comes next."""
    is_constraint = cursor.sees("CONSTRAINT") and not _is_typed(cursor)
    if is_constraint:
        cursor.next()
        cursor.name()
    names: tuple[str, ...] = ()
    if cursor.take("PRIMARY", "KEY"):
        names = cursor.names()
    elif not is_constraint and not (cursor.sees_any(_CONSTRAINTS) and not _is_typed(cursor)):
        return None
    if not (cursor.at_end or cursor.sees(",") or cursor.sees(")")):
        cursor.skip_until(lambda: cursor.sees_any(_CLAUSES))
    return names


def _is_typed(cursor: TokenCursor) -> bool:
    """Whether a word with which constraints begin is the name of a column."""
    token = cursor.peek()
    return token is not None and token.kind is TokenKind.QUOTED


def _alter(cursor: TokenCursor, path: Path) -> TableDdl:
    steps: list[Step] = []
    while not cursor.at_end:
        if cursor.take("RENAME", "TO"):
            return TableDdl(DdlKind.RENAME, (path[0], cursor.path(path[0])[1]), path)
        step = _clause(cursor)
        if step is not None:
            steps.append(step)
    return TableDdl(DdlKind.ALTER, path, steps=tuple(steps))


def _clause(cursor: TokenCursor) -> Step | None:
    """Return the change of a clause of ALTER TABLE; None: it changes no column and no key."""
    if cursor.take("ADD"):
        return _add(cursor)
    if cursor.take("MODIFY"):
        return _modify(cursor)
    if cursor.take("DROP"):
        return _drop(cursor)
    if cursor.take("SET", "UNUSED"):
        cursor.take("COLUMN")
        return DropColumns(cursor.names() if cursor.sees("(") else (cursor.name(),))
    if cursor.take("RENAME", "COLUMN"):
        old = cursor.name()
        cursor.expect("TO")
        return RenameColumn(old, cursor.name())
    _skip_clause(cursor)
    return None


def _skip_clause(cursor: TokenCursor) -> None:
    """Move to the next clause that may change a column."""
    cursor.next()
    while not (cursor.at_end or cursor.sees_any(_CLAUSES)):
        if cursor.sees("("):
            cursor.skip_parentheses()
        else:
            cursor.next()


def _add(cursor: TokenCursor) -> Step | None:
    if cursor.take("("):
        columns: list[ColumnDefinition] = []
        key: tuple[str, ...] = ()
        while True:
            stated = _key(cursor)
            if stated is None:
                columns.append(read_column(cursor))
            else:
                key = key or stated
            if not cursor.take(","):
                break
        cursor.expect(")")
        if columns and key:
            raise DdlNotUnderstood("it adds columns and a key at once")
        return AddColumns(tuple(columns)) if columns else SetKey(key) if key else None
    if cursor.sees_any(_NOT_ADDED) and not _is_typed(cursor):
        _skip_clause(cursor)
        return None
    key_columns = _key(cursor)
    if key_columns is not None:
        return SetKey(key_columns) if key_columns else None
    cursor.take("COLUMN")
    return AddColumns((read_column(cursor, _CLAUSES),))


def _modify(cursor: TokenCursor) -> Step | None:
    if cursor.sees_any(_NOT_MODIFIED) and not _is_typed(cursor):
        _skip_clause(cursor)
        return None
    if not cursor.take("("):
        return ModifyColumns((read_column(cursor, _CLAUSES),))
    columns = []
    while True:
        columns.append(read_column(cursor))
        if not cursor.take(","):
            break
    cursor.expect(")")
    return ModifyColumns(tuple(columns))


def _drop(cursor: TokenCursor) -> Step | None:
    if cursor.take("PRIMARY", "KEY"):
        return SetKey(())
    if cursor.take("COLUMN"):
        return DropColumns((cursor.name(),))
    if cursor.sees("("):
        return DropColumns(cursor.names())
    _skip_clause(cursor)
    return None


def _rename(cursor: TokenCursor, path: Path) -> TableDdl:
    cursor.expect("TO")
    return TableDdl(DdlKind.RENAME, cursor.path(path[0]), path)


def _comment(cursor: TokenCursor, schema: str) -> tuple[TableDdl, ...]:
    of_column = cursor.take("COLUMN")
    if not of_column and not cursor.take("TABLE"):
        return ()
    try:
        names = [cursor.name()]
        while cursor.take("."):
            names.append(cursor.name())
        column = names.pop() if of_column else None
        cursor.expect("IS")
        comment = cursor.next()
    except DdlNotUnderstood as error:
        refuse((schema, "?"), str(error))
    if not names or comment.kind is not TokenKind.TEXT:
        refuse((schema, "?"), "it is not a comment of a table")
    path = (names[0], names[1]) if len(names) > 1 else (schema, names[0])
    text = comment.text[comment.text.index("'") + 1 : -1].replace("''", "'")
    step: Step = CommentTable(text) if column is None else CommentColumn(column, text)
    return (TableDdl(DdlKind.COMMENT, path, steps=(step,)),)

"""Filters of signals: checked by structure, and generated from the checked tree.

Users who may write a signal may not run arbitrary SQL. A filter is one boolean expression over the
columns of its table; the text that reaches the database is generated from the checked tree, so that
parser and database cannot interpret it differently.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

_ALLOWED: tuple[type[exp.Expression], ...] = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Neg,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Column,
    exp.Identifier,
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Coalesce,
    exp.Lower,
    exp.Upper,
    exp.Abs,
    exp.Length,
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.Interval,
    exp.Var,
)
_KINDS = exp.DataType.Type
_TYPES = frozenset(
    (
        _KINDS.BOOLEAN,
        _KINDS.SMALLINT,
        _KINDS.INT,
        _KINDS.BIGINT,
        _KINDS.DECIMAL,
        _KINDS.FLOAT,
        _KINDS.DOUBLE,
        _KINDS.TEXT,
        _KINDS.VARCHAR,
        _KINDS.CHAR,
        _KINDS.UUID,
        _KINDS.DATE,
        _KINDS.TIME,
        _KINDS.TIMESTAMP,
        _KINDS.TIMESTAMPTZ,
        _KINDS.INTERVAL,
    )
)
_LONGEST = 10_000
_DEEPEST = 5
_MAX_CASTS = 50
_BEFORE_GROUPS = frozenset(
    (TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN, TokenType.WHERE)
)


def checked_filter(text: str, table: str, columns: Collection[str], *, dialect: str) -> str:
    """Return `text` as SQL that is safe to add to a query of `table` (schema.table). `dialect` is
    sqlglot's name of the database's SQL.

    Raises ValueError with a sentence that says what is refused.
    """
    try:
        return _checked_filter(text, table, columns, dialect)
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"the filter is not an SQL expression: {_first_line(error)}") from None


def _checked_filter(text: str, table: str, columns: Collection[str], dialect: str) -> str:
    """Do the work of `checked_filter`. Parsing, walking and writing a deep tree may each raise
    RecursionError."""
    trees = _parse(text, dialect)
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise ValueError("the filter is not one SQL expression")
    for node in tree.walk():
        if not isinstance(node, _ALLOWED):
            raise ValueError(f"{node.key} is not allowed in a filter")
        _check(node, table, dialect)
    if not isinstance(tree, exp.Condition):
        raise ValueError("the filter is not a condition")
    for column in list(tree.find_all(exp.Column)):
        name = exp.to_identifier(_name(column, table, columns, dialect), quoted=True)
        column.replace(exp.column(name))
        if column is tree:
            tree = exp.column(name)
    return tree.sql(dialect=dialect, comments=False)


def selected_filter(text: str, table: str, columns: Collection[str], *, dialect: str) -> str:
    """Return the condition of `SELECT * FROM table WHERE …`, the form of filters of blocking
    snapshots, or of a condition alone; checked as by `checked_filter`. ORDER BY is left out: chunks
    have an order of their own."""
    if not text.lstrip().lower().startswith("select"):
        return checked_filter(text, table, columns, dialect=dialect)
    try:
        condition = _condition_of(text, table, dialect)
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"the filter is not SQL: {_first_line(error)}") from None
    if condition is None:
        return "1 = 1"
    return checked_filter(condition, table, columns, dialect=dialect)


def _condition_of(text: str, table: str, dialect: str) -> str | None:
    """Return the text after the WHERE of a SELECT of all of `table`; None: it has no WHERE."""
    trees = _parse(text, dialect)
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Select):
        raise ValueError("the filter is not one SELECT")
    parts = {name for name, value in tree.args.items() if value}
    source = next(iter(tree.find_all(exp.Table)), None)
    where = tree.args.get("where")
    if (
        not parts <= {"expressions", "from", "from_", "where", "kind", "order"}
        or [type(part) for part in tree.expressions] != [exp.Star]
        or len(list(tree.find_all(exp.Table))) != 1
        or source is None
        or ".".join(part.name for part in source.parts) != table
        or not {name for name, value in source.args.items() if value} <= {"this", "db", "alias"}
        or source.alias_column_names
    ):
        raise ValueError(f"the filter is not SELECT * FROM {table} with a WHERE")
    return None if where is None else str(where.this.sql(dialect=dialect, comments=False))


def _parse(text: str, dialect: str) -> list[exp.Expr | None]:
    """Parse a text. Raises ValueError for a text that would take long: the parser tries each call
    also as a type, which doubles its time with every nested call; a nested cast is a level of the
    tree."""
    if len(text) > _LONGEST:
        raise ValueError(f"a filter has at most {_LONGEST} characters")
    calls: list[bool] = []
    casts = 0
    before = None
    for token in sqlglot.tokenize(text, read=dialect):
        kind = token.token_type
        if kind == TokenType.L_BRACKET:
            raise ValueError("[ is not allowed in a filter")
        casts += kind == TokenType.DCOLON
        if casts > _MAX_CASTS:
            raise ValueError(f"a filter has {_MAX_CASTS} casts at most")
        if kind == TokenType.L_PAREN:
            named = before is not None and before.text[-1:].replace("_", "a").isalnum()
            groups = before is None or before.token_type in _BEFORE_GROUPS
            calls.append(named and not groups)
            if sum(calls) > _DEEPEST:
                raise ValueError(f"calls in a filter are nested {_DEEPEST} deep at most")
        elif kind == TokenType.R_PAREN and calls:
            calls.pop()
        before = token
    try:
        return sqlglot.parse(text, read=dialect)
    except (AttributeError, LookupError, TypeError):  # the parser expects a part that {:} lacks
        raise ParseError("it cannot be parsed") from None


def _check(node: exp.Expression, table: str, dialect: str) -> None:
    if isinstance(node, exp.In) and (node.args.get("query") or node.args.get("unnest")):
        raise ValueError("a sub-query is not allowed in a filter")
    if isinstance(node, exp.DataType) and (node.this not in _TYPES or node.args.get("kind")):
        raise ValueError(f"the type {node.sql(dialect=dialect)} is not allowed in a filter")
    if isinstance(node, exp.Column):
        qualifier = ".".join(part.name for part in node.parts[:-1])
        if qualifier and qualifier not in (table, table.partition(".")[2]):
            raise ValueError(f"{node.sql(dialect=dialect)} is not a column of {table}")


def _name(column: exp.Column, table: str, columns: Collection[str], dialect: str) -> str:
    identifier = column.this
    if not isinstance(identifier, exp.Identifier):
        raise ValueError("a filter names its columns")
    # Databases fold unquoted names, each in its own way.
    name = Dialect.get_or_raise(dialect).normalize_identifier(identifier.copy()).name
    if name not in columns:
        raise ValueError(
            f"its filter names the column {name}, which {table} does not have: send a signal "
            f"whose filter names existing columns"
        )
    return name


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__

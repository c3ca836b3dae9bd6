"""The conditions of the query of LogMiner's rows: operations, containers, users, and, by
log.mining.query.filter.mode, schemas and tables."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connectors.oracle.properties.mining import plain_name
from headrace.connectors.oracle.sql import text

_DML, _LOBS = (1, 2, 3, 6, 7, 27, 34, 36, 255), (9, 10, 11, 29, 68, 70, 71, 91, 92, 93)
_MISSING = 34
_DDL = "(OPERATION_CODE = 5 AND INFO NOT LIKE 'INTERNAL DDL%')"
_TABLE = "SEG_OWNER || '.' || TABLE_NAME"
_MAX_ITEMS = 1000
"""The most items of a list in Oracle's SQL."""


def contents_condition(
    container: str | None,
    filters: Sequence[str] = (),
    *,
    lobs: bool = False,
    ddl_is_filtered: bool = False,
) -> str:
    """Return the condition on operations that all `filters` let through; DDL of every table is
    read, unless `ddl_is_filtered`. `container` is the pluggable database."""
    codes = ",".join(map(str, _DML + _LOBS if lobs else _DML))
    operations = f"OPERATION_CODE IN ({codes})"
    if ddl_is_filtered:
        operations = f"({operations} OR {_DDL})"
    condition = " AND ".join((operations, *filters))
    if not ddl_is_filtered:
        condition = f"(({condition}) OR {_DDL})"
    if container is None:
        return condition
    # Missing redo has no container.
    return f"(SRC_CON_NAME = {text(container)} OR OPERATION_CODE = {_MISSING}) AND {condition}"


def is_in(expression: str, names: Sequence[str], *, excluded: bool = False) -> str:
    """Return the condition that an expression's upper-case value is one of `names`, or none of
    them."""
    operator, joint = ("NOT IN", " AND ") if excluded else ("IN", " OR ")
    lists = (names[at : at + _MAX_ITEMS] for at in range(0, len(names), _MAX_ITEMS))
    parts = [
        f"UPPER({expression}) {operator} ({','.join(text(name.upper()) for name in part)})"
        for part in lists
    ]
    return parts[0] if len(parts) == 1 else f"({joint.join(parts)})"


def matches(expression: str, expressions: Sequence[str], *, excluded: bool = False) -> str:
    """Return the condition that an expression's whole value matches one of regular expressions, or
    none of them."""
    joint, negation = (" AND ", "NOT ") if excluded else (" OR ", "")
    parts = [
        f"{negation}REGEXP_LIKE({expression}, {text(f'^({pattern})$')}, 'i')"
        for pattern in expressions
    ]
    return parts[0] if len(parts) == 1 else f"({joint.join(parts)})"


def schema_filter(
    included: Sequence[str], excluded: Sequence[str], signals: str | None = None, *, regex: bool
) -> list[str]:
    """Return the filter of schemas (log.mining.query.filter.mode `in` or `regex`); rows without a
    schema, of a schema that LogMiner does not know, and of the table `signals`, are always read."""
    conditions = ["SEG_OWNER IS NULL"]
    if included:
        conditions.append(_listed("SEG_OWNER", [*included, "UNKNOWN"], regex=regex))
    elif excluded:
        conditions.append(_listed("SEG_OWNER", excluded, regex=regex, excluded=True))
    return _any_of(conditions, signals)


def table_filter(
    included: Sequence[str],
    excluded: Sequence[str],
    signals: str | None = None,
    *,
    regex: bool,
    hybrid: bool = False,
) -> list[str]:
    """Return the filter of tables (`SCHEMA.TABLE`), which includes the table `signals`; `hybrid`:
    also tables for which LogMiner only knows the number."""
    conditions = ["TABLE_NAME IS NULL"]
    if included:
        conditions.append(_listed(_TABLE, included, regex=regex))
    elif excluded:
        conditions.append(_listed(_TABLE, excluded, regex=regex, excluded=True))
    if hybrid and len(conditions) > 1:
        conditions.append("TABLE_NAME LIKE 'OBJ#%'")
    return _any_of(conditions, signals)


def _listed(expression: str, entries: Sequence[str], *, regex: bool, excluded: bool = False) -> str:
    if regex:
        return matches(expression, entries, excluded=excluded)
    return is_in(expression, [str(plain_name(entry)) for entry in entries], excluded=excluded)


def _any_of(conditions: list[str], signals: str | None) -> list[str]:
    if len(conditions) == 1:
        return []
    if signals is not None:
        conditions.append(is_in(_TABLE, [signals]))
    return [f"({' OR '.join(conditions)})"]


def user_filter(column: str, included: Sequence[str], excluded: Sequence[str]) -> list[str]:
    """Return the filter of users (USERNAME) or clients (CLIENT_ID); markers of transactions, and of
    missing redo, are always read."""
    if included:
        condition = is_in(column, [*included, "UNKNOWN"])
        if column != "USERNAME":
            condition = f"({column} IS NULL OR {is_in(column, included)})"
    elif excluded:
        condition = f"({column} IS NULL OR {is_in(column, excluded, excluded=True)})"
    else:
        return []
    return [f"(OPERATION_CODE IN (6,7,{_MISSING},36) OR {condition})"]


def default_filter(schemas: Sequence[str]) -> list[str]:
    """Return the filter of schemas and tables that are never captured (log.mining.query.filter.mode
    `none`)."""
    return [
        f"(SEG_OWNER IS NULL OR SEG_OWNER NOT IN ({','.join(map(text, schemas))}))",
        "(TABLE_NAME IS NULL OR TABLE_NAME NOT LIKE 'MLOG$%')",
    ]

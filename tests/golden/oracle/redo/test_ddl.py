"""Statements that change tables, as ours reads them, against what Debezium's own parser made of
them: which tables they change, and the tables after them.

What differs on purpose is in `differences/`, and with its reason in docs/guides/differences.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from headrace.connectors.oracle.ddl.changes import DdlKind, Path
from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.errors import HeadraceError
from headrace.relational.table import Column, Table
from headrace_demo.oracle.definitions import Table as Definition
from tests.golden.on_purpose import brief, on_purpose
from tests.golden.oracle.redo.cases import HERE, Case, cases
from tests.golden.oracle.redo.ours import described

DDL = {case.title: case for case in cases() if case.kind == "ddl"}
EVENTS = {
    DdlKind.CREATE: "CREATE_TABLE",
    DdlKind.ALTER: "ALTER_TABLE",
    DdlKind.RENAME: "ALTER_TABLE",
    DdlKind.DROP: "DROP_TABLE",
    DdlKind.TRUNCATE: "TRUNCATE_TABLE",
    DdlKind.COMMENT: "CREATE_TABLE",
}
DATABASE = "ORCLPDB1."


def shown(column: Column) -> dict[str, Any]:
    """The part of a column's description that both have."""
    declared = column.type
    assert isinstance(declared, OracleType)
    length: int | None = None
    scale: int | None = None
    if declared.kind in ("NUMBER", "FLOAT"):
        length, scale = declared.precision or 38, declared.scale
    elif declared.kind.startswith("TIMESTAMP"):
        length = declared.digits
    elif declared.kind.startswith("INTERVAL"):
        length, scale = declared.precision, declared.digits
    elif "CHAR" in declared.kind or declared.kind == "RAW":
        length = declared.length
    return {
        "name": column.name,
        "typeName": declared.kind,
        "length": length,
        "scale": scale,
        "optional": not column.not_null,
        "generated": column.generated,
        "comment": column.comment,
        "defaultValueExpression": column.default,
    }


class Tables:
    """The tables of a case, as one statement after the other changes them."""

    def __init__(self, case: Case) -> None:
        definitions = [Definition.read(table, number) for number, table in enumerate(case.tables)]
        self.tables: dict[Path, Table] = {
            (definition.schema, definition.name): described(definition)
            for definition in definitions
        }

    def change(self, statement: str) -> dict[str, Any]:
        """The effect of a statement; members as the recording has them."""
        try:
            changes = parse_ddl(statement, "S")
        except HeadraceError as error:
            return {"error": error.code}
        events, changed = [], {}
        for change in changes:
            event = {"type": EVENTS[change.kind], "table": ".".join(change.path)}
            event["previous"] = ".".join(change.previous) if change.previous else None
            events.append(event)
            before = self.tables.get(change.previous or change.path)
            try:
                after = change.applied(before)
            except HeadraceError as error:
                return {"error": error.code}
            if change.previous is not None:
                self.tables.pop(change.previous, None)
            if after is None:
                self.tables.pop(change.path, None)
            elif after != before:
                self.tables[change.path] = after
                changed[".".join(change.path)] = after
        return {"events": events, "changed": changed}


def recorded_table(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and description of a recorded table."""
    name = given["id"].replace('"', "").removeprefix(DATABASE)
    columns = []
    for column in given["table"]["columns"]:
        members = ("name", "typeName", "length", "scale", "optional", "generated", "comment")
        kept = {member: column.get(member) for member in members}
        kept["defaultValueExpression"] = column.get("defaultValueExpression")
        columns.append(kept)
    return name, {"key": given["table"]["primaryKeyColumnNames"], "columns": columns}


def differences(case: Case) -> Iterator[str]:
    """The differences between our result and Debezium's."""
    _, recorded = case.recorded()
    ours = Tables(case)
    for number, (statement, theirs) in enumerate(zip(case.statements, recorded, strict=True), 1):
        mine, what = ours.change(statement), f"{number} {statement[:70]!r}"
        if "error" in theirs or "error" in mine:
            if "error" not in theirs or "error" not in mine:
                yield f"{what}: expected {outcome(theirs)}, came {outcome(mine)}"
            continue
        expected = [
            {name: value and value.replace(DATABASE, "") for name, value in event.items()}
            for event in theirs["events"]
        ]
        for event in expected:
            event.setdefault("previous", None)
        if expected != mine["events"]:
            yield f"{what}: expected {expected}, came {mine['events']}"
        changed = dict(map(recorded_table, theirs["changed"]))
        for name in changed:
            table = ours.tables.get(tuple(name.split(".", 1)))  # type: ignore[arg-type]
            if table is None:
                yield f"{what}: expected {name}, which ours has not"
                continue
            described_here = {"key": [*table.key], "columns": [*map(shown, table.columns)]}
            yield from unlike(f"{what} {name}", changed[name], described_here)
        yield from (f"{what}: not expected, {name}" for name in mine["changed"].keys() - changed)


def outcome(answer: Mapping[str, Any]) -> str:
    return "an error" if "error" in answer else f"{answer['events']}"


def unlike(what: str, expected: Mapping[str, Any], came: Mapping[str, Any]) -> Iterator[str]:
    """The differences between two descriptions of a table."""
    if expected["key"] != came["key"]:
        yield f"{what} key: expected {expected['key']}, came {came['key']}"
    theirs = {column["name"]: column for column in expected["columns"]}
    mine = {column["name"]: column for column in came["columns"]}
    if list(theirs) != list(mine):
        yield f"{what} columns: expected {list(theirs)}, came {list(mine)}"
    for name in theirs.keys() & mine.keys():
        left, right = theirs[name], mine[name]
        yield from (
            f"{what}.{name} {member}: expected {left[member]!r}, came {right[member]!r}"
            for member in left
            if left[member] != right[member]
        )


@pytest.mark.parametrize("title", DDL)
def test_statements_change_tables_as_debezium_says(title: str) -> None:
    really = Counter(map(brief, differences(DDL[title])))
    expected = Counter(on_purpose(HERE, title))
    gone = [f"no longer different: {line}" for line in (expected - really).elements()]
    unexpected = [*(really - expected).elements(), *gone]
    assert not unexpected, "\n".join(unexpected[:20])

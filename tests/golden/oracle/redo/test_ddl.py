"""headrace's parser of DDL against Debezium's: the tables that each statement changes, and their
structure after it.

`differences/` lists each intended difference; docs/guides/differences.md has the reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from headrace.connectors.oracle.ddl.changes import DdlKind
from headrace.connectors.oracle.ddl.changes import Path as TablePath
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
    DdlKind.COMMENT: "CREATE_TABLE",  # as Debezium's parser reports a comment
}
DATABASE = "ORCLPDB1."


def shown(column: Column) -> dict[str, Any]:
    """Return the members of a column's description that headrace and Debezium both have."""
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
        self.tables: dict[TablePath, Table] = {
            (definition.schema, definition.name): described(definition)
            for definition in definitions
        }

    def change(self, statement: str) -> dict[str, Any]:
        """Return the effect of a statement; members as the recording has them."""
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


def recorded_table(recorded_change: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and description of a recorded table."""
    name = recorded_change["id"].replace('"', "").removeprefix(DATABASE)
    columns = []
    for column in recorded_change["table"]["columns"]:
        members = ("name", "typeName", "length", "scale", "optional", "generated", "comment")
        column_members = {member: column.get(member) for member in members}
        column_members["defaultValueExpression"] = column.get("defaultValueExpression")
        columns.append(column_members)
    return name, {"key": recorded_change["table"]["primaryKeyColumnNames"], "columns": columns}


def differences(case: Case) -> Iterator[str]:
    """The differences between our result and Debezium's."""
    _, recorded = case.recorded()
    tables = Tables(case)
    for number, (statement, theirs) in enumerate(zip(case.statements, recorded, strict=True), 1):
        ours, label = tables.change(statement), f"{number} {statement[:70]!r}"
        if "error" in theirs or "error" in ours:
            if "error" not in theirs or "error" not in ours:
                yield f"{label}: expected {outcome(theirs)}, came {outcome(ours)}"
            continue
        expected = [
            {name: value and value.replace(DATABASE, "") for name, value in event.items()}
            for event in theirs["events"]
        ]
        for event in expected:
            event.setdefault("previous", None)
        if expected != ours["events"]:
            yield f"{label}: expected {expected}, came {ours['events']}"
        changed = dict(map(recorded_table, theirs["changed"]))
        for name in changed:
            table = tables.tables.get(tuple(name.split(".", 1)))  # type: ignore[arg-type]
            if table is None:
                yield f"{label}: expected {name}, which ours has not"
                continue
            described_here = {"key": [*table.key], "columns": [*map(shown, table.columns)]}
            yield from table_differences(f"{label} {name}", changed[name], described_here)
        yield from (f"{label}: not expected, {name}" for name in ours["changed"].keys() - changed)


def outcome(answer: Mapping[str, Any]) -> str:
    return "an error" if "error" in answer else f"{answer['events']}"


def table_differences(
    label: str, expected: Mapping[str, Any], actual: Mapping[str, Any]
) -> Iterator[str]:
    """The differences between two descriptions of a table."""
    if expected["key"] != actual["key"]:
        yield f"{label} key: expected {expected['key']}, came {actual['key']}"
    theirs = {column["name"]: column for column in expected["columns"]}
    ours = {column["name"]: column for column in actual["columns"]}
    if list(theirs) != list(ours):
        yield f"{label} columns: expected {list(theirs)}, came {list(ours)}"
    for name in theirs.keys() & ours.keys():
        left, right = theirs[name], ours[name]
        yield from (
            f"{label}.{name} {member}: expected {left[member]!r}, came {right[member]!r}"
            for member in left
            if left[member] != right[member]
        )


@pytest.mark.parametrize("title", DDL)
def test_statements_change_tables_as_debezium_says(title: str) -> None:
    actual = Counter(map(brief, differences(DDL[title])))
    expected = Counter(on_purpose(HERE, title))
    gone = [f"no longer different: {line}" for line in (expected - actual).elements()]
    unexpected = [*(actual - expected).elements(), *gone]
    assert not unexpected, "\n".join(unexpected[:20])

"""The questions that only a Db2 can answer, and the answers in the records of a support bundle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.support.plan import Open

Records = Sequence[Mapping[str, Any]]


def rows_of(records: Records, name: str, place: str = "") -> list[dict[str, Any]]:
    """Return the rows that were recorded for a question, by their columns; `place`: only those of
    this place."""
    rows = []
    for record in records:
        if record["name"] == name and "rows" in record and place in record["place"]:
            columns = [described[0] for described in record["columns"]]
            for row in record["rows"]:
                cells = (cell[1] if len(cell) > 1 else cell[0] for cell in row)
                rows.append(dict(zip(columns, cells, strict=True)))
    return rows


def _refused(records: Records, prefix: str) -> list[object]:
    """Return the errors of the workload's statements, by the statements' names."""
    return [
        {"name": record["name"], "place": record["place"], **record["error"]}
        for record in records
        if "error" in record and str(record["name"]).startswith(prefix)
    ]


def _has_workload(records: Records) -> bool:
    return any(str(record["name"]).startswith("kit_") for record in records)


def _clocks(records: Records) -> object:
    """Return Capture's times, the server's own time, and its distance from UTC."""
    return {
        "server": rows_of(records, "time_zone"),
        "progress": rows_of(records, "capture_progress"),
        "workload": rows_of(records, "kit_units") if _has_workload(records) else None,
    }


def _large_columns(records: Records) -> object:
    """Return the large types of captured tables and of change tables, the states of all
    registrations, and the result of the workload's table with such columns."""
    kinds = ("BLOB", "CLOB", "DBCLOB", "XML")
    counts = {
        of: Counter(str(row["TYPE_NAME"]) for row in rows_of(records, "columns", place))
        for of, place in (("table", "a captured table"), ("change_table", "its change table"))
    }
    answer: dict[str, object] = {
        of: {kind: counted[kind] for kind in kinds} for of, counted in counts.items()
    }
    states = Counter(str(row["STATE"]) for row in rows_of(records, "registrations"))
    return {**answer, "states": dict(states), "workload": _changes(records, "LARGE")}


def _started(records: Records) -> object:
    """Return the results of a registration with a CAPSTART signal, and of others without one."""
    if not _has_workload(records):
        return None
    return {
        "registrations": rows_of(records, "kit_registrations"),
        "signals": rows_of(records, "kit_signals"),
        "with_signal": _changes(records, "CHANGES"),
        "without_signal": _changes(records, "UNSIGNALLED"),
        "refused": _refused(records, "kit_"),
    }


def _changes(records: Records, table: str) -> object:
    if not _has_workload(records):
        return None
    return rows_of(records, "kit_changes", f"CDC_HEADRACE_KIT_{table}")


OPEN: Sequence[Open] = (
    Open(
        "D1",
        "Are the times of commits (IBMSNAP_LOGMARKER) and of Capture's synchpoint the server's "
        "local time, whose distance from UTC is CURRENT TIMEZONE?",
        _clocks,
    ),
    Open(
        "D6",
        "Do change tables have the LOB and XML columns of their tables, and are their "
        "registrations stopped (STATE = 'S')? The answer counts columns of these types.",
        _large_columns,
    ),
    Open(
        "capstart",
        "Does Capture begin with a registration only after a CAPSTART signal?",
        _started,
    ),
    Open(
        "expression_columns",
        "Do change tables have the values of columns that are GENERATED ALWAYS AS an expression?",
        lambda records: _changes(records, "EXPRESSIONS"),
    ),
    Open(
        "kinds",
        "What do change tables have of DECFLOAT, TIMESTAMP(12), BOOLEAN and graphic texts?",
        lambda records: _changes(records, "KINDS"),
    ),
)
"""The questions that only a Db2 can answer."""

"""What cannot be known without an Oracle, and what the records of a support bundle say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.connectors.oracle import sql
from headrace.support.plan import Open

Records = Sequence[Mapping[str, Any]]
_REDO = ("redo", "workload")
"""Notes on the redo: of the observed time, and of the workload."""


def _values(records: Records, name: str, column: str) -> list[Any]:
    """What was recorded of a column, in order."""
    values = []
    for record in records:
        if record["name"] == name and "rows" in record:
            at = [described[0] for described in record["columns"]].index(column)
            values += [cell[1] for row in record["rows"] for cell in [row[at]]]
    return values


def _facts(records: Records, name: str) -> Mapping[str, Any]:
    facts = [record["facts"] for record in records if record["name"] == name and "facts" in record]
    return facts[-1] if facts else {}


def _counted(fact: str) -> Callable[[Records], object]:
    """A fact of the redo; None: there was none."""
    return lambda records: {name: _facts(records, name).get(fact) for name in _REDO}


def _redo_of(*tables: str) -> Callable[[Records], object]:
    """What LogMiner gave for tables of the workload, see `samples`, and the codes of what the
    database refused of each; None: the bundle has no workload."""

    def answer(records: Records) -> object:
        own = [one for one in records if str(one["name"]).startswith("kit_")]
        if not own:
            return None
        samples = _facts(records, "workload_samples")
        names = {table: f"{sql.KIT}{table}" for table in tables}
        refused = {
            table: [one["error"] for one in own if "error" in one and one["place"].endswith(name)]
            for table, name in names.items()
        }
        return {
            table: {"rows": samples.get(name, []), "refused": refused[table]}
            for table, name in names.items()
        }

    return answer


def _formats(records: Records) -> object:
    rows = [
        {row[0][1]: row[1][1] for row in record["rows"]}
        for record in records
        if record["name"] == sql.WHOLE_VIEW.name
        and any(row and row[0][1] == "NLS_DATE_FORMAT" for row in record.get("rows", ()))
    ]
    after_a_switch = [
        {name: text for name, text in row.items() if name.startswith("NLS_") and "FORMAT" in name}
        for row in rows
    ]
    return {"after_a_switch": after_a_switch, "workload": _redo_of("TIMES")(records)}


def _types(records: Records) -> object:
    declared = [str(one) for one in _values(records, sql.COLUMNS.name, "DATA_TYPE")]
    return {
        "server": _values(records, sql.PRODUCT.name, "PRODUCT"),
        "platform": _values(records, sql.PLATFORM.name, "PLATFORM_NAME"),
        "captured_columns": {
            kind: sum(kind in one for one in declared) for kind in ("BOOLEAN", "XMLTYPE", "JSON")
        },
        "workload": _redo_of("BOOLEANS", "XMLS", "JSONS")(records),
    }


OPEN: Sequence[Open] = (
    Open(
        "O6",
        "What does redo of a column of an object type look like?",
        _redo_of("OBJECTS"),
    ),
    Open(
        "O15",
        "Are invisible columns in SQL_REDO, and columns of indexes on expressions (SYS_NC…$)?",
        _redo_of("INVISIBLES"),
    ),
    Open(
        "O18",
        "How does SQL_REDO show a date before Christ, in formats whose years have no sign? The "
        "third row of TIMES has one, of the year -4712.",
        _redo_of("TIMES"),
    ),
    Open(
        "O19",
        "Do the session's formats stay when it goes to another container? They are those that were "
        "set, YYYY-MM-DD HH24:MI:SS and so on, or the answer shows others. And are they those of "
        "the literals in SQL_REDO?",
        _formats,
    ),
    Open(
        "O20",
        "Is SQL_REDO cut within a character where it goes on in the next row (CSF = 1)?",
        _counted("cut_characters"),
    ),
    Open(
        "O21",
        "Does the SCN ever fall from one row of V$LOGMNR_CONTENTS to the next?",
        _counted("falling_scns"),
    ),
    Open(
        "O22",
        "What does redo of BOOLEAN columns look like, of XMLTYPE in its default storage and of "
        "JSON? Of which edition, and on which platform?",
        _types,
    ),
    Open("lobs", "How are LOBs written, in part, too?", _redo_of("LOBS")),
    Open(
        "savepoints",
        "What does ROLLBACK TO SAVEPOINT write, of large values, too?",
        _redo_of("SAVEPOINTS"),
    ),
    Open(
        "altered",
        "What does LogMiner give for rows that were written before their table was altered?",
        _redo_of("ALTERED"),
    ),
)
"""What cannot be known without an Oracle."""

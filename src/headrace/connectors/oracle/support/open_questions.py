"""The questions that only an Oracle can answer, and the answers in the records of a support
bundle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.connectors.oracle import sql
from headrace.support.plan import Open

Records = Sequence[Mapping[str, Any]]
_REDO = ("redo", "workload")
"""Notes on the redo: of the observed time, and of the workload."""
_UNSUPPORTED = "255"


def _values(records: Records, name: str, column: str) -> list[Any]:
    """Return the recorded values of a column, in order."""
    values = []
    for record in records:
        if record["name"] == name and "rows" in record:
            at = [described[0] for described in record["columns"]].index(column)
            values += [cell[1] for row in record["rows"] for cell in [row[at]]]
    return values


def _rows(records: Records, *names: str) -> list[dict[str, Any]]:
    """Return the rows that were recorded for statements, by their columns."""
    rows = []
    for record in records:
        if record["name"] in names and "rows" in record:
            columns = [described[0] for described in record["columns"]]
            cells = ([cell[-1] for cell in row] for row in record["rows"])
            rows += [dict(zip(columns, row, strict=True)) for row in cells]
    return rows


def _asked(records: Records, name: str) -> list[Mapping[str, Any]]:
    """Return the statements of a name that are not the workload's."""
    return [record for record in records if record["name"] == name and "place" in record]


def _refusals(records: Records, *names: str) -> list[object]:
    """Return the errors of the database, without the workload's; `names`: only those of these
    statements."""
    return [
        {"name": record["name"], **record["error"]}
        for record in records
        if "error" in record
        and not str(record["name"]).startswith("kit_")
        and (not names or record["name"] in names)
    ]


def _slowest(records: Records, name: str) -> float | None:
    """Return the most seconds that a statement took; None: it was not sent."""
    return max((float(record["seconds"]) for record in _asked(records, name)), default=None)


def _facts(records: Records, name: str) -> Mapping[str, Any]:
    facts = [record["facts"] for record in records if record["name"] == name and "facts" in record]
    return facts[-1] if facts else {}


def _counted(fact: str) -> Callable[[Records], object]:
    """Return a function that reads a fact of the redo; None: there was none."""
    return lambda records: {name: _facts(records, name).get(fact) for name in _REDO}


def _redo_of(*tables: str) -> Callable[[Records], object]:
    """Return a function that reads LogMiner's rows of tables of the workload, see `samples`, and
    the error codes of each; None: the bundle has no workload."""

    def answer(records: Records) -> object:
        of_kit = [record for record in records if str(record["name"]).startswith("kit_")]
        if not of_kit:
            return None
        samples = _facts(records, "workload_samples")
        names = {table: f"{sql.KIT}{table}" for table in tables}
        refused = {
            table: [
                record["error"]
                for record in of_kit
                if "error" in record and record["place"].endswith(name)
            ]
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
    declared = [str(column_type) for column_type in _values(records, sql.COLUMNS.name, "DATA_TYPE")]
    return {
        "server": _values(records, sql.PRODUCT.name, "PRODUCT"),
        "platform": _values(records, sql.PLATFORM.name, "PLATFORM_NAME"),
        "captured_columns": {
            kind: sum(kind in column_type for column_type in declared)
            for kind in ("BOOLEAN", "XMLTYPE", "JSON")
        },
        "workload": _redo_of("BOOLEANS", "XMLS", "JSONS")(records),
    }


def _driver(records: Records) -> object:
    """Return how the driver connected, and what it could not read in the way of the stream."""
    arrow = [record["facts"] for record in records if record["name"] == "arrow"]
    return {**_facts(records, "server"), "arrow": [record.get("error") for record in arrow]}


def _containers(records: Records) -> object:
    return {
        "is_container_database": _values(records, sql.PLATFORM.name, "CDB"),
        "refused": _refusals(records, sql.SET_CONTAINER.name),
    }


def _archived(records: Records) -> object:
    """Return archived logs by the content of their rows, and the results of adding logs."""
    rows = _rows(records, sql.ARCHIVED_LOGS.name)
    whole = [
        row
        for record in _asked(records, sql.WHOLE_VIEW.name)
        if str(record["place"]).endswith("V$ARCHIVED_LOG")
        for row in _rows([record], sql.WHOLE_VIEW.name)
    ]
    return {
        "listed": len(rows),
        "destinations": _counts(row.get("DEST_ID") for row in whole),
        "states": _counts(row.get("STATUS") for row in whole),
        "nameless": sum(row.get("NAME") is None for row in whole),
        "refused": _refusals(records, sql.ADD_LOGFILE.name, sql.START_LOGMNR.name),
    }


def _counts(values: Iterable[object]) -> dict[str, int]:
    return dict(Counter(map(str, values)))


def _archiving(records: Records) -> object:
    return {
        "largest_log": _rows(records, sql.LARGEST_LOG.name),
        "unarchived": [record["row_count"] for record in _asked(records, sql.UNARCHIVED.name)
                       if "row_count" in record],
    }  # fmt: skip


def _transactions(records: Records) -> object:
    """Return the open transactions, and how long it took to read their redo."""
    return {
        "open": _rows(records, sql.PENDING.name),
        "scn": _rows(records, sql.CURRENT_SCN.name)[:1],
        "contents_seconds": _slowest(records, sql.CONTENTS.name),
    }


def _catalogue(records: Records) -> object:
    """Return the number of tables, and the most seconds that describing a table took."""
    names = (sql.TABLES, sql.COLUMNS, sql.PRIMARY_KEY, sql.OBJECT, sql.TABLE_DDL)
    return {
        "tables": [record["row_count"] for record in _asked(records, sql.TABLES.name)
                   if "row_count" in record],
        "captured": _facts(records, "captured").get("tables"),
        "seconds": {record.name: _slowest(records, record.name) for record in names},
    }  # fmt: skip


def _unreadable(records: Records) -> object:
    captured = _facts(records, "captured").get("tables")
    return {"captured": captured, "refused": _refusals(records, sql.ROWS.name, sql.TABLE_DDL.name)}


def _unsupported(records: Records) -> object:
    """Return the rows that LogMiner does not support (OPERATION_CODE 255), and the number of all
    rows."""
    counts = {}
    for name in _REDO:
        facts = _facts(records, name)
        counts[name] = {
            "rows": facts.get("rows"),
            "unsupported": facts.get("operations", {}).get(_UNSUPPORTED, 0) if facts else None,
        }
    return counts


def _rights(records: Records) -> object:
    return {
        "privileges": _values(records, sql.PRIVILEGES.name, "PRIVILEGE"),
        "packages": _values(records, sql.PACKAGES.name, "OBJECT_NAME"),
        "refused": _refusals(records, sql.ROWS.name),
    }


OPEN: Sequence[Open] = (
    Open(
        "O6",
        "What does redo of a column of an object type look like?",
        _redo_of("OBJECTS"),
    ),
    Open(
        "O7",
        "Does the driver connect in its thin mode, and does it read redo as Arrow?",
        _driver,
    ),
    Open(
        "O8",
        "Is it a container database, and may the user enter its root and the tables' container?",
        _containers,
    ),
    Open(
        "O9",
        "Which errors does the server give to statements that others answer, by which codes?",
        lambda records: {"refused": _refusals(records)},
    ),
    Open(
        "O10",
        "Do archived logs that are listed have names, and files that a session can add? Which of "
        "them have no destination (DEST_ID 0)?",
        _archived,
    ),
    Open(
        "O11",
        "How large is a log, and how many that were switched wait to be archived?",
        _archiving,
    ),
    Open(
        "O12",
        "How old are open transactions, by their START_SCN and the current one, and how long does "
        "reading redo take?",
        _transactions,
    ),
    Open(
        "O13",
        "How many tables are there, and how long does the description of one take?",
        _catalogue,
    ),
    Open(
        "O14",
        "Are there captured tables of which the server shows no rows or no statement, as external "
        "ones?",
        _unreadable,
    ),
    Open(
        "O15",
        "Are invisible columns in SQL_REDO, and columns of indexes on expressions (SYS_NC…$)?",
        _redo_of("INVISIBLES"),
    ),
    Open(
        "O16",
        "How many rows of the redo does LogMiner not support?",
        _unsupported,
    ),
    Open(
        "O17",
        "Which rights does the user have, and do they suffice to read rows?",
        _rights,
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
"""The questions that only an Oracle can answer."""

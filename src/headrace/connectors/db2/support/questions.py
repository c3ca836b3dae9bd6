"""The statements of a support bundle of Db2, and what of their answers may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.sql import control_table
from headrace.support.plan import Open
from headrace.support.questions import Question, Shown

_REGISTER_WORDS: Mapping[str, Shown] = dict.fromkeys(
    ("GLOBAL_RECORD", "STATE", "CHG_UPD_TO_DEL_INS", "CONFLICT_LEVEL", "DISABLE_REFRESH",
     "CHGONLY", "RECAPTURE", "ARCH_LEVEL", "BEFORE_IMG_PREFIX", "CD_OLD_SYNCHPOINT",
     "CD_NEW_SYNCHPOINT", "SYNCHPOINT", "IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ",
     "IBMSNAP_OPERATION", "DATA_TYPE", "TYPE_NAME", "IS_NULLABLE", "TABLE_TYPE", "VALUE", "ZONE"),
    Shown.VALUE,
)  # fmt: skip
"""Columns whose values are Db2's and Capture's own words and places in the log."""
_NAMES: Mapping[str, Shown] = dict.fromkeys(
    ("SOURCE_OWNER", "SOURCE_TABLE", "CD_OWNER", "CD_TABLE", "PHYS_CHANGE_OWNER",
     "PHYS_CHANGE_TABLE", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "TABSCHEMA", "TABNAME",
     "COLNAME", "TABLE_CAT"),
    Shown.NAME,
)  # fmt: skip
_COLUMNS = {**_REGISTER_WORDS, **_NAMES}
_SETTINGS = ("cur_commit", "locktimeout", "codepage", "codeset", "logarchmeth1", "date_compat",
             "varchar2_compat", "number_compat", "restrict_access", "stmt_conc")  # fmt: skip


class Questions:
    """Those of a configuration, whose control tables have a schema of their own."""

    def __init__(self, config: Db2Config) -> None:
        units = control_table(config, sql.UNITS_OF_WORK)
        names = ", ".join(f"'{name}'" for name in _SETTINGS)
        self.register = _question(
            "register", f"SELECT * FROM {control_table(config, sql.REGISTER)}",
            "every column of the registrations", rows=200,
        )  # fmt: skip
        self.registrations = _question(
            "registrations", sql.registrations(config), "which tables are registered, and how"
        )
        self.newest = _question("newest_lsn", sql.newest_lsn(config), "how far Capture is")
        self.progress = _question(
            "capture_progress", sql.capture_progress(config), "Capture's time, and the server's"
        )
        self.zone = _question(
            "time_zone",
            "SELECT CURRENT TIMESTAMP, CURRENT TIMEZONE FROM SYSIBM.SYSDUMMY1",
            "whether times of commits are UTC",
        )
        self.units = _question(
            "units_of_work", f"SELECT * FROM {units} FETCH FIRST 20 ROWS ONLY",
            "times of commits, and the types of their numbers",
        )  # fmt: skip
        self.settings = _question(
            "settings",
            "SELECT NAME, VALUE, DATATYPE FROM SYSIBMADM.DBCFG "
            f"WHERE NAME IN ({names}) ORDER BY NAME",
            "settings of the database that change answers",
            columns={**_COLUMNS, "NAME": Shown.VALUE, "DATATYPE": Shown.VALUE},
        )
        self.changes = _question(
            "changes",
            "SELECT * FROM {change_table} FETCH FIRST 20 ROWS ONLY",
            "rows of a change table: types only, beside the numbers and operations of Capture",
            others=Shown.TYPE,
            columns=dict.fromkeys(
                ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION"), Shown.VALUE
            ),
        )
        self.rows = _question(
            "rows",
            "SELECT * FROM {table} FETCH FIRST 3 ROWS ONLY",
            "three rows of a captured table: which types the driver makes; no value is kept",
            columns={},
            others=Shown.TYPE,
        )
        self.columns = _question(
            "columns",
            "SQLColumns {table}",
            "how the driver describes the columns of a captured table and of its change table",
            rows=1000,
            columns={**_COLUMNS, "COLUMN_DEF": Shown.SQL},
        )

    def all(self) -> Sequence[Question]:
        """In the order in which they are asked."""
        return (
            self.register, self.registrations, self.newest, self.progress, self.zone, self.units,
            self.settings, self.columns, self.changes, self.rows,
        )  # fmt: skip


def _question(name: str, text: str, why: str, **more: Any) -> Question:
    return Question(name, text, why, **{"columns": _COLUMNS, **more})


Records = Sequence[Mapping[str, Any]]


def _large_columns(records: Records) -> object:
    """Of captured tables and of change tables: the large types that they have."""
    kinds = ("BLOB", "CLOB", "DBCLOB", "XML")
    counts = {"table": dict.fromkeys(kinds, 0), "change_table": dict.fromkeys(kinds, 0)}
    for record in records:
        if record["name"] != "columns" or "rows" not in record:
            continue
        names = [described[0] for described in record["columns"]]
        of = "change_table" if "change" in record["place"] else "table"
        for row in record["rows"]:
            kind = str(row[names.index("TYPE_NAME")][1])
            if kind in kinds:
                counts[of][kind] += 1
    return counts


OPEN: Sequence[Open] = (
    Open(
        "D6",
        "Do change tables have the LOB and XML columns of their tables, and are their "
        "registrations stopped (STATE = 'S')? The answer counts columns of these types.",
        _large_columns,
    ),
)
"""What cannot be known without a Db2."""

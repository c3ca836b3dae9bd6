"""The statements of a support bundle of Db2, and which parts of their answers may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.sql import control_table
from headrace.support.questions import Question, Shown

_REGISTER_WORDS: Mapping[str, Shown] = dict.fromkeys(
    ("GLOBAL_RECORD", "STATE", "CHG_UPD_TO_DEL_INS", "CONFLICT_LEVEL", "DISABLE_REFRESH",
     "CHGONLY", "RECAPTURE", "ARCH_LEVEL", "BEFORE_IMG_PREFIX", "STATE_INFO", "STOP_ON_ERROR",
     "OPTION_FLAGS", "SOURCE_CONDENSED", "SOURCE_COMPLETE", "CCD_CONDENSED", "CCD_COMPLETE",
     "CCD_OLD_SYNCHPOINT", "CD_OLD_SYNCHPOINT", "CD_NEW_SYNCHPOINT", "SYNCHPOINT",
     "IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION", "DATA_TYPE", "TYPE_NAME",
     "IS_NULLABLE", "TABLE_TYPE", "VALUE", "SERVER_ZONE"),
    Shown.VALUE,
)  # fmt: skip
"""Columns whose values are Db2's and Capture's own words and places in the log."""
_NAMES: Mapping[str, Shown] = dict.fromkeys(
    ("SOURCE_OWNER", "SOURCE_TABLE", "CD_OWNER", "CD_TABLE", "PHYS_CHANGE_OWNER",
     "PHYS_CHANGE_TABLE", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "TABSCHEMA", "TABNAME",
     "COLNAME", "TABLE_CAT", "CCD_OWNER", "CCD_TABLE", "TARGET_SERVER", "TARGET_OWNER",
     "TARGET_TABLE", "APPLY_QUAL", "SET_NAME", "CNTL_SERVER", "CNTL_ALIAS", "REMOTE_SRC_SERVER",
     "IBMSNAP_AUTHID", "IBMSNAP_AUTHTKN", "IBMSNAP_APPLY_QUAL"),
    Shown.NAME,
)  # fmt: skip
COLUMNS: Mapping[str, Shown] = {**_REGISTER_WORDS, **_NAMES}
"""How columns of the control tables are shown, by their names."""
_SETTINGS = ("cur_commit", "locktimeout", "codepage", "codeset", "logarchmeth1", "date_compat",
             "varchar2_compat", "number_compat", "restrict_access", "stmt_conc")  # fmt: skip

SIGNALS = "IBMSNAP_SIGNAL"


class Questions:
    """The questions for a configuration, which names the schemas of its control tables."""

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
        self.newest = _question(
            "newest_lsn",
            f"SELECT N.SYNCHPOINT FROM ({sql.newest_lsn(config)}) AS N (SYNCHPOINT)",
            "how far Capture is",
        )
        self.progress = _question(
            "capture_progress",
            _named(sql.capture_progress(config)),
            "Capture's time, and the server's",
        )
        self.zone = _question(
            "time_zone", _named(sql.CURRENT_TIME), "whether times of commits are UTC"
        )
        self.units = _question(
            "units_of_work", f"SELECT * FROM {units} FETCH FIRST 20 ROWS ONLY",
            "times of commits, and the types of their numbers",
        )  # fmt: skip
        self.settings = _question(
            "settings",
            'SELECT "NAME", CASE "NAME" WHEN \'logarchmeth1\' THEN LEFT("VALUE", 4) '
            'ELSE "VALUE" END AS "VALUE", "DATATYPE" FROM SYSIBMADM.DBCFG '
            f'WHERE "NAME" IN ({names}) ORDER BY "NAME"',
            "settings of the database that change answers",
            columns={**COLUMNS, "NAME": Shown.VALUE, "DATATYPE": Shown.VALUE},
        )
        self.server, self.control = _SERVER, _control(config)
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
            columns={**COLUMNS, "COLUMN_DEF": Shown.SQL},
        )

    def all(self) -> Sequence[Question]:
        """Return all questions in the order in which they are asked."""
        return (
            *self.server, self.register, self.registrations, *self.control, self.newest,
            self.progress, self.zone, self.units, self.settings, self.columns, self.changes,
            self.rows,
        )  # fmt: skip


def _named(query: str) -> str:
    """Return a query whose columns of the server's clock have names."""
    for expression, name in (
        ("CURRENT TIMESTAMP", "SERVER_TIME"),
        ("CURRENT TIMEZONE", "SERVER_ZONE"),
    ):
        query = query.replace(expression, f"{expression} AS {name}")
    return query


def _shown(*columns: str) -> Mapping[str, Shown]:
    return dict.fromkeys(columns, Shown.VALUE)


def _question(name: str, text: str, why: str, **more: Any) -> Question:
    return Question(name, text, why, **{"columns": COLUMNS, **more})


_SERVER: Sequence[Question] = (
    _question(
        "server_level",
        "SELECT SERVICE_LEVEL, FIXPACK_NUM, IS_INST_PARTITIONABLE "
        "FROM SYSIBMADM.ENV_INST_INFO",
        "the version", columns=_shown("SERVICE_LEVEL", "IS_INST_PARTITIONABLE"),
    ),
    _question(
        "product", "SELECT INSTALLED_PROD, INSTALLED_PROD_FULLNAME, LICENSE_INSTALLED "
        "FROM SYSIBMADM.ENV_PROD_INFO",
        "the edition",
        columns=_shown("INSTALLED_PROD", "INSTALLED_PROD_FULLNAME", "LICENSE_INSTALLED"),
    ),
    _question(
        "platform", "SELECT OS_NAME, OS_VERSION, OS_RELEASE FROM SYSIBMADM.ENV_SYS_INFO",
        "the platform", columns=_shown("OS_NAME", "OS_VERSION", "OS_RELEASE"),
    ),
    _question(
        "compatibility", "SELECT REG_VAR_NAME, REG_VAR_VALUE FROM SYSIBMADM.REG_VARIABLES "
        "WHERE REG_VAR_NAME = 'DB2_COMPATIBILITY_VECTOR'",
        "whether empty texts are nulls",
        columns=_shown("REG_VAR_NAME", "REG_VAR_VALUE"),
    ),
)  # fmt: skip
"""Version, edition and platform."""


def _control(config: Db2Config) -> Sequence[Question]:
    """Questions about control tables that the connector itself does not read, or reads in part."""
    return (
        _question(
            "capture_parameters",
            f"SELECT * FROM {control_table(config, 'IBMSNAP_CAPPARMS')}",
            "how Capture runs: how often it commits, and what it keeps",
            columns={**COLUMNS, **_shown("STARTMODE", "COMPATIBILITY", "ARCH_LEVEL")},
        ),
        _question(
            "pruning", f"SELECT * FROM {control_table(config, sql.PRUNING)}",
            "who reads change tables, as Capture knows it",
        ),
        _question(
            "prune_sets", f"SELECT * FROM {control_table(config, sql.PRUNE_SETS)}",
            "up to where change tables may be pruned",
        ),
        _question(
            "signals",
            f"SELECT SIGNAL_TIME, SIGNAL_TYPE, SIGNAL_SUBTYPE, SIGNAL_STATE, SIGNAL_LSN "
            f"FROM {control_table(config, SIGNALS)} FETCH FIRST 50 ROWS ONLY",
            "what Capture was asked to begin or end",
            columns=_shown("SIGNAL_TYPE", "SIGNAL_SUBTYPE", "SIGNAL_STATE", "SIGNAL_LSN"),
        ),
    )  # fmt: skip

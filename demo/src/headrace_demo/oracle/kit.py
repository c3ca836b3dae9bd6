"""The supported part of a support bundle's workload: tables of common types, rows of plain values,
and savepoints. User-defined types, XML, and packages are not supported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.ddl import execute_ddl
from headrace_demo.oracle.transactions import Transactions

_PREFIX = "HEADRACE_KIT_"
_UNKNOWN_TYPES = (" XMLTYPE", " JSON", " BOOLEAN", f" {_PREFIX}POINT")
_VALUE = re.compile(r":(\w+)|TO_TIMESTAMP_TZ\(:(\w+), '[^']*'\)")
_BETWEEN = re.compile(r", (?![^(]*\))")
_LOCAL, _ZONE = "LOCAL TIME ZONE", re.compile(r".* [+-]\d\d:\d\d")
Texts = Mapping[str, Any]


class Kit:
    """The statements `kit_…` of one session; `xid` returns its transaction."""

    def __init__(
        self, database: Database, transactions: Transactions, user: str, xid: Callable[[], str]
    ) -> None:
        self._database, self._transactions = database, transactions
        self._user, self._xid = user, xid

    def run(self, called: str, slots: Texts, binds: Texts) -> None:
        """Run a statement. Raises OracleError, also for unsupported statements."""
        run = getattr(self, f"_{called}", None)
        if run is None:
            raise OracleError(900, f"the stand-in does not have {called}")
        run(slots, binds)

    def _ddl(self, text: str) -> None:
        execute_ddl(self._database, self._transactions, text, self._user)

    def _path(self, slots: Texts) -> str:
        return f"{self._user}.{_PREFIX}{slots['kit']}"

    def _named(self, slots: Texts) -> str:
        return f'"{self._user}".{_PREFIX}{slots["kit"]}'

    def _table(self, slots: Texts, _binds: Texts) -> None:
        if any(kind in slots["kit_columns"] for kind in _UNKNOWN_TYPES):
            raise OracleError(902, "invalid datatype")
        if "CREATE TABLE" not in self._database.privileges:
            raise OracleError(1031, "insufficient privileges")
        if self._path(slots) in self._database.state.tables:
            raise OracleError(955, "name is already used by an existing object")
        self._ddl(f"CREATE TABLE {self._named(slots)} ({slots['kit_columns']})")

    def _logging(self, slots: Texts, _binds: Texts) -> None:
        self._ddl(f"ALTER TABLE {self._named(slots)} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")

    def _column(self, _slots: Texts, _binds: Texts) -> None:
        self._ddl(f"ALTER TABLE {self._named({'kit': 'ALTERED'})} ADD (B NUMBER)")

    def _drop(self, slots: Texts, _binds: Texts) -> None:
        self._ddl(f"DROP TABLE {self._named(slots)}")

    def _insert(self, slots: Texts, binds: Texts) -> None:
        path = self._path(slots)
        kinds = {column.name: column.type for column in self._database.state.tables[path].columns}
        values = _BETWEEN.split(slots["kit_values"])
        row = {}
        for name, text in zip(slots["kit_names"].split(", "), values, strict=True):
            value = _VALUE.fullmatch(text)
            if value is None:
                raise OracleError(900, f"the stand-in does not compute {text}")
            row[name] = binds[value[1] or value[2]]
            if value[1] and _LOCAL in kinds[name] and _ZONE.fullmatch(row[name]):
                # NLS_TIMESTAMP_FORMAT, which has no zone, applies to such a column.
                raise OracleError(
                    1830, "date format picture ends before converting entire input string"
                )
        self._transactions.insert(self._xid(), path, row)

    def _update(self, slots: Texts, binds: Texts) -> None:
        assigned = (assignment.split(" = :") for assignment in slots["kit_assignments"].split(", "))
        values = {name: binds[bind] for name, bind in assigned}
        self._transactions.update(self._xid(), self._path(slots), {"ID": binds["id"]}, values)

    def _delete(self, slots: Texts, binds: Texts) -> None:
        self._transactions.delete(self._xid(), self._path(slots), {"ID": binds["id"]})

    def _savepoint(self, _slots: Texts, _binds: Texts) -> None:
        self._transactions.savepoint(self._xid(), "headrace_kit")

    def _undo(self, _slots: Texts, _binds: Texts) -> None:
        self._transactions.rollback_to(self._xid(), "headrace_kit")

"""An administrator of a database: runs statements, as guides and remedies have them, on the
stand-in, and refuses what Oracle's grammar does not have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from headrace.connectors.oracle.sql import ROOT
from headrace_demo.oracle.database import PACKAGES, PRIVILEGES, ROLES
from tests.servers.oracle import OracleDatabase

_NAME = r'(?:"[^"]+"|[\w$#]+)'
_USER = rf"(?P<user>{_NAME})"
_VIEW = r"G?V_\$\w+"
_CONTAINERS = r"(?P<containers>\s+CONTAINER\s*=\s*ALL)?"
_KNOWN = {*PRIVILEGES, *ROLES}


@dataclass
class Administrator:
    """SYSDBA of the stand-in. `granted` are the rights of users: `SELECT ON V_$LOG`."""

    database: OracleDatabase
    granted: dict[str, set[str]] = field(default_factory=dict)
    is_stopped: bool = False
    is_mounted: bool = False
    minds_containers: bool = False
    """Whether statements that have to run in the root, or where the tables are, run there alone."""
    container: str = ROOT
    """Container of the session."""
    closed_views: set[str] = field(default_factory=set)
    """Views that nobody may read who has no right to."""

    @classmethod
    def of(cls, database: OracleDatabase, **named: Any) -> Self:
        """The administrator of a database that is changed so (see `OracleDatabase.change`); its
        user keeps the other rights."""
        database.change(**named)
        views = set(named.get("hidden_views", ()))
        rights = {*named.get("privileges", PRIVILEGES), *named.get("roles", ROLES)}
        rights |= {f"EXECUTE ON {package}" for package in named.get("packages", PACKAGES)}
        return cls(database, {database.server.user: rights}, closed_views=views)

    @classmethod
    def of_nothing(cls, database: OracleDatabase, views: set[str]) -> Self:
        """The administrator of a database without any set-up: no archived logs, no supplemental
        logging, no rights, not on these views either."""
        return cls.of(
            database,
            log_mode="NOARCHIVELOG",
            supplemental="NO",
            privileges=[],
            quota=None,
            roles=[],
            packages=[],
            hidden_views=views,
        )

    def run(self, statement: str) -> None:
        """One statement, or one of SQL*Plus's commands. Raises ValueError for another one."""
        text = " ".join(statement.split()).rstrip("; ")
        for pattern, action in self._actions().items():
            if match := re.fullmatch(pattern, text, re.IGNORECASE):
                action(match)
                return
        raise ValueError(f"no administrator says {text}")

    def run_all(self, text: str) -> None:
        """Statements, one after the other; each ends with a semicolon or its line."""
        for statement in re.split(r";\s*\n|\n", text.strip()):
            if statement.strip():
                self.run(statement)

    def _actions(self) -> dict[str, Callable[[re.Match[str]], None]]:
        def nothing(_: re.Match[str]) -> None:
            """Does nothing: the statement is about files, which the stand-in does not have."""

        return {
            r"ALTER SYSTEM SET \w+ ?= ?(?:\d+[KMGT]?|'[^']*')"
            r"(?: SCOPE ?= ?(?:SPFILE|BOTH|MEMORY))?": nothing,
            r"ARCHIVE LOG LIST|ALTER PLUGGABLE DATABASE ALL OPEN": nothing,
            r"SHUTDOWN IMMEDIATE": lambda _: self._stop(),
            r"STARTUP MOUNT": lambda _: self._mount(),
            r"ALTER DATABASE OPEN": lambda _: setattr(self, "is_mounted", False),
            r"ALTER DATABASE ARCHIVELOG": lambda _: self._archive(),
            r"ALTER DATABASE ADD SUPPLEMENTAL LOG DATA": lambda _: self._log_more(),
            rf"ALTER SESSION SET CONTAINER ?= ?(?P<container>CDB\$ROOT|{_NAME})": self._enter,
            rf"CREATE TABLESPACE {_NAME} DATAFILE '[^']+' SIZE \d+[KMG] REUSE AUTOEXTEND ON "
            r"(?:NEXT \d+[KMG] )?MAXSIZE UNLIMITED": nothing,
            rf'CREATE USER {_USER} IDENTIFIED BY "[^"]+" DEFAULT TABLESPACE (?P<space>{_NAME}) '
            rf"QUOTA UNLIMITED ON (?P=space){_CONTAINERS}":
                self._create_user,
            rf"ALTER USER {_USER} QUOTA UNLIMITED ON {_NAME}": self._give_quota,
            rf"GRANT (?P<what>(?:SELECT|INSERT|DELETE|EXECUTE)(?:, (?:SELECT|INSERT|DELETE))*) ON "
            rf"(?P<object>{_NAME}(?:\.{_NAME})?) TO {_USER}{_CONTAINERS}": self._grant_on,
            rf"GRANT (?P<what>[\w ,]+) TO {_USER}{_CONTAINERS}": self._grant,
            rf"(?:CREATE|ALTER) TABLE {_NAME}\.{_NAME} .*": lambda match: self._alter(match[0]),
            rf"INSERT INTO (?P<table>{_NAME}\.{_NAME}) VALUES \((?P<values>'.*')\)": self._insert,
        }  # fmt: skip

    def _enter(self, match: re.Match[str]) -> None:
        self.container = _folded(match["container"])

    def _require_root(self) -> None:
        if self.minds_containers and self.container != ROOT:
            raise ValueError("ORA-65040: operation not allowed from within a pluggable database")

    def _require_database(self, name: str) -> None:
        if self.minds_containers and self.container == ROOT:
            raise ValueError(f"ORA-00942: {name} does not exist in the root")

    def _alter(self, statement: str) -> None:
        self._require_database(statement.split()[2])
        self.database.server.ddl(statement.replace('"', ""))

    def _log_more(self) -> None:
        self._require_root()
        self.database.change(supplemental="YES")

    def _stop(self) -> None:
        self._require_root()
        self.is_stopped = True

    def _mount(self) -> None:
        if not self.is_stopped:
            raise ValueError("ORA-01081: cannot start already-running ORACLE")
        self.is_stopped, self.is_mounted = False, True

    def _archive(self) -> None:
        self._require_root()
        if not self.is_mounted:
            raise ValueError("ORA-01126: the database must be mounted and not open")
        self.database.change(log_mode="ARCHIVELOG")

    def _create_user(self, match: re.Match[str]) -> None:
        self.granted[_folded(match["user"])] = set()
        self._give_quota(match)

    def _give_quota(self, match: re.Match[str]) -> None:
        if _folded(match["user"]) == self.database.server.user:
            self.database.change(quota=-1)

    def _grant(self, match: re.Match[str]) -> None:
        rights = {right.strip().upper() for right in match["what"].split(",")}
        if unknown := rights - _KNOWN:
            raise ValueError(f"ORA-00990: missing or invalid privilege {unknown}")
        self._hold(match, rights)

    def _grant_on(self, match: re.Match[str]) -> None:
        object_name = match["object"].upper()
        rights = {f"{right.strip().upper()} ON {object_name}" for right in match["what"].split(",")}
        if "." in object_name:
            self._require_database(object_name)
        if match["what"].upper() == "EXECUTE" and object_name not in PACKAGES:
            raise ValueError(f"ORA-04042: {object_name} does not exist")
        self._hold(match, rights)

    def _hold(self, match: re.Match[str], rights: set[str]) -> None:
        if match["containers"]:
            self._require_root()
        user = _folded(match["user"])
        user_rights = self.granted.setdefault(user, set())
        user_rights |= rights
        if user != self.database.server.user:
            return
        views = {
            privilege.split()[-1].replace("V_$", "V$")
            for privilege in user_rights
            if re.search(_VIEW, privilege)
        }
        self.database.change(
            privileges=[privilege for privilege in PRIVILEGES if privilege in user_rights],
            roles=[role for role in ROLES if role in user_rights],
            packages=[package for package in PACKAGES if f"EXECUTE ON {package}" in user_rights],
            hidden_views=self.closed_views - views,
        )

    def _insert(self, match: re.Match[str]) -> None:
        values = [
            literal.replace("''", "'")
            for literal in re.findall(r"'((?:[^']|'')*)'", match["values"])
        ]
        table = match["table"].upper()
        columns = self.database.server.call("columns_of", table)
        with self.database.transaction() as transaction:
            transaction.insert(table, **dict(zip(columns, values, strict=True)))


def _folded(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.upper()

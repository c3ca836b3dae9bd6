"""What Db2's Capture program does to a block of a workload: SQL in, SQL out.

`CALL ASNCDC.ADDTABLE('S', 'T')` registers a table: it gets a change table, of a name that may be
given, and a row of IBMSNAP_REGISTER. From then on each INSERT, UPDATE or DELETE of it has rows in
its change tables, and a block that changes registered tables ends with a unit of work and another
synchpoint. After `CALL ASNCDC.ZOS()` updates are one row, as on z/OS. Every other statement stays
as it is, with the block's LSN for `{commit}`. An UPDATE or DELETE concerns one row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

CONTROL = (
    "CREATE SCHEMA ASNCDC",
    "CREATE TABLE ASNCDC.IBMSNAP_REGISTER (SOURCE_OWNER VARCHAR(128) NOT NULL, SOURCE_TABLE"
    " VARCHAR(128) NOT NULL, SOURCE_VIEW_QUAL SMALLINT DEFAULT 0 NOT NULL, GLOBAL_RECORD CHAR(1)"
    " NOT NULL, CD_OWNER VARCHAR(128), CD_TABLE"
    " VARCHAR(128), CD_NEW_SYNCHPOINT VARCHAR(16) FOR BIT DATA, CD_OLD_SYNCHPOINT VARCHAR(16) FOR"
    " BIT DATA, STATE CHAR(1) NOT NULL, SYNCHPOINT VARCHAR(16) FOR BIT DATA, SYNCHTIME TIMESTAMP,"
    " CHG_UPD_TO_DEL_INS CHAR(1))",
    "CREATE TABLE ASNCDC.IBMSNAP_UOW (IBMSNAP_UOWID CHAR(10) FOR BIT DATA NOT NULL,"
    " IBMSNAP_COMMITSEQ VARCHAR(16) FOR BIT DATA NOT NULL, IBMSNAP_LOGMARKER TIMESTAMP NOT NULL,"
    " IBMSNAP_AUTHTKN VARCHAR(30) NOT NULL, IBMSNAP_AUTHID VARCHAR(128) NOT NULL)",
    "INSERT INTO ASNCDC.IBMSNAP_REGISTER (SOURCE_OWNER, SOURCE_TABLE, GLOBAL_RECORD, STATE,"
    " SYNCHPOINT, SYNCHTIME, CHG_UPD_TO_DEL_INS) VALUES"
    " ('', '', 'Y', 'A', {lsn}, CURRENT_TIMESTAMP, 'Y')",
)
_CALL = re.compile(r"CALL ASNCDC\.(ADD|REMOVE)TABLE\('([^']+)', '([^']+)'(?:, '([^']+)')?\)", re.I)
_TABLE = r'((?:"[^"]+"|[\w-]+)\.(?:"[^"]+"|\w+))'
_CREATE = re.compile(rf"CREATE TABLE {_TABLE}\s*\((.*)\)$", re.I | re.S)
_INSERT = re.compile(rf"INSERT INTO {_TABLE}\s*(?:\(([^)]*)\))?\s*VALUES\s*(.*)$", re.I | re.S)
_UPDATE = re.compile(rf"UPDATE {_TABLE} SET (.*) WHERE (.*)$", re.I | re.S)
_DELETE = re.compile(rf"DELETE FROM {_TABLE} WHERE (.*)$", re.I | re.S)
_ADD_COLUMN = re.compile(rf"ALTER TABLE {_TABLE} ADD COLUMN (\S+)\s+(.*)$", re.I | re.S)
_REST = re.compile(
    r"\s+(?:NOT NULL|DEFAULT|PRIMARY|GENERATED|UNIQUE|COMMENT|CHECK)\b.*$", re.I | re.S
)
_NO_COLUMN = re.compile(r"(?:PRIMARY|UNIQUE|CONSTRAINT|FOREIGN|CHECK)\b", re.I)
_ROWS_OF_A_TRANSACTION = 0x10000


def split(text: str, separator: str) -> list[str]:
    """The parts between separators that are neither quoted nor in parentheses, stripped."""
    parts, depth, quoted, part = [], 0, "", ""
    for letter in text:
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter == separator and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        else:
            depth += (letter == "(") - (letter == ")")
        part += letter
    return [part for part in (*parts, part.strip()) if part]


def lsn(number: int) -> str:
    """A log sequence number as SQL writes it."""
    return f"X'{number:032x}'"


@dataclass
class Capture:
    """Tables that were created, those that are registered, and how many transactions there were."""

    is_zos: bool = False
    columns: dict[str, dict[str, str]] = field(default_factory=dict)  # table: column: type
    change_tables: dict[str, list[str]] = field(default_factory=dict)
    transactions: int = 1

    def control(self) -> list[str]:
        """What makes the control tables."""
        return [text.format(lsn=self._commit(self.transactions)) for text in CONTROL]

    def _commit(self, transaction: int) -> str:
        return lsn(transaction * _ROWS_OF_A_TRANSACTION)

    def statements(self, block: str) -> list[str]:
        """The statements of a block, as Db2 and its Capture program execute them."""
        lines = (line for line in block.splitlines() if not line.lstrip().startswith("--"))
        executed, rows = [], 0
        for statement in split("\n".join(lines), ";"):
            for text in self._captured(statement):
                number = self.transactions * _ROWS_OF_A_TRANSACTION + rows + 1
                rows += "{intent}" in text
                placed = text.replace("{intent}", lsn(number))
                executed.append(placed.replace("{commit}", self._commit(self.transactions + 1)))
        return [*executed, *self._unit_of_work()] if rows else executed

    def uncaptured(self, table: str) -> str:
        """The query that counts the rows of a registered table that somebody else inserted."""
        return f"SELECT COUNT(*) {self._new(table)}"

    def capture_one(self, table: str) -> list[str]:
        """What captures the first row that somebody else inserted into a registered table, as a
        transaction."""
        (change_table,) = self.change_tables[table]
        names = [*self.columns[table]]
        return [
            f"INSERT INTO {_quoted(change_table)} SELECT {self._commit(self.transactions + 1)},"
            f" {lsn(self.transactions * _ROWS_OF_A_TRANSACTION + 1)}, 'I',"
            f" {', '.join(names)} {self._new(table)} FETCH FIRST ROW ONLY",
            *self._unit_of_work(),
        ]

    def _new(self, table: str) -> str:
        (change_table,) = self.change_tables[table]
        key = next(iter(self.columns[table]))
        return f"FROM {table} WHERE {key} NOT IN (SELECT {key} FROM {_quoted(change_table)})"

    def _unit_of_work(self) -> list[str]:
        self.transactions += 1
        commit = self._commit(self.transactions)
        return [
            "INSERT INTO ASNCDC.IBMSNAP_UOW (IBMSNAP_UOWID, IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER,"
            f" IBMSNAP_AUTHTKN, IBMSNAP_AUTHID) VALUES (X'{self.transactions:020x}', {commit},"
            " CURRENT_TIMESTAMP, 'golden', 'GOLDEN')",
            self._synchpoint(),
        ]

    def _synchpoint(self) -> str:
        return (
            f"UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = {self._commit(self.transactions)},"
            " SYNCHTIME = CURRENT_TIMESTAMP WHERE GLOBAL_RECORD = 'Y'"
        )

    def _captured(self, statement: str) -> Iterator[str]:
        """A statement and the change rows that it makes, with places for their numbers."""
        self._define(statement)
        if statement == "CALL ASNCDC.ZOS()":
            self.is_zos = True
        elif call := _CALL.match(statement):
            table, change_table = f"{call[2]}.{call[3]}", call[4] or f"CDC_{call[2]}_{call[3]}"
            if call[1].upper() == "ADD":
                yield from self._add(table, call[2], call[3], change_table)
            else:
                yield from self._remove(table, change_table)
        elif (inserted := _INSERT.match(statement)) and self._is_registered(inserted[1]):
            yield statement
            names = split(inserted[2] or "", ",") or [*self.columns[_key(inserted[1])]]
            for row in split(inserted[3], ","):
                values = dict(zip(names, split(row[1:-1], ","), strict=True))
                yield from self._rows(inserted[1], "I", values)
        elif (deleted := _DELETE.match(statement)) and self._is_registered(deleted[1]):
            yield from self._rows(deleted[1], "D", {}, deleted[2])
            yield statement
        elif (updated := _UPDATE.match(statement)) and self._is_registered(updated[1]):
            pairs = (pair.split("=", 1) for pair in split(updated[2], ","))
            values = {name.strip(): value.strip() for name, value in pairs}
            if not self.is_zos:
                yield from self._rows(updated[1], "D", {}, updated[3])
            yield from self._rows(updated[1], "U" if self.is_zos else "I", values, updated[3])
            yield statement
        else:
            yield statement

    def _define(self, statement: str) -> None:
        """Keep the columns that a statement gives to a table."""
        if created := _CREATE.match(statement):
            definitions = (
                definition.split(None, 1)
                for definition in split(created[2], ",")
                if not _NO_COLUMN.match(definition)
            )
            self.columns[_key(created[1])] = {
                name: _REST.sub("", kind).strip() for name, kind in definitions
            }
        elif (added := _ADD_COLUMN.match(statement)) and _key(added[1]) in self.columns:
            self.columns[_key(added[1])][added[2]] = _REST.sub("", added[3]).strip()

    def _is_registered(self, table: str) -> bool:
        return _key(table) in self.change_tables

    def _rows(
        self, table: str, operation: str, values: dict[str, str], condition: str = ""
    ) -> Iterator[str]:
        """One change row in each change table of a table: given values, and with a condition what
        the row has."""
        kinds = self.columns[_key(table)]
        for change_table in self.change_tables[_key(table)]:
            columns = [
                name
                for name in self.columns[change_table]
                if name in (kinds if condition else values)
            ]
            texts = [
                f"CAST(NULL AS {kinds[name]})"
                if condition and values.get(name, "").upper() == "NULL"
                else values.get(name, name)
                for name in columns
            ]
            into = ", ".join(
                ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION", *columns)
            )
            row = ", ".join(("{commit}", "{intent}", f"'{operation}'", *texts))
            end = f"SELECT {row} FROM {table} WHERE {condition}" if condition else f"VALUES ({row})"
            yield f"INSERT INTO {_quoted(change_table)} ({into}) {end}"

    def _add(self, table: str, owner: str, name: str, change_table: str) -> Iterator[str]:
        columns = self.columns[table]
        key = f"ASNCDC.{change_table}"
        self.columns[key] = dict(columns)
        self.change_tables.setdefault(table, []).append(key)
        bits = "VARCHAR(16) FOR BIT DATA NOT NULL"
        definitions = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        yield (
            f"CREATE TABLE {_quoted(key)} (IBMSNAP_COMMITSEQ {bits}, IBMSNAP_INTENTSEQ {bits},"
            f" IBMSNAP_OPERATION CHAR(1) NOT NULL, {definitions})"
        )
        yield (
            "INSERT INTO ASNCDC.IBMSNAP_REGISTER (SOURCE_OWNER, SOURCE_TABLE, GLOBAL_RECORD,"
            " CD_OWNER, CD_TABLE, CD_NEW_SYNCHPOINT, STATE, CHG_UPD_TO_DEL_INS) VALUES"
            f" ('{owner}', '{name}', 'N', 'ASNCDC', '{change_table}',"
            f" {self._commit(self.transactions)}, 'A', '{'N' if self.is_zos else 'Y'}')"
        )

    def _remove(self, table: str, change_table: str) -> Iterator[str]:
        key = f"ASNCDC.{change_table}"
        self.change_tables[table].remove(key)
        if not self.change_tables[table]:
            del self.change_tables[table]
        del self.columns[key]
        yield f"DELETE FROM ASNCDC.IBMSNAP_REGISTER WHERE CD_TABLE = '{change_table}'"
        yield f"DROP TABLE {_quoted(key)}"


def _key(table: str) -> str:
    """A table's name without quotation marks."""
    return table.replace('"', "")


def _quoted(key: str) -> str:
    schema, name = key.split(".")
    return f'"{schema}"."{name}"'

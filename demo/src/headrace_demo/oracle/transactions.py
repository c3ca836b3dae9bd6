"""Transactions of the stand-in: their changes, and the redo that they write.

Rows are visible to others after the commit. A statement's conditions are values of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.definitions import UNLIMITED, Column, Table
from headrace_demo.oracle.script import time_of
from headrace_demo.oracle.store import name
from headrace_demo.oracle.texts import empty_lob, is_lob, literal, pieces, stored

Values = Mapping[str, Any]
_BLANK = "AAAAAAAAAAAAAAAAAA"


@dataclass(frozen=True)
class _Change:
    """A change that a rollback undoes: the versions of a row that it ended and created (numbers of
    the store, None: no version), the statement that undoes it (None: only large objects were
    written), and the number of large objects written, each of which is undone by an update of its
    row."""

    table: Table
    row_id: str
    ended: int | None
    made: int | None
    undo: tuple[str, str] | None
    lobs: int = 0


@dataclass
class _Transaction:
    xid: str
    thread: int
    user: str
    client: str | None
    begun: bool = False
    changes: list[_Change] = field(default_factory=list)
    savepoints: dict[str, int] = field(default_factory=dict)
    start_scn: int = 0


class Transactions:
    """Open transactions of a database, by XID (16 hexadecimal digits)."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: dict[str, _Transaction] = {}
        self._begun = 0

    def begin(
        self, user: str = "APP", client: str | None = None, thread: int = 1, xid: str | None = None
    ) -> str:
        """Begin a transaction, whose first change writes START."""
        with self._database.lock:
            self._begun += 1
            if xid is None:
                slot, sequence = self._begun % 32, self._begun + 0x300
                xid = f"0a00{slot:02x}00{sequence.to_bytes(4, 'little').hex()}"
            self._open[xid] = _Transaction(xid, thread, user, client)
            return xid

    def insert(self, xid: str, full_name: str, values: Values) -> str:
        """Insert a row; columns that are not named are NULL. Returns its ROWID."""
        with self._database.lock:
            table = self._database.table(full_name)
            row = _row(table, table.with_numbers(values))
            self._check_key(table, row)
            row_id = self._database.new_row_id(table)
            number = self._make(table, xid, row_id, row)
            undo = ("DELETE", f"delete from {_path(table)} where ROWID = '{row_id}';")
            self._write(xid, "INSERT", _insert(table, row), table, row_id)
            lobs = self._write_lobs(xid, table, row_id, row, {})
            self._remember(xid, _Change(table, row_id, None, number, undo, lobs))
            return row_id

    def insert_all(self, xid: str, full_name: str, rows: Iterable[Values]) -> None:
        """Insert several rows, which are written at once to the store's file."""
        with self._database.lock, self._database.store.connection as connection:
            connection.execute("BEGIN")
            for values in rows:
                self.insert(xid, full_name, values)

    def update(self, xid: str, full_name: str, where: Values, values: Values) -> int:
        """Give the rows with the values of `where` those of `values`; returns their number."""
        with self._database.lock:
            table = self._database.table(full_name)
            matching = self._matching(xid, table, where)
            for number, row_id, old in matching:
                new = {**old, **_changed(table, values)}
                if any(new[column] != old[column] for column in table.key):
                    self._check_key(table, new)
                self._end(table, xid, number)
                new_number = self._make(table, xid, row_id, new)
                undo = ("UPDATE", _update(table, new, old, f"ROWID = '{row_id}'"))
                plain = [
                    column
                    for column in table.columns
                    if column.name in values and (not is_lob(column) or new[column.name] is None)
                ]
                is_plain = plain or not any(column.name in values for column in table.columns)
                if is_plain:
                    self._write(xid, "UPDATE", _update(table, old, new), table, row_id)
                lobs = self._write_lobs(xid, table, row_id, new, old)
                written = undo if is_plain else None
                self._remember(xid, _Change(table, row_id, number, new_number, written, lobs))
            return len(matching)

    def delete(self, xid: str, full_name: str, where: Values) -> int:
        """Delete the rows with these values; returns their number."""
        with self._database.lock:
            table = self._database.table(full_name)
            matching = self._matching(xid, table, where)
            for number, row_id, old in matching:
                self._end(table, xid, number)
                text = f"delete from {_path(table)} where {_where(table, old)};"
                self._write(xid, "DELETE", text, table, row_id)
                change = _Change(table, row_id, number, None, ("INSERT", _insert(table, old)))
                self._remember(xid, change)
            return len(matching)

    def savepoint(self, xid: str, called: str) -> None:
        """Set a savepoint to which the transaction can be rolled back."""
        transaction = self._open[xid]
        transaction.savepoints[called] = len(transaction.changes)

    def rollback_to(self, xid: str, called: str) -> None:
        """Undo the changes after a savepoint."""
        with self._database.lock:
            self._undo(self._open[xid], self._open[xid].savepoints[called])

    def commit_together(self, xids: Iterable[str]) -> list[int]:
        """Commit transactions at one SCN; returns the result of `commit` for each."""
        with self._database.lock:
            scns: list[int] = []
            for xid in xids:
                scns.append(self.commit(xid, max(scns, default=0) or None))
            return scns

    def commit(self, xid: str, scn: int | None = None) -> int:
        """Commit; the changes are visible from the returned SCN on; 0: there were no changes. If
        `scn` is given, the SCN is that of another commit."""
        with self._database.lock:
            transaction = self._open.pop(xid)
            if not transaction.begun:
                return 0
            scn = self._write_of(transaction, "COMMIT", "commit;", scn=scn)
            for full_name in {change.table.full_name for change in transaction.changes}:
                self._seen(full_name, xid, scn)
            self._show_open()
            return scn

    def rollback(self, xid: str) -> None:
        """Undo all changes."""
        with self._database.lock:
            transaction = self._open.pop(xid, None)
            if transaction is None or not transaction.begun:
                return
            self._undo(transaction, 0)
            self._write_of(transaction, "ROLLBACK", "rollback;")
            self._show_open()

    def rows(self, full_name: str, xid: str | None = None) -> list[dict[str, Any]]:
        """The committed rows of a table, or the rows that a transaction sees; stored texts."""
        with self._database.lock:
            table = self._database.table(full_name)
            return [row for _, _, row in self._matching(xid or "", table, {})]

    def open_threads(self) -> set[int]:
        """The redo threads of open transactions."""
        return {transaction.thread for transaction in self._open.values()}

    # -- redo -----------------------------------------------------------------------------------

    def _write(
        self, xid: str, operation: str, text: str, table: Table, row_id: str, **more: Any
    ) -> None:
        transaction = self._open[xid]
        if not transaction.begun:
            transaction.begun = True
            transaction.start_scn = self._database.redo_scn()
            start = transaction.start_scn
            self._write_of(transaction, "START", "set transaction read write;", scn=start)
            self._show_open()
        self._write_of(transaction, operation, text, table, row_id, **more)

    def _write_of(
        self,
        transaction: _Transaction,
        operation: str,
        text: str,
        table: Table | None = None,
        row_id: str | None = None,
        scn: int | None = None,
        **more: Any,
    ) -> int:
        """Write the rows of one change; returns its SCN, which is a new one unless it is given."""
        peculiarities = self._database.peculiarities
        if scn is None:
            ends = operation in ("COMMIT", "ROLLBACK")
            scn = self._database.state.scn if ends else self._database.redo_scn()
        parts = pieces(
            text, peculiarities.most_bytes, cuts_characters=peculiarities.cuts_characters
        )
        lines = [
            {
                "redo": operation, "scn": scn, "xid": transaction.xid, "sql": part,
                "thread": transaction.thread, "user": transaction.user,
                "client": transaction.client, "csf": int(place < len(parts) - 1), "ssn": place,
                "row_id": row_id or _BLANK, "start_scn": transaction.start_scn or None,
                **({"table": table.full_name} if table else {}), **more,
            }
            for place, part in enumerate(parts)
        ]  # fmt: skip
        if operation == "COMMIT":
            lines[-1] |= {"commit_scn": scn, "commit_time": time_of(scn).isoformat()}
        if transaction.start_scn:
            start = time_of(transaction.start_scn).isoformat()
            lines = [{**line, "start_time": start} for line in lines]
        self._database.state.apply(lines)
        return scn

    def _write_lobs(self, xid: str, table: Table, row_id: str, new: Values, old: Values) -> int:
        """Write the large objects that changed; returns their number."""
        count = 0
        for column in table.columns:
            text = new[column.name]
            if not is_lob(column) or text is None or old.get(column.name) == text:
                continue
            count += 1
            is_binary = column.type == "BLOB"
            place, buffer = ("loc_b", "buf_b") if is_binary else ("loc_c", "buf_c")
            self._write(
                xid, "SELECT_LOB_LOCATOR",
                f"DECLARE \n {place} {'BLOB' if is_binary else 'CLOB'}; \n"
                f"{buffer} {'RAW(6158)' if is_binary else 'VARCHAR2(6156)'}; \n"
                f"{place}_nc NCLOB; \nBEGIN\n select {name(column.name)} into {place} from "
                f"{_path(table)} where {_where(table, new)} for update;\n",
                table, row_id, info=column.name,
            )  # fmt: skip
            size, offset = 1000, 0
            for start in range(0, len(text), size):
                part = text[start : start + size]
                # For texts DBMS_LOB counts UTF-16 units.
                length = len(part if is_binary else part.encode("utf-16-le")) // 2
                value = f"HEXTORAW('{part.lower()}')" if is_binary else _quoted(part)
                self._write(
                    xid, "LOB_WRITE",
                    f" {buffer} := {value}; \n  dbms_lob.write({place}, {length}, {offset + 1}, "
                    f"{buffer});\n",
                    table, row_id,
                )  # fmt: skip
                offset += length
        return count

    def _undo(self, transaction: _Transaction, until: int) -> None:
        connection = self._database.store.connection
        while len(transaction.changes) > until:
            change = transaction.changes.pop()
            quoted = name(change.table.full_name)
            if change.made is not None:
                connection.execute(f"DELETE FROM {quoted} WHERE _rowid_ = ?", (change.made,))
            if change.ended is not None:
                connection.execute(
                    f'UPDATE {quoted} SET "$ended" = NULL WHERE _rowid_ = ?', (change.ended,)
                )
            of_lob = (
                f"update {_path(change.table)} set ROWID = ROWID where ROWID = '{change.row_id}';"
            )
            rows = [("UPDATE", of_lob)] * change.lobs
            for operation, text in [*rows, *([change.undo] if change.undo else [])]:
                self._write_of(
                    transaction, operation, text, change.table, change.row_id, rollback=1
                )

    # -- rows -----------------------------------------------------------------------------------

    def _remember(self, xid: str, change: _Change) -> None:
        self._open[xid].changes.append(change)

    def _make(self, table: Table, xid: str, row_id: str, row: Values) -> int:
        columns = ", ".join(name(column.name) for column in table.columns)
        marks = ", ".join("?" * (len(table.columns) + 2))
        cursor = self._database.store.connection.execute(
            f'INSERT INTO {name(table.full_name)} ("$made", "ROWID", {columns}) VALUES ({marks})',
            (xid, row_id, *(row[column.name] for column in table.columns)),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _end(self, table: Table, xid: str, number: int) -> None:
        connection = self._database.store.connection
        ((other,),) = connection.execute(
            f'SELECT "$ended" FROM {name(table.full_name)} WHERE _rowid_ = ?', (number,)
        )
        if other is not None:
            raise OracleError(54, f"the row is locked by the transaction {other}")
        connection.execute(
            f'UPDATE {name(table.full_name)} SET "$ended" = ? WHERE _rowid_ = ?', (xid, number)
        )

    def _seen(self, full_name: str, xid: str, scn: int) -> None:
        connection, quoted = self._database.store.connection, name(full_name)
        connection.execute(
            f'UPDATE {quoted} SET "$first" = ?, "$made" = NULL WHERE "$made" = ?', (scn, xid)
        )
        connection.execute(
            f'UPDATE {quoted} SET "$end" = ?, "$ended" = NULL WHERE "$ended" = ?', (scn, xid)
        )

    def _matching(
        self, xid: str, table: Table, where: Values
    ) -> list[tuple[int, str, dict[str, str | None]]]:
        """Numbers, ROWIDs and values of matching rows that a transaction sees."""
        conditions, values = [], []
        columns = {column.name: column for column in table.columns}
        for column, value in where.items():
            text = value if column == "ROWID" else stored(columns[column], value)
            conditions.append(f" AND {name(column)} {'IS' if text is None else '='} ?")
            values.append(text)
        columns_sql = ", ".join(f"CAST({name(column.name)} AS TEXT)" for column in table.columns)
        rows = self._database.store.connection.execute(
            f'SELECT _rowid_, "ROWID"{", " if columns_sql else ""}{columns_sql} '
            f'FROM {name(table.full_name)} WHERE "$end" = {UNLIMITED} '
            'AND ("$first" IS NOT NULL OR "$made" = ?) '
            f'AND ("$ended" IS NULL OR "$ended" <> ?){"".join(conditions)} ORDER BY _rowid_',
            (xid, xid, *values),
        ).fetchall()
        return [
            (number, row_id, dict(zip(columns, texts, strict=True)))
            for number, row_id, *texts in rows
        ]

    def _check_key(self, table: Table, row: Values) -> None:
        if not table.key:
            return
        connection = self._database.store.connection
        conditions = " AND ".join(f"{name(column)} = ?" for column in table.key)
        same = connection.execute(
            f'SELECT 1 FROM {name(table.full_name)} WHERE "$end" = {UNLIMITED} '
            f'AND "$ended" IS NULL AND {conditions}',
            [row[column] for column in table.key],
        ).fetchone()
        if same is not None:
            raise OracleError(1, f"unique constraint ({table.schema}.PK_{table.name}) violated")

    def _show_open(self) -> None:
        begun = [transaction for transaction in self._open.values() if transaction.begun]
        rows = [(bytes.fromhex(transaction.xid), transaction.start_scn) for transaction in begun]
        rows += [
            (bytes([255, number] * 4), 0)
            for number in range(self._database.peculiarities.unknown_starts)
        ]
        self._database.store.fill("V$TRANSACTION", rows)
        self._database.store.fill("GV$TRANSACTION", rows)


def _row(table: Table, values: Values) -> dict[str, str | None]:
    unknown = set(values) - {column.name for column in table.columns}
    if unknown:
        raise OracleError(904, f"{sorted(unknown)}: invalid identifier")
    row = {column.name: stored(column, values.get(column.name)) for column in table.columns}
    for column in table.columns:
        if not column.nullable and row[column.name] is None:
            raise OracleError(1400, f"cannot insert NULL into {table.full_name}.{column.name}")
    return row


def _changed(table: Table, values: Values) -> dict[str, str | None]:
    columns = {column.name: column for column in table.columns}
    return {column: stored(columns[column], value) for column, value in values.items()}


def _path(table: Table) -> str:
    return f"{name(table.schema)}.{name(table.name)}"


def _insert(table: Table, row: Values) -> str:
    """The INSERT of a row; large objects are written in separate redo rows."""
    columns = ",".join(name(column.name) for column in table.columns)
    values = ",".join(
        empty_lob(column)
        if is_lob(column) and row[column.name] is not None
        else literal(column, row[column.name])
        for column in table.columns
    )
    return f"insert into {_path(table)}({columns}) values ({values});"


def _update(table: Table, old: Values, new: Values, where: str | None = None) -> str:
    """The UPDATE of a row. A large object is included if it becomes NULL; others have separate redo
    rows."""
    changed = [
        column
        for column in table.columns
        if new[column.name] != old[column.name] and (not is_lob(column) or new[column.name] is None)
    ]
    # An UPDATE that changes nothing is logged with the columns that it named; the first column
    # represents them.
    changed = changed or [column for column in table.columns if not is_lob(column)][:1]
    values = ", ".join(
        f"{name(column.name)} = {literal(column, new[column.name])}" for column in changed
    )
    condition = where or _where(table, old, [column.name for column in changed])
    return f"update {_path(table)} set {values} where {condition};"


def _where(table: Table, row: Values, changed: Sequence[str] | None = None) -> str:
    """The condition that identifies a row. Redo contains all columns of a deleted row. Of a changed
    row it contains the columns `changed`, and others by supplemental logging; the ROWID is omitted
    (NO_ROWID_IN_STMT)."""
    logged: Sequence[Column] = [column for column in table.columns if not is_lob(column)]
    if changed is not None and "ALL COLUMN LOGGING" not in table.log_groups:
        key = table.key if "PRIMARY KEY LOGGING" in table.log_groups else ()
        logged = [column for column in logged if column.name in (*changed, *key)]
    return " and ".join(
        f"{name(column.name)} IS NULL"
        if row[column.name] is None
        else f"{name(column.name)} = {literal(column, row[column.name])}"
        for column in logged
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

"""A live Oracle as the tests' server, in place of the stand-in: that which HEADRACE_ORACLE_DSN
names, and CONTRIBUTING.md tells of."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from headrace.connectors.oracle import sql
from headrace_demo.oracle.definitions import Table
from tests.connectors import live
from tests.servers.oracle import PDB

DSN = "HEADRACE_ORACLE_DSN"
_RIGHTS = (
    "CREATE SESSION, SELECT ANY TABLE, INSERT ANY TABLE, UPDATE ANY TABLE, DELETE ANY TABLE, "
    "CREATE ANY TABLE, ALTER ANY TABLE, DROP ANY TABLE, CREATE ANY INDEX, COMMENT ANY TABLE"
)
_EXISTS, _GONE = 1920, 942
_TRANSACTION = (
    "SELECT RAWTOHEX(T.XID) FROM V$TRANSACTION T JOIN V$SESSION S ON S.TADDR = T.ADDR "
    "WHERE S.SID = SYS_CONTEXT('USERENV', 'SID')"
)


def unscripted(action: str) -> NoReturn:
    """The test asks for what only the stand-in can be made to do."""
    live.unscripted("Oracle", action)


class LiveOracle:
    """A live Oracle with the interface of `headrace_demo.oracle.server.OracleServer`, as far as an
    Oracle can provide it. Tests that script the redo, or break the server, are skipped. Schemas
    that tests name are made (their tables are dropped when the next test begins), and users who
    change them."""

    def __init__(self, environment: Mapping[str, str], connect: Callable[..., Any]) -> None:
        """`connect` is that of python-oracledb."""
        self.user = environment.get("HEADRACE_ORACLE_USER", "c##dbzuser")
        self._dsn = environment[DSN]
        self._environment, self._connect = environment, connect
        self._passwords: dict[str, str] = {}
        self._made: list[str] = []
        address, _, self._service = self._dsn.partition("/")
        self.host, _, self.port = address.rpartition(":")

    # -- connections ----------------------------------------------------------------------------

    def _administrator(self) -> Any:
        """SYSTEM, in the pluggable database."""
        named = self._environment
        user = named.get("HEADRACE_ORACLE_ADMIN", "system")
        return self._opened(user, named["HEADRACE_ORACLE_ADMIN_PASSWORD"])

    def _opened(self, user: str, password: str) -> Any:
        connection = self._connect(user=user, password=password, dsn=self._dsn)
        for statement in (
            sql.set_container(PDB),
            sql.SESSION_FORMATS(),
            sql.SESSION_TIME_ZONE(),
        ):
            _run(connection, statement)
        return connection

    def _user(self, name: str) -> Any:
        """A session of somebody who changes tables."""
        if name in ("SYS", "SYSTEM"):
            unscripted(f"let {name} change tables")
        if name not in self._passwords:
            self._passwords[name] = password = f"P{secrets.token_hex(8)}"
            with self._administrator() as administrator:
                user = sql.quoted(name)
                for statement in (
                    f'CREATE USER {user} IDENTIFIED BY "{password}"',
                    f'ALTER USER {user} IDENTIFIED BY "{password}"',
                    f"GRANT {_RIGHTS} TO {user}",
                ):
                    _run(administrator, statement, passed=_EXISTS)
        return self._connect(
            user=sql.quoted(name),
            password=self._passwords[name],
            dsn=f"{self._dsn.rpartition('/')[0]}/{PDB}",
        )

    def _execute(self, *statements: str, passed: int = 0) -> None:
        with self._administrator() as administrator:
            for statement in statements:
                _run(administrator, statement, passed=passed)
            administrator.commit()

    # -- see OracleServer -----------------------------------------------------------------------

    def properties(self) -> dict[str, str]:
        """Debezium's connection properties."""
        return {
            "database.hostname": self.host,
            "database.port": self.port,
            "database.user": self.user,
            "database.password": self._environment["HEADRACE_ORACLE_PASSWORD"],
            "database.dbname": self._service,
            "database.pdb.name": PDB,
        }

    def load(self, script: Mapping[str, Any]) -> None:
        """The tables of the tests before are dropped."""
        if script:
            unscripted("begin with a script")
        for table in self._made:
            self._execute(f"DROP TABLE {_path(table)} PURGE", passed=_GONE)
        self._made.clear()

    def apply(self, block: Iterable[Mapping[str, Any]]) -> None:
        """Tables are made; other lines are of scripts."""
        for line in block:
            match line:
                case {"table": definition}:
                    self._make(definition)
                case {"drop_table": table}:
                    self._execute(f"DROP TABLE {_path(table)} PURGE", passed=_GONE)
                case _:
                    unscripted(next(iter(line)))

    def _make(self, definition: Mapping[str, Any]) -> None:
        table = Table.read(definition, 0)
        schema, path = sql.quoted(table.schema), _path(table.full_name)
        self._execute(
            f"CREATE USER {schema} NO AUTHENTICATION QUOTA UNLIMITED ON USERS", passed=_EXISTS
        )
        self._execute(f"DROP TABLE {path} PURGE", passed=_GONE)
        logged = "ALL COLUMN LOGGING" in table.log_groups
        self._execute(
            table.ddl.strip().rstrip(";"),
            *(
                f"CREATE UNIQUE INDEX {sql.quoted(table.schema, f'UX_{table.name}_{number}')} "
                f"ON {path} ({', '.join(map(sql.quoted, columns))})"
                for number, columns in enumerate(table.unique, 1)
            ),
            *([f"ALTER TABLE {path} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"] if logged else []),
        )
        self._made.append(table.full_name)
        with self.transaction() as transaction:
            names = [column.name for column in table.columns]
            rows = (dict(zip(names, row.values, strict=True)) for row in table.rows)
            transaction.insert_all(table.full_name, rows)

    def ddl(self, text: str, user: str = "APP") -> None:
        """A statement that changes tables."""
        with self._user(user) as session:
            _run(session, text.rstrip().rstrip(";"))

    @contextmanager
    def transaction(
        self, user: str = "APP", client: str | None = None, thread: int = 1
    ) -> Iterator[LiveTransaction]:
        """See OracleServer."""
        transaction = self.begin(user, client, thread)
        try:
            yield transaction
        except BaseException:
            transaction.rollback()
            raise
        transaction.commit()

    def begin(
        self, user: str = "APP", client: str | None = None, thread: int = 1
    ) -> LiveTransaction:
        """See OracleServer."""
        if thread != 1:
            unscripted("write with another instance")
        session = self._user(user)
        for statement in (sql.SESSION_FORMATS(), sql.SESSION_TIME_ZONE()):
            _run(session, statement)
        session.client_identifier = client or ""
        return LiveTransaction(session)

    def rows(self, table: str) -> list[dict[str, str | None]]:
        """A table's committed rows, as texts."""
        with self._administrator() as administrator, administrator.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {_path(table)}")
            names = [column[0] for column in cursor.description]
            return [
                {
                    name: None if value is None else str(value)
                    for name, value in zip(names, row, strict=True)
                }
                for row in cursor.fetchall()
            ]

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Questions that an Oracle answers."""
        questions = {
            "scn": sql.CURRENT_SCN(),
            "object_id": "SELECT OBJECT_ID FROM ALL_OBJECTS WHERE OWNER || '.' || OBJECT_NAME = :1 "
            "AND OBJECT_TYPE = 'TABLE'",
        }
        if method not in questions or named:
            unscripted(method)
        with self._administrator() as administrator, administrator.cursor() as cursor:
            cursor.execute(questions[method], list(arguments))
            return int(cursor.fetchone()[0])

    def shut(self) -> AbstractContextManager[None]:
        """Skips the test: the server is not ours to stop."""
        unscripted("shut itself")

    def close(self) -> None:
        """The tables are dropped."""
        self.load({})


class LiveTransaction:
    """A transaction with the interface of `headrace_demo.oracle.server.Transaction`. Values are
    texts in the session's formats, numbers, or hexadecimal digits, which Oracle converts."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @property
    def xid(self) -> str:
        """The transaction's id, which it has from its first change on."""
        with self._session.cursor() as cursor:
            cursor.execute(_TRANSACTION)
            return str(cursor.fetchone()[0]).lower()

    def insert(self, table: str, **values: Any) -> None:
        """See Transaction; the ROWID is not returned."""
        self.insert_all(table, [values])

    def insert_all(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """See Transaction."""
        for row in rows:
            names = ", ".join(map(sql.quoted, row))
            marks = ", ".join(f":{number}" for number in range(1, len(row) + 1))
            statement = f"INSERT INTO {_path(table)} ({names}) VALUES ({marks})"
            _run(self._session, statement, [*row.values()])

    def update(self, table: str, where: Mapping[str, Any], **values: Any) -> int:
        """See Transaction."""
        changes = ", ".join(f"{sql.quoted(name)} = :{n}" for n, name in enumerate(values, 1))
        statement = f"UPDATE {_path(table)} SET {changes}{_where(where, len(values))}"
        return _run(self._session, statement, [*values.values(), *where.values()])

    def delete(self, table: str, **where: Any) -> int:
        """See Transaction."""
        return _run(self._session, f"DELETE FROM {_path(table)}{_where(where)}", [*where.values()])

    def savepoint(self, called: str) -> None:
        """See Transaction."""
        _run(self._session, f"SAVEPOINT {sql.quoted(called)}")

    def rollback_to(self, called: str) -> None:
        """See Transaction."""
        _run(self._session, f"ROLLBACK TO SAVEPOINT {sql.quoted(called)}")

    def commit(self) -> None:
        """See Transaction; its SCN is not returned."""
        self._session.commit()
        self._session.close()

    def rollback(self) -> None:
        """See Transaction."""
        self._session.rollback()
        self._session.close()


def _path(table: str) -> str:
    return sql.quoted(*table.split(".", 1))


def _where(named: Mapping[str, Any], before: int = 0) -> str:
    """`before`: the number of binds before."""
    conditions = [f"{sql.quoted(name)} = :{n}" for n, name in enumerate(named, before + 1)]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _run(session: Any, statement: str, binds: Iterable[Any] = (), *, passed: int = 0) -> int:
    """The number of rows that a statement changed; 0 if it raised the ORA error `passed`."""
    with session.cursor() as cursor:
        try:
            cursor.execute(statement, list(binds))
        except Exception as error:
            if passed and getattr(error.args[0], "code", None) == passed:
                return 0
            raise
        return int(cursor.rowcount or 0)

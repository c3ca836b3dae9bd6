"""The database of a JDBC catalog: its driver, the login, and the rights on the catalog's tables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.options import LOCAL_DATABASE, SQLITE, IcebergOptions
from headrace.spark.jvm.jars import missing_jars

DRIVERS: Mapping[str, str] = {
    "mariadb": "org.mariadb.jdbc:mariadb-java-client:3.5.6",
    "mysql": "com.mysql:mysql-connector-j:9.5.0",
    "postgresql": "org.postgresql:postgresql:42.7.8",
    "sqlite": LOCAL_DATABASE,
    "sqlserver": "com.microsoft.sqlserver:mssql-jdbc:13.2.1.jre11",
}
"""Maven coordinates of drivers, by the word after `jdbc:`."""
_URI = "headrace.sink.catalog.uri"
_OF_DRIVER = "jdbc."
_OF_SPARK = ("org.apache.hive.", "org.apache.derby.")
"""Packages of the drivers that are part of Spark."""
_MAX_CAUSES, _MAX_DRIVERS, _MAX_SHOWN = 10, 100, 500
_TABLES: Mapping[str, str] = {
    "iceberg_tables": "metadata_location",
    "iceberg_namespace_properties": "property_value",
}
"""The tables of a JDBC catalog, each with a column that commits change."""
_RIGHTS = (
    "SELECT {column} FROM {table} WHERE 1 = 0",
    "INSERT INTO {table} SELECT * FROM {table} WHERE 1 = 0",
    "UPDATE {table} SET {column} = {column} WHERE 1 = 0",
    "DELETE FROM {table} WHERE 1 = 0",
)
"""Statements that need the rights of commits, but change no row."""
_UNREACHABLE, _NO_LOGIN, _NO_DATABASE, _NO_RIGHT = "08", "28", "3D", "42"
"""Classes of SQLSTATE."""
_NO_PRIVILEGE = "42501"


@dataclass(frozen=True)
class CatalogDatabase:
    """The database in which a JDBC catalog stores its tables."""

    options: IcebergOptions

    @property
    def address(self) -> str:
        """`catalog.uri` without its parameters and passwords."""
        return re.split("[?;]", self.options.safe(self._uri), maxsplit=1)[0]

    @property
    def _uri(self) -> str:
        return self.options.properties["uri"]

    @property
    def file(self) -> Path | None:
        """The file of SQLite; None for other databases, and for SQLite in memory."""
        path = self._uri.removeprefix(SQLITE).partition("?")[0].removeprefix("file:")
        return Path(path) if self._uri.startswith(SQLITE) and path and path[0] != ":" else None

    def driver(self, jvm: Any, spark: Mapping[str, str], unread: tuple[str, ...] = ()) -> Any:
        """Return the driver for the address, registered in the JVM, which runs with these settings
        of Spark. `unread` are the entries of Spark's class path that the JVM's lacks.

        Raises HeadraceError("iceberg.driver_missing"), ("iceberg.driver_not_checked").
        """
        other_drivers: list[str] = []
        for driver in _drivers(jvm):
            name = driver.getClass().getName()
            if _takes(driver, self._uri):
                return driver
            if not name.startswith(_OF_SPARK):
                other_drivers.append(name)
        product = self._product()
        missing = missing_jars(spark)
        remedy = self._driver_remedy(product, missing)
        if unread:
            names = self.options.safe(", ".join(unread))
            raise HeadraceError(
                "iceberg.driver_not_checked",
                f"{self._place}: whether Spark gets a JDBC driver for jdbc:{product}: "
                f"is not known here, because only Spark reads {names}",
                remedy,
            )
        details = f"; it has {', '.join(other_drivers)}" if other_drivers else ""
        if missing:
            details += f"; this host has no file {', '.join(missing)}, which spark.jars names"
        raise HeadraceError(
            "iceberg.driver_missing",
            f"{self._place}: Spark's class path has no JDBC driver for jdbc:{product}:{details}",
            remedy,
        )

    def prove(self, jvm: Any, driver: Any) -> None:
        """Connect, and try the rights on the catalog's tables; if they do not exist, the right to
        create tables. Changes no row, and leaves no table.

        Raises HeadraceError("iceberg.catalog_unreachable"), ("iceberg.catalog_login"),
        ("iceberg.catalog_database"), ("iceberg.catalog_rights"), ("iceberg.catalog_refused").
        """
        with self.asking("connect"):
            connection = driver.connect(self._uri, self._login(jvm))
        try:
            with self.asking("look for the tables of the catalog"):
                names = [name for name in _TABLES if _has_table(connection, name)]
            if len(names) < len(_TABLES):
                self._prove_creation(connection)
            for name in names:
                for statement in _RIGHTS:
                    text = statement.format(table=name, column=_TABLES[name])
                    task = f"use the table {name} ({text.split()[0]})"
                    with self.asking(task, needs_right=True):
                        _execute(connection, text)
        finally:
            connection.close()

    @contextmanager
    def asking(self, task: str, *, needs_right: bool = False) -> Iterator[None]:
        """Translate exceptions of Java calls that ask the database to do `task`. Raises
        HeadraceError."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        try:
            yield
        except Py4JJavaError as error:
            java = error.java_exception
            raise self.refused(java, task, needs_right=needs_right) or HeadraceError(
                "iceberg.catalog_refused",
                f"{self._place}: the database of the catalog refuses to {task}: {self._said(java)}",
                f"Correct what the database says, or name another database in {_URI}.",
            ) from None

    def refused(self, java: Any, task: str, *, needs_right: bool = False) -> HeadraceError | None:
        """Return the error of a Java exception while the database was to do `task`; None if its
        SQLSTATE has no meaning here. `needs_right`: the syntax is valid, so a refusal is a missing
        right."""
        sql = _sql_exception(java)
        if sql is None:
            return None
        state, said = str(sql.getSQLState() or ""), self._said(sql)
        if state.startswith(_UNREACHABLE):
            return HeadraceError(
                "iceberg.catalog_unreachable",
                f"{self._place}: the database of the catalog cannot be reached: {said}",
                f"Start the database, or correct its host and port in {_URI}.",
                retriable=True,
            )
        if state.startswith(_NO_LOGIN):
            return HeadraceError(
                "iceberg.catalog_login",
                f"{self._place}: the database of the catalog refuses the login: {said}",
                "Correct headrace.sink.catalog.jdbc.user and headrace.sink.catalog.jdbc.password.",
            )
        if state.startswith(_NO_DATABASE):
            return HeadraceError(
                "iceberg.catalog_database",
                f"{self._place}: the database of the catalog does not exist: {said}",
                f"Create the database, or correct its name in {_URI}.",
            )
        if state == _NO_PRIVILEGE or (needs_right and state.startswith(_NO_RIGHT)):
            return HeadraceError(
                "iceberg.catalog_rights",
                f"{self._place}: the user of the catalog may not {task}: {said}",
                "Let the user of headrace.sink.catalog.jdbc.user create tables there, or, where "
                f"the tables exist, grant it SELECT, INSERT, UPDATE and DELETE on "
                f"{' and '.join(_TABLES)}.",
            )
        return None

    @property
    def _place(self) -> str:
        return f"{_URI} = {self.address!r}"

    def _prove_creation(self, connection: Any) -> None:
        name = f"headrace_check_{uuid4().hex}"
        with self.asking("create a table", needs_right=True):
            _execute(connection, f"CREATE TABLE {name} (n INTEGER)")
        with self.asking("drop a table", needs_right=True):
            _execute(connection, f"DROP TABLE {name}")

    def _login(self, jvm: Any) -> Any:
        """The Java properties of a connection, as Iceberg passes them to the driver."""
        login = jvm.java.util.Properties()
        for name, text in self.options.properties.items():
            if name.startswith(_OF_DRIVER):
                login.setProperty(name.removeprefix(_OF_DRIVER), text)
        return login

    def _product(self) -> str:
        return self._uri.split(":")[1]

    def _driver_remedy(self, product: str, missing: tuple[str, ...]) -> str:
        near = difflib.get_close_matches(product.lower(), DRIVERS, 1, 0.7)
        if near and near[0] != product:
            return f"Correct {_URI}: drivers take addresses that begin with jdbc:{near[0]}:."
        if missing:
            return "Correct the path in spark.jars, which is one of this host."
        package = DRIVERS.get(product, "GROUP:ARTIFACT:VERSION")
        jar = f"{package.split(':')[1]}-{package.split(':')[2]}.jar" if near else "DRIVER.jar"
        return (
            f"Add spark.jars.packages={package} to the configuration, or, where there is no "
            f"network, spark.jars=/PATH/{jar}."
        )

    def _said(self, java: Any) -> str:
        """The message of an exception and of its cause, on one line."""
        said = _text(java)
        if (cause := java.getCause()) is not None and (text := cause.getMessage()):
            said += "" if text in said else f" ({text})"
        return " ".join(self.options.safe(said).split())[:_MAX_SHOWN]


def _drivers(jvm: Any) -> Iterator[Any]:
    """Yield the drivers that Spark's threads find. Instantiating a driver registers it with
    `DriverManager`, which looks for drivers only once, possibly before the session's jars were
    added."""
    from py4j.protocol import Py4JJavaError

    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind = jvm.java.lang.Class.forName("java.sql.Driver")
    drivers = jvm.java.util.ServiceLoader.load(kind, loader).iterator()
    for _ in range(_MAX_DRIVERS):
        try:
            if not drivers.hasNext():
                return
            driver = drivers.next()
        except Py4JJavaError:  # this driver cannot be instantiated; others may
            continue
        yield driver


def _takes(driver: Any, uri: str) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        return bool(driver.acceptsURL(uri))
    except Py4JJavaError:
        return False


def _has_table(connection: Any, name: str) -> bool:
    about = connection.getMetaData()
    for table in (name, name.upper()):  # in the two forms that Iceberg tries
        rows = about.getTables(None, None, table, None)
        try:
            if rows.next():
                return True
        finally:
            rows.close()
    return False


def _execute(connection: Any, text: str) -> None:
    statement = connection.createStatement()
    try:
        statement.execute(text)
    finally:
        statement.close()


def _sql_exception(java: Any) -> Any:
    """The first SQLException among an exception and its causes, or None."""
    for _ in range(_MAX_CAUSES):
        if java is None:
            return None
        names = set[str]()
        kind = java.getClass()
        while kind is not None:
            names.add(kind.getName())
            kind = kind.getSuperclass()
        if "java.sql.SQLException" in names:
            return java
        java = java.getCause()
    return None


def _text(java: Any) -> str:
    return str(java.getMessage() or java.toString())

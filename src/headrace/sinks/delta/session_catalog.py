"""Delta tables in the catalog of a Spark session, by which SQL finds them.

The catalog has names and folders; the logs in the folders describe the tables. So a table is
registered once, by `CREATE TABLE … USING delta LOCATION …`, and its entry is never changed.
Dropping a table there drops the entry, never a file of the lake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION_CATALOG = "spark_catalog"
"""Spark's name of the session catalog."""
NO_CATALOG = "delta.no_catalog"
RELEASE = "4.4.0"
_SCALA, SPARK_RELEASES = "2.13", ("4.0", "4.1", "4.2")
"""The Scala release and the Spark releases that Delta's packages of RELEASE are built for."""
_CLASS = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_SETTING, _EXTENSIONS = "spark.sql.catalog.spark_catalog", "spark.sql.extensions"
_DEFAULT, _PARTS = "default", 2
_NAME = re.compile(r"\w+")


def packages() -> Sequence[str]:
    """Maven coordinates of Delta's package for the installed Spark. Raises
    HeadraceError("delta.no_catalog") if Delta has no such package."""
    from pyspark.version import __version__

    release = ".".join(__version__.split(".")[:2])
    if release not in SPARK_RELEASES:
        raise HeadraceError(
            NO_CATALOG,
            f"Delta {RELEASE} has no catalog for Spark {release}",
            "Use Spark 4.0, 4.1 or 4.2, or leave headrace.sink.catalog.name out: the tables can "
            "be read by their paths.",
        )
    return (f"io.delta:delta-spark_{release}_{_SCALA}:{RELEASE}",)


def settings() -> Mapping[str, str]:
    """Settings of a session whose catalog is Delta's, and is persistent."""
    return {
        _SETTING: _CLASS,
        _EXTENSIONS: _EXTENSION,
        "spark.sql.catalogImplementation": "hive",
    }


class SessionCatalog:
    """The catalog of a running session. Thread-safe."""

    def __init__(self, spark: SparkSession) -> None:
        """Raises HeadraceError("delta.no_catalog") if the session's catalog is not Delta's."""
        self._spark: Any = spark
        catalog_class = spark.conf.get(_SETTING, None)
        if catalog_class != _CLASS:
            raise _no_catalog(f"{_SETTING} is {catalog_class or 'not set'}")
        try:
            self._jvm.java.lang.Class.forName(
                _CLASS, False, self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
            )
        except Exception:  # noqa: BLE001 - Py4J's, and PySpark's own of some kinds of Java
            raise _no_catalog("its class is not on the class path of Spark's driver") from None

    @property
    def _jvm(self) -> Any:
        return self._spark._jvm

    def enter(self, name: TableName, root: str) -> None:
        """Register a table, which is in the folder `root`, unless the catalog has it. Raises
        HeadraceError: ("replicas.table_name_not_taken"), ("delta.catalog_name_taken") if the
        catalog has another table of that name, ("delta.not_registered", retriable)."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        require_name(name)
        schema = name.namespace[0] if name.namespace else _DEFAULT
        try:
            folder = self._location(schema, name.name)
            if folder is None:
                self._create(schema, name, root)
                return
        except (Py4JError, PySparkException) as error:
            raise _not_registered(name, error) from None
        if folder != root:
            raise HeadraceError(
                "delta.catalog_name_taken",
                f"Spark's catalog has another table {schema}.{name.name}, in {folder}; that of the "
                f"replica is in {root}",
                "Drop that table, or rename it in the catalog, or set headrace.sink.namespace or "
                "headrace.sink.prefix.",
            )

    def _location(self, schema: str, table: str) -> str | None:
        """The folder of the table with this name in the catalog; None if it has none."""
        catalog = self._spark._jsparkSession.sessionState().catalog()
        option = self._jvm.scala.Option.apply(schema)
        identifier = self._jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, option)
        if not catalog.databaseExists(schema) or not catalog.tableExists(identifier):
            return None
        parts = urlsplit(str(catalog.getTableMetadata(identifier).location()))
        return str(Path(unquote(parts.path))) if parts.scheme in ("", "file") else parts.geturl()

    def _create(self, schema: str, name: TableName, root: str) -> None:
        if schema != _DEFAULT:
            # Not in the lake (without LOCATION): DROP SCHEMA deletes the folder of the schema.
            self._spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")
        full = f"{SESSION_CATALOG}.{_quoted(schema)}.{_quoted(name.name)}"
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {full} USING delta LOCATION {_text(root)}")


def require_name(name: TableName) -> None:
    """Refuse a name that a table in Spark's catalog cannot have. Raises
    HeadraceError(NAME_NOT_TAKEN)."""
    parts = (*name.namespace, name.name)
    if len(parts) > _PARTS or not all(map(_NAME.fullmatch, parts)):
        raise HeadraceError(
            NAME_NOT_TAKEN,
            f"The table {name} cannot be in Spark's catalog: names there are SCHEMA.TABLE, of "
            "letters, digits and _",
            "Leave it out by table.exclude.list, or give it another name by a transform of its "
            "topic, and copy it under that name: headrace resync FILE TABLE "
            "--checkpoint STATE. Or leave "
            "headrace.sink.catalog.name out.",
        )


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _no_catalog(why: str) -> HeadraceError:
    return HeadraceError(
        NO_CATALOG,
        f"headrace.sink.catalog.name={SESSION_CATALOG}, and the session's catalog is not Delta's: "
        f"{why}",
        f"Set {_SETTING}={_CLASS} and {_EXTENSIONS}={_EXTENSION} in the session, and add the jars "
        'of headrace.sink_jars("delta", **{"catalog.name": "spark_catalog"}) to spark.jars.',
    )


def _not_registered(name: TableName, error: Exception) -> HeadraceError:
    said = str(getattr(error, "java_exception", None) or error)
    return HeadraceError(
        "delta.not_registered",
        f"{name} could not be entered into Spark's catalog: {' '.join(said.split())[:500]}",
        "Look at the metastore (spark.hadoop.hive.metastore.uris, or the Derby database of "
        "spark.hadoop.javax.jdo.option.ConnectionURL, which one process at a time can open).",
        retriable=True,
    )

"""Iceberg's core in Spark's JVM. Every call takes a fraction of a millisecond, whatever its size,
so large data crosses as one JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.jdbc import CatalogDatabase
from headrace.sinks.iceberg.options import CLASSES, RELEASE, SQLITE, IcebergOptions
from headrace.sinks.iceberg.s3 import CLIENT, FILE_IO
from headrace.sinks.replicas.lake import CONFLICT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXCEPTIONS = "org.apache.iceberg.exceptions."
_CONFLICTS = ("CommitFailedException", "AlreadyExistsException")
_REFUSED = "ValidationException"
_FINAL = (
    "ForbiddenException",
    "NotAuthorizedException",
    "BadRequestException",
    "java.lang.IllegalArgumentException",
    "java.lang.NumberFormatException",
    "java.lang.UnsupportedOperationException",
    _REFUSED,
)
_FINAL_ANSWERS = re.compile(
    "Status Code: 403|NoSuchBucket|Unable to load (?:credentials|region)", re.IGNORECASE
)
"""Messages of S3's client for which a retry does not help."""
_MAX_SHOWN = 500
_OLDEST = (1, 12)
"""The oldest supported release of Iceberg."""


class IcebergJvm:
    """The classes of Iceberg that the driver uses, and conversions between Java's and Python's
    values."""

    def __init__(self, spark: SparkSession, options: IcebergOptions) -> None:
        session: Any = spark
        self.jvm = session._jvm
        self.gateway = session.sparkContext._gateway
        self.configuration = session._jsc.hadoopConfiguration()
        self.options = options
        self.iceberg = self.jvm.org.apache.iceberg
        self.database = CatalogDatabase(options) if options.kind == "jdbc" else None
        self._settings: Mapping[str, str] = dict(session.sparkContext.getConf().getAll())
        self.mapper = self.jvm.com.fasterxml.jackson.databind.ObjectMapper()

    def catalog(self) -> Any:
        """Open the catalog. Raises HeadraceError, for a JDBC catalog as `CatalogDatabase` does."""
        names = ", ".join(self.options.packages)
        try:
            self._class(CLASSES[self.options.kind])
            if self.options.properties.get("uri", "").startswith(SQLITE):
                self._class("org.sqlite.JDBC")
            if self.options.s3 is not None:
                self._class(FILE_IO)
                self._class(CLIENT)
        except Exception as error:  # noqa: BLE001
            raise HeadraceError(
                "iceberg.jars_missing",
                f"Spark's class path has no Iceberg for {self.options.kind} catalogs "
                f"{'' if self.options.s3 is None else 'on S3 '}"
                f"({_first_line(error)})",
                f"Add spark.jars.packages={names.replace(', ', ',')}, or these jars by spark.jars.",
            ) from None
        with self.failing("open it", self.options.catalog):
            self._check_release(self.iceberg.IcebergBuild.version())
            if self.database is not None:
                driver = self.database.driver(self.jvm, self._settings)
                self.database.prove(self.jvm, driver)
            return self.iceberg.CatalogUtil.loadCatalog(
                CLASSES[self.options.kind],
                self.options.catalog,
                self.map_of(self._properties()),
                self.configuration,
            )

    def _properties(self) -> Mapping[str, str]:
        """The properties of the catalog. A path without a scheme is local here, but in Hadoop it
        belongs to fs.defaultFS."""
        properties = dict(self.options.properties)
        default = str(self.configuration.get("fs.defaultFS", "file:///"))
        if self.options.warehouse.startswith("/") and not default.startswith("file:"):
            properties["warehouse"] = f"file:{self.options.warehouse}"
        return properties

    def _check_release(self, release: str) -> None:
        if tuple(int(part) for part in re.findall(r"\d+", release)[:2]) < _OLDEST:
            names = ",".join(self.options.packages)
            raise HeadraceError(
                "iceberg.other_release",
                f"Spark's class path has Iceberg {release}, but headrace needs {RELEASE} or later",
                f"Remove the other Iceberg from spark.jars and spark.jars.packages; headrace "
                f"needs {names}.",
            )

    def _class(self, name: str) -> Any:
        """Load and initialize a class with the class loader of Spark's threads."""
        loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return self.jvm.java.lang.Class.forName(name, True, loader)

    def map_of(self, values: Mapping[str, str]) -> Any:
        """A Java map of strings."""
        return self.mapper.readValue(
            json.dumps(dict(values)), self.jvm.java.lang.Class.forName("java.util.HashMap")
        )

    def list_of(self, values: Sequence[str]) -> Any:
        """A Java list of strings."""
        return self.mapper.readValue(
            json.dumps(list(values)), self.jvm.java.lang.Class.forName("java.util.ArrayList")
        )

    def values_of(self, java_map: Any) -> dict[str, str]:
        """The entries of a Java map of strings."""
        entries: dict[str, str] = json.loads(self.mapper.writeValueAsString(java_map))
        return entries

    def namespace(self, names: Sequence[str]) -> Any:
        """A Java Namespace."""
        array = self.gateway.new_array(self.jvm.java.lang.String, len(names))
        for place, name in enumerate(names):
            array[place] = name
        return self.iceberg.catalog.Namespace.of(array)

    def file(self, description: str, spec: Any) -> Any:
        """A Java data file or delete file, from its JSON."""
        return self._parse_file(self.mapper.readTree(description), spec)

    @cached_property
    def _parse_file(self) -> Any:
        # At each access to a class and to its method, py4j asks the JVM for them.
        return self.iceberg.ContentFileParser.fromJson

    def type(self, kind: Any) -> Any:
        """A Java type, from its JSON."""
        field = {"id": 1, "name": "column", "required": False, "type": kind}
        schema = json.dumps({"type": "struct", "schema-id": 0, "fields": [field]})
        return self.iceberg.SchemaParser.fromJson(schema).findType("column")

    @contextmanager
    def failing(self, task: str, name: object, *, commits: bool = False) -> Iterator[None]:
        """Translate exceptions of Iceberg calls to HeadraceErrors. `task` is what the calls do, and
        `name` the object; if they commit files (`commits`), a refusal by Iceberg is a conflict."""
        from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors.exceptions.captured import CapturedException

        try:
            yield
        except Py4JJavaError as error:
            raise self._error(error.java_exception, task, name, commits) from None
        except CapturedException as error:  # PySpark's, for some Java exceptions
            raise self._error(error._origin, task, name, commits) from None
        except (Py4JError, ConnectionError) as error:
            raise HeadraceError(
                "replicas.not_written",
                f"{name}: Spark's JVM did not answer while headrace wanted to {task}: "
                f"{self.options.safe(_first_line(error))}",
                "Look at what Spark's log says, and start the command again.",
                retriable=True,
            ) from None

    def _error(self, java: Any, task: str, name: object, commits: bool) -> HeadraceError:
        kind = java.getClass().getName()
        said = str(java.toString())
        cause = java.getCause()
        if cause is not None and (text := cause.getMessage()) and text not in said:
            said += f": {text}"
        said = self.options.safe(" ".join(said.split()))[:_MAX_SHOWN]
        short = kind.removeprefix(_EXCEPTIONS)
        if short in _CONFLICTS or (commits and short == _REFUSED):
            return HeadraceError(
                CONFLICT,
                f"{name}: could not {task}, because another writer changed it in the meantime: "
                f"{said}",
                "headrace tries again on the current version.",
                retriable=True,
            )
        if short == "NoSuchTableException":
            return HeadraceError(
                "iceberg.no_table",
                f"{name}: could not {task}, because the table no longer exists: {said}",
                "Let headrace copy the table again, or take it out of table.include.list.",
            )
        if self.database is not None and (refused := self.database.refused(java, task)):
            return refused
        return HeadraceError(
            "replicas.not_written",
            f"{name}: could not {task}: {said}",
            "Look at the catalog headrace.sink.catalog.* and at the storage of the warehouse.",
            retriable=short not in _FINAL and not _FINAL_ANSWERS.search(said),
        )


def is_java(error: HeadraceError, *names: str) -> bool:
    """Whether an error of `failing` is one of these Iceberg exceptions."""
    return any(f"{_EXCEPTIONS}{name}" in error.message for name in names)


def _first_line(error: BaseException) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    return next(iter(text.splitlines()), "")

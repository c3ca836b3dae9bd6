"""Iceberg as a table format of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.catalog import IcebergCatalog, require_table
from headrace.sinks.iceberg.jdbc import CatalogDatabase
from headrace.sinks.iceberg.options import CATALOG, OPTIONS, TABLE, IcebergOptions
from headrace.sinks.iceberg.s3 import is_s3, prove
from headrace.sinks.iceberg.storage import file_path
from headrace.sinks.replicas.files.local_folders import prove_folder
from headrace.sinks.replicas.files.s3 import s3_path
from headrace.sinks.replicas.lake import Lake, TableName, TableSchema
from headrace.sinks.replicas.refusals import no_reader
from headrace.spark.jvm.jars import class_path, find_jars
from headrace.spark.jvm.plain_jvm import plain_jvm
from headrace.spark.sinks.formats import is_not_found

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_NAME = "catalog.name"
_PACKAGE_REMEDY = (
    "Use Spark 4.1 with spark.jars.packages="
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0, because Iceberg has no package for "
    "Spark 4.2; or read the versions of headrace.consistent_versions with another reader, such as "
    "PyIceberg."
)


class IcebergFormat:
    """See `headrace.sinks.replicas.lake.LakeFormat`."""

    name = "iceberg"
    options: Sequence[str] = (*OPTIONS, f"{CATALOG}*", f"{TABLE}*")

    def packages(self, options: Mapping[str, str]) -> Sequence[str]:
        """See LakeFormat: coordinates of Iceberg's core and of the catalog's libraries; missing
        options are permitted. A JDBC catalog on another database than SQLite needs that database's
        driver, which is not included."""
        options = {"warehouse": "/", **options}
        if is_s3(options["warehouse"]):
            options.setdefault("catalog.uri", "jdbc:other:")
        return IcebergOptions.of(options).packages

    def session_settings(self, options: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """See LakeFormat: no settings, because commits need only jars."""
        return {}

    def check(self, options: Mapping[str, str]) -> None:
        """See LakeFormat. Raises HeadraceError("iceberg.…") for options that are wrong or
        missing."""
        IcebergOptions.of(options)

    def require(self, options: Mapping[str, str], name: TableName, schema: TableSchema) -> None:
        """See LakeFormat."""
        require_table(IcebergOptions.of(options), name, schema)

    def prove(self, options: Mapping[str, str]) -> str | None:
        """See LakeFormat: the warehouse of a REST catalog is tried on S3 only."""
        checked = IcebergOptions.of(options)
        folder = s3_path(checked.warehouse)
        if checked.s3 is None and checked.kind != "rest":
            return prove_folder(file_path(checked.warehouse, None))
        if checked.s3 is None or folder is None:
            return None
        prove(checked.s3, folder.rstrip("/"))
        return (
            f"The warehouse s3://{folder} at {checked.s3.place} takes objects, which can be read "
            "and deleted"
        )

    def prove_catalog(self, options: Mapping[str, str], spark: Mapping[str, str]) -> str | None:
        """See LakeFormat: tries a JDBC catalog, but does not create the file of SQLite for it."""
        checked = IcebergOptions.of(options)
        if checked.kind != "jdbc":
            return None
        database = CatalogDatabase(checked)
        jars = [str(jar) for jar in find_jars(checked.drivers, options.get("jars"))]
        file = database.file
        if file is not None and not file.exists():
            prove_folder(str(file.parent))
            return f"The first start makes the catalog {file}"
        jars_of_spark = class_path(spark)
        with plain_jvm((*jars, *jars_of_spark.entries)) as jvm:
            database.prove(jvm, database.driver(jvm, spark, jars_of_spark.unread))
        return f"The database of the catalog at {database.address} takes the changes of commits"

    def local(self, folder: Path) -> dict[str, str]:
        """See LakeFormat."""
        return {"warehouse": str(folder)}

    def reading(self, folder: Path, name: TableName) -> Sequence[str]:
        """See LakeFormat."""
        return (
            "from pyiceberg.catalog import load_catalog  # pip install 'pyiceberg[sql-sqlite]'",
            f'catalog = load_catalog("headrace", type="sql", uri="sqlite:///{folder}/catalog.db")',
            f'print(catalog.load_table("{name}").scan().to_arrow().to_pylist())',
        )

    def reader_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """See LakeFormat: the name of the catalog."""
        return {_NAME: IcebergOptions.of(options).catalog}

    def read_version(
        self, spark: SparkSession, options: Mapping[str, str], name: TableName, version: str
    ) -> DataFrame:
        """See LakeFormat: the session has the catalog under its name in the sink's options. A table
        without a snapshot has no rows. Raises HeadraceError("replicas.no_reader"),
        ("iceberg.no_session_catalog")."""
        catalog = options[_NAME]
        names = (catalog, *name.namespace, name.name)
        table = ".".join(f"`{part.replace('`', '``')}`" for part in names)
        reader = spark.read.format("iceberg")
        try:
            if not version:
                return reader.load(table).limit(0)
            return reader.option("snapshot-id", version).load(table)
        except Exception as error:
            if is_not_found(error):
                raise no_reader(name, "Iceberg", _PACKAGE_REMEDY) from error
            if spark.conf.get(f"spark.sql.catalog.{catalog}", None) is not None:
                raise
            raise HeadraceError(
                "iceberg.no_session_catalog",
                f"This Spark session has no catalog {catalog}, which the table {name} is in",
                f"Set spark.sql.catalog.{catalog}=org.apache.iceberg.spark.SparkCatalog and the "
                "options of the catalog, or name the session's catalog by the argument `catalog`.",
            ) from error

    def open(self, spark: SparkSession, options: Mapping[str, str]) -> Lake:
        """Open the catalog of the options. Raises HeadraceError."""
        return IcebergCatalog(spark, IcebergOptions.of(options))


FORMAT = IcebergFormat()

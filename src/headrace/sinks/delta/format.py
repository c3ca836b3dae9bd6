"""Delta as a table format of replicas: its options and its jars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.delta import session_catalog
from headrace.sinks.delta.locations import local_folder, table_folder
from headrace.sinks.delta.schemas import schema_json
from headrace.sinks.delta.session_catalog import RELEASE, SESSION_CATALOG, SessionCatalog
from headrace.sinks.replicas.files.local_folders import prove_folder
from headrace.sinks.replicas.lake import COMMENT
from headrace.sinks.replicas.refusals import no_reader
from headrace.spark.sinks.formats import is_not_found
from headrace.spark.versions.installed import is_4_0

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.sinks.replicas.lake import Lake, TableName, TableSchema

VERSION = RELEASE
_PATH, _TABLE, _CATALOG = "path", "table.", "catalog.name"
_FIXED = {
    "delta.enableDeletionVectors": "true",
    "delta.columnMapping.mode": "name",
    "delta.feature.domainMetadata": "supported",
    "delta.appendOnly": "false",
    "delta.enableChangeDataFeed": "false",
}
"""Table properties whose values headrace sets; other values are refused."""
_PARQUET = "org.apache.parquet:parquet-column:1.17.0"
"""Kernel refers to logical types that Parquet has since 1.16, when it writes or reads a checkpoint;
Spark 4.0 has 1.15. Classes that both jars have are those of Spark's."""
_PACKAGE_REMEDY = (
    f"Start the session with spark.jars.packages=io.delta:delta-spark_X_2.13:{RELEASE}, where X is "
    "its release of Spark (4.0, 4.1 or 4.2), and with Delta's spark.sql.extensions and catalog; or "
    "read the versions of headrace.consistent_versions with another reader, such as delta-rs."
)


class DeltaFormat:
    """A folder of Delta tables: the table `shop.orders` is the folder `PATH/shop/orders`."""

    name = "delta"
    options: Sequence[str] = (_PATH, _CATALOG, f"{_TABLE}*")

    def packages(self, options: Mapping[str, str]) -> Sequence[str]:
        """See LakeFormat. Raises HeadraceError("delta.no_catalog") if the tables are to be in
        Spark's catalog, and Delta has none for this Spark."""
        names = ("delta-kernel-api", "delta-kernel-defaults", "delta-storage")
        of_kernel = tuple(f"io.delta:{name}:{VERSION}" for name in names)
        parquet = (_PARQUET,) if is_4_0() else ()
        catalog = session_catalog.packages() if _CATALOG in options else ()
        return (*of_kernel, *parquet, *catalog)

    def session_settings(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """See LakeFormat."""
        return session_catalog.settings() if _CATALOG in options else {}

    def check(self, options: Mapping[str, str]) -> None:
        """See LakeFormat. Raises HeadraceError("delta.path_missing"), ("delta.path_not_taken"),
        ("delta.table_property"), ("delta.other_catalog")."""
        self._path(options)
        table_properties(options)
        catalog = options.get(_CATALOG, SESSION_CATALOG).strip()
        if catalog != SESSION_CATALOG:
            raise HeadraceError(
                "delta.other_catalog",
                f"headrace.sink.catalog.name={catalog}: Delta tables are entered into the catalog "
                "of the session only",
                f"Set it to {SESSION_CATALOG}, or leave it out: the tables can be read by their "
                f"paths.",
            )

    def require(self, options: Mapping[str, str], name: TableName, schema: TableSchema) -> None:
        """See LakeFormat."""
        table_folder(self._path(options), name)
        if _CATALOG in options:
            session_catalog.require_name(name)
        schema_json(schema.columns)

    def prove(self, options: Mapping[str, str]) -> str | None:
        """See LakeFormat: if the tables are to be in a catalog, also finds its jars. Raises
        HeadraceError("spark.jars_not_found"), too."""
        proved = prove_folder(self._path(options))
        if _CATALOG not in options:
            return proved
        from headrace.spark.jvm.jars import find_jars

        (jar,) = find_jars(session_catalog.packages(), options.get("jars"))
        return f"{proved}; Spark's catalog can have the tables, by {jar.name}"

    def prove_catalog(self, options: Mapping[str, str], spark: Mapping[str, str]) -> str | None:  # noqa: ARG002
        """See LakeFormat: tries nothing, because only Spark reaches a metastore."""
        return None

    def local(self, folder: Path) -> dict[str, str]:
        """See LakeFormat."""
        return {_PATH: str(folder)}

    def reading(self, folder: Path, name: TableName) -> Sequence[str]:
        """See LakeFormat."""
        table = table_folder(str(folder), name)
        return (
            "from deltalake import DeltaTable, QueryBuilder  # pip install deltalake",
            f'table = QueryBuilder().register("t", DeltaTable("{table}"))',
            'print(table.execute("SELECT * FROM t").read_all())',
        )

    def reader_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """See LakeFormat: the folder of the tables."""
        return {_PATH: self._path(options)}

    def read_version(
        self, spark: SparkSession, options: Mapping[str, str], name: TableName, version: str
    ) -> DataFrame:
        """See LakeFormat; the session needs Delta's package. Raises
        HeadraceError("replicas.no_reader")."""
        reader = spark.read.format("delta").option("versionAsOf", version)
        try:
            return reader.load(table_folder(options[_PATH], name))
        except Exception as error:
            if not is_not_found(error):
                raise
            raise no_reader(name, "Delta", _PACKAGE_REMEDY) from error

    def open(self, spark: SparkSession, options: Mapping[str, str]) -> Lake:
        """See LakeFormat. Raises as `check`, and HeadraceError("delta.no_kernel"),
        ("delta.no_catalog")."""
        from headrace.sinks.delta.lake import DeltaLake

        lake = DeltaLake(spark, self._path(options), table_properties(options))
        if _CATALOG in options:
            lake.catalog = SessionCatalog(spark)
        return lake

    @staticmethod
    def _path(options: Mapping[str, str]) -> str:
        path = options.get(_PATH, "").strip()
        if not path:
            raise HeadraceError(
                "delta.path_missing",
                "headrace.sink.path is not set",
                "Set it to the folder of the tables, such as /data/lake or file:///data/lake.",
            )
        return local_folder(path)


def table_properties(options: Mapping[str, str]) -> dict[str, str]:
    """The properties of new tables: those of the options `table.*`, and those of every table.

    Raises HeadraceError("delta.table_property") for a property that headrace sets to another value.
    """
    properties = {
        name.removeprefix(_TABLE): value
        for name, value in options.items()
        if name.startswith(_TABLE)
    }
    for name, value in properties.items():
        fixed = _FIXED.get(name)
        if (
            name == COMMENT
            or name.startswith("headrace.")
            or (fixed is not None and value.lower() != fixed)
        ):
            raise HeadraceError(
                "delta.table_property",
                f"headrace.sink.table.{name} cannot be {value!r}: headrace sets {name} itself",
                f"Remove headrace.sink.table.{name}.",
            )
    return properties | {name: _FIXED[name] for name in tuple(_FIXED)[:3]}


FORMAT = DeltaFormat()

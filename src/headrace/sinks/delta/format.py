"""Delta as a table format of replicas: its options and its jars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.delta.locations import local_folder, table_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.sinks.replicas.lake import Lake, TableName

VERSION = "4.4.0"
_PATH, _TABLE = "path", "table."
_OURS = {
    "delta.enableDeletionVectors": "true",
    "delta.columnMapping.mode": "name",
    "delta.feature.domainMetadata": "supported",
    "delta.appendOnly": "false",
    "delta.enableChangeDataFeed": "false",
}
"""Properties of tables that have no other value here."""
_COMMENT = "comment"
"""The property that is the comment of the source's table."""


class DeltaFormat:
    """A folder of Delta tables: the table `shop.orders` is the folder `PATH/shop/orders`."""

    name = "delta"
    options: Sequence[str] = ("path", "table.*")

    def packages(self, options: Mapping[str, str]) -> Sequence[str]:  # noqa: ARG002
        """See LakeFormat."""
        names = ("delta-kernel-api", "delta-kernel-defaults", "delta-storage")
        return tuple(f"io.delta:{name}:{VERSION}" for name in names)

    def check(self, options: Mapping[str, str]) -> None:
        """See LakeFormat. Raises HeadraceError("delta.path_missing"), ("delta.path_not_taken"),
        ("delta.table_property")."""
        self._path(options)
        table_properties(options)

    def prove(self, options: Mapping[str, str]) -> str | None:  # noqa: ARG002
        """See LakeFormat: folders are not tried."""
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

    def open(self, spark: SparkSession, options: Mapping[str, str]) -> Lake:
        """See LakeFormat. Raises as `check`, and HeadraceError("delta.no_kernel")."""
        from headrace.sinks.delta.lake import DeltaLake

        return DeltaLake(spark, self._path(options), table_properties(options))

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
    """The properties of new tables: those of the options `table.*`, and what every table has.

    Raises HeadraceError("delta.table_property") for one that has no other value here.
    """
    given = {
        name.removeprefix(_TABLE): value
        for name, value in options.items()
        if name.startswith(_TABLE)
    }
    for name, value in given.items():
        fixed = _OURS.get(name)
        if (
            name == _COMMENT
            or name.startswith("headrace.")
            or (fixed is not None and value.lower() != fixed)
        ):
            raise HeadraceError(
                "delta.table_property",
                f"headrace.sink.table.{name} cannot be {value!r}: headrace sets {name} itself",
                f"Remove headrace.sink.table.{name}.",
            )
    return given | {name: _OURS[name] for name in tuple(_OURS)[:3]}


FORMAT = DeltaFormat()

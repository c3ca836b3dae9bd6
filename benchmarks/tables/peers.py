"""What users write without replicas: `python -m benchmarks.tables.peers LANE FILE STATE FOLDER
TABLE CHANGES`, which takes what the log holds and ends.

LANE is `merge`, Spark's MERGE into a Delta table with deletion vectors, or `upsert`, PyIceberg's
into an Iceberg table. Both fold our stream of typed rows. `copy URL FOLDER TABLE JAR` is
Spark's JDBC source into a Delta table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace
from headrace.sinks.delta.format import VERSION
from headrace.spark.jvm.jars import find_jars
from headrace.spark.session import build_session

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_OF_FOLD = ("__deleted", "__kept")


def _session(jars: list[Path]) -> Any:
    packages = (f"io.delta:delta-spark_4.2_2.13:{VERSION}", f"io.delta:delta-storage:{VERSION}")
    files = ",".join(map(str, [*find_jars(packages, None), *jars]))
    return build_session("benchmark", settings={**_DELTA, "spark.jars": files})


def _merge(folder: Path, table: str) -> Callable[[Any, int], None]:
    target = f"delta.`{folder / 'public' / table}`"

    def merge(batch: Any, _number: int) -> None:
        if batch.isEmpty():
            return
        folded = headrace.fold(batch)
        folded.createOrReplaceTempView("folded")
        names = [name for name in folded.columns if name not in _OF_FOLD]
        values = ", ".join(f"t.`{name}` = s.`{name}`" for name in names)
        batch.sparkSession.sql(f"""
            MERGE INTO {target} t USING folded s ON t.id = s.id
            WHEN MATCHED AND s.__deleted THEN DELETE
            WHEN MATCHED THEN UPDATE SET {values}
            WHEN NOT MATCHED AND NOT s.__deleted THEN
              INSERT ({", ".join(names)}) VALUES ({", ".join(f"s.`{name}`" for name in names)})
        """)

    return merge


def _upsert(folder: Path, name: str) -> Callable[[Any, int], None]:
    import pyarrow.compute as pc
    from pyiceberg.expressions import In

    from benchmarks.tables.readers import iceberg_table

    table = iceberg_table(folder, name)

    def upsert(batch: Any, _number: int) -> None:
        if batch.isEmpty():
            return
        folded = headrace.fold(batch).toArrow()
        gone = folded.filter(folded["__deleted"])
        left = folded.filter(pc.invert(folded["__deleted"])).drop(list(_OF_FOLD))
        if gone.num_rows:
            table.delete(In("id", gone["id"].to_pylist()))  # type: ignore[call-arg, arg-type]
        table.upsert(left.cast(table.schema().as_arrow()), join_cols=["id"])

    return upsert


def _follow(lane: str, file: str, state: str, folder: str, table: str, _: str) -> None:
    spark = _session([])
    lines = [line.split("=", 1) for line in Path(file).read_text().splitlines()]
    typed = {"value.converter": "row", "key.converter": "row"}
    options = headrace.options({**dict(lines), **typed})
    stream = spark.readStream.format("headrace").options(**options).load()
    changes = stream.select("key", "value.*", "sequence")
    target = (_merge if lane == "merge" else _upsert)(Path(folder), table)
    query = (
        changes.writeStream.foreachBatch(target)
        .option("checkpointLocation", f"{state}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


def _copy(url: str, folder: str, table: str, jar: str) -> None:
    spark = _session([Path(jar)])
    frame = spark.read.jdbc(
        url, table, column="id", lowerBound=1, upperBound=4294967291, numPartitions=4,
        properties={"driver": "org.postgresql.Driver", "fetchsize": "10000"},
    )  # fmt: skip
    frame.write.format("delta").option("delta.enableDeletionVectors", "true").save(
        f"{folder}/public/{table}"
    )
    spark.stop()


def main() -> None:
    """Run the lane."""
    lane, *arguments = sys.argv[1:]
    if lane == "copy":
        _copy(*arguments)
    else:
        _follow(lane, *arguments)


if __name__ == "__main__":
    main()

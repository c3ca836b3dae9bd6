"""`python -m tests.spark.jvm.training`: a session that loads what tests need of Spark's classes,
and leaves them to the sessions of the tests in the archive of `headrace.spark.jvm.class_archive`.

Without it, the session that ends first writes the archive. A session that failed early has loaded
a third of the classes, and each later one parses the others again: 2 CPU-seconds."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.java import find_java
from headrace.spark.jvm.class_archive import archive_file
from headrace.spark.jvm.home import spark_home
from headrace.spark.session import build_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WITHIN_S = 600
_CHANGES = (
    "key struct<id: int>, op string, before struct<id: int, name: string>, "
    "after struct<id: int, name: string>, source map<string, string>, sequence string"
)


def train_once() -> None:
    """See to it that the Java of JAVA_HOME has an archive of this training; nothing happens where
    no Java is."""
    try:
        archive = archive_file(find_java(), str(spark_home()))
    except HeadraceError:
        return
    trained = archive.with_suffix(f".{zlib.crc32(Path(__file__).read_bytes()):08x}")
    if archive.exists() and trained.exists():
        return
    archive.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.spark.jvm.training"]
    with contextlib.suppress(subprocess.SubprocessError):  # sessions start without it, too
        subprocess.run(command, capture_output=True, timeout=_WITHIN_S, check=True)
        trained.touch()


def main() -> None:
    """Use what tests use; the JVM writes the archive when it ends."""
    from pyspark import SparkContext

    with tempfile.TemporaryDirectory(prefix="headrace-training-") as folder:
        settings = {"spark.sql.warehouse.dir": folder}
        spark = build_session("training", master="local[2,2]", settings=settings)
        _use_tables(spark, Path(folder))
        _use_streams(spark, Path(folder))
    context: Any = SparkContext
    gateway = context._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_WITHIN_S)


def _use_tables(spark: SparkSession, folder: Path) -> None:
    import headrace

    rows = [((n,), "c", None, (n, f"name {n}"), {"lsn": str(n)}, f"{n:04}") for n in range(5)]
    folded = headrace.fold(spark.createDataFrame(rows, _CHANGES))
    folded.orderBy("id").collect()
    folded.write.parquet(str(folder / "parquet"))
    frame = spark.read.parquet(str(folder / "parquet"))
    frame.createOrReplaceTempView("kept")
    spark.sql(
        "SELECT k.id, count(*) n, to_json(struct(k.name)) j FROM kept k LEFT JOIN kept l"
        " ON k.id = l.id AND l.name IS NOT NULL GROUP BY 1, 3 HAVING n > 0 ORDER BY n, 1"
    ).collect()
    spark.sql(
        "SELECT parse_json('[1]') v, from_json('{}', 'a int') f, cast('1' AS decimal(5, 2)),"
        " cast('2026-01-02' AS date), transform(array(1, 2), x -> x + 1), raise_error('no')"
        " FROM kept WHERE id < 0"
    ).collect()
    spark.sql("CREATE TABLE saved USING parquet AS SELECT * FROM kept")
    spark.sql("DROP TABLE saved")
    frame.toArrow()


def _use_streams(spark: SparkSession, folder: Path) -> None:
    from headrace.sinks.file.output import Output
    from headrace.sinks.file.sink import FileSink
    from tests.spark.numbered_source import NumberedSource

    spark.dataSource.register(NumberedSource)
    spark.dataSource.register(FileSink)
    (folder / "head").write_text("10")
    Output(folder / "out.jsonl", folder / "state").open()
    numbers = spark.readStream.format("numbered").option("folder", str(folder)).load()
    to_file = numbers.writeStream.format("headrace_file").option("path", str(folder / "out.jsonl"))
    to_file = to_file.option("state", str(folder / "state")).option("slices", "position")
    to_batches = numbers.writeStream.foreachBatch(lambda batch, _number: batch.collect())
    to_parquet = numbers.writeStream.format("parquet").option("path", str(folder / "stream"))
    for number, writer in enumerate((to_file, to_batches, to_parquet)):
        writer = writer.option("checkpointLocation", str(folder / f"checkpoint {number}"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(_WITHIN_S)
        assert query.lastProgress is not None


if __name__ == "__main__":
    main()

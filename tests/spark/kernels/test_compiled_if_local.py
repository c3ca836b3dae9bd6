"""Where kernels are compiled: those of DataFrames where a DataFrame is built, if tasks run on that
machine, and those of a sink also in the tasks of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition

import headrace
from headrace.documents.target_schema.policies import ConflictPolicy
from headrace.spark.data_source import HeadraceReader
from headrace.spark.kernels import beforehand
from headrace.spark.kernels.needed import Kernels, document_kernels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KERNELS = {"a": ("x",)}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Kernels]:
    """The kernels that were asked for."""
    compiled_kernels: list[Kernels] = []
    monkeypatch.setattr(beforehand, "compile_beforehand", compiled_kernels.append)
    return compiled_kernels


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*, 4]"])
def test_a_driver_with_a_local_master_compiles(master: str, compiled: list[Kernels]) -> None:
    session: Any = SimpleNamespace(conf={"spark.master": master})
    beforehand.compile_if_local(session, KERNELS)
    assert compiled == [KERNELS]


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn", None])
def test_other_drivers_leave_it_to_their_executors(
    master: str | None, compiled: list[Kernels]
) -> None:
    session: Any = SimpleNamespace(conf={} if master is None else {"spark.master": master})
    beforehand.compile_if_local(session, KERNELS)
    beforehand.compile_if_local(None, KERNELS)
    assert compiled == []


class _Reader(HeadraceReader):
    """A reader whose sink has kernels."""

    def sink_kernels(self) -> Kernels:
        return KERNELS

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert self.compiled == [KERNELS]
        return iter(())

    compiled: list[Kernels]


def test_a_task_compiles_the_kernels_of_its_sink_before_it_reads(compiled: list[Kernels]) -> None:
    reader = _Reader.__new__(_Reader)
    reader.compiled = compiled
    assert list(reader.read(InputPartition(0))) == []
    assert compiled == [KERNELS]


@pytest.mark.spark
def test_frames_and_columns_of_documents_are_compiled_where_they_are_built(
    spark: SparkSession, compiled: list[Kernels]
) -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    from headrace.spark.tables.documents import with_documents

    records = spark.createDataFrame([("{}", "{}")], "key string, value string")
    headrace.transforms.apply(
        records,
        {
            "transforms": "unwrap",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        },
    )
    (of_frame,) = compiled
    assert "headrace.converters.reading.kernels.envelope_kernel" in of_frame
    target = StructType([StructField("a", StringType())])
    with_documents(records, ["value"], target, ConflictPolicy.FAIL)
    assert compiled == [of_frame, document_kernels()]

"""Functions of Arrow arrays over columns of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructField, StructType

from headrace.errors import HeadraceError

Convert = Callable[[pa.Array], pa.Array]


def with_converted(
    frame: DataFrame, names: Sequence[str], convert: Convert, kind: DataType
) -> DataFrame:
    """Return the frame with the columns `names` converted to `kind` by a function, which gets the
    cells of a batch and returns as many. Spark 4.0 has no such functions for single columns."""
    try:
        from pyspark.sql.pandas.functions import arrow_udf
    except ImportError:
        return _in_batches(frame, names, convert, kind)
    function: Any = arrow_udf(convert, kind)  # type: ignore[call-overload]
    return frame.withColumns({name: function(name) for name in names})


def _in_batches(
    frame: DataFrame, names: Sequence[str], convert: Convert, kind: DataType
) -> DataFrame:
    fields = [StructField(f.name, kind) if f.name in names else f for f in frame.schema]
    columns = frame.columns

    def converted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(
                [
                    convert(cells) if name in names else cells
                    for name, cells in zip(columns, batch.columns, strict=True)
                ],
                columns,
            )

    return map_in_arrow(frame, converted, StructType(fields))


def map_in_arrow(frame: DataFrame, task: Any, schema: StructType) -> DataFrame:
    """Return `frame.mapInArrow(task, schema)`, which requires pandas and does not use it. Raises
    HeadraceError("frames.spark_version") if this PySpark lacks the functions that it calls."""
    if not hasattr(frame, "_jdf"):  # Spark Connect needs pandas anyway
        return frame.mapInArrow(task, schema)
    try:
        return _map_without_pandas(frame, task, schema)
    except (AttributeError, ImportError, TypeError, Py4JError) as error:
        raise HeadraceError(
            "frames.spark_version",
            f"Functions over Arrow batches do not work with PySpark {pyspark.__version__} "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})",
            "Use PySpark 4.0 to 4.3.",
        ) from error


def _map_without_pandas(frame: DataFrame, task: Any, schema: StructType) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as Classic
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    function = UserDefinedFunction(
        task, returnType=schema, name="headrace", evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = function(*[frame[f"`{name.replace('`', '``')}`"] for name in frame.columns])
    mapped = frame._jdf.mapInArrow(column._jc, False, None)
    return Classic(mapped, frame.sparkSession)

"""Registration of Python sources in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_PACKAGE = "org.apache.spark.sql.execution.datasources.v2.python"
_KNOWN = "DATA_SOURCE_ALREADY_EXISTS"  # a condition of Spark


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Register a source by its name. Spark 4.0 refuses one that it has found by itself.

    Spark changes the variables of a source's processes while it plans queries, in a map that all
    queries share without a lock: two queries that are planned at the same time can make it a map
    that cannot be serialized. A session of Spark's own gets a thread-safe map.
    """
    from pyspark.errors import AnalysisException

    try:
        if hasattr(spark, "_jsparkSession"):
            _register(spark, source)
        else:
            spark.dataSource.register(source)
    except AnalysisException as error:
        if _KNOWN not in str(error):
            raise


def _register(spark: Any, source: type[DataSource]) -> None:
    """Register a source like PySpark's `spark.dataSource.register`, with a thread-safe map."""
    from pyspark.core.rdd import _prepare_for_python_RDD

    context = spark.sparkContext
    jvm = context._jvm
    command, broadcast, _, includes = _prepare_for_python_RDD(context, source)
    variables = jvm.java.util.concurrent.ConcurrentHashMap()
    for name, value in context.environment.items():
        variables.put(name, value)
    function = jvm.SimplePythonFunction(
        bytearray(command), variables, includes, context.pythonExec, context.pythonVer,
        broadcast, context._javaAccumulator,
    )  # fmt: skip
    data_source = getattr(jvm, f"{_PACKAGE}.UserDefinedPythonDataSource")(function)
    spark._jsparkSession.dataSource().registerPython(source.name(), data_source)

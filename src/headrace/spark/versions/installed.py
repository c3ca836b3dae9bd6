"""The features of the installed Spark on which headrace depends (decision 27)."""

from __future__ import annotations

from importlib.util import find_spec

REPORTS_STARTS = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether Spark passes the start of a range to `latestOffset`, and supports availableNow for
sources in Python: 4.2 and later."""
_FILES = "FileSystemBasedCheckpointFileManager"
_STREAMING = "org.apache.spark.sql.execution.streaming"


def session_settings() -> dict[str, str]:
    """Return the settings of a session that depend on the version."""
    if REPORTS_STARTS:
        return {}
    # Spark's own one ends without the data that came after an unfinished micro-batch.
    return {"spark.sql.streaming.triggerAvailableNowWrapper.enabled": "true"}


def checkpoint_files() -> str:
    """Return the class that writes a checkpoint by Hadoop's file system."""
    return f"{_STREAMING}.{_FILES}" if is_4_0() else f"{_STREAMING}.checkpointing.{_FILES}"


def is_4_0() -> bool:
    """Return whether Spark 4.0 is installed."""
    import pyspark

    return pyspark.__version__.startswith("4.0.")

"""Spark sessions for headrace: the necessary settings, and their reasons."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.java import find_java
from headrace.spark.jvm.class_archive import archive_options
from headrace.spark.jvm.sockets import socket_folder
from headrace.spark.starting.environment import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.jvm.gateway import DriverJvm

_LOGGING = Path(__file__).with_name("jvm") / "log4j2.properties"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PYTHON = "PYSPARK_PYTHON"
_GATEWAY = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit` for the process of its script."""


def defaults() -> dict[str, str]:
    """Return the settings for any session that runs headrace.

    Unix sockets to Python workers save 40 ms per micro-batch (the TCP socket waits for delayed
    acknowledgements), the file-system checkpoint manager 45 ms; the worker daemon imports the
    compiled kernels once instead of in every worker. A session without them works, but slower. A
    kill during the first write of an offset leaves a temporary file, which Spark would take for
    another query's checkpoint and never start again. Hadoop's file system with checksums starts two
    processes (`chmod`) for every file that it writes, which are eight, and 10 to 20 ms, in a
    micro-batch with a checkpoint on the local disk; the raw one writes the same files, without
    `.crc` files.

    Spark's workers start the `python3` of PATH, which has no headrace if a script runs in a virtual
    environment that is not activated. Unless `PYSPARK_PYTHON` is set or `spark-submit` started this
    process, it is set to this process's Python; a session that was made earlier has the other
    Python.

    Spark waits 10 seconds for the process of a source, which on a busy machine pass before PySpark
    is imported there; `PYTHONPATH` gets a folder (headrace.spark.starting) that lets it connect
    first, and import after that, few processes at a time.
    """
    from headrace.spark.versions.installed import checkpoint_files, session_settings

    if _GATEWAY not in os.environ:
        os.environ.setdefault(_PYTHON, sys.executable)
        prepare(os.environ)
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.streaming.checkpointFileManagerClass": checkpoint_files(),
        "spark.python.daemon.module": "headrace.spark.daemon",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.minBatchesToRetain": "20",
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.speculation": "false",
        "spark.sql.streaming.stopTimeout": "20000",
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
        **session_settings(),
    }


def _local() -> dict[str, str]:
    """Return further settings for sessions of the command line, which run on one host."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        _JAVA_OPTIONS: (
            "-XX:+UseSerialGC -Xss2m -XX:MaxMetaspaceSize=256m "
            # Compiling methods that are rarely called costs more CPU than it saves.
            "-XX:Tier4InvocationThreshold=300000 -XX:Tier4MinInvocationThreshold=60000 "
            "-XX:Tier4CompileThreshold=600000 -XX:Tier4BackEdgeThreshold=4000000 "
            f"-XX:ReservedCodeCacheSize=96m -Dlog4j2.configurationFile={_LOGGING.as_uri()}"
        ),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.python.worker.reuse": "true",
        "spark.log.level": "OFF",
    }


def build_session(
    name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    jvm: DriverJvm | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> SparkSession:
    """Return a session for the command line: `local[N,4]` (N cores, a task is tried four times).

    `settings` have precedence over those of this module; options of Java are placed after ours.
    `jvm` starts the JVM (None: PySpark starts it, and the JVM ends with this process); `go_on` is
    called between the steps and may raise.

    Raises HeadraceError("spark.no_java"), ("spark.not_started").
    """
    from pyspark.sql import SparkSession

    from headrace.spark.jvm.home import spark_home

    os.environ.setdefault("SPARK_HOME", str(spark_home()))
    java_home = find_java()
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Otherwise workers start the `python3` of PATH, which need not have headrace.
    os.environ.setdefault(_PYTHON, sys.executable)
    prepare(os.environ)
    chosen = master or (settings or {}).get("spark.master") or f"local[{os.cpu_count() or 1},4]"
    ours = defaults() | _local()
    merged = ours | dict(settings or {})
    if merged[_JAVA_OPTIONS] != ours[_JAVA_OPTIONS]:
        merged[_JAVA_OPTIONS] = f"{ours[_JAVA_OPTIONS]} {merged[_JAVA_OPTIONS]}"
    if chosen.startswith("local"):
        merged.setdefault("spark.python.unix.domain.socket.dir", str(socket_folder()))
    archive = archive_options(java_home, os.environ["SPARK_HOME"])
    merged[_JAVA_OPTIONS] += f" {archive}"
    if not chosen.startswith("local["):
        for setting in ("spark.driver.memory", "spark.driver.host", "spark.driver.bindAddress"):
            if not chosen.startswith("local-cluster") and setting not in (settings or {}):
                merged.pop(setting)
    merged = {"spark.app.name": name} | merged | {"spark.master": chosen}
    builder = SparkSession.builder
    for setting, value in merged.items():
        builder = builder.config(setting, value)
    go_on()
    if jvm is not None:
        from pyspark import SparkConf, SparkContext

        gateway = jvm.launch(merged)
        go_on()
        conf = SparkConf(_jvm=gateway.jvm)
        for setting, value in merged.items():
            conf.set(setting, value)
        # In the main thread PySpark would take SIGINT away from the command line.
        with ThreadPoolExecutor(1) as starter:
            context: Any = starter.submit(SparkContext, conf=conf, gateway=gateway).result()
        # The command reports a killed JVM itself, without a trace.
        context._accumulatorServer.handle_error = lambda *_: None
    go_on()
    return builder.getOrCreate()


def warm_up(spark: SparkSession) -> None:
    """Start the workers' daemon, which loads the kernels, while the query is being planned; in the
    background, ignoring errors."""

    def run() -> None:
        with contextlib.suppress(Exception):
            from pyspark.sql.functions import udf

            spark.range(0, 1, 1, 1).select(udf(_same, "long", useArrow=False)("id")).collect()

    threading.Thread(target=run, name="headrace warm-up", daemon=True).start()


def _same(number: int) -> int:
    return number

"""A JVM without Spark, for checks: it has the jars that Spark's driver would have."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.errors import HeadraceError
from headrace.java import find_java
from headrace.spark.jvm.maven import spark_jar

_END_WITHIN_S = 10.0
_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.util=ALL-UNNAMED",  # as in Spark's JVM
)


@contextlib.contextmanager
def plain_jvm(class_path: Sequence[str]) -> Iterator[Any]:
    """Yield Py4J's view of a JVM with these entries on its class path; its output is discarded, and
    it ends with the block. Raises HeadraceError("spark.not_started"), ("spark.no_java")."""
    from py4j.java_gateway import (  # type: ignore[import-untyped]
        GatewayParameters,
        JavaGateway,
        launch_gateway,
    )

    py4j = str(spark_jar("py4j"))
    java = find_java() / "bin" / "java"
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # at DEBUG it logs what is sent
    try:
        port, token, process = launch_gateway(
            jarpath=py4j,
            classpath=os.pathsep.join(class_path),
            java_path=str(java),
            javaopts=list(_OPTIONS),
            die_on_exit=True,
            enable_auth=True,
            redirect_stderr=subprocess.DEVNULL,
            return_proc=True,
        )
    except Exception as error:
        raise HeadraceError(
            "spark.not_started",
            f"Java ended while it started: {error}",
            "Check JAVA_HOME, and the jars that spark.jars and spark.driver.extraClassPath name.",
        ) from error
    gateway = None
    try:
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        yield gateway.jvm
    finally:
        if gateway is not None:
            with contextlib.suppress(Exception):
                gateway.shutdown()
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the JVM by closing its standard input; kill it if it does not end."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

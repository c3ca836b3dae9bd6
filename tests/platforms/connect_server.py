"""A server of Spark Connect, as the guide starts one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from headrace.java import find_java
from headrace.spark.jvm.home import spark_home
from tests.docs.pages import block
from tests.platforms.packages import connect_packages, with_packages

_STARTED = re.compile(r"Spark Connect server started at: \S*?:(\d+)")
_PAGE = "docs/guides/platforms.md"


def connect_environment() -> dict[str, str]:
    """Variables of a process that speaks Spark Connect, or that serves it."""
    return {
        **with_packages(connect_packages(), os.environ),
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PATH": os.pathsep.join(
            [str(spark_home() / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
    }


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The URL of a server on a free port, whose warehouse and log are in `folder`."""
    settings = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
    }
    (folder / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in settings.items())
    )
    export, submit = block(_PAGE, "SparkConnectServer").commands
    environment = connect_environment()
    # The page's first line puts headrace's folder on PYTHONPATH; the tests add their own packages.
    environment["PYTHONPATH_OF_TESTS"] = environment["PYTHONPATH"]
    command = ["/bin/sh", "-e", "-c", f"{export}:$PYTHONPATH_OF_TESTS; exec {submit}"]
    with subprocess.Popen(
        command, cwd=folder, env={**environment, "SPARK_CONF_DIR": str(folder)}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        ports: SimpleQueue[str] = SimpleQueue()
        log_lines: list[str] = []
        reader = threading.Thread(target=_read, args=(server, ports, log_lines), daemon=True)
        reader.start()
        try:
            port = ports.get(timeout=300)
            assert port, "".join(log_lines[-50:])
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)
            reader.join(60)
            (folder / "server.log").write_text("".join(log_lines))


def _read(server: subprocess.Popen[str], ports: SimpleQueue[str], log_lines: list[str]) -> None:
    """Collects the server's log lines; puts its port into `ports`, and an empty text when the log
    ends."""
    assert server.stderr is not None
    for line in server.stderr:
        log_lines.append(line)
        started = _STARTED.search(line)
        if started is not None:
            ports.put(started[1])
    ports.put("")

"""Spark's standalone cluster: a master and workers on the loopback interface."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

from headrace.spark.jvm.home import spark_home

_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER = re.compile(r"Successfully registered with master")


@contextmanager
def standalone_cluster(folder: Path, workers: int, environment: Mapping[str, str]) -> Iterator[str]:
    """The URL of a master with workers of one core each; their folders are `folder`/worker-0 and so
    on. All of it runs with `environment`, and on free ports."""
    with ExitStack() as processes:
        address = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = _said(processes, ("master.Master", *address), environment, folder, _MASTER)
        for number in range(workers):
            place = folder / f"worker-{number}"
            place.mkdir()
            room = ("--cores", "1", "--memory", "1g", "--work-dir", str(place))
            _said(
                processes, ("worker.Worker", *address, *room, master), environment, place, _WORKER
            )
        yield master


def _said(
    processes: ExitStack,
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path,
    pattern: re.Pattern[str],
) -> str:
    """The message of a process of the cluster when it is ready: the last group of `pattern`."""
    name, *rest = arguments
    command = [str(spark_home() / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *rest]
    process = subprocess.Popen(
        command, cwd=folder, env=dict(environment), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    answers: SimpleQueue[str | None] = SimpleQueue()
    log_lines: list[str] = []

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            log_lines.append(line)
            match = pattern.search(line)
            if match is not None:
                answers.put(match[match.lastindex or 0])
        answers.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def end() -> None:
        process.terminate()
        process.wait(60)
        reader.join(60)
        (folder / f"{name}.log").write_text("".join(log_lines))

    processes.callback(end)
    answer = answers.get(timeout=300)
    assert answer is not None, "".join(log_lines[-50:])
    return answer

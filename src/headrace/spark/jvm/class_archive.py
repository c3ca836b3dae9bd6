"""Class data sharing: Spark's classes, parsed once, mapped by every later start.

The first session writes the archive when its JVM ends; sessions from then on start in two thirds of
the time. The JVM checks an archive against itself and the class path, and goes on without one that
does not fit, or that another one is still writing (its header comes last). An archive whose JVM was
killed meanwhile is written again.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
import zlib
from pathlib import Path

_QUIET = "-Xlog:disable"
_DUMP_S = 60
_WRITTEN_WITHIN_S = 600


def archive_options(java_home: Path, spark_home: str) -> str:
    """JVM options that use the archive of this Java and Spark, or write it; may be empty."""
    archive = archive_file(java_home, spark_home)
    base = _base(java_home)
    if base is None:
        return ""
    if _is_abandoned(archive):
        archive.unlink(missing_ok=True)
    if archive.exists():
        file = f"{base}:{archive}" if base else str(archive)
        return f"-Xshare:auto -XX:SharedArchiveFile={file} {_QUIET}"
    return (f"-XX:SharedArchiveFile={base} " if base else "") + (
        f"-XX:ArchiveClassesAtExit={archive} {_QUIET}"
    )


def archive_file(java_home: Path, spark_home: str) -> Path:
    """The archive of this Java and Spark, which need not exist yet. `java_home` is a folder of
    headrace.java."""
    return java_home / f"spark-{zlib.crc32(spark_home.encode())}.jsa"


def _is_abandoned(archive: Path) -> bool:
    """Whether it has no header, and nobody writes it any more."""
    with contextlib.suppress(OSError), archive.open("rb") as file:
        has_header = any(file.read(4))
        return not has_header and time.time() - archive.stat().st_mtime > _WRITTEN_WITHIN_S
    return False


def _base(java_home: Path) -> str | None:
    """The archive of Java's own classes: empty for the one that came with it, a path for one that
    was made here, None when there is none. `java_home` is a folder of headrace.java."""
    if (java_home / "lib" / "server" / "classes.jsa").exists():
        return ""
    made = java_home / "base.jsa"
    if not made.exists():
        java = str(java_home / "bin" / "java")
        command = [java, "-Xshare:dump", f"-XX:SharedArchiveFile={made}", "-XX:+UseSerialGC"]
        try:
            subprocess.run(command, capture_output=True, timeout=_DUMP_S, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    return str(made) if made.exists() else None

"""Class data sharing: Spark's classes, parsed once, mapped by every later start.

The first session writes the archive when its JVM ends; later sessions start in two thirds of the
time. The JVM checks an archive against itself and the class path, and starts without one that does
not match, or that another JVM is still writing (its header comes last). An archive whose JVM was
killed meanwhile is written again. Each Java and each Spark has an archive of its own, of 150 MB and
more: those that were not used lately are removed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import zlib
from pathlib import Path

_QUIET = "-Xlog:disable"
_WRITES = "-XX:ArchiveClassesAtExit="
_DUMP_S = 60
_WRITTEN_WITHIN_S = 600
_MAX_OTHERS = 3
"""The number of archives of other versions of Java and Spark that are kept."""


def archive_options(java_home: Path, spark_home: str) -> str:
    """Return JVM options that use the archive of this Java and Spark, or write it; may be empty."""
    archive = archive_file(java_home, spark_home)
    base = _base(java_home)
    if base is None:
        return ""
    _remove_others(archive)
    if _is_abandoned(archive):
        archive.unlink(missing_ok=True)
    if archive.exists():
        if _has_header(archive):
            with contextlib.suppress(OSError):
                os.utime(archive)  # the time of its last use
        file = f"{base}:{archive}" if base else str(archive)
        return f"-Xshare:auto -XX:SharedArchiveFile={file} {_QUIET}"
    return (f"-XX:SharedArchiveFile={base} " if base else "") + f"{_WRITES}{archive} {_QUIET}"


def writes_archive(options: str) -> bool:
    """Return whether a JVM with these options writes an archive when it ends."""
    return _WRITES in options


def archive_file(java_home: Path, spark_home: str) -> Path:
    """Return the archive of this Java and Spark, which need not exist yet. `java_home` is a folder
    of headrace.java."""
    return java_home / f"spark-{zlib.crc32(spark_home.encode())}.jsa"


def _remove_others(archive: Path) -> None:
    """Remove all archives except this one and the last used ones. A JVM that uses one has it open,
    and keeps it; one that is about to open it starts without it."""
    others = [
        other_archive
        for other_archive in archive.parent.parent.glob("*/spark-*.jsa")
        if other_archive != archive
    ]
    for old in sorted(others, key=_last_used, reverse=True)[_MAX_OTHERS:]:
        with contextlib.suppress(OSError):
            old.unlink()


def _last_used(archive: Path) -> float:
    try:
        return archive.stat().st_mtime
    except OSError:
        return 0.0  # another session has removed it


def _is_abandoned(archive: Path) -> bool:
    """Return whether the archive has no header, and no JVM writes it any more."""
    return _has_header(archive) is False and time.time() - _last_used(archive) > _WRITTEN_WITHIN_S


def _has_header(archive: Path) -> bool | None:
    """Return whether the archive has a header; None if the file does not exist."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except OSError:
        return None


def _base(java_home: Path) -> str | None:
    """Return the archive of Java's own classes: empty for the one of the Java distribution, a path
    for one that was made here, None without an archive. `java_home` is a folder of
    headrace.java."""
    if (java_home / "lib" / "server" / "classes.jsa").exists():
        return ""
    archive = java_home / "base.jsa"
    if not archive.exists():
        java = str(java_home / "bin" / "java")
        command = [java, "-Xshare:dump", f"-XX:SharedArchiveFile={archive}", "-XX:+UseSerialGC"]
        try:
            subprocess.run(command, capture_output=True, timeout=_DUMP_S, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    return str(archive) if archive.exists() else None

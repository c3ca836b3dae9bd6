"""Sdists whose bytes depend on the commit only."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

_PROGRAM, _FILE = 0o755, 0o644


def normalise(sdist: Path, epoch: int) -> None:
    """Write an sdist again: its members in the order of their names, as of `epoch` (s since 1970),
    without an owner, and with modes that depend on no umask."""
    with tarfile.open(sdist) as archive:
        members = [
            (member, archive.extractfile(member) if member.isfile() else None)
            for member in sorted(archive.getmembers(), key=lambda member: member.name)
        ]
        written = io.BytesIO()
        with (
            gzip.GzipFile("", "wb", fileobj=written, mtime=epoch) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as normal,
        ):
            for member, content in members:
                is_program = member.isdir() or member.mode & 0o100
                member.mode = _PROGRAM if is_program else _FILE
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.mtime = epoch
                member.pax_headers = {}
                normal.addfile(member, content)
    sdist.write_bytes(written.getvalue())

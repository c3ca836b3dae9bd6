"""What an artefact must not contain: other people's programs, and above all MongoDB's server."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"!<arch>", b"PK\x03\x04")
"""How programs, libraries and archives with programs in them begin."""
SSPL_TITLE = b"SERVER SIDE PUBLIC LICENSE VERSION"
"""How the licence's text begins, in whatever case; documents may name the licence."""


def members_of(artefact: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a wheel or an sdist: path and content."""
    if artefact.suffix == ".whl":
        with ZipFile(artefact) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)
        return
    with tarfile.open(artefact) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield member.name, file.read()


def refuse_sspl(artefact: Path) -> None:
    """Raises RuntimeError where an artefact has a program, or the text of the SSPL."""
    for name, content in members_of(artefact):
        if content.startswith(PROGRAMS):
            raise RuntimeError(f"{artefact.name} has a program that is not ours: {name}")
        if SSPL_TITLE in b" ".join(content.upper().split()):
            raise RuntimeError(f"{artefact.name} has the text of the SSPL: {name}")

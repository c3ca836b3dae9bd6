"""The sources that make kernels, and a digest of their content."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headrace.connect.cache_folders import kernel_folder

_SETTLED_NS = 2_000_000_000
"""A file that was changed no longer ago may change again and keep its times."""


def content_digest(package: Path) -> str:
    """A digest of the content of `kernel_sources`, in hexadecimal.

    To read the sources takes 0.06 CPU-seconds, in each process that has kernels. So the digest is
    kept, beside the kernels, with what the file system says of all modules below `package`: it is
    taken from there while that is the same.
    """
    state, newest_ns = _state(package)
    is_settled = newest_ns < time.time_ns() - _SETTLED_NS
    known = kernel_folder("sources") / hashlib.sha256(bytes(package)).hexdigest()[:16]
    with suppress(OSError, ValueError):
        known_state, digest = known.read_text("ascii").split()
        if known_state == state:
            return digest
    digest = _digest(package)
    if is_settled:
        with suppress(OSError):
            written = known.with_suffix(f".{os.getpid()}")
            written.write_text(f"{state} {digest}\n", "ascii")
            written.replace(known)
    return digest


def kernel_sources(package: Path) -> list[Path]:
    """The modules below `package` that compile kernels, and the modules that these import names
    at the beginning of a line or names from, near and far."""
    texts = {source: source.read_text("utf-8") for source in package.rglob("*.py")}
    waiting = [
        source
        for source, text in texts.items()
        if "@entry\ndef " in text or "part\ndef " in text or "@intr" in text
    ]
    sources = set(waiting)
    while waiting:
        source = waiting.pop()
        text = texts.get(source) or source.read_text("utf-8")
        for module, names in _IMPORTED.findall(text):
            path = package.joinpath(*module.split("."))
            # What a package is asked for may be a module.
            for imported in (path, *(path / name for name in re.findall(r"\w+", names))):
                source = imported.with_suffix(".py")
                if source not in sources and source.exists():
                    sources.add(source)
                    waiting.append(source)
    return sorted(sources)


_IMPORTED = re.compile(r"^from headrace\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
"""A module and the names that another one imports from it."""


def _digest(package: Path) -> str:
    content = hashlib.sha256()
    for source in kernel_sources(package):
        content.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return content.hexdigest()


def _state(package: Path) -> tuple[str, int]:
    """Return what the file system says of the modules below `package`, as a digest in hexadecimal,
    and when the last of them was changed, in nanoseconds since 1970. Who changes the content of a
    file may set the time of that back, and not the time (`ctime`) of having done so."""
    state, newest_ns = hashlib.sha256(), 0
    for path, status in sorted(_modules(os.fspath(package))):
        times = (status.st_mtime_ns, status.st_ctime_ns)
        newest_ns = max(newest_ns, *times)
        state.update(
            f"{path}\0{status.st_size} {times} {status.st_ino}\n".encode("utf-8", "replace")
        )
    return state.hexdigest(), newest_ns


def _modules(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path, entry.stat()
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _modules(entry.path)

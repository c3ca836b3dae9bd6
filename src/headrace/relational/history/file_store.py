"""A schema history in a file, in the format of Debezium's FileSchemaHistory: a record per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.connect.disk import force_to_disk
from headrace.errors import HeadraceError
from headrace.relational.history.store import HistoryStore

_TAIL_BYTES = 1 << 16


class FileStore(HistoryStore):
    """The file at `path`, created with its folder when the first record is written. A last line
    that was cut short by a kill counts as not written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._healed = False

    @property
    def name(self) -> str:
        """See HistoryStore."""
        return str(self._path)

    def lines(self) -> Iterator[bytes]:
        """See HistoryStore. Raises HeadraceError("relational.history_unreadable")."""
        try:
            with self._path.open("rb") as file:
                for line in file:
                    is_whole = line.endswith(b"\n") or _is_whole(line)
                    if is_whole and line.strip():
                        yield line.rstrip(b"\r\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._failed("relational.history_unreadable", "read", error) from None

    def append(self, lines: Sequence[str]) -> None:
        """See HistoryStore. Raises HeadraceError("relational.history_not_written")."""
        if not lines:
            return
        try:
            if not self._healed:
                self._heal()
            with self._path.open("ab") as file:
                file.write("".join(f"{line}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._failed("relational.history_not_written", "written", error) from None

    def close(self) -> None:
        """See HistoryStore: no file stays open between calls."""

    def _heal(self) -> None:
        """Make the next record begin a line: a last line that was cut short is removed, one that
        only lacks its line end is completed."""
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch()
            force_to_disk(self._path.parent)
        with self._path.open("rb+") as file:
            start = end = file.seek(0, os.SEEK_END)
            last = b""
            while start and b"\n" not in last:
                start = max(0, start - _TAIL_BYTES)
                file.seek(start)
                last = file.read(end - start)
            last = last.rpartition(b"\n")[2]
            if last and _is_whole(last):
                file.seek(end)
                file.write(b"\n")
            elif last:
                file.truncate(end - len(last))
        self._healed = True

    def _failed(self, code: str, action: str, error: OSError) -> HeadraceError:
        return HeadraceError(
            code,
            f"The schema history {self._path} cannot be {action}: {error.strerror or error}",
            "Check the path (schema.history.internal.file.filename, headrace.checkpoint.dir), its "
            "permissions and the free space.",
        )


def _is_whole(line: bytes) -> bool:
    """Whether a line without line end is a complete record."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False

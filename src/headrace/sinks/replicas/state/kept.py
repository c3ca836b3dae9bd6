"""Changes of a table that are kept beside it, in a folder of its own, batch by batch."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

from headrace.connect.disk import force_to_disk, replace_text
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.lake import TableName

_NAME = "table.json"


class KeptChanges:
    """Those of one table. Its folder is there while some are kept."""

    def __init__(self, folder: Path, name: TableName) -> None:
        """`folder` is that of all such tables."""
        self.name = name
        text = quote(str(name), safe="")
        self.folder = folder / (text if text.strip(".") else f"%{text}")

    def keep(self, number: int, position: str, parts: Sequence[Part], folder: Path) -> None:
        """Keep the changes of a micro-batch, whose files are in `folder` and stay there; the
        micro-batch may have been kept before. Whenever the process ends, what the note names is
        there, of the former changes or of these. Raises OSError."""
        described, own = [], secrets.token_hex(4)
        for place, part in enumerate(parts):
            name = ""
            if part.path:
                name = f"{number}-{own}-{place}{Path(part.path).suffix}"
                _share(self._found(folder, part.path), self.folder / name)
            described.append({**asdict(part), "path": name})
        kept = {"position": position, "parts": described}
        replace_text(self.folder / f"{number}.json", json.dumps(kept))
        for former in self.folder.glob(f"{number}-*"):
            if not former.name.startswith(f"{number}-{own}-"):
                former.unlink()

    def _found(self, folder: Path, path: str) -> Path:
        """The file of a part; an earlier version, which moved it here, may have been killed."""
        file = folder / path
        return file if file.exists() else self.folder / file.name

    def kept(self) -> Iterator[tuple[int, str, list[Part]]]:
        """Number, position and parts of each micro-batch that is kept, in order."""
        numbers = sorted(
            int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()
        )
        for number in numbers:
            kept = json.loads((self.folder / f"{number}.json").read_text())
            parts = [Part(**{**each, "buckets": tuple(each["buckets"])}) for each in kept["parts"]]
            yield number, kept["position"], parts

    def drop(self, number: int) -> None:
        """Forget a micro-batch: the table has it."""
        (self.folder / f"{number}.json").unlink(missing_ok=True)
        for path in self.folder.glob(f"{number}-*"):
            path.unlink()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def _share(file: Path, target: Path) -> None:
    """Give a file another name, or copy it where the file system has one name for each."""
    try:
        os.link(file, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)
    force_to_disk(target)


class WaitingTable(KeptChanges):
    """A table whose changes wait, and are applied at once.

    Some wait while its rows are newer than the log: they were read by a snapshot that had to begin
    again. Bit by bit, what the log has of them until then would delete rows whose values later
    changes do not carry. Those of a first copy that is staged wait apart from these, because they
    are in the table when the others are applied."""

    @property
    def is_waiting(self) -> bool:
        """Whether changes are kept."""
        return (self.folder / _NAME).is_file()

    def begin(self) -> None:
        """From now on the table's changes are kept. Raises OSError."""
        shutil.rmtree(self.folder, ignore_errors=True)  # a run was killed while it forgot them
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {"namespace": self.name.namespace, "name": self.name.name}
        replace_text(self.folder / _NAME, json.dumps(known))

    def size_with(self, parts: Sequence[Part]) -> int:
        """Bytes that will be kept with these parts."""
        return (self.size if self.is_waiting else 0) + sum(part.size for part in parts)

    def parts(self) -> list[Part]:
        """All that are kept."""
        return [part for _, _, parts in self.kept() for part in parts]

    def forget(self) -> None:
        """The table has everything."""
        (self.folder / _NAME).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def waiting_tables(folder: Path) -> Iterator[WaitingTable]:
    """The tables that wait."""
    for path in sorted(folder.glob(f"*/{_NAME}")):
        known = json.loads(path.read_text())
        yield WaitingTable(folder, TableName(tuple(known["namespace"]), known["name"]))

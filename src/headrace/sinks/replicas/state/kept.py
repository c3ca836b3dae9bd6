"""Changes of a table that are kept outside of it, in a separate folder, by micro-batch."""

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
    """The kept changes of one table. Its folder exists while changes are kept."""

    def __init__(self, folder: Path, name: TableName) -> None:
        """Set the table, and the parent folder of all such tables."""
        self.name = name
        text = quote(str(name), safe="")
        self.folder = folder / (text if text.strip(".") else f"%{text}")

    def keep(self, number: int, position: str, parts: Sequence[Part], folder: Path) -> None:
        """Keep the changes of a micro-batch, whose files are in `folder` and stay there; the
        micro-batch may have been kept before. After a kill at any time, the files that the note
        lists exist, either the former ones or these. Raises OSError."""
        described, random_hex = [], secrets.token_hex(4)
        for place, part in enumerate(parts):
            name = ""
            if part.path:
                name = f"{number}-{random_hex}-{place}{Path(part.path).suffix}"
                _share(folder / part.path, self.folder / name)
            described.append({**asdict(part), "path": name})
        description = {"position": position, "parts": described}
        replace_text(self.folder / f"{number}.json", json.dumps(description))
        for former in self.folder.glob(f"{number}-*"):
            if not former.name.startswith(f"{number}-{random_hex}-"):
                former.unlink()

    def kept(self) -> Iterator[tuple[int, str, list[Part]]]:
        """Yield number, position and parts of each kept micro-batch, in order."""
        numbers = sorted(
            int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()
        )
        for number in numbers:
            description = json.loads((self.folder / f"{number}.json").read_text())
            parts = [
                Part(**{**part, "buckets": tuple(part["buckets"])}) for part in description["parts"]
            ]
            yield number, description["position"], parts

    def drop(self, number: int) -> None:
        """Delete the changes of a micro-batch: the table has it."""
        (self.folder / f"{number}.json").unlink(missing_ok=True)
        for path in self.folder.glob(f"{number}-*"):
            path.unlink()

    @property
    def size(self) -> int:
        """The size of the kept changes in bytes."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def size_with(self, number: int, parts: Sequence[Part]) -> int:
        """Return the kept bytes if these are the parts of a micro-batch, which may have been kept
        before."""
        former = (f"{number}.json", f"{number}-")
        others = (path for path in self.folder.glob("*") if not path.name.startswith(former))
        return sum(path.stat().st_size for path in others) + sum(part.size for part in parts)


def _share(file: Path, target: Path) -> None:
    """Make a hard link to a file, or copy it if the file system does not support that."""
    try:
        os.link(file, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)
    force_to_disk(target)


class WaitingTable(KeptChanges):
    """A table whose changes wait, and are applied together.

    Changes wait while the table's rows are newer than the log: a snapshot read them that had to
    begin again. If the log up to that point was applied in steps, it would delete rows whose values
    later changes do not carry. Changes of a staged first copy wait separately, because they are in
    the table when the others are applied.
    """

    @property
    def is_waiting(self) -> bool:
        """Whether changes are kept."""
        return (self.folder / _NAME).is_file()

    def begin(self) -> None:
        """Begin to keep the table's changes. Raises OSError."""
        shutil.rmtree(self.folder, ignore_errors=True)  # left by a killed run
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {"namespace": self.name.namespace, "name": self.name.name}
        replace_text(self.folder / _NAME, json.dumps(known))

    def size_with(self, number: int, parts: Sequence[Part]) -> int:
        """See KeptChanges. What a killed run was about to forget does not count."""
        if not self.is_waiting:
            return sum(part.size for part in parts)
        return super().size_with(number, parts)

    def parts(self) -> list[Part]:
        """Return all kept parts."""
        return [part for _, _, parts in self.kept() for part in parts]

    def forget(self) -> None:
        """Delete the kept changes: the table has them."""
        (self.folder / _NAME).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def sweep_forgotten(folder: Path) -> None:
    """Delete what a killed run has left of tables that do not wait any more. Raises OSError."""
    for path in folder.glob("*"):
        if not (path / _NAME).is_file():
            shutil.rmtree(path)


def waiting_tables(folder: Path) -> Iterator[WaitingTable]:
    """Yield the tables that wait."""
    for path in sorted(folder.glob(f"*/{_NAME}")):
        known = json.loads(path.read_text())
        yield WaitingTable(folder, TableName(tuple(known["namespace"]), known["name"]))

"""Tables whose replication has stopped: why, and the changes that are kept beside them.

A table that cannot take a change stops alone. Its changes wait in a folder of their own,
micro-batch by micro-batch, until the table takes them, after a restart with another configuration
for example, or is copied again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

from headrace.connect.disk import force_to_disk, replace_text
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.lake import TableName

_ERROR = "error.json"


class StoppedTable:
    """What is known of one table. Its folder is there while the table is stopped."""

    def __init__(self, folder: Path, name: TableName) -> None:
        """`folder` is that of all stopped tables."""
        self.name = name
        self.folder = folder / quote(str(name), safe="")

    @property
    def is_stopped(self) -> bool:
        """Whether the table takes no changes."""
        return (self.folder / _ERROR).is_file()

    @property
    def error(self) -> HeadraceError:
        """Why."""
        known = json.loads((self.folder / _ERROR).read_text())
        return HeadraceError(known["code"], known["message"], known["remedy"])

    def stop(self, error: HeadraceError) -> None:
        """From now on the table's changes are kept. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {
            "namespace": self.name.namespace,
            "name": self.name.name,
            "code": error.code,
            "message": error.message,
            "remedy": error.remedy,
        }
        replace_text(self.folder / _ERROR, json.dumps(known))

    def keep(self, number: int, position: str, parts: Sequence[Part], folder: Path) -> None:
        """Keep the changes of a micro-batch, whose files are in `folder`; the micro-batch may have
        been kept before. Raises OSError."""
        for former in self.folder.glob(f"{number}-*"):
            former.unlink()
        for part in parts:
            if part.path:
                target = self.folder / Path(part.path).name
                (folder / part.path).rename(target)
                force_to_disk(target)
        described = [{**asdict(part), "path": Path(part.path).name} for part in parts]
        kept = {"position": position, "parts": described}
        replace_text(self.folder / f"{number}.json", json.dumps(kept))

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

    def resume(self) -> None:
        """Forget everything: the table takes changes again."""
        # Without its error a folder is nothing, so a kill within leaves no stopped table.
        (self.folder / _ERROR).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def stopped_tables(folder: Path) -> Iterator[StoppedTable]:
    """The tables that are stopped."""
    for path in sorted(folder.glob(f"*/{_ERROR}")):
        known = json.loads(path.read_text())
        yield StoppedTable(folder, TableName(tuple(known["namespace"]), known["name"]))

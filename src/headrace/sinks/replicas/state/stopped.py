"""Tables whose replication has stopped: the reasons, and the changes that are kept outside of them.

A table that cannot take a change stops alone. Its changes wait in a separate folder, micro-batch by
micro-batch, until the table takes them, for example after a restart with another configuration, or
is copied again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.state.kept import KeptChanges

_ERROR = "error.json"


class StoppedTable(KeptChanges):
    """The error and the kept changes of one table. Its folder exists while the table is stopped."""

    @property
    def is_stopped(self) -> bool:
        """Whether the table takes no changes."""
        return (self.folder / _ERROR).is_file()

    @property
    def error(self) -> HeadraceError:
        """The reason of the stop."""
        known = json.loads((self.folder / _ERROR).read_text())
        return HeadraceError(known["code"], known["message"], known["remedy"])

    @property
    def is_lost(self) -> bool:
        """Whether changes of the table are lost, so that only another copy repairs it."""
        return bool(json.loads((self.folder / _ERROR).read_text()).get("lost"))

    def stop(self, error: HeadraceError, *, loses: bool = False) -> None:
        """Begin to keep the table's changes; `loses`: they are not kept, because some of them are
        lost. Raises OSError."""
        if not self.is_stopped:
            shutil.rmtree(self.folder, ignore_errors=True)  # left by a kill in `resume`
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {
            "namespace": self.name.namespace,
            "name": self.name.name,
            "code": error.code,
            "message": error.message,
            "remedy": error.remedy,
            "lost": loses,
        }
        replace_text(self.folder / _ERROR, json.dumps(known))
        if loses:
            for number in [number for number, _, _ in self.kept()]:
                self.drop(number)

    def resume(self) -> None:
        """Delete the state: the table takes changes again."""
        # A folder without its error is ignored, so a kill in between leaves no stopped table.
        (self.folder / _ERROR).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def stopped_tables(folder: Path) -> Iterator[StoppedTable]:
    """Yield the tables that are stopped."""
    for path in sorted(folder.glob(f"*/{_ERROR}")):
        try:
            known = json.loads(path.read_text())
        except FileNotFoundError:  # another process has deleted it meanwhile
            continue
        yield StoppedTable(folder, TableName(tuple(known["namespace"]), known["name"]))

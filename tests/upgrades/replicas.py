"""The replica of a stored database's table, in Delta."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.sinks.lake.readers import LAKES
from tests.upgrades.databases import StoredDatabase, changes_of, rows_after


class Replica:
    """The tables that a run with the folder `folder` writes, as delta-rs reads them."""

    def __init__(self, database: StoredDatabase, folder: Path) -> None:
        self._database = database
        self._lake = LAKES["delta"](folder / "lake")
        self._namespace, _, self._name = database.topics.partition(".")

    def properties(self) -> dict[str, str]:
        """Properties of the sink, with `_` for `.`."""
        lake = {name.replace(".", "_"): text for name, text in self._lake.properties().items()}
        return lake | self._database.replica_properties

    def version(self) -> str:
        """The table's last version."""
        return self._lake.version(self._namespace, self._name)

    def has_all_of(self, blocks: Sequence[int]) -> bool:
        """Whether it has the rows of the table after the changes of `blocks`, each once."""
        rows = self._lake.found(self._namespace, self._name) or []
        names = dict(map(self._database.id_and_name, rows))
        expected_names = rows_after(change for block in blocks for change in changes_of(block))
        return names == expected_names and len(rows) == len(expected_names)

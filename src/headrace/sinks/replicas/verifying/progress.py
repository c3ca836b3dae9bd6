"""The state of interrupted comparisons, in files beside those of the replicas."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace.connect.disk import replace_text
from headrace.signals.progress import SignalProgress
from headrace.sinks.replicas.lake import TableName
from headrace.spark.sinks.comparison import ComparedTable, RowDifference

_PROGRESS, _INDEX = "progress.json", "index"


@dataclass(frozen=True)
class Found:
    """The results of a comparison of a table so far. `keys` are those of rows that a copy of these
    rows repairs, by the source's tables; None: all rows have to be copied. The other members are as
    in ComparedTable."""

    rows: int = 0
    chunks: int = 0
    differing: int = 0
    unsettled: int = 0
    position: str = ""
    differences: tuple[RowDifference, ...] = ()
    keys: Mapping[str, tuple[tuple[Any, ...], ...]] | None = field(default_factory=dict)


@dataclass(frozen=True)
class TableProgress:
    """The progress of a table's comparison: the number `source` of its source tables are done, and
    the next one up to `reading` (None: not begun). `signature` identifies the compared columns and
    tables."""

    signature: str
    found: Found = Found()
    source: int = 0
    reading: SignalProgress | None = None


class ComparisonState:
    """The folder of one replica. Methods raise OSError."""

    def __init__(self, folder: Path, name: TableName) -> None:
        self._folder = folder / quote(str(name), safe="")
        self.index = self._folder / _INDEX
        """The folder of the index of the table's rows."""

    def read(self, signature: str) -> TableProgress | None:
        """Return the stored progress, or None if nothing is stored for this signature."""
        try:
            known = json.loads((self._folder / _PROGRESS).read_text())
            if known["signature"] != signature:
                return None
            results = known["found"]
            differences = tuple(map(RowDifference.from_json, results.pop("differences")))
            keys = results.pop("keys")
            if keys is not None:
                keys = {table: tuple(map(tuple, of)) for table, of in keys.items()}
            reading = known["reading"]
            return TableProgress(
                signature,
                Found(**results, differences=differences, keys=keys),
                int(known["source"]),
                None if reading is None else SignalProgress.from_json(reading),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, progress: TableProgress) -> None:
        """Store the progress in place of the former one."""
        results = progress.found
        keys = None if results.keys is None else {k: list(v) for k, v in results.keys.items()}
        if keys is not None and not _is_plain(keys):
            results, keys = replace(results, keys=None), None
        known = {
            "signature": progress.signature,
            "source": progress.source,
            "reading": None if progress.reading is None else progress.reading.to_json(),
            "found": {
                "rows": results.rows,
                "chunks": results.chunks,
                "differing": results.differing,
                "unsettled": results.unsettled,
                "position": results.position,
                "differences": [difference.to_json() for difference in results.differences],
                "keys": keys,
            },
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        replace_text(self._folder / _PROGRESS, json.dumps(known, ensure_ascii=False))

    def forget(self) -> None:
        """Delete the stored progress."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _is_plain(keys: Mapping[str, Any]) -> bool:
    """Return whether JSON preserves all values of keys."""
    return all(
        isinstance(value, str | int) and not isinstance(value, bool)
        for of in keys.values()
        for key in of
        for value in key
    )


_RESULTS = "results.json"


class FinishedTables:
    """The finished tables of a comparison, until all are finished."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / _RESULTS

    def read(self) -> dict[str, dict[str, Any]]:
        """Return their results as JSON, by name; empty if no comparison was interrupted."""
        try:
            known = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def add(self, table: ComparedTable) -> None:
        """Store a result. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        known = self.read() | {table.name: table.to_json(with_repairs=True)}
        replace_text(self._path, json.dumps(known, ensure_ascii=False))

    def forget(self) -> None:
        """Delete everything but the lock: all tables are finished, or the comparison restarts."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name == _RESULTS:
                path.unlink(missing_ok=True)

"""The log of a query's consistent cuts: a file of lines in the state folder of its sink.

A cut is listed until a later one has been recorded for the time that the file's first line names. A
process that is killed while it adds a line leaves a part of it, which readers ignore and the next
run replaces: the micro-batch comes again, and with it its cut.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.state.failures import using_state

CUTS = "cuts.jsonl"
"""The name of the file."""
_VERSION = 1
_MARGIN = timedelta(minutes=10)
"""The time by which versions outlive a cut, for readers that have just chosen it."""
_MAX_UNLISTED = 100


@dataclass(frozen=True)
class CutList:
    """The cuts in a file, the oldest first, with the table format, the options by which its readers
    find the tables, and the time for which cuts are listed (milliseconds)."""

    table_format: str
    lake: Mapping[str, str]
    keep_ms: int
    cuts: Sequence[Cut] = ()

    def listed(self, now_ms: int) -> Sequence[Cut]:
        """Return the cuts that can be read at a time of the host (milliseconds since 1970)."""
        recorded = [cut.recorded_ms for cut in self.cuts]
        return self.cuts[_unlisted(recorded, now_ms - self.keep_ms) :]

    def expires_ms(self, cut: Cut, now_ms: int) -> int:
        """Return the time until which a listed cut can be read at least."""
        place = self.cuts.index(cut)
        is_last = place + 1 == len(self.cuts)
        return (now_ms if is_last else self.cuts[place + 1].recorded_ms) + self.keep_ms

    def text(self) -> str:
        """Return the content of the file."""
        header = {
            "version": _VERSION,
            "format": self.table_format,
            "lake": dict(self.lake),
            "keep_ms": self.keep_ms,
        }
        lines = [json.dumps(header) + "\n"]
        for place, cut in enumerate(self.cuts):
            lines.append(cut.line(self.cuts[place - 1] if place else None))
        return "".join(lines)


def read_cuts(state: Path) -> CutList | None:
    """Read the cuts in the state folder of a sink; None: there is no file. Raises
    HeadraceError("replicas.cuts_not_understood"), OSError."""
    path = state / CUTS
    try:
        header, *lines = path.read_text().splitlines(keepends=True)
    except (FileNotFoundError, ValueError):
        return None
    try:
        known = json.loads(header)
        if known["version"] > _VERSION:
            raise ValueError("a newer headrace wrote it")
        table_format, lake, keep_ms = known["format"], known["lake"], int(known["keep_ms"])
        cuts: list[Cut] = []
        for line in lines:
            if line.endswith("\n"):  # otherwise it is being written, or its process was killed
                cuts.append(Cut.of_line(line, cuts[-1] if cuts else None))
    except (ValueError, KeyError, TypeError) as error:
        raise HeadraceError(
            "replicas.cuts_not_understood",
            f"The file of consistent cuts {path} cannot be read: {error}",
            "Use the release of headrace that wrote it, or delete the file: the next micro-batch "
            "of the query begins a new one.",
        ) from None
    return CutList(table_format, lake, keep_ms, cuts)


def release_cuts(state: Path, table: TableName) -> int:
    """Take a table from which a key is erased out of all recorded cuts, because its versions in
    them can no longer be read; returns the number of these cuts. The query must not run. Raises
    HeadraceError("replicas.cuts_not_understood"), OSError."""
    known = read_cuts(state)
    if known is None or not any(table in cut.versions for cut in known.cuts):
        return 0
    cuts = [
        replace(
            cut,
            versions={name: version for name, version in cut.versions.items() if name != table},
            missing={**cut.missing, table: "a key was erased from it"},
        )
        for cut in known.cuts
    ]
    replace_text(state / CUTS, replace(known, cuts=cuts).text())
    return sum(table in cut.versions for cut in known.cuts)


class CutLog:
    """The cuts of a running query, which adds to them. For one thread at a time."""

    def __init__(self, state: Path, table_format: str, options: ReplicaOptions) -> None:
        self._state, self._format, self._options = state, table_format, options
        self._lake: Mapping[str, str] = {}
        self._keep_ms = int(options.keep_cuts.total_seconds() * 1000)
        self._recorded: list[int] = []
        self.last: Cut | None = None
        """The last cut; None before the first."""
        self._is_whole = False
        """Whether the file has all cuts that are recorded here, and nothing else."""

    def open(self, lake: Mapping[str, str]) -> None:
        """Read the cuts of former runs; `lake` are the options by which readers find the tables.
        Raises HeadraceError("replicas.cuts_not_understood")."""
        self._lake, self._is_whole = lake, False
        known = read_cuts(self._state)
        cuts = () if known is None or known.table_format != self._format else known.cuts
        self._recorded = [cut.recorded_ms for cut in cuts]
        self.last = cuts[-1] if cuts else None

    def add(self, cut: Cut) -> None:
        """Record a cut, in place of those of its micro-batch and of later ones. Raises
        HeadraceError("replicas.state_not_writable")."""
        last = self.last
        cut = replace(cut, recorded_ms=max([cut.recorded_ms, *self._recorded[-1:]]))
        unlisted = _unlisted(self._recorded, cut.recorded_ms - self._keep_ms)
        is_next = last is not None and last.batch < cut.batch
        is_long = unlisted > max(_MAX_UNLISTED, len(self._recorded) // 2)
        with using_state(self._state):
            if self._is_whole and is_next and not is_long:
                self._is_whole = False
                with (self._state / CUTS).open("a") as file:
                    file.write(cut.line(last))
                self._is_whole = True
                self._recorded.append(cut.recorded_ms)
            else:
                self._write(cut)
        self.last = cut

    def _write(self, cut: Cut) -> None:
        known = read_cuts(self._state)
        cuts: list[Cut] = []
        if known is not None and known.table_format == self._format:
            before = [recorded for recorded in known.cuts if recorded.batch < cut.batch]
            listed = replace(known, cuts=[*before, cut], keep_ms=self._keep_ms)
            cuts = [*listed.listed(cut.recorded_ms)]
        else:
            cuts = [cut]
        replace_text(
            self._state / CUTS, CutList(self._format, self._lake, self._keep_ms, cuts).text()
        )
        self._is_whole = True
        self._recorded = [recorded.recorded_ms for recorded in cuts]

    def replaced_before(self) -> datetime:
        """Return the moment before which versions that may expire now were replaced. For any
        thread."""
        now_ms = time.time_ns() // 1_000_000
        recorded = self._recorded[:]
        listed = recorded[_unlisted(recorded, now_ms - self._keep_ms) :]
        return _replaced_before(self._options, listed)


def replaced_before(state: Path, options: ReplicaOptions) -> datetime:
    """Return the moment before which versions that may expire now were replaced, for the upkeep
    beside a query. Raises HeadraceError("replicas.cuts_not_understood"), OSError."""
    known = read_cuts(state)
    now_ms = time.time_ns() // 1_000_000
    listed = () if known is None else known.listed(now_ms)
    return _replaced_before(options, [cut.recorded_ms for cut in listed])


def _replaced_before(options: ReplicaOptions, listed: Sequence[int]) -> datetime:
    oldest = options.replaced_before()
    if not listed:
        return oldest
    return min(oldest, datetime.fromtimestamp(listed[0] / 1000, UTC) - _MARGIN)


def _unlisted(recorded: Sequence[int], before_ms: int) -> int:
    """Return how many of the oldest cuts are not listed any more: those after which another one was
    recorded before a time."""
    return max(0, bisect_left(recorded, before_ms) - 1)

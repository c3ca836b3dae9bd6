"""A reader whose processes are killed: each goes on where the folder of the one before says, as
Spark's checkpoint would.

The folder has `properties.json`, `offsets` (planned ends, a line each), and a file of records per
range, which is there once the range is done. Processes are forked from one that has everything
imported, so that a life costs no start of Python.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.contract.run import without_clock

Record = dict[str, Any]
MOMENTS = ("planned", "written", "half", "kept", "done")
"""The moments at which a process may end: an offset is planned; it is written down; half of its
records are read; all are, and kept; the range is done."""
_PRELOADED = "tests.connectors.preload"


class Death(NamedTuple):
    """A process kills itself at a moment, when it has come there so often."""

    moment: str
    number: int


class KilledReader:
    """A reader that is killed: its folder, and the process that runs now."""

    def __init__(
        self,
        folder: Path,
        properties: Mapping[str, str],
        prepare: Callable[[], object] = dict,
        queried: Iterable[str] = (),
        *,
        described_now: bool = False,
    ) -> None:
        """`prepare` is what each process does first; it can be pickled. `queried`: ends of topics
        whose records have values that are read beside the log, and may be newer when they are read
        again (invariant 2b). `described_now`: records have the columns that their tables have when
        they are read, so those that were added meanwhile may be there, too, and null."""
        self.folder, self._prepare, self._queried = folder, prepare, tuple(queried)
        self._described_now = described_now
        (folder / "properties.json").write_text(json.dumps(dict(properties)))
        self._process: Any = None
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload([_PRELOADED])
        self._read = 1
        self.lives = 0

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def live(self, death: Death | None) -> None:
        """A process begins; the one before is gone."""
        assert not self.is_alive
        life = _Life(self.folder, death, self._queried, self._described_now)
        arguments = (life, self._prepare)
        self._process = self._forks.Process(target=live, args=arguments, daemon=True)
        self._process.start()
        self.lives += 1

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def snapshot(self, deaths: Iterable[Death]) -> list[Record]:
        """Processes that die, one after the other, and one that lives until the snapshot is over;
        the records of all of them."""
        records: list[Record] = []
        for death in (*deaths, None):
            self.live(death)
            while self.is_alive and not self.has_snapshot:
                self._process.join(0.01)
                for delivered_records in self.delivered():
                    records += delivered_records
            assert self.has_snapshot == (death is None), self.failure() or f"it outlived {death}"
        self.kill()
        return records

    @property
    def has_snapshot(self) -> bool:
        """Whether the last range that `delivered` gave is after the snapshot."""
        return self.offset is not None and "snapshot" not in self.offset

    def failure(self) -> str | None:
        """The error that ended a process other than a kill."""
        file = self.folder / "failure"
        return file.read_text() if file.exists() else None

    def delivered(self) -> Iterator[list[Record]]:
        """The records of the ranges that were done since the last call."""
        while (delivered_file := self.folder / f"{self._read}.json").exists():
            yield json.loads(delivered_file.read_text())
            self._read += 1

    @property
    def first(self) -> dict[str, Any]:
        """The end of the first range."""
        return _offsets(self.folder)[0]

    @property
    def offset(self) -> dict[str, Any] | None:
        """The end of the last range of which `delivered` gave the records."""
        offsets = _offsets(self.folder)
        return offsets[self._read - 2] if self._read > 1 else None


@dataclass
class _Life:
    """The work of a process until it is killed."""

    folder: Path
    death: Death | None
    queried: tuple[str, ...]
    described_now: bool
    came: int = 0

    def at(self, moment: str) -> None:
        """The process may end here."""
        if self.death is not None and self.death.moment == moment:
            self.came += 1
            if self.came >= self.death.number:
                os.kill(os.getpid(), signal.SIGKILL)

    def run(self) -> None:
        properties = json.loads((self.folder / "properties.json").read_text())
        reader = ConnectorReader(properties)
        reader.offsets += _offsets(self.folder)
        number = len(reader.offsets) - 1
        if number and not self._file(number).exists():
            end = reader.offsets.pop()
            self._deliver(reader, number, end)
            reader.offsets.append(end)
        while True:
            end = reader.plan(0.2)
            if end == reader.offsets[-1]:
                continue
            self.at("planned")
            with (self.folder / "offsets").open("a") as file:
                file.write(json.dumps(end) + "\n")
            self.at("written")
            self._deliver(reader, len(reader.offsets), end)
            reader.offsets.append(end)

    def _deliver(self, reader: ConnectorReader, number: int, end: Mapping[str, Any]) -> None:
        records: list[Record] = []
        slices = reader.slices(end)
        for place, part in enumerate(slices):
            if place == len(slices) // 2:
                self.at("half")
            records += [_plain(record) for record in part]
        self._compare(number, records, "snapshot" in reader.offsets[-1] or "snapshot" in end)
        kept_file = self.folder / f"{number}.kept"
        kept_file.write_text(json.dumps(records))
        self.at("kept")
        kept_file.replace(self._file(number))
        self.at("done")

    def _compare(self, number: int, records: list[Record], is_of_snapshot: bool) -> None:
        """A range is the same as when it was read before (invariant 2a), but for rows that an
        incremental snapshot reads (invariant 2b)."""
        kept_file = self.folder / f"{number}.kept"
        if is_of_snapshot or not kept_file.exists():
            return
        with suppress(ValueError):  # it was not written to its end
            before = json.loads(kept_file.read_text())
            compared = (
                [self._repeatable(record) for record in delivery if not _is_read(record)]
                for delivery in (before, records)
            )
            for old, new in zip_longest(*compared):
                assert old == new, f"range {number} is another one: {new}, not {old}"

    def _repeatable(self, record: Record) -> tuple[Any, ...]:
        """The content of a record that is the same whenever it is read: not what is queried besides
        the log."""
        if self.described_now:
            record = record | {"value": _without_nulls(record["value"])}
        content = without_clock(record)
        return content[:3] if record["topic"].endswith(self.queried) else content

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.json"


def _is_read(record: Record) -> bool:
    """Whether a row was read, and no change."""
    return record["value"] is not None and json.loads(record["value"]).get("op") == "r"


def _without_nulls(value: str | None) -> str | None:
    """The value of an event, without columns that are null."""
    if value is None:
        return None
    images = {
        name: {column: cell for column, cell in image.items() if cell is not None}
        for name, image in json.loads(value).items()
        if name in ("before", "after") and image is not None
    }
    return json.dumps(json.loads(value) | images)


def _plain(record: Mapping[str, Any]) -> Record:
    """A record that can be written as JSON: keys, values and headers are texts."""
    return {
        name: member.decode() if isinstance(member, bytes) else member
        for name, member in record.items()
        if name != "headers"
    } | {"headers": None}


def _offsets(folder: Path) -> list[dict[str, Any]]:
    file = folder / "offsets"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def live(life: _Life, prepare: Callable[[], object]) -> None:
    """A process of the reader."""
    prepare()
    try:
        life.run()
    except BaseException as error:
        # A task that loses its connection ends; Spark, or who started the query, tries it again.
        if isinstance(error, HeadraceError) and error.retriable:
            return
        (life.folder / "failure").write_text(f"{time.ctime()}\n{traceback.format_exc()}")
        raise

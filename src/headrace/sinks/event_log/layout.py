"""The folders of an event log: by topic, and by the time at which the source committed an event."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from headrace.connect.rows import NULL

HOUR_MS = 3_600_000
HOURLY = "'date'=yyyy-MM-dd/'hour'=HH"
_DAY_MS = 24 * HOUR_MS
_STEP_MS = 900_000
"""A divisor of all offsets of time zones from UTC."""
_LETTERS = {
    "yyyy": "%Y", "YYYY": "%Y", "uuuu": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M",
}  # fmt: skip
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([0-9=_./-])")
_SEGMENT = re.compile(r"[A-Za-z0-9=_.-]+")
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")


def topic_folder(topic: str) -> str:
    """The folder of a topic. Characters that a name cannot have are escaped as Hive and Spark
    escape values of partition columns: `%` and two hexadecimal digits."""
    return "topic=" + _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", topic)


def parse_path_format(text: str) -> str:
    """Convert `path.format` to a format of strftime. Raises ValueError with the reason."""
    format_, at = "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text[at]!r} has to be in quotes")
        quoted, letter, _ = token.groups()
        if quoted is not None:
            format_ += (quoted.replace("''", "'") or "'").replace("%", "%%")
        elif letter is not None:
            if token[0] not in _LETTERS:
                raise ValueError(f"{token[0]!r} is not one of {', '.join(_LETTERS)}")
            format_ += _LETTERS[token[0]]
        else:
            format_ += token[0]
        at = token.end()
    for segment in datetime(2026, 1, 2, tzinfo=UTC).strftime(format_).split("/"):
        if _SEGMENT.fullmatch(segment) is None or segment[0] in "_.":
            raise ValueError(
                f"{segment!r} is not a name of a folder that readers see (letters, digits, '=', "
                "'-', '.' and '_', not with '.' or '_' first)"
            )
    return format_


@dataclass(frozen=True)
class Layout:
    """The mapping of times to folders: `path_format`, a format of strftime, formats the beginning
    of a period of `duration_ms` in the time zone `timezone`. Picklable."""

    path_format: str
    duration_ms: int = HOUR_MS
    timezone: str = "UTC"

    def time_folder(self, time_ms: int) -> str:
        """The folder of a time, in milliseconds since 1970-01-01 UTC, within the folder of its
        topic."""
        zone = self._zone
        local = (_EPOCH + timedelta(milliseconds=time_ms)).astimezone(zone).replace(tzinfo=UTC)
        local_ms = (local - _EPOCH) // timedelta(milliseconds=1)
        begin = _EPOCH + timedelta(milliseconds=local_ms // self.duration_ms * self.duration_ms)
        return begin.strftime(self.path_format)

    def is_over(self, folder: str, now_ms: int) -> bool:
        """Whether the period of a folder, whose path begins with the topic's folder, does not
        contain this time."""
        return folder.partition("/")[2] != self.time_folder(now_ms)

    def split(
        self, batch: pa.RecordBatch, commit_us: np.ndarray, now_us: int
    ) -> Iterator[tuple[str, pa.RecordBatch, np.ndarray]]:
        """Divide a batch by folders: yields each folder with its records, in their order, and their
        commit times. `commit_us` are microseconds since 1970-01-01 UTC, or NULL, for which `now_us`
        is used."""
        times = np.where(commit_us == NULL, now_us, commit_us) // (self._step_ms * 1000)
        topics = batch.column("topic").dictionary_encode()
        if len(topics.dictionary) == 1 and times.min() == times.max():
            yield self._folder(topics.dictionary[0].as_py(), int(times[0])), batch, commit_us
            return
        steps, which = np.unique(times, return_inverse=True)
        codes = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        pairs, place = np.unique(codes * len(steps) + which, return_inverse=True)
        folders: dict[str, list[int]] = {}
        for number, pair in enumerate(pairs):
            topic, step = divmod(int(pair), len(steps))
            name = self._folder(topics.dictionary[topic].as_py(), int(steps[step]))
            folders.setdefault(name, []).append(number)
        for name, numbers in folders.items():
            rows = np.flatnonzero(np.isin(place, numbers))
            yield name, batch.take(pa.array(rows)), commit_us[rows]

    @cached_property
    def _zone(self) -> tzinfo:
        return UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)

    @cached_property
    def _step_ms(self) -> int:
        """Milliseconds of a step: times between two multiples of it have the same folder."""
        return math.gcd(self.duration_ms, _DAY_MS if self.timezone == "UTC" else _STEP_MS)

    @cached_property
    def _known(self) -> dict[tuple[str, int], str]:
        return {}

    def _folder(self, topic: str, step: int) -> str:
        folder = self._known.get((topic, step))
        if folder is None:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            folder = f"{topic_folder(topic)}/{self.time_folder(step * self._step_ms)}"
            self._known[topic, step] = folder
        return folder


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_KNOWN = 10_000

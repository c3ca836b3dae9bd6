"""Offsets of time zones from UTC, for whole columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

_FIXED = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?")
_MAX_SECONDS = 18 * 3600
_DAY = 86400
_FIRST, _LAST = -_DAY * 365 * 120, _DAY * 365 * 180
"""The range of instants whose offset changes are known, about 1850 to 2150."""


@dataclass(frozen=True)
class Zone:
    """A time zone: the seconds to add to UTC before, between and after the instants of `changes`
    (int64, seconds since 1970); `offsets` has one more."""

    changes: np.ndarray
    offsets: np.ndarray
    standard: int
    """The current offset outside daylight saving time."""

    def at(self, instants: np.ndarray) -> np.ndarray:
        """The offsets at instants (int64, seconds since 1970 UTC)."""
        return np.asarray(self.offsets[np.searchsorted(self.changes, instants, side="right")])

    def of_local(self, times: np.ndarray) -> np.ndarray:
        """Return the offsets at local times (int64, seconds since 1970 there), as java.time selects
        them: a local time that occurs twice, or never, has the offset before the change."""
        switches = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        return np.asarray(self.offsets[np.searchsorted(switches, times, side="right")])


@cache
def zone_of(name: str) -> Zone:
    """Return the zone of an identifier (`Europe/Warsaw`) or an offset (`+05:30`).

    Raises ValueError for other texts.
    """
    fixed = _FIXED.fullmatch(name)
    if fixed is not None:
        hours, minutes, seconds = (int(part or 0) for part in fixed.groups()[1:])
        offset = 3600 * hours + 60 * minutes + seconds
        if offset > _MAX_SECONDS or minutes > 59 or seconds > 59:
            raise ValueError("an offset is at most 18:00")
        offset = -offset if fixed[1] == "-" else offset
        return Zone(np.zeros(0, np.int64), np.array([offset], np.int64), offset)
    if name not in available_timezones():
        raise ValueError("there is no such time zone")
    return _scanned(ZoneInfo(name))


def _offset(zone: ZoneInfo, instant: int) -> int:
    moment = datetime.fromtimestamp(instant, zone)
    offset = moment.utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _scanned(zone: ZoneInfo) -> Zone:
    """Find the changes of a zone, each between two days with different offsets."""
    changes: list[int] = []
    offsets = [_offset(zone, _FIRST)]
    for day in range(_FIRST + _DAY, _LAST, _DAY):
        offset = _offset(zone, day)
        if offset == offsets[-1]:
            continue
        before, after = day - _DAY, day
        while after - before > 1:
            middle = (before + after) // 2
            if _offset(zone, middle) == offsets[-1]:
                before = middle
            else:
                after = middle
        changes.append(after)
        offsets.append(offset)
    newest = datetime(2026, 1, 1, tzinfo=zone)
    summer, offset_then = newest.dst(), newest.utcoffset()
    assert offset_then is not None
    standard = offset_then - (summer or timedelta())
    return Zone(
        np.array(changes, np.int64), np.array(offsets, np.int64), int(standard.total_seconds())
    )

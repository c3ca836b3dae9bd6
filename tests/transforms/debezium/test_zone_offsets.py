"""Offsets of zones for columns against zoneinfo's of each time by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.transforms.debezium.zone_offsets import zone_of

ZONES = ("Europe/Warsaw", "America/Toronto", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
START = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time
SECONDS = st.lists(st.integers(-3_000_000_000, 5_000_000_000), min_size=1, max_size=5)


def offset(moment: datetime) -> int:
    utc_offset = moment.utcoffset()
    assert utc_offset is not None
    return int(utc_offset.total_seconds())


@given(st.sampled_from(ZONES), SECONDS)
def test_instants_have_the_offset_of_zoneinfo(name: str, seconds: list[int]) -> None:
    offsets = zone_of(name).at(np.array(seconds, np.int64)).tolist()
    moments = [datetime.fromtimestamp(each, UTC).astimezone(ZoneInfo(name)) for each in seconds]
    assert offsets == list(map(offset, moments))


@given(st.sampled_from(ZONES), SECONDS)
def test_local_times_have_the_offset_of_zoneinfo(name: str, seconds: list[int]) -> None:
    """Near the changes of the clock, too."""
    zone = zone_of(name)
    if len(zone.changes):
        change = zone.changes[seconds[0] % len(zone.changes)]
        seconds = [*seconds, int(change) + zone.standard, int(change) + zone.standard + 1800]
    offsets = zone.of_local(np.array(seconds, np.int64)).tolist()
    locals_ = [(START + timedelta(seconds=each)).replace(tzinfo=ZoneInfo(name)) for each in seconds]
    assert offsets == list(map(offset, locals_))


@pytest.mark.parametrize("name", ["+25:00", "+18:01", "+05:60", "5", "Nowhere/City"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"time zone|offset"):
        zone_of(name)

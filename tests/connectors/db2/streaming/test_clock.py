"""The server's clock: local times of its zone, which become UTC."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from headrace.connectors.db2.clock import Clock, clock_of, distant
from headrace.connectors.db2.config import Db2Config
from headrace.errors import HeadraceError

_PROPERTIES = {
    "connector.class": "io.debezium.connector.db2.Db2Connector",
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "D",
}


def config_of(zone: str | None = None) -> Db2Config:
    more = {} if zone is None else {"headrace.capture.time.zone": zone}
    return Db2Config.parse(_PROPERTIES | more)


def utc(clock: Clock, *texts: str) -> list[str]:
    """The times of a clock as texts of UTC."""
    numbers = clock.microseconds([dt.datetime.fromisoformat(text) for text in texts])
    epoch = dt.datetime.fromisoformat("1970-01-01")
    return [str(epoch + dt.timedelta(microseconds=int(number))) for number in numbers]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("20000", "2026-07-01 10:00:00.000001"),
        ("-50000", "2026-07-01 17:00:00.000001"),
        (Decimal(53000), "2026-07-01 06:30:00.000001"),
        (0, "2026-07-01 12:00:00.000001"),
        ("-93000.", "2026-07-01 21:30:00.000001"),
        ("20000,", "2026-07-01 10:00:00.000001"),
        (None, "2026-07-01 12:00:00.000001"),
    ],
)
def test_the_servers_distance_from_utc_is_subtracted(distance: object, expected: str) -> None:
    assert utc(clock_of(config_of(), distance), "2026-07-01 12:00:00.000001") == [expected]


def test_the_configured_zone_counts_and_not_the_servers_distance() -> None:
    clock = clock_of(config_of("-03:30"), "20000")
    assert utc(clock, "2026-07-01 12:00:00") == ["2026-07-01 15:30:00"]


def test_times_before_and_after_a_change_of_summer_time_have_their_own_distances() -> None:
    clock = clock_of(config_of("Europe/Berlin"), "20000")
    assert utc(clock, "2025-03-30 01:59:59", "2025-03-30 03:00:00") == [
        "2025-03-30 00:59:59",
        "2025-03-30 01:00:00",
    ]
    assert utc(clock, "2025-10-26 01:59:59", "2025-10-26 03:00:00") == [
        "2025-10-25 23:59:59",
        "2025-10-26 02:00:00",
    ]


def test_a_time_that_the_clock_shows_twice_is_the_first_one() -> None:
    clock = clock_of(config_of("Europe/Berlin"), 0)
    assert utc(clock, "2025-10-26 02:30:00") == ["2025-10-26 00:30:00"]


def test_a_missing_time_is_the_beginning_and_texts_are_times_too() -> None:
    clock = distant("20000")
    assert clock.microseconds([None]).tolist() == [0]
    texts = ["1970-01-01 02:00:01.5", None]
    assert clock.microseconds(texts).tolist() == [1_500_000, 0]


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "+19:00", "summer"])
def test_a_zone_that_there_is_not_is_refused_by_its_property(zone: str) -> None:
    with pytest.raises(HeadraceError, match=r"headrace\.capture\.time\.zone"):
        config_of(zone)

"""Folders by topic and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import NULL
from headrace.sinks.event_log.layout import HOURLY, Layout, parse_path_format, topic_folder
from tests.sinks.event_log.events import HOUR_START_US, HOUR_US, event_batch

TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001 - made UTC
    lambda at: at.replace(tzinfo=UTC)
)


def milliseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@given(TIMES)
def test_an_event_is_in_the_folder_of_its_hour_in_utc(at: datetime) -> None:
    folder = Layout(parse_path_format(HOURLY)).time_folder(milliseconds(at))
    assert folder == at.strftime("date=%Y-%m-%d/hour=%H")


@given(TIMES, st.sampled_from(["Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]))
def test_a_time_zone_has_hours_of_its_own(at: datetime, zone: str) -> None:
    layout = Layout(parse_path_format("yyyyMMdd/HH"), timezone=zone)
    expected = at.astimezone(ZoneInfo(zone)).strftime("%Y%m%d/%H")
    assert layout.time_folder(milliseconds(at)) == expected
    times = np.array([milliseconds(at) * 1000], np.int64)
    ((folder, _, _),) = layout.split(event_batch([1]), times, 0)
    assert folder == f"topic=t/{expected}"


def test_periods_of_other_lengths_have_the_name_of_their_beginning() -> None:
    at = milliseconds(datetime(2026, 7, 25, 17, 44, tzinfo=UTC))
    quarters = Layout(parse_path_format("yyyy/MM/dd/HH-mm"), 900_000)
    assert quarters.time_folder(at) == "2026/07/25/17-30"
    assert Layout(parse_path_format("YYYY-MM-dd"), 86_400_000).time_folder(at) == "2026-07-25"
    assert Layout(parse_path_format("HH"), 6 * 3_600_000).time_folder(at) == "12"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("year=yyyy", "'y' is not one of"),
        ("yyyy//HH", "'' is not a name"),
        ("'_date'=yyyy", "not a name of a folder that readers see"),
        ("../yyyy", "not a name"),
        ("yyyy HH", "' ' has to be in quotes"),
        ("yyyy-'a b'", "not a name"),
        ("", "not a name"),
    ],
)
def test_a_path_format_that_makes_no_folders_is_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_path_format(text)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_the_folder_of_a_topic_is_one_name_from_which_the_topic_can_be_read(topic: str) -> None:
    folder = topic_folder(topic)
    assert "/" not in folder
    assert "\0" not in folder
    assert unquote(folder.removeprefix("topic=")) == topic


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c/d"]),
            st.sampled_from(
                [NULL, HOUR_START_US, HOUR_START_US + HOUR_US - 1, HOUR_START_US + HOUR_US, -5]
            ),
        ),
        min_size=1,
    )
)
def test_a_batch_is_split_into_folders_and_its_records_keep_their_order(rows) -> None:
    layout = Layout(parse_path_format(HOURLY))
    batch = event_batch(range(len(rows)), topics=[topic for topic, _ in rows])
    times = np.array([time for _, time in rows], np.int64)
    now = HOUR_START_US + 7 * HOUR_US
    values_by_folder = {}
    for folder, part, of_part in layout.split(batch, times, now):
        assert folder not in values_by_folder
        values_by_folder[folder] = [int(value) for value in part.column("value").to_pylist()]
        assert of_part.tolist() == [rows[number][1] for number in values_by_folder[folder]]
    expected: dict[str, list[int]] = {}
    for number, (topic, time) in enumerate(rows):
        at = now if time == NULL else time
        name = f"{topic_folder(topic)}/{layout.time_folder(at // 1000)}"
        expected.setdefault(name, []).append(number)
    assert values_by_folder == expected

"""Calls of the supervisor to PostgreSQL's definition."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.connectors.postgresql.definition import DEFINITION


@pytest.mark.parametrize(
    ("latest", "end", "caught_up"),
    [
        ({"lsn_commit": 500}, {"lsn_commit": 5}, True),
        ({"lsn_commit": 9_000_000}, {"lsn_commit": 5}, False),
        ({"lsn_commit": 0}, {"lsn_commit": 9_000_000}, True),  # nothing was heard yet
        ({}, {"lsn_commit": 5}, False),
        ({"lsn_commit": 5}, {"v": 1, "server": "s"}, False),
    ],
)
def test_a_query_has_caught_up_when_little_log_is_left(
    latest: dict[str, Any], end: dict[str, Any], caught_up: bool
) -> None:
    assert DEFINITION.caught_up(latest, end) is caught_up

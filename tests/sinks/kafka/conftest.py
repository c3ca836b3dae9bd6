"""Fixtures that tests of the sink share."""

from __future__ import annotations

import pytest

from headrace.sinks.kafka import writer


@pytest.fixture
def short_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer asks brokers that do not answer again after a second, and not after five."""
    monkeypatch.setattr(writer, "_TRY_SECONDS", 1.0)

"""Tables that are many chunks without many rows."""

from __future__ import annotations

import pytest

from headrace.snapshots import chunks


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk has at least 250 rows, and not a thousand."""
    monkeypatch.setattr(chunks, "_MIN_ROWS", 250)

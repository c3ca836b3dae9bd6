"""The place after the rows that were read of a Db2 is that of a Capture which has read the log."""

from __future__ import annotations

import pytest

from headrace.connectors.registry import current_rows, parse_configuration
from headrace.errors import HeadraceError
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2


def test_the_place_is_after_what_was_committed_before_it_is_asked_for(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("A", "ID INTEGER NOT NULL PRIMARY KEY")
    current = current_rows(parse_configuration(db2_database.properties()))
    try:
        before = current.place()
        db2_database.execute("INSERT INTO INV.A VALUES (1)")
        place = current.place()
        assert place > before
        captured = int.from_bytes(db2_database.capture.await_captured(), "big")
        assert place <= captured + 1
        assert current.place_text(place).count(":") == 2
    finally:
        current.close()


def test_a_capture_that_stands_still_is_an_error(
    db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "headrace.connectors.db2.reading.current_rows"
    monkeypatch.setattr(f"{module}._CAPTURE_SECONDS", 0.5)
    db2_database.capture.stop()
    current = current_rows(parse_configuration(db2_database.properties()))
    try:
        with pytest.raises(HeadraceError) as caught:
            current.place()
        assert caught.value.code == "db2.capture_behind"
        assert caught.value.retriable
    finally:
        current.close()
        db2_database.capture.start()

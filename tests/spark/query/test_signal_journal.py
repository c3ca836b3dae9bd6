"""`headrace signal --wait`: reports of the process that applies signals to the one that waits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from headrace.cli import main
from headrace.cli import signal as verb
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.spark.query.signals import SignalJournal, wait_for_outcome

GIVEN = {
    "connector.class": "postgresql",
    "database.hostname": "localhost",
    "database.user": "cdc",
    "database.dbname": "shop",
    "signal.enabled.channels": "file",
}


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    """A configuration of a server that nobody else has; its database does not answer."""
    return {
        **GIVEN,
        "topic.prefix": tmp_path.parent.name + tmp_path.name,
        "signal.file": str(tmp_path / "signals"),
        "database.port": "1",
    }


@pytest.fixture
def journal(given: dict[str, str]) -> Iterator[SignalJournal]:
    opened = SignalJournal(parse_configuration({**given, "headrace.slice.order": "position"}))
    yield opened
    opened.remove()


@pytest.fixture
def file(given: dict[str, str], tmp_path: Path) -> str:
    path = tmp_path / "shop.properties"
    path.write_text("".join(f"{name}={text}\n" for name, text in given.items()))
    return str(path)


SNAPSHOT = ["execute-snapshot", '{"data-collections": ["public.t"]}', "--id", "one", "--wait"]


def test_a_snapshot_is_reported_to_its_end(
    journal: SignalJournal, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {"scanned_collection": "public.t", "total_rows_scanned": "1200", "status": "SUCCEEDED"}
    journal.write("other", "COMPLETED", {})
    journal.write("one", "STARTED", {"data_collections": "public.t"})
    journal.write("one", "HEEDED", {"goes_on": "true"})
    journal.write("one", "TABLE_SCAN_COMPLETED", table)
    journal.write("one", "COMPLETED", {})
    assert main(["signal", file, *SNAPSHOT]) == 0
    printed = capsys.readouterr()
    assert printed.out == "one\n"
    assert printed.err.splitlines()[-4:] == [
        "started: public.t",
        "received",
        "public.t: 1,200 rows, SUCCEEDED",
        "completed",
    ]


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("IGNORED", {"reason": "no incremental snapshot is running"}, "ignored: no incremental"),
        ("ABORTED", {"data_collections": "public.t"}, "aborted: public.t"),
    ],
)
def test_what_was_not_done_has_status_1(
    journal: SignalJournal,
    file: str,
    kind: str,
    data: dict[str, str],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    journal.write("one", kind, data)
    assert main(["signal", file, *SNAPSHOT]) == 1
    assert line in capsys.readouterr().err


def test_a_signal_that_asks_for_no_snapshot_is_done_when_it_is_applied(
    journal: SignalJournal, file: str
) -> None:
    journal.write("one", "HEEDED", {"goes_on": "false"})
    assert main(["signal", file, "pause-snapshot", "--id", "one", "--wait", "5"]) == 0


def test_a_signal_that_nobody_applies_is_an_error(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["signal", file, "pause-snapshot", "--wait", "0.1"]) == 1
    assert "[signals.not_heeded]" in capsys.readouterr().err


def test_the_journal_of_another_server_reports_nothing(
    journal: SignalJournal, given: dict[str, str]
) -> None:
    journal.write("one", "COMPLETED", {})
    config = parse_configuration({**given, "topic.prefix": "another"})
    with pytest.raises(HeadraceError, match="took up the signal one"):
        list(wait_for_outcome(config, "one", 0.05))


def test_a_journal_stays_small_and_goes_with_its_process(journal: SignalJournal) -> None:
    folder = next(Path(gettempdir()).glob("headrace-*/status"))
    for number in range(3_000):
        journal.write(str(number), "IN_PROGRESS", {"last_processed_key": "x" * 500})
    assert journal._path is not None
    assert journal._path.parent == folder
    assert journal._path.stat().st_size < 2 << 20
    journal.remove()
    assert not journal._path.exists()


def test_a_restarted_process_reports_what_follows(
    journal: SignalJournal, given: dict[str, str]
) -> None:
    config = parse_configuration(given)
    outcomes = wait_for_outcome(config, "one", 60)
    for kind in ("STARTED", "HEEDED", "IN_PROGRESS"):
        journal.write("one", kind, {"goes_on": "true"})
        assert next(outcomes).kind == kind
    journal.remove()
    assert journal._path is not None
    restarted = SignalJournal(config)
    # The process of a new journal has another number: that of this test's parent runs, too.
    restarted._path = journal._path.with_stem(f"{_stem(journal._path)}-{os.getppid()}")
    restarted._path.touch()
    restarted.write("other", "COMPLETED", {})
    restarted.write("one", "COMPLETED", {})
    assert [outcome.kind for outcome in outcomes] == ["COMPLETED"]
    restarted.remove()


def _stem(path: Path) -> str:
    return path.stem.rpartition("-")[0]


def test_a_query_that_ends_after_a_signal_is_reported(
    journal: SignalJournal, given: dict[str, str]
) -> None:
    outcomes = wait_for_outcome(parse_configuration(given), "one", 0.2)
    journal.write("one", "HEEDED", {"goes_on": "true"})
    assert next(outcomes).kind == "HEEDED"
    journal.remove()
    with pytest.raises(HeadraceError) as raised:
        next(outcomes)
    assert raised.value.code == "signals.query_ended"


def test_what_a_journal_keeps_when_it_is_halved_is_reported_once(
    journal: SignalJournal, given: dict[str, str]
) -> None:
    outcomes = wait_for_outcome(parse_configuration(given), "one", 60)
    journal.write("one", "STARTED", {})
    assert next(outcomes).kind == "STARTED"
    for _ in range(2_500):
        journal.write("other", "IN_PROGRESS", {"last_processed_key": "x" * 500})
    journal.write("one", "COMPLETED", {})
    assert [outcome.kind for outcome in outcomes] == ["COMPLETED"]


def test_every_outcome_has_a_line() -> None:
    progress = {
        "current_collection_in_progress": "public.t",
        "last_processed_key": "7",
        "maximum_key": "9",
    }
    assert verb._line("IN_PROGRESS", progress) == "reading public.t, at 7 of 9"
    assert verb._line("PAUSED", {}) == "paused"

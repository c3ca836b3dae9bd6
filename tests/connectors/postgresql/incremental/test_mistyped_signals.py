"""A mistyped signal is logged and ignored, and the stream continues."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.chaos.matrices import in_turn
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres
LONG_NAME = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn"
SLOW = "(([a-z_.]+)+)+!"
DEEP = "[" * 100_000


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE u (id int PRIMARY KEY);"
    f"CREATE TABLE {LONG_NAME} (id int PRIMARY KEY);"
    "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data text);"
    "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 30) i;"
    "INSERT INTO u SELECT generate_series(1, 3)"
)


properties = properties_with(
    {
        "table.include.list": f"public\\.(t|u|{LONG_NAME})",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
        "notification.enabled.channels": "sink",
        "notification.sink.topic.name": "notifications",
    }
)


def ask(database: Database, kind: str, data: Any) -> None:
    text = data if isinstance(data, str) else json.dumps(data)
    values = ", ".join("'" + value.replace("'", "''") + "'" for value in (kind, text))
    database.execute(f"INSERT INTO signals VALUES (gen_random_uuid()::text, {values})")


def created(reader: Reader) -> list[int]:
    events = (e for e in reader.events() if e.get("op") == "c" and e["source"]["table"] == "t")
    return [event["after"]["id"] for event in events]


def read(reader: Reader, table: str = "t") -> list[int]:
    events = (e for e in reader.events() if e.get("op") == "r" and e["source"]["table"] == table)
    return [event["after"]["id"] for event in events]


def execute(**more: Any) -> dict[str, Any]:
    return {"data-collections": ["public.t"]} | more


def only(expression: str, condition: str = "id > 0") -> list[dict[str, str]]:
    return [{"data-collection": expression, "filter": condition}]


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("stop-snapshot", {"data-collections": ["("]}, "not a regular expression"),
        ("execute-snapshot", {"data-collections": ["("]}, "not a regular expression"),
        ("execute-snapshot", execute(**{"additional-conditions": only("*")}), "regular expression"),
        ("execute-snapshot", {"data-collections": ["(?=p)public.t"]}, "regular expression"),
        ("execute-snapshot", {"data-collections": ["a" * 100_000]}, "characters"),
        ("execute-snapshot", {"data-collections": ["(a{999}){999}"]}, "regular expression"),
        ("execute-snapshot", {"data-collections": ["public.t\x00"]}, "NUL"),
        ("execute-snapshot", '{"data-collections": ["\\ud800"]}', "surrogate"),
        ("execute-snapshot", {"data-collections": "public.t"}, "not a list"),
        ("execute-snapshot", execute(type="blocked"), "neither incremental nor blocking"),
        ("execute-snapshot", execute(type=[]), "not a text"),
        ("execute-snapshot", DEEP, "nested"),
        ("stop-snapshot", '{"data-collections":' + DEEP, "nested"),
        ("log", DEEP, "nested"),
        ("log", '{"message": "\\ud800"}', "surrogate"),
        ("log", "9" * 10_000, "JSON"),
        ("no-such-signal", "", "not known"),
    ],
)
def test_a_signal_that_cannot_be_understood_is_logged_and_passed_over(
    reader: Reader,
    tables: Database,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    data: Any,
    reason: str,
) -> None:
    ask(tables, kind, data)
    tables.execute("INSERT INTO t VALUES (100, 'after the signal')")
    wait_for(lambda: reader.step() and created(reader) == [100])
    reader.restart()
    tables.execute("INSERT INTO t VALUES (101, 'after the restart')")
    wait_for(lambda: reader.step() and created(reader) == [100, 101])
    assert "is ignored" in caplog.text
    assert reason in caplog.text
    assert read(reader) == []


def test_a_wrong_stop_leaves_the_snapshot_alone_that_is_being_read(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with tables.connect() as connection:
        connection.execute(
            "INSERT INTO signals VALUES ('1', 'execute-snapshot', %s),"
            " ('2', 'stop-snapshot', '{\"data-collections\": [\"(\"]}')",
            (json.dumps(execute()),),
        )
        connection.commit()
    wait_for(lambda: reader.step() and len(read(reader)) == 30)
    assert "signal 2 is ignored" in caplog.text


def test_a_wrong_stop_in_a_stored_offset_is_passed_over(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier versions wrote it down when it came while a window was open."""
    reader.drain()
    reader.restart()
    stored = reader.offsets[-1]
    pending = [["public.t", "1", None, None]]
    stored["signals"] = {"tables": pending, "after": None, "maximum": None, "scanned": 0}
    stored["signals"]["stops"] = [["("], ["public.u"], ["(?=x)"]]
    wait_for(lambda: reader.step() and len(read(reader)) == 30)
    assert "'(' is not a regular expression" in caplog.text


@pytest.mark.parametrize("columns", ["data", "data, type"])
def test_a_row_of_a_signal_table_that_lost_columns_is_passed_over(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture, columns: str
) -> None:
    reader.drain()
    for column in columns.split(", "):
        tables.execute(f"ALTER TABLE signals DROP COLUMN {column}")
    rest = "'1'" if "type" in columns else "'1', 'log'"
    tables.execute(f"INSERT INTO signals VALUES ({rest})")
    tables.execute("INSERT INTO t VALUES (100, 'after the signal')")
    wait_for(lambda: reader.step() and created(reader) == [100])
    assert "signal 1 is ignored" in caplog.text


@pytest.mark.parametrize(
    ("condition", "kind"),
    in_turn(
        [
            "v = 5",
            "id = 'abc'",
            "id / (id - 3) = 1",
            "lower(v, v) = 'a'",
            "id > 0 -- and nothing",
            "(" * 3_000 + "id" + ")" * 3_000,
            "v LIKE '\\'",
        ],
        ["incremental", "blocking"],
    ),
)
def test_a_filter_that_the_server_cannot_run_ends_its_table_only(
    reader: Reader,
    tables: Database,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    condition: str,
) -> None:
    tables.execute("ANALYZE t, u")
    ask(
        tables,
        "execute-snapshot",
        {
            "data-collections": ["public.t", "public.u"],
            "type": kind,
            "additional-conditions": only("public.t", condition),
        },
    )
    tables.execute("INSERT INTO t VALUES (100, 'after the signal')")
    wait_for(lambda: reader.step() and created(reader) == [100])
    wait_for(lambda: (reader.step(), read(reader, "u") == [1, 2, 3])[1])
    reader.restart()
    tables.execute("INSERT INTO t VALUES (101, 'after the restart')")
    wait_for(lambda: reader.step() and created(reader) == [100, 101])
    if condition != "id > 0 -- and nothing":
        assert "public.t is not read" in caplog.text
        assert set(read(reader)) <= {1, 2}


def test_an_error_that_nobody_thought_of_is_logged_and_the_signal_passed_over(
    reader: Reader,
    tables: Database,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("nobody thought of it")

    monkeypatch.setattr("headrace.signals.processor.parse_action", fails)
    ask(tables, "execute-snapshot", execute())
    tables.execute("INSERT INTO t VALUES (100, 'after the signal')")
    wait_for(lambda: reader.step() and created(reader) == [100])
    assert "nobody thought of it" in caplog.text
    assert read(reader) == []


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Python's regular expressions look for signals, so this ends them."""

    def over(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("execute-snapshot", {"data-collections": [SLOW]}),
        ("execute-snapshot", execute(**{"additional-conditions": only(SLOW)})),
        ("stop-snapshot", {"data-collections": [SLOW]}),
    ],
)
def test_an_expression_that_backtracks_does_not_hold_the_stream(
    reader: Reader, tables: Database, kind: str, data: dict[str, Any]
) -> None:
    both = {"data-collections": ["public.t", f"public.{LONG_NAME}"]}
    if kind == "execute-snapshot" and data["data-collections"] != [SLOW]:
        data |= both
    with tables.connect() as connection:
        if kind == "stop-snapshot":
            connection.execute(
                "INSERT INTO signals VALUES ('1', 'execute-snapshot', %s)", (json.dumps(both),)
            )
        connection.execute("INSERT INTO signals VALUES ('2', %s, %s)", (kind, json.dumps(data)))
        connection.execute("INSERT INTO t VALUES (100, 'after the signal')")
        connection.commit()
    with at_most(60):
        wait_for(lambda: reader.step() and created(reader) == [100])


def test_a_line_of_the_signal_file_is_no_line_feed_of_another_alphabet(
    tables: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "signals.jsonl"
    signal_reader = Reader(
        properties(
            tables,
            signal__enabled__channels="file",
            signal__file=str(file),
            signal__poll__interval__ms="0",
        )
    )
    signal_reader.step()
    signal_reader.drain()
    lines = [DEEP, "[]", '{"type": 1}', '{"type": "log", "data": {"message": "a\u2028b"}}']
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with caplog.at_level("INFO", logger="headrace.signals"):
        wait_for(lambda: (signal_reader.step(), not file.exists())[1])
        signal_reader.step()
    signal_reader.stop()
    assert "a\u2028b" in caplog.text
    assert caplog.text.count("a line of the signal file is ignored") == 3

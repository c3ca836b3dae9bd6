"""Output of a verb on standard error."""

from __future__ import annotations

import io
import json

import pytest

from headrace.cli.messages import LogFormat, Messages, MessagesHandler, one_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_phase_is_a_line_with_its_time_when_it_begins_and_now_and_then_later() -> None:
    stream, now = io.StringIO(), [0.0]
    messages = Messages(stream, clock=lambda: now[0])
    messages.warning("before", "a.code")
    messages.phase("starting Spark")
    for second in range(1, 62):
        now[0] = float(second)
        messages.phase("snapshot", f"{second} rows")
    messages.warning("later")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "warning: before [a.code]"
    assert [line.partition(" ")[2] for line in lines[1:]] == [
        "starting Spark",
        "snapshot: 1 rows",
        "snapshot: 31 rows",
        "snapshot: 61 rows",
        "warning: later",
    ]
    assert all(len(line.partition(" ")[0]) == len("12:00:00") for line in lines[1:])


def test_a_terminal_has_one_live_line_below_what_stays() -> None:
    stream = Terminal()
    messages = Messages(stream, clock=lambda: 0.0)
    messages.phase("starting Spark")
    messages.warning("careful")
    messages.phase("streaming", "3 events")
    messages.end()
    terminal_output = stream.getvalue()
    assert "\r\x1b[Kwarning: careful\n" in terminal_output
    assert terminal_output.endswith("streaming: 3 events\x1b[0m\r\x1b[K")
    assert terminal_output.count("\n") == 1


def test_json_lines_have_time_level_message_and_what_there_is_more() -> None:
    stream = io.StringIO()
    messages = Messages(stream, log_format=LogFormat.JSON, clock=lambda: 0.0)
    messages.phase("snapshot", "1 of 2 tables")
    messages.error("it is wrong", "repair it", "a.code")
    time = "1970-01-01T00:00:00.000+00:00"
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"time": time, "level": "info", "message": "snapshot: 1 of 2 tables", "phase": "snapshot"},
        {"time": time, "level": "error", "message": "it is wrong", "code": "a.code",
         "remedy": "repair it"},
    ]  # fmt: skip


def test_quiet_leaves_warnings_and_errors() -> None:
    stream = io.StringIO()
    messages = Messages(stream, quiet=True)
    messages.note("3 events")
    messages.warning("careful")
    messages.error("wrong", "repair it")
    messages.phase("starting Spark")
    assert stream.getvalue() == "warning: careful\nerror: wrong\nremedy: repair it\n"


def test_lines_of_a_source_process_have_the_style_of_the_others() -> None:
    stream = io.StringIO()
    messages = Messages(stream)
    for line in ("WARNING headrace: trying again (1)", "INFO headrace: a signal", "at java.lang"):
        messages.foreign(line)
    assert stream.getvalue() == "warning: trying again (1)\na signal\nat java.lang\n"


def test_an_error_takes_the_place_of_the_live_line() -> None:
    stream = Terminal()
    messages = Messages(stream, clock=lambda: 0.0)
    MessagesHandler(messages).open()
    messages.phase("starting Spark")
    MessagesHandler.close_all()
    terminal_output = stream.getvalue()
    assert terminal_output.endswith("\r\x1b[K")


def test_names_of_a_database_do_not_reach_a_terminal_as_commands() -> None:
    assert one_line("e\x1b[2Jvil\n\u009b1m") == "e\ufffd[2Jvil\ufffd\ufffd1m"
    assert one_line("Größe 表") == "Größe 表"


def test_warnings_have_their_code_and_remedy_as_members() -> None:
    stream = io.StringIO()
    messages = Messages(stream, log_format=LogFormat.JSON)
    messages.foreign("WARNING headrace: no answer [postgresql.connection_lost, retriable]. Wait.")
    messages.warning("it is slow [config.slow]")
    messages.foreign("ERROR headrace: lost [a.b]; retrying in 1 s")
    messages.note("3 events", {"events": 3})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    for line in lines:
        del line["time"]
    assert lines == [
        {"level": "warning", "message": "no answer", "code": "postgresql.connection_lost",
         "retriable": True, "remedy": "Wait."},
        {"level": "warning", "message": "it is slow", "code": "config.slow", "retriable": False},
        {"level": "error", "message": "lost; retrying in 1 s", "code": "a.b", "retriable": False},
        {"level": "info", "message": "3 events", "events": 3},
    ]  # fmt: skip


def test_errors_and_restarts_say_whether_they_are_tried_again() -> None:
    stream = io.StringIO()
    messages = Messages(stream, log_format=LogFormat.JSON)
    messages.warning("lost; retrying in 1 s", "a.b", retriable=True)
    messages.error("it is wrong", "Correct it.", "a.c", retriable=False)
    messages.info("metrics: http://127.0.0.1:9404/metrics", {"metrics_port": 9404})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line.get("code"), line.get("retriable")) for line in lines] == [
        ("a.b", True),
        ("a.c", False),
        (None, None),
    ]
    assert lines[2]["metrics_port"] == 9404


def test_errors_and_warnings_have_one_form_however_they_come() -> None:
    stream = io.StringIO()
    messages = Messages(stream)
    messages.error("it is wrong", "Correct it.", "a.code")
    messages.warning("it is wrong [a.code]. Correct it.")
    messages.foreign("WARNING headrace: it is wrong [a.code, retriable]. Correct it.")
    expected = "it is wrong [a.code]\nremedy: Correct it.\n"
    assert stream.getvalue() == f"error: {expected}" + f"warning: {expected}" * 2


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("Picked up JAVA_TOOL_OPTIONS: -Xmx1g", "info"),
        ("OpenJDK 64-Bit Server VM warning: sharing is off", "info"),
        ("26/01/01 00:00:00 ERROR Executor: Exception in task 0.0", "error"),
        ("Caused by: java.lang.OutOfMemoryError: Java heap space", "error"),
        ("\tat java.base/java.lang.Thread.run(Thread.java:1583)", "error"),
        ("Traceback (most recent call last):", "error"),
    ],
)
def test_only_lines_of_errors_of_sparks_processes_have_the_level_error(
    line: str, level: str
) -> None:
    stream = io.StringIO()
    Messages(stream, log_format=LogFormat.JSON).foreign(line)
    written = json.loads(stream.getvalue())
    assert (written["level"], written["message"]) == (level, line)

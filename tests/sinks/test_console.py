"""Events as readable lines."""

import io
import json
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headrace.sinks.console.event_line import event_line
from headrace.sinks.console.sink import ConsoleSink, Shown

UPDATE = (
    '{"before":{"id":1,"name":"a","n":1},"after":{"id":1,"name":"b","n":1},"op":"u",'
    '"source":{"ts_ms":1700000000123}}'
)


def test_an_update_shows_only_what_changed():
    line = event_line("s.t", '{"id":1}', UPDATE).plain
    assert line == "22:13:20.123  update    s.t  id=1  name: a → b"


def test_documents_that_are_texts_show_only_what_changed():
    state = '{\\"_id\\": 1,\\"name\\": \\"%s\\"}'
    event = f'{{"before":"{state % "a"}","after":"{state % "b"}","op":"u"}}'
    assert event_line("s.d.c", '{"id":"1"}', event).plain.endswith("s.d.c  id=1  name: a → b")
    created = f'{{"before":null,"after":"{state % "a"}","updateDescription":null,"op":"c"}}'
    assert event_line("s.d.c", '{"id":"1"}', created).plain.endswith("id=1  _id: 1, name: a")
    torn = '{"before":null,"after":"{torn","op":"c"}'
    assert event_line("s.d.c", '{"id":"1"}', torn).plain.endswith("id=1  ")


def test_an_update_without_its_row_from_before_shows_its_description():
    event = (
        '{"before":null,"after":"{\\"_id\\": 1,\\"n\\": 2,\\"m\\": 0}","op":"u",'
        '"updateDescription":{"removedFields":["old"],"updatedFields":"{\\"n\\": 2}"}}'
    )
    line = event_line("s.d.c", '{"id":"1"}', event).plain
    assert line.endswith("s.d.c  id=1  n: → 2, old: → removed")


def test_schemas_are_left_out():
    wrapped = f'{{"schema":{{}},"payload":{UPDATE}}}'
    assert (
        event_line("s.t", '{"schema":{},"payload":{"id":1}}', wrapped).plain
        == event_line("s.t", '{"id":1}', UPDATE).plain
    )


def test_deletes_and_tombstones_are_distinguished():
    deleted = '{"before":{"id":1},"after":null,"op":"d"}'
    assert "delete" in event_line("s.t", '{"id":1}', deleted).plain
    assert "tombstone" in event_line("s.t", '{"id":1}', None).plain


def test_a_row_is_shown_without_what_its_key_shows():
    created = '{"before":null,"after":{"id":1,"name":null,"n":0},"op":"c"}'
    assert event_line("s.t", '{"id":1}', created).plain.endswith("s.t  id=1  name: null, n: 0")
    assert event_line("s.t", '{"id":2}', created).plain.endswith("id=2  id: 1, name: null, n: 0")
    deleted = '{"before":{"id":1,"name":null,"n":4},"after":null,"op":"d"}'
    assert event_line("s.t", '{"id":1}', deleted).plain.endswith("s.t  id=1  n: 4")


def test_a_long_line_on_a_terminal_continues_below_the_operation():
    out = io.StringIO()
    console = Console(file=out, width=50, force_terminal=True, color_system=None, highlight=False)
    row = {"id": 1, **{f"column{at}": "some words" for at in range(5)}}
    event = json.dumps({"before": None, "after": row, "op": "c"})
    with ConsoleSink(console=console) as sink:
        sink.show([Shown("s.t", '{"id":1}', event)], 0)
    plain_lines = re.sub(r"\x1b\[\??[0-9]*[a-zA-Z]", "", out.getvalue()).splitlines()
    lines = [line for line in plain_lines if "column" in line]
    assert len(lines) == 4
    assert all(line.startswith(" " * 14) and len(line) <= 50 for line in lines)
    first, *rest = (line[14:].rstrip() for line in lines)
    assert first == "create    s.t  id=1  column0: some"
    assert rest[-1] == "column4: some words"


def test_data_cannot_control_the_terminal():
    assert (
        "\x1b"
        not in event_line("t\x1b[2J", '"\\u001b[2J"', '{"op":"c","after":{"a":"\\u001b"}}').plain
    )


@given(st.text(), st.none() | st.text(), st.none() | st.text())
def test_any_text_gives_a_line(topic, key, value):
    assert "\n" not in event_line(topic, key, value).plain


def test_piped_output_is_plain_and_whole():
    out = io.StringIO()
    with ConsoleSink(lines=2, console=Console(file=out, highlight=False)) as sink:
        sink.show([Shown("s.t", '{"id":1}', UPDATE.replace('"b"', f'"{"b" * 45}"'))] * 3, 12_343)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("b" * 45)
    assert lines[2] == "… and 12,344 more"
    assert sink.total == 12_346


def test_bytes_that_are_no_json_are_shown_in_base64():
    raw = bytearray(b"\x00\x00\x00\x00\x07\x02\xff")
    assert event_line("s.t", raw, bytes(raw)).plain.endswith("s.t  AAAAAAcC/w==  AAAAAAcC/w==")
    assert (
        event_line("s.t", b'{"id":1}', UPDATE.encode()).plain
        == event_line("s.t", '{"id":1}', UPDATE).plain
    )


@given(st.binary(), st.binary())
def test_any_bytes_have_a_line(key, value):
    assert event_line("s.t", bytearray(key), bytearray(value)).plain
    with ConsoleSink(console=Console(file=io.StringIO(), width=200)) as sink:
        sink.show([Shown("s.t", bytearray(key), bytearray(value))], 0)
        assert sink.console.file.getvalue().count("\n") == 1

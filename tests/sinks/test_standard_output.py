"""Standard output whose reader goes away."""

from __future__ import annotations

import io
import os
import tempfile

from headrace.sinks.closed import is_unread


def test_a_pipe_is_unread_when_its_reader_closes_it() -> None:
    reading, writing = os.pipe()
    with open(writing, "wb") as output:
        assert not is_unread(output)
        os.close(reading)
        assert is_unread(output)


def test_a_terminal_is_unread_when_it_is_closed() -> None:
    master, slave = os.openpty()
    with open(slave, "wb") as output:
        assert not is_unread(output)
        os.close(master)
        assert is_unread(output)


def test_files_and_texts_in_memory_are_never_unread() -> None:
    with tempfile.TemporaryFile() as file:
        assert not is_unread(file)
    assert not is_unread(io.StringIO())

"""The log of a verb, as its messages."""

from __future__ import annotations

import io
import logging

import pytest

import headrace.cli
from headrace.cli.messages import LOG, Messages, MessagesHandler


def test_messages_of_a_verb_receive_no_log_after_it_has_ended(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    MessagesHandler(Messages(io.StringIO())).open()
    assert headrace.cli.main(["run", "no-such-file.properties"]) == 1
    capsys.readouterr()
    logging.getLogger(LOG).warning("after the verb")
    assert "after the verb" in caplog.text
    assert not [
        handler
        for handler in logging.getLogger(LOG).handlers
        if isinstance(handler, MessagesHandler)
    ]


def test_a_message_that_cannot_be_written_does_not_end_the_verb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    stream = io.StringIO()
    MessagesHandler(Messages(stream)).open()
    try:
        logging.getLogger(LOG).warning("the slot is gone")
        assert stream.getvalue() == "warning: the slot is gone\n"
        stream.close()
        logging.getLogger(LOG).warning("the slot is gone")
    finally:
        MessagesHandler.close_all()

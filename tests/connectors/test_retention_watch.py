"""A watch of what the database keeps: what it shows, when it warns, and how it ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.connectors.retention_watch import RetentionWatch


@dataclass(frozen=True)
class Room:
    left: int

    def to_json(self) -> Mapping[str, Any]:
        return {"left": self.left}


def little(room: Room) -> str | None:
    return f"only {room.left} left" if room.left < 10 else None


class Database:
    """Answers each question with the next of `answers`; `asked_all` is set at the last one, which
    is repeated."""

    def __init__(self, *answers: Room | Exception | None) -> None:
        self.answers = list(answers)
        self.asked_all = threading.Event()
        self.disconnected = 0

    def read(self) -> Room | None:
        answer = self.answers[0]
        if len(self.answers) > 1:
            del self.answers[0]
        else:
            self.asked_all.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def disconnect(self) -> None:
        self.disconnected += 1


def watched(database: Database) -> Mapping[str, Any] | None:
    """The facts of a watch that has received every answer."""
    watch = RetentionWatch(database.read, little, database.disconnect, 0.001)
    assert database.asked_all.wait(30)
    watch.close()
    watch._thread.join()
    return watch.to_json()


def test_the_last_answer_is_shown() -> None:
    assert watched(Database(Room(30), Room(20))) == {"left": 20}
    assert watched(Database(Room(30), None)) is None


def test_it_warns_once_until_the_danger_is_over(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        watched(Database(Room(20), Room(9), Room(8), Room(20), Room(7), Room(20)))
    assert caplog.messages == ["only 9 left", "only 7 left"]


def test_a_question_that_fails_is_asked_again_on_another_connection() -> None:
    database = Database(Room(20), RuntimeError("it is gone"), Room(15))
    assert watched(database) == {"left": 15}
    assert database.disconnected == 2  # after the failure, and at the end

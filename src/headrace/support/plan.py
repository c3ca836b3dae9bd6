"""A connector's part of a support bundle."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.support.questions import Question
from headrace.support.recording import Recording


@dataclass(frozen=True)
class Open:
    """Something that cannot be known without the database: `name` is its label, `question` asks,
    and `answer` finds out from what was recorded (None: the bundle cannot tell)."""

    name: str
    question: str
    answer: Callable[[Sequence[Mapping[str, Any]]], object]


Asks = Callable[[Recording, float], Generator[tuple[str, bytes]]]
"""Sends statements and gives pieces of the archive by their names; called with the recording and
the seconds for which changes are observed."""


@dataclass(frozen=True)
class Workload:
    """Changes of tables of its own, whose redo or change rows answer open questions. `ask` takes
    back what it made when it ends, in every case; `place` says where the tables are."""

    place: str
    questions: Sequence[Question]
    ask: Asks


@dataclass(frozen=True)
class SupportPlan:
    """A connector's part of a support bundle: every statement that may be sent, which only reads,
    `open_questions`, and a `workload` for whoever asks for it. `driver` gives the driver
    and its version; `error_of` gives the codes of one of its exceptions, None for others. A plan is
    made, and its statements are listed, without the driver."""

    driver: Callable[[], str]
    questions: Sequence[Question]
    open_questions: Sequence[Open]
    ask: Asks
    error_of: Callable[[Exception], Mapping[str, object] | None]
    workload: Workload

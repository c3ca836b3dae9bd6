"""A connector's part of a support bundle."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.support.questions import Question
from headrace.support.recording import Recording


@dataclass(frozen=True)
class Open:
    """A fact that cannot be known without the database: `name` is its label, `question` the
    question, and `answer` derives the answer from the records (None: the bundle has no answer)."""

    name: str
    question: str
    answer: Callable[[Sequence[Mapping[str, Any]]], object]


Asks = Callable[[Recording, float], Generator[tuple[str, bytes]]]
"""Sends statements and yields pieces of the archive with their names; called with the recording and
the time in seconds during which changes are observed."""


@dataclass(frozen=True)
class Workload:
    """Changes of the bundle's own tables, whose redo or change rows answer open questions. `ask`
    removes its objects when it ends, in every case; `place` is where the tables are created."""

    place: str
    questions: Sequence[Question]
    ask: Asks


@dataclass(frozen=True)
class SupportPlan:
    """A connector's part of a support bundle: every statement that may be sent, which only reads,
    `open_questions`, and an optional `workload`. `driver` returns the driver and its version;
    `error_of` returns the codes of the driver's exceptions, None for others. Creating a plan, and
    listing its statements, does not need the driver."""

    driver: Callable[[], str]
    questions: Sequence[Question]
    open_questions: Sequence[Open]
    ask: Asks
    error_of: Callable[[Exception], Mapping[str, object] | None]
    workload: Workload

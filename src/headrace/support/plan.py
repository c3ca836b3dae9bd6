"""A connector's part of a support bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class SupportPlan:
    """A connector's part of a support bundle: every statement that may be sent, `open_questions`,
    and `ask`, which sends them and gives pieces of the archive by their names. `driver` is the
    driver and its version; `error_of` gives the codes of one of its exceptions, None for others."""

    driver: str
    questions: Sequence[Question]
    open_questions: Sequence[Open]
    ask: Callable[[Recording, float], Iterator[tuple[str, bytes]]]
    """Called with the recording and the seconds for which changes are observed."""
    error_of: Callable[[Exception], Mapping[str, object] | None]

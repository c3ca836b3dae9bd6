"""What a server said while a workload ran, so that it can say the same again without a server.

A conversation has answers, by what was asked, and streams, which the server goes on with by
itself. Both are kept by the moment at which they came: how many blocks of the workload had begun,
and how many signals our connector had written.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
import uuid
from collections import Counter, defaultdict
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import SimpleNamespace
from unittest import mock

from headrace.snapshots.incremental import runner

Said = tuple[int, bytes]
"""A moment, and what the server said then."""

_VARYING = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"
)
"""Random ids and instants in a text."""


def question(*parts: bytes) -> str:
    """What names a question: a digest of it, in which one id or instant is as good as another."""
    digest = hashlib.sha256()
    for part in parts:
        text = _VARYING.sub(b"<>", part)
        digest.update(len(text).to_bytes(8, "big") + text)
    return digest.hexdigest()[:16]


@dataclass
class Conversation:
    """Answers by question, and streams by their names."""

    answers: dict[str, list[Said]] = field(default_factory=dict)
    streams: dict[str, list[Said]] = field(default_factory=dict)


def counted_ids() -> AbstractContextManager[object]:
    """Ids of windows are numbers, meanwhile: the log that is recorded has them, too."""
    numbers = itertools.count(1)
    counted = SimpleNamespace(uuid4=lambda: uuid.UUID(int=next(numbers)))
    return mock.patch.object(runner, "uuid", counted)


class Stage:
    """Counts the moments of a workload."""

    def __init__(self) -> None:
        self.moment = 0
        self.over = False
        self._changed = threading.Condition()

    def advance(self) -> None:
        """Another block begins, or a signal is written."""
        with self._changed:
            self.moment += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Nobody waits any longer."""
        with self._changed:
            self.over = True
            self._changed.notify_all()

    def await_moment(self, moment: int, seconds: float | None = None) -> bool:
        """Wait until it has come; False: it has not, and the workload is over, or the time is."""
        with self._changed:
            self._changed.wait_for(lambda: self.over or self.moment >= moment, seconds)
            return self.moment >= moment


class Listener:
    """Keeps a conversation while it takes place. Several threads may call it."""

    def __init__(self, stage: Stage) -> None:
        self.conversation = Conversation()
        self.stage = stage
        self._lock = threading.Lock()

    def answered(self, asked: str, answer: bytes) -> None:
        """The server answered a question."""
        with self._lock:
            said = self.conversation.answers.setdefault(asked, [])
            said.append((self.stage.moment, answer))

    def opened(self, name: str | None = None) -> str:
        """The name of a stream that begins, by default its number."""
        with self._lock:
            name = name or str(len(self.conversation.streams))
            self.conversation.streams.setdefault(name, [])
            return name

    def streamed(self, name: str, message: bytes, *, instead: bool = False) -> None:
        """The server said something in a stream, or said it `instead` of what it
        said last at this moment."""
        with self._lock:
            said = self.conversation.streams[name]
            if instead and said and said[-1][0] == self.stage.moment:
                del said[-1]
            said.append((self.stage.moment, message))


class Prompter:
    """Finds what the server said, at the moment that it is. Several threads may call it."""

    def __init__(self, conversation: Conversation, stage: Stage) -> None:
        self.unanswered: list[str] = []
        """What was asked and is not in the conversation."""
        self._conversation = conversation
        self._stage = stage
        self._asked: Counter[tuple[str, int]] = Counter()
        self._opened = 0
        self._lock = threading.Lock()
        self._moments = {
            asked: _by_moment(answers) for asked, answers in conversation.answers.items()
        }

    def answer(self, asked: str, text: str) -> bytes | None:
        """What the server answered at this moment, one answer after the other, the last one again
        and again; at a moment at which nobody asked, the answer of the one before, or of the next.
        None: nobody asked that, which `text` shows."""
        with self._lock:
            moments = self._moments.get(asked)
            if moments is None:
                self.unanswered.append(text)
                return None
            now = self._stage.moment
            before = [moment for moment in moments if moment <= now]
            moment = max(before) if before else min(moments)
            place = self._asked[asked, moment] if moment == now else len(moments[moment])
            self._asked[asked, moment] += 1
            return moments[moment][min(place, len(moments[moment]) - 1)]

    def stream(self, name: str | None = None) -> list[Said]:
        """What was said in a stream, by default in the next one by number; nothing where no such
        stream was opened."""
        with self._lock:
            if name is None:
                name = str(self._opened)
                self._opened += 1
            return self._conversation.streams.get(name, [])


def _by_moment(answers: list[Said]) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = defaultdict(list)
    for moment, answer in answers:
        found[moment].append(answer)
    return dict(found)

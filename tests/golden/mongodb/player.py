"""Says what a MongoDB server said, to our connector and its real driver."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field

from tests.golden.conversation import Prompter, Said, Stage
from tests.golden.door import Door
from tests.golden.mongodb.relay import HELLO, at
from tests.golden.mongodb.wire import (
    OP_MSG,
    Document,
    Message,
    asked,
    decode,
    is_hello,
    next_message,
    opens_stream,
    quiet,
    writes_signal,
)

_OF_NO_CONSEQUENCE = ("endSessions", "killCursors")
_NOTE = "appendOplogNote"
_REFUSED = {"ok": 0.0, "code": 8000, "codeName": "AtlasError"}


@dataclass
class _Stream:
    """A cursor of a change stream: what follows, and the last reply."""

    last: Document
    said: list[Said]
    place: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Player:
    """Answers on a port of this machine as the prompter says."""

    def __init__(self, prompter: Prompter, stage: Stage) -> None:
        self._prompter = prompter
        self._stage = stage
        self._streams: dict[int, _Stream] = {}
        self._notes = 0
        self._door = Door(self._serve)
        self.address = f"{self._door.host}:{self._door.port}"

    def close(self) -> None:
        """Stops answering."""
        self._stage.end()
        self._door.close()

    def _serve(self, client: socket.socket) -> None:
        while True:
            message = next_message(client)
            client.sendall(self._answer(message).raw())

    def _answer(self, message: Message) -> Message:
        command = message.document
        name = next(iter(command))
        if is_hello(command):
            hello = self._prompter.answer(HELLO, HELLO)
            assert hello is not None
            return message.reply(at(decode(hello), self.address))
        if name in _OF_NO_CONSEQUENCE:
            return message.reply({"ok": 1.0})
        stream = self._streams.get(command.get("getMore", 0))
        if stream is not None:
            return self._more(message, command, stream)
        if name == _NOTE:
            return self._noted(message, asked(message, command))
        if writes_signal(command):
            self._stage.advance()
        answer = self._prompter.answer(asked(message, command), str(command))
        if answer is None:
            return message.reply({**_REFUSED, "errmsg": f"nobody asked: {command}"})
        if opens_stream(command):
            self._opened(decode(answer[5:]))
        return Message(0, message.number, OP_MSG, answer)

    def _noted(self, message: Message, question: str) -> Message:
        """The end of the log, by which a reader knows that it has everything: each time that it
        waits for that it asks once. So the answers come in their order, whatever the moment: that
        of an earlier one would end the reading before the events of this one."""
        moments = self._prompter._moments[question]
        ends = [answer for moment in sorted(moments) for answer in moments[moment]]
        answer = ends[min(self._notes, len(ends) - 1)]
        self._notes += 1
        return Message(0, message.number, OP_MSG, answer)

    def _opened(self, reply: Document) -> None:
        cursor = reply.get("cursor", {}).get("id", 0)
        if cursor:
            self._streams[cursor] = _Stream(reply, self._prompter.stream(str(cursor)))

    def _more(self, message: Message, command: Document, stream: _Stream) -> Message:
        """The next batch of a stream when its moment has come; an empty one, else."""
        with stream.lock:
            if stream.place < len(stream.said):
                moment, body = stream.said[stream.place]
                seconds = command.get("maxTimeMS", 1000) / 1000
                if self._stage.await_moment(moment, seconds):
                    stream.place += 1
                    stream.last = decode(body[5:])
                    return Message(0, message.number, OP_MSG, body)
            else:
                self._stage.await_moment(self._stage.moment + 1, 0.05)
            return message.reply(quiet(stream.last))

"""Says what a PostgreSQL server said, to our connector and its real driver."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

from tests.golden.conversation import Prompter, Stage, question
from tests.golden.door import Closed, Door
from tests.golden.postgresql.wire import (
    CANCEL,
    GSS,
    SSL,
    TERMINATE,
    Messages,
    Session,
    is_start,
    refusal,
    writes_signal,
)

_FLUSH = b"SELECT pg_log_standby_snapshot()"
"""The statement that the tests run when the end of the log does not come soon: it comes, here."""
_DONE = b"C\0\0\0\x0dSELECT 0\0Z\0\0\0\5I"


class Player:
    """Answers on a port of this machine as the prompter says."""

    def __init__(self, prompter: Prompter, stage: Stage) -> None:
        self._prompter = prompter
        self._stage = stage
        self._door = Door(self._serve)
        self.host, self.port = self._door.host, self._door.port

    def close(self) -> None:
        """Stops answering."""
        self._stage.end()
        self._door.close()

    def _serve(self, client: socket.socket) -> None:
        asking = Messages(client)
        code, startup = asking.startup()
        while code in (SSL, GSS):
            client.sendall(b"N")
            code, startup = asking.startup()
        if code == CANCEL:
            return
        session = Session(startup)
        self._answer(client, session, session.startup)
        while True:
            message = asking.next()
            if message[:1] == TERMINATE:
                return
            complete = session.asks(message)
            if complete is None:
                continue
            if _FLUSH in complete:
                client.sendall(_DONE)
                continue
            if writes_signal(session, complete):
                self._stage.advance()
            answered = self._answer(client, session, complete)
            if answered and is_start(complete[5:]):
                stream = threading.Thread(target=self._stream, args=(client,), daemon=True)
                stream.start()

    def _answer(self, client: socket.socket, session: Session, request: bytes) -> bool:
        text = request.decode(errors="replace")
        answer = self._prompter.answer(question(session.who, request), f"{session.who!r}: {text}")
        client.sendall(refusal(f"nobody asked: {text}") if answer is None else answer)
        return answer is not None

    def _stream(self, client: socket.socket) -> None:
        """Sends the parts of a stream, each when its moment has come."""
        with contextlib.suppress(OSError, ValueError, Closed):
            for moment, message in self._prompter.stream():
                while not self._stage.await_moment(moment, 0.5):
                    if self._stage.over or client.fileno() < 0:
                        return
                select.select([], [client], [])
                client.sendall(message)

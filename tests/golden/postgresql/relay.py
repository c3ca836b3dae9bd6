"""Stands between our connector and PostgreSQL, and keeps what the server says."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque

from tests.golden.conversation import Listener, question
from tests.golden.door import Closed, Door
from tests.golden.postgresql.wire import (
    CANCEL,
    COPY_BOTH,
    COPY_DATA,
    COPY_DONE,
    GSS,
    READY,
    SSL,
    Messages,
    Session,
    is_start,
    writes_signal,
)


class Relay:
    """Forwards every byte, and tells a listener what was asked and answered."""

    def __init__(self, host: str, port: int, listener: Listener) -> None:
        self._server = (host, port)
        self._listener = listener
        self._door = Door(self._serve)
        self.host, self.port, self.close = self._door.host, self._door.port, self._door.close

    def _serve(self, client: socket.socket) -> None:
        with socket.create_connection(self._server) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked: deque[bytes] = deque()
            asking, answering = Messages(client), Messages(server)
            code, startup = asking.startup()
            while code in (SSL, GSS):
                server.sendall(startup)
                client.sendall(answering.byte())
                code, startup = asking.startup()
            session = Session(startup)
            if code != CANCEL:
                asked.append(session.startup)
            server.sendall(startup)
            thread = threading.Thread(
                target=self._answers, args=(answering, client, session, asked), daemon=True
            )
            thread.start()
            with contextlib.suppress(Closed, OSError):
                while True:
                    message = asking.next()
                    complete = session.asks(message)
                    if complete is not None:
                        asked.append(complete)
                        if writes_signal(session, complete):
                            self._listener.stage.advance()
                    server.sendall(message)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            thread.join()

    def _answers(
        self, answering: Messages, client: socket.socket, session: Session, asked: deque[bytes]
    ) -> None:
        answer, stream = bytearray(), ""
        with contextlib.suppress(Closed, OSError):
            while True:
                message = answering.next()
                kind = message[:1]
                if stream and kind in (COPY_DATA, COPY_DONE):
                    self._listener.streamed(stream, message)
                else:
                    answer += message
                    if kind == COPY_BOTH and asked and is_start(asked[0][5:]):
                        stream = self._listener.opened()
                    if kind in (READY, COPY_BOTH) and asked:
                        self._listener.answered(
                            question(session.who, asked.popleft()), bytes(answer)
                        )
                        answer.clear()
                client.sendall(message)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)

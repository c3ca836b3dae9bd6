"""Stands between our connector and the stand-in for Db2, and keeps what it says."""

from __future__ import annotations

import socket

from tests.golden.conversation import Listener, question
from tests.golden.curtain import Curtain
from tests.golden.db2.wire import Chains, Session
from tests.golden.door import Door


class Relay:
    """Forwards chains, and tells a listener what was asked and answered."""

    def __init__(self, host: str, port: int, listener: Listener, curtain: Curtain) -> None:
        self._server = (host, port)
        self._listener = listener
        self._curtain = curtain
        self._door = Door(self._serve)
        self.host, self.port, self.close = self._door.host, self._door.port, self._door.close

    def _serve(self, client: socket.socket) -> None:
        with socket.create_connection(self._server) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asking, answering, session = Chains(client), Chains(server), Session()
            while True:
                chain = asking.next()
                with self._curtain.asking():
                    asked = question(*session.asks(chain))
                    if session.writes_signal:
                        self._listener.stage.advance()
                    server.sendall(b"".join(chain))
                    answer = b"".join(answering.next())
                    self._listener.answered(asked, answer)
                client.sendall(answer)

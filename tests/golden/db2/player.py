"""Says what the stand-in for Db2 said, to our connector and IBM's driver."""

from __future__ import annotations

import socket

from tests.golden.conversation import Prompter, Stage, question
from tests.golden.curtain import Curtain
from tests.golden.db2.wire import Chains, Session
from tests.golden.door import Closed, Door


class Player:
    """Answers on a port of this machine as the prompter says; hangs up where nobody asked."""

    def __init__(self, prompter: Prompter, stage: Stage, curtain: Curtain) -> None:
        self._prompter = prompter
        self._stage = stage
        self._curtain = curtain
        self._door = Door(self._serve)
        self.host, self.port = self._door.host, self._door.port

    def close(self) -> None:
        """Stops answering."""
        self._stage.end()
        self._curtain.end()
        self._door.close()

    def _serve(self, client: socket.socket) -> None:
        asking, session = Chains(client), Session()
        while True:
            chain = asking.next()
            with self._curtain.asking():
                request = session.asks(chain)
                if session.writes_signal:
                    self._stage.advance()
                answer = self._prompter.answer(question(*request), repr(request))
            if answer is None:
                raise Closed
            client.sendall(answer)

"""The workloads of PostgreSQL as a relay records them, and without a server."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

from headrace.connectors.postgresql.replication.stream import SocketStream
from headrace.connectors.postgresql.starting import log_stream
from headrace.testing.embedded import PostgresServer
from tests.golden.archive import leave, recorder_digest
from tests.golden.conversation import Conversation, Listener, Prompter, Stage
from tests.golden.postgresql.database import PostgresDatabase
from tests.golden.postgresql.player import Player
from tests.golden.postgresql.relay import Relay

RECORDER = recorder_digest(Path(__file__).parent)


_HEADER = 5


class MessageByMessage(SocketStream):
    """Reads one message at a time: what our connector asks the catalogue when it meets a relation
    depends on which others came with it, and that on the moment, else."""

    _left = 0

    def read_into(self, target: memoryview) -> int:
        if not self._left:
            try:
                header = self._socket.recv(_HEADER, socket.MSG_PEEK)
            except BlockingIOError:
                return 0
            if 0 < len(header) < _HEADER:
                return 0
            self._left = 1 + int.from_bytes(header[1:], "big")
        count = super().read_into(target[: self._left])
        self._left -= count
        return count


def message_by_message() -> AbstractContextManager[object]:
    """Our connector reads the stream so, meanwhile."""
    return mock.patch.object(log_stream, "open_stream", MessageByMessage)


class RecordedDatabase(PostgresDatabase):
    """A server behind a relay, which keeps what it says to our connector."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        self._stage = Stage()
        self._listener = Listener(self._stage)
        self._relay = Relay(self._server.host, self._server.port, self._listener)

    def properties(self) -> dict[str, str]:
        return super().properties() | {"database.port": str(self._relay.port)}

    def execute(self, block: str) -> None:
        self._stage.advance()
        super().execute(block)

    def clean(self) -> None:
        self._relay.close()
        super().clean()

    def leave(self, name: str) -> None:
        """Keep what was said while the workload ran."""
        leave(self.folder, name, self._listener.conversation, RECORDER)


class ReplayedDatabase(PostgresDatabase):
    """What a server said, without one."""

    def __init__(self, conversation: Conversation) -> None:
        self._stage = Stage()
        self._prompter = Prompter(conversation, self._stage)
        self._player = Player(self._prompter, self._stage)

    @property
    def unanswered(self) -> list[str]:
        """What nobody asked when the conversation was recorded."""
        return self._prompter.unanswered

    def properties(self) -> dict[str, str]:
        found = self.properties_at(self._player.host, self._player.port)
        return found | {"errors.max.retries": "0"}

    def renew(self) -> None:
        """There is nothing yet."""

    def execute(self, block: str) -> None:
        self._stage.advance()

    def stopped(self) -> None:
        """Nobody keeps a slot."""

    def clean(self) -> None:
        self._player.close()

    def close(self) -> None:
        """There is no server."""

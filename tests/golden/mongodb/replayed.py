"""The workloads of MongoDB as a relay records them, and without a server."""

from __future__ import annotations

from pathlib import Path

from headrace.testing.mongodb import MongoServer
from tests.golden.archive import leave, recorder_digest
from tests.golden.conversation import Conversation, Listener, Prompter, Stage
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.mongodb.player import Player
from tests.golden.mongodb.relay import Relay

RECORDER = recorder_digest(Path(__file__).parent)


def _at(address: str) -> dict[str, str]:
    string = f"mongodb://{address}/?replicaSet={MongoServer.replica_set}"
    return {"mongodb.connection.string": string}


class RecordedDatabase(MongoDatabase):
    """A server behind a relay, which keeps what it says to our connector."""

    def __init__(self, server: MongoServer) -> None:
        super().__init__(server)
        self._stage = Stage()
        self._listener = Listener(self._stage)
        self._relay = Relay(server.host, server.port, self._listener)

    def connection_properties(self) -> dict[str, str]:
        return _at(self._relay.address)

    def execute(self, block: str) -> None:
        self._stage.advance()
        super().execute(block)

    def leave(self, name: str) -> None:
        """Keep what was said while the workload ran; nothing more is said."""
        self._relay.close()
        leave(self.folder, name, self._listener.conversation, RECORDER)


class ReplayedDatabase(MongoDatabase):
    """What a server said, without one."""

    def __init__(self, conversation: Conversation) -> None:
        self._stage = Stage()
        self._prompter = Prompter(conversation, self._stage)
        self._player = Player(self._prompter, self._stage)

    @property
    def unanswered(self) -> list[str]:
        """What nobody asked when the conversation was recorded."""
        return self._prompter.unanswered

    def connection_properties(self) -> dict[str, str]:
        return {**_at(self._player.address), "errors.max.retries": "0"}

    def renew(self) -> None:
        """There is nothing yet."""

    def execute(self, block: str) -> None:
        self._stage.advance()

    def clean(self) -> None:
        self._player.close()

    def close(self) -> None:
        """There is no server."""

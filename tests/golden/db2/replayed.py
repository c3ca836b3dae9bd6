"""The workloads of Db2 as a relay records them over Derby, which stands in for Db2, and without a
server. What is recorded is what Derby says, as IBM's driver takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headrace_demo.db2.derby import DerbyServer
from tests.golden.archive import leave, recorder_digest
from tests.golden.conversation import Conversation, Listener, Prompter, Stage, question
from tests.golden.curtain import Curtain
from tests.golden.db2.database import CapturedDatabase
from tests.golden.db2.derby import DerbyDatabase, properties_at
from tests.golden.db2.player import Player
from tests.golden.db2.reader import Reader
from tests.golden.db2.relay import Relay

RECORDER = recorder_digest(Path(__file__).parent)
_NEWEST = question(b"the newest LSN")


@dataclass
class CurtainedReader(Reader):
    """Goes on when everything before has happened."""

    opened: Callable[[], None] = lambda: None

    def drain(self, most: int = 100_000) -> Self:
        self.opened()
        return super().drain(most)


class RecordedDatabase(DerbyDatabase):
    """Derby behind a relay, which keeps what it says to our connector."""

    def __init__(self, server: DerbyServer) -> None:
        super().__init__(server)
        self._stage, self._curtain = Stage(), Curtain()
        self._listener = Listener(self._stage)
        self._relay = Relay(server.host, server.bridge.port, self._listener, self._curtain)

    def connection_properties(self) -> dict[str, str]:
        return super().connection_properties() | {"database.port": str(self._relay.port)}

    def execute(self, block: str) -> None:
        self._curtain.close()
        self._stage.advance()
        super().execute(block)

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return CurtainedReader(properties, newest=self._newest, opened=self._curtain.open)

    def _newest(self) -> int:
        number = super()._newest()
        self._listener.answered(_NEWEST, str(number).encode())
        return number

    def leave(self, name: str) -> None:
        """Keep what was said while the workload ran; nothing more is said."""
        self._relay.close()
        leave(self.folder, name, self._listener.conversation, RECORDER)


class ReplayedDatabase(CapturedDatabase):
    """What the stand-in said, without it."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self._stage, self._curtain = Stage(), Curtain()
        self._prompter = Prompter(conversation, self._stage)
        self._player = Player(self._prompter, self._stage, self._curtain)

    @property
    def unanswered(self) -> list[str]:
        """What nobody asked when the conversation was recorded."""
        return self._prompter.unanswered

    def connection_properties(self) -> dict[str, str]:
        found = properties_at(self._player.host, self._player.port)
        return {**found, "errors.max.retries": "0"}

    def renew(self) -> None:
        """There is nothing yet."""

    def execute(self, block: str) -> None:
        self._curtain.close()
        self._stage.advance()

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return CurtainedReader(properties, newest=self._newest, opened=self._curtain.open)

    def _newest(self) -> int:
        answer = self._prompter.answer(_NEWEST, "the newest LSN")
        assert answer is not None
        return int(answer)

    def clean(self) -> None:
        self._player.close()

    def renew_server(self) -> None:
        raise NotImplementedError("there is no server")

    def transact(self, statements: Any) -> None:
        raise NotImplementedError("there is no server")

    def number(self, query: str) -> int:
        raise NotImplementedError("there is no server")

    def streaming(self) -> bool:
        raise NotImplementedError("Debezium reads H2")

    def end(self) -> Any:
        raise NotImplementedError("Debezium reads H2")

    def sent(self, end: Any) -> bool:
        raise NotImplementedError("Debezium reads H2")

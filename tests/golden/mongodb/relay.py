"""Stands between our connector and MongoDB, and keeps what the server says."""

from __future__ import annotations

import contextlib
import socket
import threading

import bson

from tests.golden.conversation import Listener
from tests.golden.door import Closed, Door
from tests.golden.mongodb.wire import (
    OP_MSG,
    Document,
    Message,
    asked,
    is_hello,
    next_message,
    opens_stream,
    writes_signal,
)

HELLO = "hello"


def at(hello: Document, address: str) -> Document:
    """What a member says of itself, as if it were at another address. Without the version of its
    topology a driver asks again instead of waiting for news."""
    found = {name: value for name, value in hello.items() if name != "topologyVersion"}
    named = {"hosts": [address], "primary": address, "me": address}
    return {**found, **{name: value for name, value in named.items() if name in found}}


class Relay:
    """Forwards messages, and tells a listener what was asked and answered."""

    def __init__(self, host: str, port: int, listener: Listener) -> None:
        self._server = (host, port)
        self._listener = listener
        self._streams: dict[int, bool] = {}  # by cursor: whether the last batch was empty
        self._door = Door(self._serve)
        self.address = f"{self._door.host}:{self._door.port}"
        self.close = self._door.close

    def _serve(self, client: socket.socket) -> None:
        with socket.create_connection(self._server) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            commands: dict[int, Message] = {}
            thread = threading.Thread(
                target=self._answers, args=(server, client, commands), daemon=True
            )
            thread.start()
            with contextlib.suppress(Closed, OSError):
                while True:
                    message = next_message(client)
                    commands[message.number] = message
                    if writes_signal(message.document):
                        self._listener.stage.advance()
                    server.sendall(message.raw())
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            thread.join()

    def _answers(
        self, server: socket.socket, client: socket.socket, commands: dict[int, Message]
    ) -> None:
        with contextlib.suppress(Closed, OSError):
            while True:
                reply = next_message(server)
                client.sendall(self._kept(commands.pop(reply.answers), reply).raw())
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)

    def _kept(self, message: Message, reply: Message) -> Message:
        """The reply to a command, as the client is given it."""
        command, document = message.document, reply.document
        if is_hello(command):
            self._listener.answered(HELLO, bson.encode(at(document, "")))
            return message.reply(at(document, self.address))
        assert reply.operation == OP_MSG
        cursor = command.get("getMore")
        if cursor in self._streams:
            is_empty = document.get("cursor", {}).get("nextBatch") == []
            instead = is_empty and self._streams[cursor]
            self._streams[cursor] = is_empty
            self._listener.streamed(str(cursor), reply.body, instead=instead)
            return reply
        if opens_stream(command) and document["ok"] and document["cursor"]["id"]:
            opened = document["cursor"]["id"]
            self._streams[opened] = False
            self._listener.opened(str(opened))
        self._listener.answered(asked(message, command), reply.body)
        return reply

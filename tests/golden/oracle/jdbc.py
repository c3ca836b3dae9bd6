"""The server behind ScriptedDriver.java: each connection is a session of the answering database."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headrace_demo.oracle.definitions import Table
from tests.golden.oracle.metadata import metadata


class OracleError(Exception):
    """A statement fails with ORA-`code`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"ORA-{code:05d}: {text}")
        self.code = code


class Session(Protocol):
    """A connection to the database."""

    def execute(self, sql: str, binds: Sequence[Any]) -> dict[str, Any]:
        """The answer to a statement: `columns` (name, type, JDBC's number of it) and `rows`, or the
        `count` of rows it changed. Raises OracleError."""

    def tables(self) -> list[Table]:
        """The tables of the metadata."""


class JdbcServer:
    """Listens on `port` of this machine, in threads of this process."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self.unanswered: list[str] = []
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                session = connect()
                for line in self.rfile:
                    answer = server._answer(session, json.loads(line))
                    self.wfile.write(json.dumps(answer).encode() + b"\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, session: Session, question: dict[str, Any]) -> dict[str, Any]:
        try:
            if "metadata" in question:
                schema, table = question["schema"], question["table"]
                return metadata(question["metadata"], schema, table, session.tables())
            return session.execute(question["sql"], question.get("binds", ()))
        except OracleError as error:
            return {"error": error.code, "message": str(error)}
        except Exception as error:  # noqa: BLE001 (whoever records has to see it)
            self.unanswered.append(f"{question}: {error!r}")
            return {"error": 600, "message": f"ORA-00600: {question}: {error!r}"}

    @property
    def url(self) -> str:
        return f"jdbc:scripted:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

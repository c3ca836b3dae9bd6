"""Messages that a sound server never sends."""

from __future__ import annotations

import socket
import struct
import threading

import psycopg
import pytest

from headrace.connectors.postgresql.reading.copy_reader import read_copy
from headrace.connectors.postgresql.replication.pgoutput_messages import parse_relation
from headrace.errors import HeadraceError


def relation(columns: int) -> bytes:
    described = b"".join(
        struct.pack("!B", 0) + b"c%d\0" % n + struct.pack("!Ii", 23, -1) for n in range(columns)
    )
    return (
        b"R" + struct.pack("!I", 7) + b"public\0t\0" + struct.pack("!BH", 100, columns) + described
    )


def test_a_relation_has_as_many_columns_as_postgresql_allows_and_no_more() -> None:
    assert len(parse_relation(relation(1664)).columns) == 1664
    for count in (1665, 5000, 65535):
        with pytest.raises(HeadraceError, match=f"malformed relation message.*{count} columns"):
            parse_relation(relation(count))


class CopyServer:
    """Lets anybody in, and answers every statement with rows of so many columns."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client:
            (size,) = struct.unpack("!I", client.recv(4))
            client.recv(size - 4)
            client.sendall(b"R" + struct.pack("!II", 8, 0) + b"Z" + struct.pack("!I", 5) + b"I")
            client.recv(4096)
            columns = self._columns
            content = struct.pack("!bH", 0, columns) + bytes(2 * columns)
            row = b"\t".join([b"1"] * columns) + b"\n"
            messages = [
                (b"H", content),
                (b"d", row),
                (b"c", b""),
                (b"C", b"COPY 1\0"),
                (b"Z", b"I"),
            ]
            client.sendall(
                b"".join(kind + struct.pack("!I", len(body) + 4) + body for kind, body in messages)
            )
            client.recv(4096)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("reader", ["socket", "libpq"])
def test_a_copy_of_more_columns_than_postgresql_allows_is_refused(
    monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    if reader == "libpq":
        monkeypatch.setenv("HEADRACE_LIBPQ_READER", "1")
    server = CopyServer(1665)
    connection = psycopg.connect(
        f"host=127.0.0.1 port={server.port} sslmode=disable gssencmode=disable", autocommit=True
    ).pgconn
    try:
        with pytest.raises(HeadraceError, match="1665 columns") as refused:
            list(read_copy(connection, "COPY t TO STDOUT"))
        assert refused.value.code == "postgresql.copy_malformed"
    finally:
        connection.finish()
        server.close()

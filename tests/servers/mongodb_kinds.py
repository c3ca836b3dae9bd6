"""MongoDB servers that are not as one would have them: guarded, encrypted, alone, not initiated."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure

from headrace.testing.mongodb import MongoServer


class LoneServer(MongoServer):
    """A `mongod` that belongs to no replica set."""

    def _command(self) -> list[str]:
        command = super()._command()
        at = command.index("--replSet")
        return command[:at] + command[at + 2 :]

    def _check(self) -> None:
        with self.connect_to_member(serverSelectionTimeoutMS=2000) as client:
            client.admin.command("ping")


class IdleServer(MongoServer):
    """A member of a replica set that nobody initiated."""

    def _check(self) -> None:
        with self.connect_to_member(serverSelectionTimeoutMS=2000) as client:
            client.admin.command("ping")


class GuardedServer(MongoServer):
    """A replica set that wants a login. `root` may do everything (password `root pass@word`)."""

    user, password = "root", "root pass@word"

    def __init__(self) -> None:
        super().__init__()
        key = Path(self.directory) / "key"
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_text("k" * 64)
        key.chmod(0o600)
        self.settings["keyFile"] = str(key)

    def connect_to_member(self, **options: Any) -> MongoClient[dict[str, Any]]:
        login = {"username": self.user, "password": self.password}
        return super().connect_to_member(**{**login, **options})

    def _check(self) -> None:
        socket.create_connection((self.host, self.port), timeout=2).close()
        # Until there is a user, whoever comes from this machine may make the first one.
        with MongoServer.connect_to_member(self, serverSelectionTimeoutMS=2000) as client:
            try:
                self._initiate(client.admin)
                while not client.admin.command("hello")["isWritablePrimary"]:
                    pass
                client.admin.command("createUser", self.user, pwd=self.password, roles=["root"])
            except OperationFailure as error:
                if error.code != 13:  # it was made at an earlier start
                    raise
        super()._check()

    def add_user(self, name: str, *roles: object) -> None:
        """A user whose password is its name."""
        with self.connect_to_member() as client:
            client.admin.command("createUser", name, pwd=name, roles=list(roles))


class EncryptedServer(MongoServer):
    """A replica set that is spoken to over TLS; clients show a certificate that `authority`
    signed. The files are of PEM text."""

    def __init__(self, certificate: Path, authority: Path, client: Path) -> None:
        self.client_certificate, self.authority = client, authority
        super().__init__({
            "tlsMode": "requireTLS",
            "tlsCertificateKeyFile": str(certificate),
            "tlsCAFile": str(authority),
        })  # fmt: skip

    def connect_to_member(self, **options: Any) -> MongoClient[dict[str, Any]]:
        files = {"tlsCAFile": str(self.authority), "tls": True,
                 "tlsCertificateKeyFile": str(self.client_certificate)}  # fmt: skip
        return super().connect_to_member(**{**files, **options})

"""Stand-ins for what gives a process its identity in a cloud, over HTTP as the clouds' packages ask
for it: a container's role, a machine's role and STS of AWS; tokens of Entra ID by a managed
identity, a machine and a client's secret."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

KEY, WORD, SESSION = "AKIDOFROLE", "the-secret-of-the-role", "session-token-of-the-role"
"""Keys that AWS's endpoints return."""
Answer = tuple[int, str, str]


class Cloud(ThreadingHTTPServer):
    """`requests` are the paths that were asked for. `answers` are by path, each made when it is
    asked for. With `certificate` and `key`, files, it speaks TLS."""

    def __init__(self, certificate: Path | None = None, key: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[str] = []
        self.seconds = 3600
        """Lifetime of the returned keys in seconds."""
        self.fails = False
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def asked(self, path: str) -> int:
        """The number of requests for a path."""
        return sum(request == path for request in self.requests)

    # -- what it gives ----------------------------------------------------------------------------

    @property
    def end(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.seconds)

    def role(self) -> Answer:
        """Credentials of a role, as containers and machines get them."""
        credentials = {"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2020-01-01T00:00:00Z"}
        credentials |= {"AccessKeyId": KEY, "SecretAccessKey": WORD, "Token": SESSION}
        credentials["Expiration"] = self.end.strftime("%Y-%m-%dT%H:%M:%SZ")
        return 200, "application/json", json.dumps(credentials)

    def sts(self) -> Answer:
        """AssumeRoleWithWebIdentity."""
        end = self.end.strftime("%Y-%m-%dT%H:%M:%SZ")
        text = (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{KEY}</AccessKeyId>"
            f"<SecretAccessKey>{WORD}</SecretAccessKey><SessionToken>{SESSION}</SessionToken>"
            f"<Expiration>{end}</Expiration></Credentials><AssumedRoleUser>"
            "<Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>a:s</AssumedRoleId>"
            "</AssumedRoleUser></AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>1"
            "</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"
        )
        return 200, "text/xml", text

    def authority(self, path: str) -> Answer:
        """The metadata of an authority of Entra ID."""
        tenant = f"{self.url}/{path.split('/')[1]}"
        metadata = {
            "issuer": f"{tenant}/v2.0",
            "authorization_endpoint": f"{tenant}/oauth2/v2.0/authorize",
            "token_endpoint": f"{tenant}/oauth2/v2.0/token",
        }
        return 200, "application/json", json.dumps(metadata)

    def token(self, number: int) -> Answer:
        """A token of Entra ID; its text has the number."""
        response = {
            "access_token": f"entra-token-{number}",
            "token_type": "Bearer",
            "expires_in": self.seconds,
            "ext_expires_in": self.seconds,
            "expires_on": str(int(time.time()) + self.seconds),
            "resource": "https://ossrdbms-aad.database.windows.net",
        }
        return 200, "application/json", json.dumps(response)


class _Handler(BaseHTTPRequestHandler):
    server: Cloud

    def do_GET(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = urlsplit(self.path).path
        parameters = parse_qs(urlsplit(self.path).query) | parse_qs(body)
        self.server.requests.append(path)
        status, kind, text = self._answer(path, parameters)
        if self.server.fails:
            status, kind, text = 500, "text/plain", "out of order"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        if path == "/latest/api/token":
            self.send_header("x-aws-ec2-metadata-token-ttl-seconds", "60")
        self.end_headers()
        self.wfile.write(text.encode())

    def _answer(self, path: str, parameters: dict[str, list[str]]) -> Answer:
        cloud, plain = self.server, "text/plain"
        number = len(cloud.requests)
        scopes = {*parameters.get("resource", ()), *parameters.get("scope", ())}
        is_database_scope = any("ossrdbms-aad.database.windows.net" in scope for scope in scopes)
        answers: dict[str, Callable[[], Answer]] = {
            "/container": cloud.role,
            "/latest/api/token": lambda: (200, plain, "imds-session"),
            "/latest/meta-data/iam/security-credentials/": lambda: (200, plain, "machine"),
            "/latest/meta-data/iam/security-credentials/machine": cloud.role,
        }
        if parameters.get("Action") == ["AssumeRoleWithWebIdentity"]:
            return cloud.sts()
        if path.endswith("/.well-known/openid-configuration"):
            return cloud.authority(path)
        if path in answers:
            return answers[path]()
        is_token = path.endswith(("/token", "/identity", "/oauth2/v2.0/token"))
        if is_token and is_database_scope:
            return cloud.token(number)
        return 404, plain, f"{path} {parameters}"

    def log_message(self, *_: object) -> None:
        pass

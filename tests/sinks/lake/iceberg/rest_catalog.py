"""A REST catalog in this process: Iceberg's own handlers of requests before a JDBC catalog."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from headrace.sinks.iceberg.jvm import IcebergJvm

_REQUESTS = "org.apache.iceberg.rest.requests"


class RestCatalog:
    """Serves a catalog at `uri` until `close`, to whom has the token. `refuse` is a status that
    the next commits are answered with."""

    def __init__(self, java: IcebergJvm, catalog: Any, token: str) -> None:
        self.java, self.catalog, self.token = java, catalog, token
        self.refuse: int | None = None
        jackson = java.jvm.com.fasterxml.jackson
        self.mapper = jackson.databind.ObjectMapper()
        strategies = jackson.databind.PropertyNamingStrategies
        self.mapper.setPropertyNamingStrategy(strategies.KEBAB_CASE)
        self.mapper.setVisibility(
            jackson.annotation.PropertyAccessor.FIELD,
            getattr(jackson.annotation, "JsonAutoDetect$Visibility").ANY,
        )
        java.iceberg.rest.RESTSerializers.registerAll(self.mapper)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.uri = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: str) -> Any:
        """The answer of Iceberg's handlers: an object of Java's, or a text."""
        handlers, catalog = self.java.iceberg.rest.CatalogHandlers, self.catalog
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["v1", "config"]:
                return '{"defaults":{},"overrides":{}}'
            case ["v1", "namespaces"]:
                return handlers.createNamespace(
                    catalog, self._request("CreateNamespaceRequest", body)
                )
            case ["v1", "namespaces", names]:
                return handlers.loadNamespace(catalog, self.java.namespace(names.split("\x1f")))
            case ["v1", "namespaces", names, "tables"]:
                namespace = self.java.namespace(names.split("\x1f"))
                request = self._request("CreateTableRequest", body)
                return handlers.createTable(catalog, namespace, request)
            case ["v1", "namespaces", names, "tables", name]:
                namespace = self.java.namespace(names.split("\x1f"))
                table = self.java.iceberg.catalog.TableIdentifier.of(namespace, name)
                if method == "POST":
                    request = self._request("UpdateTableRequest", body)
                    return handlers.updateTable(catalog, table, request)
                mode = getattr(self.java.iceberg.rest, "RESTCatalogProperties$SnapshotMode").ALL
                return handlers.loadTable(catalog, table, mode)
        return None

    def _request(self, name: str, body: str) -> Any:
        loader = self.java.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = self.java.jvm.java.lang.Class.forName(f"{_REQUESTS}.{name}", True, loader)
        return self.mapper.readValue(body, kind)


def _handler(served: RestCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:  # type: ignore[override]
            pass

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            path = urlsplit(self.path).path
            status, text = 200, ""
            if self.headers.get("Authorization") != f"Bearer {served.token}":
                status, text = 401, _error(401, "NotAuthorizedException", "who are you?")
            elif served.refuse and self.command == "POST":
                status = served.refuse
                text = _error(status, "RuntimeException", "the catalog has no time")
            else:
                try:
                    answer = served.answer(self.command, path, body)
                    status = 404 if answer is None else 200
                    if answer is not None:
                        text = (
                            answer
                            if isinstance(answer, str)
                            else served.mapper.writeValueAsString(answer)
                        )
                except Exception as error:  # noqa: BLE001
                    status, kind = _kind(str(error))
                    text = _error(status, kind, str(error)[:300])
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_DELETE = _serve

    return Handler


def _kind(text: str) -> tuple[int, str]:
    for kind in ("AlreadyExistsException", "CommitFailedException"):
        if kind in text:
            return 409, kind
    if "NoSuchNamespace" in text:
        return 404, "NoSuchNamespaceException"
    return (404, "NoSuchTableException") if "NoSuch" in text else (500, "RuntimeException")


def _error(status: int, kind: str, message: str) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "code": status}})

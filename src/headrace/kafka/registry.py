"""A client of a schema registry with Confluent's API; it uses the package `confluent-kafka`.

Its properties are those of Confluent's serializers for Java, without the converter's prefix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from headrace.config.credentials.changing import ChangingText, have_changed, settings_now
from headrace.config.hidden import HiddenTexts
from headrace.config.properties.converter_options import registry_problems
from headrace.config.secret import HIDDEN, without_passwords
from headrace.errors import HeadraceError

_SECONDS = 30.0
"""Seconds that a request waits for its answer."""
_RETRIES = 5
_FIRST_WAIT_MS = 500
_MAX_ANSWERS = 1000
"""Calls after which the client is replaced, because it keeps every answer."""
_PREFIX = "schema.registry."
_PASSED_ON = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password")
_LOGIN = re.compile(r"(?<=://)([^/\s@:]*):([^/\s]*)@")
_BEARER = re.compile(r"bearer\.auth\..+")
_REFUSALS = (401, 403)
"""HTTP statuses of a refused login and of missing rights."""
_NOT_FOUND = (40401, 40402, 40403, 40406)


def registry_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the client's settings for these properties (names in any case), `url` among them.

    Raises HeadraceError `registry.setting` for properties that this client does not support, and
    `registry.no_url` without `schema.registry.url`.
    """
    options = {
        name.lower(): text if isinstance(text, ChangingText) else text.strip()
        for name, text in properties.items()
    }
    plain = {name.removeprefix(_PREFIX): text for name, text in options.items()}
    url = options.get("schema.registry.url")
    if not url:
        raise HeadraceError(
            "registry.no_url",
            "the Avro converter has no schema registry",
            "Set schema.registry.url with the converter's prefix, for example "
            "value.converter.schema.registry.url=http://registry:8081.",
        )
    settings = {"url": url} | {n: plain[n] for n in _PASSED_ON if n in plain}
    settings |= {name: text for name, text in plain.items() if _BEARER.fullmatch(name)}
    for problem in registry_problems(options):
        raise HeadraceError(problem.code, problem.message, problem.remedy)
    if plain.get("basic.auth.credentials.source", "URL").upper() == "USER_INFO":
        settings["basic.auth.user.info"] = plain["basic.auth.user.info"]
    if "proxy.host" in plain:
        settings["proxy"] = f"http://{plain['proxy.host']}:{plain.get('proxy.port', '80')}"
    return _login_apart(settings) | _stores(plain)


def _login_apart(settings: dict[str, str]) -> dict[str, str]:
    """Move the login of the URLs to a setting of its own, because the HTTP library logs each URL
    that it requests. As in the client, the login of the first URL is used for all."""
    urls = [url.strip() for url in settings["url"].split(",")]
    login = _LOGIN.search(urls[0])
    if login is None or "basic.auth.user.info" in settings:
        return settings
    user, password = (unquote(part) for part in login.groups())
    if ":" in user:
        return settings
    plain = ",".join(_LOGIN.sub("", url) for url in urls)
    return settings | {"url": plain, "basic.auth.user.info": f"{user}:{password}"}


def _stores(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for Java's key stores and trust stores that are PEM files."""
    files: dict[str, str] = {}
    for store, names in (
        ("truststore", ("ssl.ca.location",)),
        ("keystore", ("ssl.certificate.location", "ssl.key.location")),
    ):
        location = options.get(f"ssl.{store}.location")
        if location is None:
            continue
        files |= dict.fromkeys(names, location)
    if "ssl.key.password" in options and "ssl.key.location" in files:
        files["ssl.key.password"] = options["ssl.key.password"]
    return files


class Registry:
    """A schema registry. Calls are retried when it does not answer; then they raise HeadraceError
    `registry.unreachable`, which is retriable. A refused call is made once more if a secret has
    changed since (`config.secret_unreadable`). It is pickled without its connections."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)
        self._used: dict[str, str] = {}
        """The settings that the client was opened with."""
        self._client: Any = None
        self._calls = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_used": {}, "_client": None, "_calls": 0}

    @property
    def url(self) -> str:
        """The URL of the registry, without a password."""
        return _without_logins(self._settings["url"])

    def register(self, subject: str, schema: str, *, normalize: bool) -> int:
        """Return the id of a schema (Avro, as JSON text); it is registered under the subject first
        if the subject does not have it.

        Raises HeadraceError `registry.refused` when the registry does not take it, e.g. because it
        is incompatible with the subject's latest schema.
        """
        return int(self._call("register_schema", subject, self._schema(schema), normalize))

    def lookup(self, subject: str, schema: str, *, normalize: bool) -> int:
        """Return the id of a schema that the subject has. Raises HeadraceError
        `registry.not_registered`."""
        schema_version = self._call("lookup_schema", subject, self._schema(schema), normalize)
        return int(schema_version.schema_id)

    def latest(self, subject: str) -> tuple[int, str]:
        """Return id and text of the subject's latest schema. Raises HeadraceError
        `registry.not_registered`."""
        schema_version = self._call("get_latest_version", subject)
        return int(schema_version.schema_id), str(schema_version.schema.schema_str)

    def by_id(self, number: int) -> str:
        """Return the text of the schema with this id. Raises HeadraceError
        `registry.not_registered`."""
        return str(self._call("get_schema", number).schema_str)

    def ask(self) -> None:
        """Check that the registry answers. Raises HeadraceError("registry.unreachable")."""
        try:
            self._call("get_schema_types")
        except HeadraceError as error:
            if error.retriable:
                raise

    def _schema(self, text: str) -> Any:
        return _module().Schema(text, "AVRO")

    def _call(self, method: str, *arguments: Any) -> Any:
        module = _module()
        self._calls += 1
        if self._client is None or self._calls % _MAX_ANSWERS == 0:
            self._client = self._connect(module)
        try:
            try:
                return getattr(self._client, method)(*arguments)
            except module.error.SchemaRegistryError as error:
                is_refused = int(error.http_status_code) in _REFUSALS
                if not is_refused or not have_changed(self._settings, self._used):
                    raise
            self._client = self._connect(module)
            return getattr(self._client, method)(*arguments)
        except module.error.SchemaRegistryError as error:
            raise self._answered(error, arguments[0] if arguments else method) from None
        except (OSError, RuntimeError, ValueError) as error:
            raise self._unreachable(error) from None
        except Exception as error:
            # The client does not translate exceptions of its HTTP library.
            if "httpx" not in type(error).__module__:
                raise
            raise self._unreachable(error) from None

    def _shown(self, text: str) -> str:
        """Return a message of the client or the registry, without secrets."""
        hidden = HiddenTexts.of_settings(self._used or self._settings)
        return _without_logins(hidden.in_error(text, about=""))

    def _connect(self, module: Any) -> Any:
        self._used = settings_now(self._settings)
        conf: dict[str, Any] = dict(self._used)
        conf |= {"timeout": _SECONDS, "max.retries": _RETRIES, "retries.wait.ms": _FIRST_WAIT_MS}
        try:
            return module.SchemaRegistryClient.new_client(conf)
        except (ValueError, TypeError, OSError) as error:
            raise HeadraceError(
                "registry.setting",
                f"The schema registry's client refuses its settings: {self._shown(str(error))}",
                "Correct the converter's schema.registry properties.",
            ) from None

    def _answered(self, error: Any, subject: object) -> HeadraceError:
        answer = self._shown(str(error.error_message))
        message = f"The schema registry {self.url} answers for {subject}: {answer}"
        status = int(error.http_status_code)
        if error.error_code in _NOT_FOUND or status == 404:
            return HeadraceError(
                "registry.not_registered",
                message,
                "Register the schema, or set auto.register.schemas=true with the converter's "
                "prefix.",
            )
        if status in _REFUSALS:
            return HeadraceError(
                "registry.not_allowed",
                message,
                "Check basic.auth.user.info and the user's rights on the subject.",
            )
        if status >= 500:
            return self._unreachable(message)
        return HeadraceError(
            "registry.refused",
            message,
            "Change the table or the topic's schema so that both are compatible, or the subject's "
            "compatibility level in the registry.",
        )

    def _unreachable(self, error: object) -> HeadraceError:
        return HeadraceError(
            "registry.unreachable",
            f"The schema registry {self.url} does not answer: {self._shown(str(error))}",
            "Check schema.registry.url, and that the driver and the executors reach it.",
            retriable=True,
        )


def _module() -> Any:
    try:
        module = import_module("confluent_kafka.schema_registry")
        import_module("confluent_kafka.schema_registry.error")
    except ImportError as error:
        raise HeadraceError(
            "registry.no_client",
            f"The Avro converter needs the client of a schema registry ({error})",
            "pip install 'headrace[avro]'",
        ) from None
    return module


def _without_logins(text: str) -> str:
    """Return a text without the logins of its URLs. A password may contain an @."""
    return without_passwords(re.sub(r"//[^/\s,]*@", f"//{HIDDEN}@", text))

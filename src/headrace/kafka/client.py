"""Kafka's clients: consumers and producers of librdkafka (the package `confluent-kafka`).

The package is imported only when a client is opened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.config.hidden import HiddenTexts
from headrace.config.secret import without_passwords
from headrace.errors import HeadraceError
from headrace.kafka.login import REFUSED_LOGIN, Login
from headrace.kafka.settings import Purpose

if TYPE_CHECKING:
    from confluent_kafka import Consumer as Consumer
    from confluent_kafka import KafkaError as KafkaError
    from confluent_kafka import Message as Message
    from confluent_kafka import Producer as Producer

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
"""Seconds that a request to Kafka waits for its answer."""


def load_client(purpose: Purpose) -> Any:
    """Import the package and return it. Raises HeadraceError(".no_kafka_client")."""
    try:
        return import_module("confluent_kafka")
    except ImportError as error:
        raise purpose.error(
            "no_kafka_client",
            f"{purpose.enabled_by}, but the package confluent-kafka is not installed ({error})",
            "pip install 'headrace[kafka]'",
        ) from None


def load_admin(purpose: Purpose) -> Any:
    """Import the package's module of administration and return it. Raises as `load_client`."""
    load_client(purpose)
    return import_module("confluent_kafka.admin")


def open_consumer(
    purpose: Purpose,
    settings: Mapping[str, str],
    *,
    on_error: Callable[[KafkaError], None],
    on_commit: Callable[[KafkaError | None, Any], None],
) -> Consumer:
    """Return a consumer, which connects by itself. `on_error` gets the errors of brokers,
    `on_commit` the result of a commit.

    Raises HeadraceError(".no_kafka_client"), (".kafka_setting") or ("config.secret_unreadable").
    """
    callbacks = {"error_cb": on_error, "on_commit": on_commit}
    consumer: Consumer = _open("Consumer", purpose, settings, callbacks)
    return consumer


def open_producer(purpose: Purpose, settings: Mapping[str, str]) -> Producer:
    """Return a producer, which connects by itself. Raises as `open_consumer`."""
    producer: Producer = _open("Producer", purpose, settings, {})
    return producer


def open_admin(
    purpose: Purpose,
    settings: Mapping[str, str],
    *,
    on_error: Callable[[KafkaError], None] | None = None,
) -> Any:
    """Return an administration client, which connects by itself. `on_error` and errors are as for
    `open_consumer`."""
    callbacks = {} if on_error is None else {"error_cb": on_error}
    return _open("AdminClient", purpose, settings, callbacks, load_admin(purpose))


def unreachable(purpose: Purpose, brokers: str | None, error: object) -> HeadraceError:
    """Return the error for brokers that do not answer or that refuse."""
    return purpose.error(
        "kafka_unreachable",
        f"Kafka at {brokers} is not available to {purpose.use}: {error_text(error)}",
        f"Check {purpose.brokers}, {purpose.settings}.* and that the brokers run.",
        retriable=True,
    )


ALL_BROKERS_DOWN, TRANSPORT = -187, -195
REFUSED = (REFUSED_LOGIN, -181)
"""librdkafka's codes of a refused login, and of a refused certificate or other failure of TLS."""


@dataclass(frozen=True)
class Complaint:
    """An error that librdkafka tries to recover from by itself."""

    code: int
    text: str


class Complaints:
    """Errors of brokers from which a client recovers by itself; clients of the package call an
    instance with each KafkaError."""

    def __init__(self) -> None:
        self.last: Complaint | None = None
        self.login: Login | None = None
        """The login of the client that was last opened with this instance as callback."""

    def __call__(self, error: KafkaError) -> None:
        self.note(error.code(), error.str())

    def note(self, code: int, text: str) -> None:
        """Keep an error as the last one, unless it is only a consequence of the last one: a refused
        login, for example, breaks connections."""
        follows = code == ALL_BROKERS_DOWN and self.last is not None
        if not follows and not (self.is_refusal and code not in REFUSED):
            self.last = Complaint(code, text)

    def forget(self) -> None:
        """Forget the last error, because Kafka has answered."""
        self.last = None

    @property
    def is_refusal(self) -> bool:
        """Whether the last error is a refused login or certificate, which waiting does not
        correct."""
        return self.last is not None and self.last.code in REFUSED

    def explain(self, purpose: Purpose, brokers: str | None, error: object) -> HeadraceError:
        """Return the error to raise when Kafka did not answer because of `error`: ".not_allowed"
        after a refusal, retriable if the login has changed since; otherwise as `unreachable`."""
        if self.last is not None and self.is_refusal:
            refused = not_allowed(purpose, brokers, self.last.text)
            if self.login is None or not self.login.has_changed:
                return refused
            self.forget()
            message = f"{refused.message}; the login has changed since, and the new one is tried"
            return HeadraceError(refused.code, message, refused.remedy, retriable=True)
        return unreachable(purpose, brokers, error)


def not_allowed(
    purpose: Purpose, brokers: str | None, text: str, *, rights: str = ""
) -> HeadraceError:
    """Return the error for a refusal by Kafka; `rights` are those that the user needs."""
    return purpose.error(
        "not_allowed",
        f"Kafka at {brokers} refuses {purpose.use}: {error_text(text)}",
        f"Check the login and certificates of {purpose.settings}.*, and the user's rights{rights}.",
    )


def error_text(error: object) -> str:
    """Return the text of a KafkaError, or of any other object, without passwords."""
    text = getattr(error, "str", None)
    return without_passwords(str(text()) if callable(text) else str(error))


def _open(
    kind: str,
    purpose: Purpose,
    settings: Mapping[str, str],
    callbacks: Mapping[str, Any],
    module: Any = None,
) -> Any:
    kafka, login = load_client(purpose), Login(settings)
    complaints = callbacks.get("error_cb")
    if isinstance(complaints, Complaints):
        complaints.login = login
    try:
        # librdkafka's log goes to ours; it says what our errors leave out.
        complete = {"log_level": "2", **login.used, **callbacks}
        return getattr(module or kafka, kind)(complete, logger=log)
    except (kafka.KafkaException, TypeError, ValueError) as error:
        raise refused_setting(purpose, login.used, error_text(error.args[0])) from None


def refused_setting(purpose: Purpose, settings: Mapping[str, str], text: str) -> HeadraceError:
    """Return the error for a setting that librdkafka refuses; `text` is librdkafka's message."""
    text = HiddenTexts.of_settings(settings).in_error(text, about="")
    return purpose.error(
        "kafka_setting",
        f"Kafka's client refuses a setting of {purpose.settings}.*: {text}",
        "Use librdkafka's settings: ssl.ca.location, sasl.username, sasl.password and so on "
        "(its CONFIGURATION.md lists them).",
    )

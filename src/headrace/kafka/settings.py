"""Settings of Kafka's Java clients, as in a Debezium configuration, translated for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.config.credentials.changing import ChangingText, text_now
from headrace.config.secret import SecretSource
from headrace.errors import HeadraceError

# Settings of the Java clients without a counterpart in librdkafka.
_JAVA_ONLY = frozenset(
    [
        "default.api.timeout.ms",
        "interceptor.classes",
        "key.deserializer",
        "max.poll.records",
        "metric.reporters",
        "request.timeout.ms",
        "value.deserializer",
    ]
)
# Settings of the Java producer without a counterpart in librdkafka.
_JAVA_PRODUCER_ONLY = re.compile(
    r"(key|value)\.serializer|partitioner\..+|max\.block\.ms|metadata\.max\.idle\.ms|metrics?\..+"
    r"|auto\.include\.jmx\.reporter|enable\.metrics\.push|security\.providers|transactional\.id"
    r"|ssl\.(protocol|enabled\.protocols|provider|trustmanager\.algorithm|keymanager\.algorithm"
    r"|secure\.random\.implementation|engine\.factory\.class)"
)
_PRODUCER_NAMES = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
}
_LEVEL = re.compile(r"compression\.(gzip|lz4|zstd)\.level")
# Certificates in PEM: as texts in settings, and as files.
_PEM_TEXTS = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_CONNECTION = re.compile(
    r"bootstrap\.servers|client\.(id|dns\.lookup)|(security|sasl|ssl|socket|broker|reconnect)\..+"
    r"|log_level"
)
_OPTION = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_PASSWORD_MODULES = ("PlainLoginModule", "ScramLoginModule")
_LOGINS = {
    "username": "sasl.username",
    "password": "sasl.password",
}


@dataclass(frozen=True)
class Purpose:
    """The use of a client, for the texts of its errors."""

    area: str
    """First part of the codes of its errors, e.g. `signals`."""
    use: str
    """Name of the use in messages, e.g. "the kafka channel"."""
    enabled_by: str
    """The part of the configuration that enables it, e.g. "signal.enabled.channels has kafka"."""
    settings: str
    """Prefix of its settings, e.g. `signal.consumer`."""
    brokers: str
    """The property that names the brokers."""

    def error(
        self, code: str, message: str, remedy: str, *, retriable: bool = False
    ) -> HeadraceError:
        """Return an error of this client."""
        return HeadraceError(f"{self.area}.{code}", message, remedy, retriable=retriable)


@dataclass(frozen=True)
class JaasOption:
    """An option of a JAAS login configuration that may change; see SecretSource."""

    source: SecretSource
    name: str

    def current(self) -> str:
        """See SecretSource; empty if the configuration has no such option."""
        return _jaas_options(self.source.current()).get(self.name, "")

    def renewed(self, used: str) -> str:  # noqa: ARG002 - of the whole configuration
        """See SecretSource."""
        return self.current()

    def seen(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """See SecretSource: the secrets that the whole configuration was read from."""
        return self.source.seen()


def _jaas_options(jaas: str) -> dict[str, str]:
    return {name: re.sub(r"\\(.)", r"\1", text) for name, text in _OPTION.findall(jaas)}


def client_settings(
    purpose: Purpose, java_settings: Mapping[str, str], brokers: str
) -> dict[str, str]:
    """Return the settings `java_settings` (without their prefix, names in any case) and the
    brokers, as librdkafka names them.

    Logins with a password, PEM certificates and settings that differ only in spelling are
    translated. Raises HeadraceError(".kafka_setting") for any other login of Java.
    """
    settings = {
        name.lower(): text for name, text in java_settings.items() if name.lower() not in _JAVA_ONLY
    }
    settings["bootstrap.servers"] = brokers
    if "sasl.jaas.config" in settings:
        settings |= _login(purpose, settings.pop("sasl.jaas.config"))
    if settings.get("auto.offset.reset") == "none":
        settings["auto.offset.reset"] = "error"
    if settings.get("ssl.endpoint.identification.algorithm") == "":
        settings["ssl.endpoint.identification.algorithm"] = "none"
    return _certificates(settings)


def producer_settings(
    purpose: Purpose, java_settings: Mapping[str, str], brokers: str
) -> dict[str, str]:
    """Return a producer's settings, translated as by `client_settings`, with Java's sizes in
    librdkafka's units; serializers and partitioners, which run in Java only, and `transactional.id`
    are left out."""
    settings: dict[str, str] = {}
    for name, text in client_settings(purpose, java_settings, brokers).items():
        if _JAVA_PRODUCER_ONLY.fullmatch(name):
            continue
        if name == "buffer.memory":
            kilobytes = int(text) >> 10 if text.isdecimal() else 0
            settings["queue.buffering.max.kbytes"] = str(max(kilobytes, 1))
        elif _LEVEL.fullmatch(name):
            settings["compression.level"] = text
        else:
            settings[_PRODUCER_NAMES.get(name, name)] = text
    return settings


def connection_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a consumer that a producer shares: brokers, login, TLS."""
    return {name: text for name, text in settings.items() if _CONNECTION.fullmatch(name)}


def offset_reset(settings: Mapping[str, str]) -> str:
    """Return where reading begins without a committed offset: earliest, latest or error."""
    text = settings.get("auto.offset.reset", "earliest").strip().lower()
    return {
        "smallest": "earliest",
        "beginning": "earliest",
        "largest": "latest",
        "end": "latest",
    }.get(text, text)


def _certificates(settings: dict[str, str]) -> dict[str, str]:
    if settings.pop("ssl.truststore.type", "").upper() == "PEM" and (
        "ssl.truststore.location" in settings
    ):
        settings["ssl.ca.location"] = settings.pop("ssl.truststore.location")
    if settings.pop("ssl.keystore.type", "").upper() == "PEM" and (
        "ssl.keystore.location" in settings
    ):
        # One file holds the certificate and its key.
        file = settings.pop("ssl.keystore.location")
        settings |= {"ssl.certificate.location": file, "ssl.key.location": file}
    return {_PEM_TEXTS.get(name, name): text for name, text in settings.items()}


def _login(purpose: Purpose, jaas: str) -> dict[str, str]:
    """Return user and password of Java's login configuration."""
    source = jaas.source if isinstance(jaas, ChangingText) else None
    jaas = text_now(jaas)
    login: dict[str, str] = {}
    for name, text in _jaas_options(jaas).items():
        if name in _LOGINS:
            login[_LOGINS[name]] = (
                text if source is None else ChangingText(text, JaasOption(source, name))
            )
    if len(login) != len(_LOGINS) or not any(module in jaas for module in _PASSWORD_MODULES):
        raise purpose.error(
            "kafka_setting",
            f"{purpose.settings}.sasl.jaas.config is not the login of a user with a password",
            "Remove it and use librdkafka's settings: sasl.mechanism, sasl.username, "
            "sasl.password, sasl.oauthbearer.*, sasl.kerberos.*.",
        )
    return login

"""The options of the `kafka` sink."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.suggestions import distance
from headrace.errors import HeadraceError
from headrace.kafka.settings import Purpose, connection_settings, producer_settings
from headrace.kafka.topics import TopicCreation
from headrace.spark.sinks.definition import Delivery

SINK = Purpose(
    area="kafka",
    use="the kafka sink",
    enabled_by="The sink is kafka",
    settings="headrace.sink.kafka.producer",
    brokers="headrace.sink.kafka.producer.bootstrap.servers",
)
_CREATION = "topic.creation."
_OURS = (
    "delivery",
    "sequence.header",
    "bookkeeping.topic",
    "bookkeeping.lost",
    "name",
    "state",
    # A limit of Debezium Server's for waiting. Here a batch waits without a limit.
    "wait.message.delivery.timeout.ms",
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
_DEFAULTS = {
    "partitioner": "murmur2_random",
    "compression.type": "lz4",
    "linger.ms": "20",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "0",
    "queue.buffering.max.kbytes": "131072",
    "delivery.report.only.error": "true",
    "retry.backoff.ms": "20",
}
_ALIASES = {"compression.codec": "compression.type", "queue.buffering.max.ms": "linger.ms"}
_TRANSACTION = {"transaction.timeout.ms": "300000"}
_IN_FLIGHT = "5"


@dataclass(frozen=True)
class KafkaOptions:
    """The validated options of the sink. `name` is the query's name in transactional ids;
    `bookkeeping` the topic of markers; `begins_without_markers` lets a slice without a marker begin
    at any micro-batch. Picklable; `repr` shows no settings, which may contain secrets."""

    name: str
    bookkeeping: str
    settings: Mapping[str, str] = field(repr=False)
    delivery: Delivery = Delivery.EXACTLY_ONCE
    sequence_header: bool = False
    begins_without_markers: bool = False
    creation: TopicCreation = field(default_factory=TopicCreation, repr=False)

    @property
    def brokers(self) -> str:
        """The bootstrap servers."""
        return self.settings["bootstrap.servers"]

    @property
    def connection(self) -> dict[str, str]:
        """Settings that other clients share with the producer."""
        return connection_settings(self.settings)

    @property
    def is_transactional(self) -> bool:
        """Whether the delivery is exactly-once."""
        return self.delivery is Delivery.EXACTLY_ONCE

    def transactional_id(self, suffix: str) -> str:
        """The transactional id of one of the query's producers."""
        return f"headrace-{self.name}-{suffix}"

    @classmethod
    def of_configuration(cls, config: ConnectorConfig) -> KafkaOptions:
        """Parse the options in a connector's configuration. Raises as `of`."""
        return cls.of(
            config.headrace_sink,
            name=config.topic_prefix,
            overrides=config.producer_override,
            creation=config.topic_creation,
        )

    @classmethod
    def of(
        cls,
        sink_options: Mapping[str, str],
        *,
        name: str,
        overrides: Mapping[str, str] | None = None,
        creation: Mapping[str, str] | None = None,
    ) -> KafkaOptions:
        """Parse options without `headrace.sink.`: the sink's own, with or without `kafka.`;
        settings of Kafka's producer, with `kafka.` or `kafka.producer.`; `overrides` are those of
        `producer.override.`, `creation` those of `topic.creation.`, which `sink_options` may also
        have. `name` is the default name of the query.

        Raises HeadraceError: "kafka.no_brokers", "kafka.impossible_option", "kafka.topic_creation",
        "kafka.kafka_setting", "kafka.not_transactional", "kafka.unknown_option".
        """
        options, client, groups = _sorted_out(sink_options)
        client = {**client, **(overrides or {})}
        brokers = client.pop("bootstrap.servers", "")
        if not brokers:
            raise HeadraceError(
                "kafka.no_brokers",
                "The kafka sink has no bootstrap servers",
                f"Set {SINK.brokers}=HOST:PORT (Debezium Server: "
                "debezium.sink.kafka.producer.bootstrap.servers).",
            )
        chosen = options.get("name") or name
        if _NAME.fullmatch(chosen) is None:
            raise _impossible("name", chosen, "letters, digits, dots, underscores and dashes")
        delivery = _choice(options, "delivery", Delivery.EXACTLY_ONCE, tuple(Delivery))
        lost = _choice(options, "bookkeeping.lost", "fail", ("fail", "begin"))
        header = _choice(options, "sequence.header", "false", ("true", "false"))
        settings = producer_settings(SINK, client, brokers)
        settings = {_ALIASES.get(option, option): text for option, text in settings.items()}
        is_transactional = delivery == Delivery.EXACTLY_ONCE
        if is_transactional:
            _check_transactional(settings)
        defaults = _DEFAULTS | (_TRANSACTION if is_transactional else {})
        settings = {"enable.idempotence": "true", **defaults, **settings}
        if is_transactional:
            settings["enable.idempotence"] = "true"
        elif settings.get("acks", "all") not in ("all", "-1"):
            settings["enable.idempotence"] = "false"
        return cls(
            name=chosen,
            bookkeeping=options.get("bookkeeping.topic") or f"headrace.bookkeeping.{chosen}",
            settings=settings,
            delivery=Delivery(delivery),
            sequence_header=header == "true",
            begins_without_markers=lost == "begin",
            creation=TopicCreation.of({**groups, **(creation or {})}),
        )


def unknown_options(options: Mapping[str, str]) -> list[str]:
    """The options that are neither the sink's nor settings of Kafka's producer."""
    return [
        name
        for name in options
        if not name.startswith(("kafka.", _CREATION)) and name.lower() not in _OURS
    ]


def _sorted_out(
    properties: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The sink's own options, the client's, and those of `topic.creation.`."""
    options: dict[str, str] = {}
    client: dict[str, str] = {}
    groups: dict[str, str] = {}
    for name, text in properties.items():
        bare = name.removeprefix("kafka.")
        if bare.lower() in _OURS:
            options[bare.lower()] = text.strip()
        elif bare.lower().startswith(_CREATION):
            groups[bare[len(_CREATION) :]] = text
        elif (meant := _misspelt(bare)) is not None:
            raise HeadraceError(
                "kafka.unknown_option",
                f"headrace.sink.kafka.{bare} is not an option of the kafka sink; did you mean "
                f"{meant}?",
                f"Write headrace.sink.kafka.{meant}; settings of Kafka's producer begin with "
                f"{SINK.settings}.",
            )
        elif name != bare:
            client[bare.removeprefix("producer.").lower()] = text
    return options, client, groups


def _misspelt(option: str) -> str | None:
    """The option of the sink that differs from this one by one or two letters; None if none
    does."""
    near = (name for name in _OURS if 0 < distance(option.lower(), name, 2) <= 2)
    return next(near, None)


def _choice(options: Mapping[str, str], option: str, default: str, values: tuple[str, ...]) -> str:
    text = options.get(option, default).lower()
    if text not in values:
        raise _impossible(option, text, " or ".join(values))
    return text


def _check_transactional(settings: Mapping[str, str]) -> None:
    """Refuse producer settings that are possible only without transactions."""
    timeout = settings.get("transaction.timeout.ms", _TRANSACTION["transaction.timeout.ms"])
    limits: dict[str, Callable[[str], bool]] = {
        "acks": _is_all,
        "request.required.acks": _is_all,
        "enable.idempotence": lambda text: text == "true",
        "retries": lambda text: text != "0",
        "message.send.max.retries": lambda text: text != "0",
        "max.in.flight": lambda text: _at_most(text, _IN_FLIGHT),
        "max.in.flight.requests.per.connection": lambda text: _at_most(text, _IN_FLIGHT),
        "delivery.timeout.ms": lambda text: _at_most(text, timeout),
        "message.timeout.ms": lambda text: _at_most(text, timeout),
    }
    for option, fits in limits.items():
        text = settings.get(option, "").strip().lower()
        if text and not fits(text):
            raise HeadraceError(
                "kafka.not_transactional",
                f"{SINK.settings}.{option} = {text!r} cannot be combined with exactly-once "
                f"delivery",
                f"Leave {SINK.settings}.{option} out, or set "
                f"headrace.sink.kafka.delivery={Delivery.AT_LEAST_ONCE}.",
            )


def _is_all(text: str) -> bool:
    return text in ("all", "-1")


def _at_most(text: str, limit: str) -> bool:
    """Whether a number is at most `limit`; other texts are left to Kafka's client to refuse."""
    return not (text.isdecimal() and limit.isdecimal()) or int(text) <= int(limit)


def _impossible(option: str, text: str, expected: str) -> HeadraceError:
    return HeadraceError(
        "kafka.impossible_option",
        f"headrace.sink.kafka.{option} = {text!r}: expected {expected}",
        f"Correct headrace.sink.kafka.{option}.",
    )

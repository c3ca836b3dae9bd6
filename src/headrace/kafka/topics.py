"""Topics created before their first record, as `topic.creation.*` says."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.config.regex import compile_java_regex
from headrace.errors import HeadraceError
from headrace.kafka.client import (
    ANSWER_SECONDS,
    Complaints,
    error_text,
    load_admin,
    load_client,
    open_admin,
)
from headrace.kafka.settings import Purpose

_DEFAULT = "default"
_BROKERS = -1
"""Value for partitions and replication factor that leaves them to the brokers' settings."""
_CREATE_SECONDS = 30.0
_OPTIONS = ("include", "exclude", "partitions", "replication.factor")


@dataclass(frozen=True)
class TopicGroup:
    """Topics that are created alike. `configs` are their settings with Kafka's names."""

    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    partitions: int = _BROKERS
    replication_factor: int = _BROKERS
    configs: Mapping[str, str] = field(default_factory=dict)

    def has(self, topic: str) -> bool:
        """Whether `topic` belongs to this group; every topic belongs to the default group."""
        if self.name == _DEFAULT:
            return True
        return _matches(self.include, topic) and not _matches(self.exclude, topic)


@dataclass(frozen=True)
class TopicCreation:
    """The groups in their order, the default one last; if `is_enabled` is false, only brokers
    create topics."""

    groups: tuple[TopicGroup, ...] = (TopicGroup(_DEFAULT),)
    is_enabled: bool = True

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> TopicCreation:
        """Read the properties with the prefix `topic.creation.`, as Kafka Connect does: `groups`,
        and `GROUP.OPTION`.

        Raises HeadraceError("kafka.topic_creation").
        """
        names = [name.strip() for name in properties.get("groups", "").split(",") if name.strip()]
        members: dict[str, dict[str, str]] = {name: {} for name in (*names, _DEFAULT)}
        for option, text in properties.items():
            if option in ("groups", "enable"):
                continue
            owners = [name for name in members if option.startswith(f"{name}.")]
            owner = max(owners, key=len, default=None)
            if owner is None:
                raise _wrong(option, "it names a group that topic.creation.groups does not have")
            members[owner][option.removeprefix(f"{owner}.")] = text.strip()
        enabled = properties.get("enable", "true").strip().lower()
        if enabled not in ("true", "false"):
            raise _wrong(f"enable = {enabled!r}", "expected true or false")
        groups = tuple(_group(name, options) for name, options in members.items())
        return cls(groups, is_enabled=enabled == "true")

    def of_topic(self, topic: str) -> TopicGroup:
        """Return the first group that the topic belongs to."""
        return next(group for group in self.groups if group.has(topic))


class Topics:
    """The topics that records go to; each is looked up once, until `forget`."""

    def __init__(
        self, purpose: Purpose, settings: Mapping[str, str], creation: TopicCreation
    ) -> None:
        """`settings` are those of a connection (brokers, login, TLS)."""
        self._purpose, self._settings, self._creation = purpose, dict(settings), creation
        self._present: set[str] = set()
        self._complaints = Complaints()
        self._admin: Any = None

    def ensure(self, names: Iterable[str | None]) -> None:
        """Create the missing topics, or, with topic.creation.enable=false, let brokers with
        auto.create.topics.enable create them.

        Raises HeadraceError: "kafka.kafka_unreachable" (retriable), "kafka.topic_refused",
        "kafka.topic_missing", "kafka.topic_name".
        """
        missing = []
        for name in names:
            if not name or "\0" in name:
                raise self._impossible(name)
            if name not in self._present:
                missing.append(name)
        if not missing:
            return
        absent = [name for name in missing if not self.partitions(name)]
        if self._creation.is_enabled:
            self.create(absent)
        elif absent:
            self._let_brokers_create(absent)
        self._present.update(missing)

    def _let_brokers_create(self, names: list[str]) -> None:
        """Request the metadata of topics, for which brokers with auto.create.topics.enable create
        them."""
        kafka = load_client(self._purpose)
        for name in names:
            try:
                self._opened().list_topics(name, timeout=ANSWER_SECONDS)
            except kafka.KafkaException as error:
                raise self._translated(error.args[0], name) from None
        self._await(names)
        for name in names:
            if not self.partitions(name):
                raise self._purpose.error(
                    "topic_missing",
                    f"The topic {name} does not exist, topic.creation.enable is false, and the "
                    "brokers do not create it",
                    "Create it by hand, or leave topic.creation.enable out.",
                )

    def gone(self, more: Iterable[str] = ()) -> list[str]:
        """Return the topics, of those known to exist and of `more`, that do not exist any more.
        Raises as `ensure`."""
        return [name for name in (*more, *self._present) if not self.partitions(name)]

    def forget(self) -> None:
        """Forget which topics exist, so that each is looked up again."""
        self._present.clear()

    def partitions(self, name: str) -> int:
        """Return how many partitions a topic has; 0 if it does not exist. Raises as `ensure`."""
        kafka, admin = load_client(self._purpose), self._opened()
        topic_collection = kafka.TopicCollection([name])
        (described,) = admin.describe_topics(
            topic_collection, request_timeout=ANSWER_SECONDS
        ).values()
        try:
            partitions = len(described.result().partitions)
        except kafka.KafkaException as error:
            if error.args[0].code() == kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                return 0
            raise self._translated(error.args[0], name) from None
        self._complaints.forget()
        return partitions

    def create(self, names: Iterable[str], group: TopicGroup | None = None) -> None:
        """Create topics as their groups say, or as `group` says. Raises as `ensure`."""
        module, kafka = load_admin(self._purpose), load_client(self._purpose)
        new_topics = []
        for name in names:
            of = group or self._creation.of_topic(name)
            configs = dict(of.configs)
            new_topics.append(
                module.NewTopic(name, of.partitions, of.replication_factor, config=configs)
            )
        if not new_topics:
            return
        for name, created in self._opened().create_topics(new_topics).items():
            try:
                created.result(timeout=_CREATE_SECONDS)
            except kafka.KafkaException as error:
                if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise self._translated(error.args[0], name) from None
        self._await([topic.topic for topic in new_topics])

    def widen(self, name: str, partitions: int) -> None:
        """Raise the number of a topic's partitions. Raises as `ensure`."""
        module, kafka = load_admin(self._purpose), load_client(self._purpose)
        (future,) = (
            self._opened().create_partitions([module.NewPartitions(name, partitions)]).values()
        )
        try:
            future.result(timeout=_CREATE_SECONDS)
        except kafka.KafkaException as error:
            raise self._translated(error.args[0], name) from None

    def config(self, name: str, option: str) -> str | None:
        """Return a setting of a topic; None if it cannot be read. Raises nothing."""
        module, kafka = load_admin(self._purpose), load_client(self._purpose)
        resource = module.ConfigResource(module.RESOURCE_TOPIC, name)
        (described,) = self._opened().describe_configs([resource]).values()
        try:
            entry = described.result(timeout=ANSWER_SECONDS).get(option)
        except (kafka.KafkaException, TimeoutError):
            return None
        return None if entry is None else entry.value

    def _await(self, names: list[str]) -> None:
        """Wait until created topics are known: brokers do not all know them at once."""
        deadline = time.monotonic() + ANSWER_SECONDS
        for name in names:
            while not self.partitions(name) and time.monotonic() < deadline:
                time.sleep(0.02)

    def _opened(self) -> Any:
        login = self._complaints.login
        if self._admin is None or (login is not None and login.has_changed):
            self._complaints.forget()
            self._admin = open_admin(self._purpose, self._settings, on_error=self._complaints)
        return self._admin

    def _impossible(self, topic: str | None) -> HeadraceError:
        return self._purpose.error(
            "topic_name",
            f"A record has the topic {topic!r}, which is not a valid name of a topic",
            "A name has 1 to 249 letters, digits, dots, underscores and dashes: correct the "
            "column topic, or the transform or property that makes it.",
        )

    def _translated(self, error: Any, topic: str) -> HeadraceError:
        if error.code() in _waits(load_client(self._purpose).KafkaError):
            if self._admin is not None:
                self._admin.poll(0)
            brokers = self._settings.get("bootstrap.servers")
            return self._complaints.explain(self._purpose, brokers, error)
        if error.code() == load_client(self._purpose).KafkaError.TOPIC_EXCEPTION:
            return self._impossible(topic)
        return self._purpose.error(
            "topic_refused",
            f"Kafka refuses the topic {topic}: {error_text(error)}",
            "Create it by hand, correct topic.creation.*, or let the user describe and create "
            "topics.",
        )


def _waits(codes: Any) -> tuple[int, ...]:
    """Return the codes of errors that end by themselves."""
    return (
        codes._TIMED_OUT,
        codes._TRANSPORT,
        codes._ALL_BROKERS_DOWN,
        codes._RESOLVE,
        codes.REQUEST_TIMED_OUT,
        codes.NOT_CONTROLLER,
        codes.LEADER_NOT_AVAILABLE,
        codes.BROKER_NOT_AVAILABLE,
        codes.COORDINATOR_NOT_AVAILABLE,
    )


def _matches(patterns: tuple[str, ...], topic: str) -> bool:
    return any(compile_java_regex(p, case_matters=True).fullmatch(topic) for p in patterns)


def _group(name: str, options: Mapping[str, str]) -> TopicGroup:
    patterns = {}
    for option in ("include", "exclude"):
        written = options.get(option, "")
        patterns[option] = tuple(part.strip() for part in written.split(",") if part.strip())
        try:
            for pattern in patterns[option]:
                compile_java_regex(pattern, case_matters=True)
        except ValueError as error:
            raise _wrong(f"{name}.{option}", f"it is not a regular expression: {error}") from None
    if name != _DEFAULT and not patterns["include"]:
        raise _wrong(f"{name}.include", "it is missing")
    numbers = []
    for option in ("partitions", "replication.factor"):
        text = options.get(option, str(_BROKERS))
        number = int(text) if text.removeprefix("-").isdecimal() else 0
        if number < 1 and number != _BROKERS:
            raise _wrong(f"{name}.{option} = {text!r}", "expected a number above 0, or -1")
        numbers.append(number)
    configs = {option: text for option, text in options.items() if option not in _OPTIONS}
    partitions, replication_factor = numbers
    return TopicGroup(
        name, patterns["include"], patterns["exclude"], partitions, replication_factor, configs
    )


def _wrong(option: str, problem: str) -> HeadraceError:
    return HeadraceError(
        "kafka.topic_creation",
        f"topic.creation.{option}: {problem}",
        "Write it as for Kafka Connect: topic.creation.groups=NAME, "
        "topic.creation.NAME.include=…, topic.creation.NAME.partitions=….",
    )

"""The parts of confluent-kafka that are used, compared with the package itself, without a broker.

Its clients are written in C and have no signatures: those of its manual, which are in its
docstrings, stand for them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    admin,
    schema_registry,
)
from confluent_kafka.schema_registry import error as registry_errors

from headrace.kafka import client
from tests.contract.driver_calls import Driver, Member, faults, uses

_ADMIN: Any = admin
"""The module of the admin client, whose classes are not exported by name."""
SOURCES = Path(inspect.getfile(client)).parents[1]
FILES = [
    *(SOURCES / "kafka").glob("*.py"),
    *(SOURCES / "sinks/kafka").glob("*.py"),
    SOURCES / "signals/kafka.py",
    SOURCES / "signals/topic.py",
    SOURCES / "relational/history/kafka_store.py",
]
_DECLARED = re.compile(r"py:function:: \w+\((.*?)\)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"\w+")


def manual(function: Callable[..., Any]) -> Callable[..., None]:
    """A function with the signature that a docstring declares; one without a declaration takes no
    arguments."""
    declared = _DECLARED.search(function.__doc__ or "")
    parameters = []
    for text in declared[1].split(",") if declared else ():
        name = _PARAMETER.search(text)
        assert name is not None
        default = None if "[" in text else inspect.Parameter.empty
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name[0], kind, default=default))

    def documented() -> None: ...

    documented.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return documented


TABLE = Driver(
    classes={
        "confluent_kafka": confluent_kafka,
        "confluent_kafka.Consumer": Consumer,
        "confluent_kafka.KafkaError": KafkaError,
        "confluent_kafka.KafkaException": KafkaException("refused"),
        "confluent_kafka.Message": Message,
        "confluent_kafka.Producer": Producer,
        "confluent_kafka.TopicPartition": TopicPartition("t", 0),
        "confluent_kafka.admin": admin,
        "confluent_kafka.admin.AdminClient": _ADMIN.AdminClient,
        "confluent_kafka.admin.ClusterMetadata": _ADMIN.ClusterMetadata(),
        "confluent_kafka.admin.TopicMetadata": _ADMIN.TopicMetadata(),
        "confluent_kafka.schema_registry": schema_registry,
        "confluent_kafka.schema_registry.SchemaRegistryClient": (
            schema_registry.SchemaRegistryClient
        ),
        "confluent_kafka.schema_registry.error": registry_errors,
        # It names the package's classes for annotations.
        "headrace.kafka.client": confluent_kafka,
    },
    members={
        "confluent_kafka.Consumer.assign": Member(documented=manual(Consumer.assign)),
        "confluent_kafka.Consumer.close": Member(documented=manual(Consumer.close)),
        "confluent_kafka.Consumer.commit": Member(documented=manual(Consumer.commit)),
        "confluent_kafka.Consumer.committed": Member(documented=manual(Consumer.committed)),
        "confluent_kafka.Consumer.consume": Member(
            gives="confluent_kafka.Message", documented=manual(Consumer.consume)
        ),
        "confluent_kafka.Consumer.get_watermark_offsets": Member(
            documented=manual(Consumer.get_watermark_offsets)
        ),
        "confluent_kafka.Consumer.list_topics": Member(
            gives="confluent_kafka.admin.ClusterMetadata", documented=manual(Consumer.list_topics)
        ),
        "confluent_kafka.Consumer.poll": Member(
            gives="confluent_kafka.Message", documented=manual(Consumer.poll)
        ),
        "confluent_kafka.Consumer.unassign": Member(documented=manual(Consumer.unassign)),
        "confluent_kafka.IsolationLevel": Member(),
        "confluent_kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS": Member(),
        "confluent_kafka.KafkaError.COORDINATOR_NOT_AVAILABLE": Member(),
        "confluent_kafka.KafkaError.NOT_COORDINATOR": Member(),
        "confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS": Member(),
        "confluent_kafka.KafkaError.TOPIC_EXCEPTION": Member(),
        "confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART": Member(),
        "confluent_kafka.KafkaError._ALL_BROKERS_DOWN": Member(),
        "confluent_kafka.KafkaError._AUTHENTICATION": Member(),
        "confluent_kafka.KafkaError._PARTITION_EOF": Member(),
        "confluent_kafka.KafkaError.code": Member(documented=manual(KafkaError.code)),
        "confluent_kafka.KafkaError.fatal": Member(documented=manual(KafkaError.fatal)),
        "confluent_kafka.KafkaError.retriable": Member(documented=manual(KafkaError.retriable)),
        "confluent_kafka.KafkaError.str": Member(documented=manual(KafkaError.str)),
        "confluent_kafka.KafkaException.args": Member(),
        "confluent_kafka.Message.error": Member(
            gives="confluent_kafka.KafkaError", documented=manual(Message.error)
        ),
        "confluent_kafka.Message.key": Member(documented=manual(Message.key)),
        "confluent_kafka.Message.offset": Member(documented=manual(Message.offset)),
        "confluent_kafka.Message.partition": Member(documented=manual(Message.partition)),
        "confluent_kafka.Message.value": Member(documented=manual(Message.value)),
        "confluent_kafka.Producer.flush": Member(documented=manual(Producer.flush)),
        "confluent_kafka.Producer.produce": Member(documented=manual(Producer.produce)),
        "confluent_kafka.Producer.purge": Member(documented=manual(Producer.purge)),
        "confluent_kafka.TopicCollection": Member(),
        "confluent_kafka.TopicPartition.partition": Member(),
        "confluent_kafka.admin.AdminClient.create_partitions": Member(),
        "confluent_kafka.admin.AdminClient.create_topics": Member(),
        "confluent_kafka.admin.AdminClient.describe_configs": Member(),
        "confluent_kafka.admin.AdminClient.describe_topics": Member(),
        "confluent_kafka.admin.AdminClient.list_offsets": Member(),
        "confluent_kafka.admin.AdminClient.list_topics": Member(
            gives="confluent_kafka.admin.ClusterMetadata"
        ),
        "confluent_kafka.admin.AdminClient.poll": Member(
            documented=manual(_ADMIN.AdminClient.poll)
        ),
        "confluent_kafka.admin.ClusterMetadata.brokers": Member(),
        "confluent_kafka.admin.ClusterMetadata.topics": Member(
            gives="confluent_kafka.admin.TopicMetadata"
        ),
        "confluent_kafka.admin.ConfigResource": Member(),
        "confluent_kafka.admin.NewPartitions": Member(documented=manual(_ADMIN.NewPartitions)),
        "confluent_kafka.admin.NewTopic": Member(documented=manual(_ADMIN.NewTopic)),
        "confluent_kafka.admin.OffsetSpec": Member(),
        "confluent_kafka.admin.RESOURCE_TOPIC": Member(),
        "confluent_kafka.admin.TopicMetadata.error": Member(),
        "confluent_kafka.admin.TopicMetadata.partitions": Member(),
        "confluent_kafka.schema_registry.Schema": Member(),
        "confluent_kafka.schema_registry.error.SchemaRegistryError": Member(),
        "headrace.kafka.client.Consumer": Member(gives="confluent_kafka.Consumer"),
        "headrace.kafka.client.KafkaError": Member(gives="confluent_kafka.KafkaError"),
        "headrace.kafka.client.Message": Member(gives="confluent_kafka.Message"),
    },
    named={
        "admin.py": {"client": "confluent_kafka.Consumer"},
        "bookkeeping.py": {
            "consumer": "confluent_kafka.Consumer",
            "message": "confluent_kafka.Message",
        },
        "kafka_store.py": {"consumer": "confluent_kafka.Consumer"},
    },
    given={
        "_module": "confluent_kafka.schema_registry",
        "_opened": "confluent_kafka.admin.AdminClient",
        "load_admin": "confluent_kafka.admin",
        "load_client": "confluent_kafka",
        "open_admin": "confluent_kafka.admin.AdminClient",
        "open_consumer": "confluent_kafka.Consumer",
        "open_producer": "confluent_kafka.Producer",
    },
)


def test_everything_that_is_used_of_the_client_is_there_and_takes_its_arguments() -> None:
    own_module = "headrace.kafka.client"
    client_uses = [
        use for use in uses(TABLE, FILES) if use.owner != own_module or use.member in TABLE.members
    ]
    assert faults(TABLE, client_uses) == []


def test_signatures_are_those_of_the_packages_docstrings() -> None:
    committed = inspect.signature(manual(Consumer.committed)).parameters
    assert list(committed) == ["partitions", "timeout"]
    assert committed["partitions"].default is inspect.Parameter.empty
    assert committed["timeout"].default is None
    assert list(inspect.signature(manual(_ADMIN.NewTopic)).parameters)[:2] == [
        "topic",
        "num_partitions",
    ]
    assert not inspect.signature(manual(Message.value)).parameters


@pytest.mark.parametrize(
    ("name", "given"), [("poll", {"timeout": 0}), ("consume", {"num_messages": 1, "timeout": 0})]
)
def test_a_consumer_takes_what_its_docstring_declares_and_nothing_else(
    name: str, given: dict[str, Any]
) -> None:
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0})
    try:
        called = getattr(consumer, name)
        assert set(given) == set(inspect.signature(manual(called)).parameters)
        called(**given)
        with pytest.raises(TypeError):
            called(**given, another=1)
    finally:
        consumer.close()

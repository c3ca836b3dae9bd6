"""Properties of a connector's environment, which Kafka Connect's workers and Debezium Server
read."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, TEXT, integer, one_of
from headrace.config.property import Family, Group, PassThrough, Property, not_needed

_SPARK_OFFSETS = not_needed("Spark's checkpoint keeps the offsets")
_WORKER = not_needed("it configures a Kafka Connect worker")


class WorkerConfig(Configuration):
    """Kafka Connect's own properties of a connector."""

    name = Property(
        "name",
        TEXT,
        None,
        Group.CONNECT,
        "Name of the connector, and of the command line's query in Spark.",
    )
    connector_class = Property(
        "connector.class",
        TEXT,
        None,
        Group.CONNECT,
        "The connector: Debezium's class name, or a short name (`headrace describe --help`).",
    )
    tasks_max = Property(
        "tasks.max",
        integer(1),
        "1",
        Group.CONNECT,
        "Tasks of the connector.",
        status=not_needed("the number of Spark tasks is headrace.slices"),
    )
    tasks_max_enforce = Property(
        "tasks.max.enforce",
        BOOLEAN,
        "true",
        Group.CONNECT,
        "Whether tasks.max is enforced.",
        status=_WORKER,
    )
    config_action_reload = Property(
        "config.action.reload",
        one_of("none", "restart"),
        "restart",
        Group.CONNECT,
        "What a worker does when a referenced secret changes.",
        status=_WORKER,
    )
    errors_retry = Family(
        "errors.retry.*",
        TEXT,
        Group.CONNECT,
        "Retries of converters and transforms.",
        status=_WORKER,
        case_matters=False,
    )
    exactly_once_support = Property(
        "exactly.once.support",
        one_of("requested", "required"),
        "requested",
        Group.CONNECT,
        "Exactly-once delivery by a Kafka Connect worker.",
        status=_WORKER,
    )
    transaction_boundary = Family(
        "transaction.boundary*",
        TEXT,
        Group.CONNECT,
        "Kafka transactions of a worker.",
        pattern=r"transaction\.boundary(.*)",
        status=_WORKER,
        case_matters=False,
    )
    topic_creation = PassThrough(
        "topic.creation.*",
        TEXT,
        Group.SINK,
        "Settings of topics that the `kafka` sink creates: `enable`, `groups`, and for each group "
        "and for `default`: `partitions`, `replication.factor`, `include`, `exclude` and Kafka's "
        "settings of a topic.",
    )
    producer_override = PassThrough(
        "producer.override.*",
        TEXT,
        Group.SINK,
        "Settings of the `kafka` sink's producer, named as in the documentation of Java's client "
        "or of librdkafka.",
        clients=r".+",
    )
    client_overrides = Family(
        "CLIENT.override.*",
        TEXT,
        Group.CONNECT,
        "Other Kafka client settings of a worker (consumer, admin).",
        pattern=r"(consumer|admin)\.override\.(.+)",
        status=_WORKER,
    )
    offset_storage = Family(
        "offset.storage*",
        TEXT,
        Group.CONNECT,
        "Where Debezium Server keeps its offsets.",
        pattern=r"offset\.storage(.*)",
        status=_SPARK_OFFSETS,
        case_matters=False,
    )
    offset_flush = Family(
        "offset.flush.*",
        TEXT,
        Group.CONNECT,
        "When Debezium Server writes its offsets.",
        status=_SPARK_OFFSETS,
        case_matters=False,
    )
    offset_commit_policy = Property(
        "offset.commit.policy",
        TEXT,
        None,
        Group.CONNECT,
        "When Debezium Server writes its offsets.",
        status=_SPARK_OFFSETS,
    )
    offsets_storage_topic = Property(
        "offsets.storage.topic",
        TEXT,
        None,
        Group.CONNECT,
        "Where a worker keeps the connector's offsets.",
        status=_SPARK_OFFSETS,
    )

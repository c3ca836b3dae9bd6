"""The definition of the `kafka` sink in headrace's registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.findings import Findings
from headrace.spark.sinks.definition import Delivery, Sink, SinkDefinition, SinkQuery


class KafkaDefinition(SinkDefinition):
    """Records in topics, as Debezium's connectors write them."""

    name = "kafka"
    delivery = Delivery.EXACTLY_ONCE
    writes_small_ranges = True
    kernels: ClassVar[Mapping[str, Sequence[str]]] = {
        "headrace.kafka.message_kernel": ("produce_rows",)
    }
    worker_modules = (
        "headrace.kafka.messages",
        "headrace.sinks.kafka.ranges",
        "headrace.sinks.kafka.ranges_source",
    )

    def unknown_options(self, config: ConnectorConfig) -> list[str]:
        """See SinkDefinition: the options that are neither the sink's nor settings of Kafka's
        producer."""
        from headrace.sinks.kafka.options import unknown_options

        return unknown_options(config.headrace_sink)

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition. Raises HeadraceError("kafka.no_kafka_client") too."""
        from headrace.kafka.client import load_client
        from headrace.sinks.kafka.options import SINK, KafkaOptions
        from headrace.sinks.kafka.ranges_sink import RangesSink

        load_client(SINK)
        return RangesSink(KafkaOptions.of_configuration(query.config), query)

    def check(self, config: ConnectorConfig) -> Findings:
        """See SinkDefinition."""
        from headrace.sinks.kafka.checks import check
        from headrace.sinks.kafka.options import KafkaOptions

        findings = Findings()
        findings.guard(lambda: findings.add_all(check(KafkaOptions.of_configuration(config))))
        return findings


DEFINITION = KafkaDefinition()

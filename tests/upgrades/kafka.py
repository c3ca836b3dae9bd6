"""A Kafka broker whose topics are stored beside the checkpoints of a release."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.servers.kafka import KafkaServer
from tests.upgrades.databases import pack, unpack


class StoredKafka(KafkaServer):
    """A broker whose data, which has the markers of finished micro-batches, can be stored."""

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def store(self, archive: Path) -> None:
        """Stop the broker, and write its data to `archive`."""
        self.stop()
        pack(self._data, archive)

    def restore(self, archive: Path) -> None:
        """Start the broker with the data of `archive`."""
        shutil.rmtree(self._data)
        unpack(archive, self._data)
        self.start()

    def values(self, topic: str) -> Iterator[dict[str, Any]]:
        """The messages that a consumer of committed messages reads of a topic with one partition,
        each with its key as the member `key`."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "reader",
                "isolation.level": "read_committed",
                **self.client,
            }
        )
        try:
            partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
            consumer.assign([partition])
            end = self.ends(topic)[0]
            while consumer.position([partition])[0].offset < end:
                message = consumer.poll(1)
                if message is not None and message.error() is None and message.value() is not None:
                    yield json.loads(message.value() or b"null") | {
                        "key": json.loads(message.key() or b"null")
                    }
        finally:
            consumer.close()

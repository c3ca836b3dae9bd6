"""PartitionRouting: sets the partition by a hash of fields."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST, integer, one_of
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.values import nulls, tombstones, values
from headrace.connect.records import NO_PARTITION, Node, Records, Shape
from headrace.connect.trees import fields, select, with_defaults
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.debezium.java_hashes import java_hashes, murmur_hashes
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape

_CHANGE = "change"
_POSITIVE = np.uint32(0x7FFFFFFF)
_WITHOUT_ROW = pa.array(["m", "t"], pa.large_string())
"""Operations without a row: messages and truncations."""
_DELETE = pa.array(["d"], pa.large_string())


class PartitionRoutingOptions(Configuration):
    """Options of PartitionRouting."""

    partition_payload_fields = Property(
        "partition.payload.fields",
        COMMA_LIST,
        REQUIRED,
        Group.CONVERTERS,
        "The fields that are hashed, by their paths in the envelope (`source.table`, `after.id`); "
        "`change.` is the row after the change, or for a delete the row before it.",
    )
    partition_topic_num = Property(
        "partition.topic.num",
        integer(1),
        REQUIRED,
        Group.CONVERTERS,
        "The number of the topic's partitions.",
    )
    partition_hash_function = Property(
        "partition.hash.function",
        one_of("java", "murmur"),
        "java",
        Group.CONVERTERS,
        "How values are hashed: as Java's `hashCode`, or by MurmurHash3.",
    )


class PartitionRouting:
    """See DECLARATION. Records that have none of the fields, those without a row (truncations) and
    those that are not change events pass unchanged."""

    ordering = Ordering.KEEPS_KEY
    takes_schemas_only = True

    def __init__(self, options: PartitionRoutingOptions) -> None:
        self._paths = tuple(
            ".".join(part.strip() for part in path.split("."))
            for path in options.partition_payload_fields
        )
        self._count = options.partition_topic_num
        self._hashes = murmur_hashes if options.partition_hash_function == "murmur" else java_hashes
        self._nodes = PerShape(self._selected)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        envelope = envelope_of(records.shape)
        operation = fields(envelope).get("op")
        if envelope is None or operation is None:
            return [records]
        operations = values(records, operation)
        skipped = tombstones(records) | _is_one_of(operations, _WITHOUT_ROW)
        is_delete = _is_one_of(operations, _DELETE)
        total = np.zeros(len(records), np.uint32)
        has_any = np.zeros(len(records), np.bool_)
        for node, of_delete in self._nodes(records.shape):
            counted = ~skipped
            if of_delete is not None:
                counted &= is_delete == of_delete
            if counted.any():
                counted &= ~nulls(records, node)
            if not counted.any():
                continue
            has_any |= counted
            total += np.where(counted, self._hashes(records, node), 0).astype(np.uint32)
        positive = total & _POSITIVE
        positive[positive == _POSITIVE] = 0
        former = records.partition
        if former is None:
            former = np.full(len(records), NO_PARTITION, np.int32)
        partition = np.where(has_any, (positive % self._count).astype(np.int32), former)
        return [records.with_partition(partition) if has_any.any() else records]

    def _selected(self, shape: Shape) -> tuple[tuple[Node, bool | None], ...]:
        """Return the nodes, each with whether it applies only to deletes, or only to other records;
        None: to all."""
        envelope = envelope_of(shape)
        selected: list[tuple[Node, bool | None]] = []
        for path in self._paths:
            first, dot, rest = path.partition(".")
            places: tuple[tuple[str, bool | None], ...] = ((path, None),)
            if first == _CHANGE and dot:
                places = ((f"after.{rest}", False), (f"before.{rest}", True))
            for place, of_delete in places:
                node = select(envelope, place)
                if node is not None:
                    selected.append((with_defaults(node), of_delete))
        return tuple(selected)


def _is_one_of(operations: pa.Array, letters: pa.Array) -> np.ndarray:
    mask = pc.is_in(operations, value_set=letters)
    return np.asarray(mask.to_numpy(zero_copy_only=False))


DECLARATION = Declaration(
    "PartitionRouting",
    "Chooses the partition of change events by a hash of some of their fields.",
    PartitionRoutingOptions,
    PartitionRouting,
    example=Example(
        {"before": None, "after": {"id": 1, "city": "Ulm"}, "op": "c"},
        {"partition.payload.fields": "change.city", "partition.topic.num": "8"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope"},
    ),
    kernels=("headrace.transforms.debezium.java_hashes",),
)

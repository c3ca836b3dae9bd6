"""`event.format.version`: the fields of the envelope and of the source block.

`2.5` is the format of Debezium 2.3 to 2.5, for consumers that were built for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SnapshotMarker(StrEnum):
    """Values of the field `snapshot`: the part of a snapshot that a record belongs to."""

    TRUE = "true"
    FIRST = "first"
    FIRST_IN_DATA_COLLECTION = "first_in_data_collection"
    LAST_IN_DATA_COLLECTION = "last_in_data_collection"
    LAST = "last"
    FALSE = "false"
    INCREMENTAL = "incremental"


@dataclass(frozen=True)
class EnvelopeForm:
    """The fields of an envelope after its images and its source block, and its schema's version.
    `optional_op`: the schema allows an event without operation."""

    fields: tuple[str, ...]
    version: int | None
    optional_op: bool = False


@dataclass(frozen=True)
class EventFormat:
    """A version of the event format. `release` is the value of `source.version`."""

    name: str
    release: str
    envelope: EnvelopeForm
    """Form of the envelope of tables' events."""
    source_version: int | None
    markers: tuple[SnapshotMarker, ...]
    """Values that the schema of `snapshot` allows; events may have other values."""
    precise_times: bool
    """Whether source blocks have ts_us and ts_ns."""
    origins: bool
    """Whether source blocks name the server that a replicated change came from, if the log does."""
    counts_messages: bool
    """Whether logical messages have a transaction block and count in their transaction."""
    context_headers: bool


CURRENT = EventFormat(
    name="current",
    release="3.6.3.Final",
    envelope=EnvelopeForm(("transaction", "op", "ts_ms", "ts_us", "ts_ns"), version=2),
    source_version=1,
    markers=tuple(SnapshotMarker),
    precise_times=True,
    origins=True,
    counts_messages=True,
    context_headers=True,
)

VERSION_2_5 = EventFormat(
    name="2.5",
    release="2.5.4.Final",
    envelope=EnvelopeForm(("op", "ts_ms", "transaction"), version=1),
    source_version=None,
    markers=(
        SnapshotMarker.TRUE,
        SnapshotMarker.LAST,
        SnapshotMarker.FALSE,
        SnapshotMarker.INCREMENTAL,
    ),
    precise_times=False,
    origins=False,
    counts_messages=False,
    context_headers=False,
)

FORMATS = {known.name: known for known in (CURRENT, VERSION_2_5)}
"""Event formats by the value of the property."""

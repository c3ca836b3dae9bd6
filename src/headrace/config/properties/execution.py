"""Properties that Debezium does not have: ranges, spool, state, sinks."""

from __future__ import annotations

from headrace.config.kinds import PATH, TEXT, TRIGGER, choice, duration, integer, one_of, size
from headrace.config.properties.compatibility import CompatibilityConfig
from headrace.config.properties.modes import (
    SliceOrder,
    SliceTransport,
    UnknownColumns,
    UnknownProperties,
)
from headrace.config.property import Group, PassThrough, Property


class ExecutionConfig(CompatibilityConfig):
    """How headrace runs a connector in Spark."""

    headrace_range_max_bytes = Property(
        "headrace.range.max.bytes",
        size(1),
        "64MB",
        Group.HEADRACE,
        "Log bytes that one micro-batch takes at most (one row change may exceed it).",
    )
    headrace_range_max_rows = Property(
        "headrace.range.max.rows",
        integer(0),
        "0",
        Group.HEADRACE,
        "Records that one micro-batch takes at most; 0 is one for each 64 bytes of "
        "headrace.range.max.bytes, which only narrow rows reach.",
    )
    headrace_range_direct_max_bytes = Property(
        "headrace.range.direct.max.bytes",
        size(),
        "512kB",
        Group.HEADRACE,
        "Log bytes up to which the source process itself writes a range into the `file` or `kafka` "
        "sink, without a Spark task; 0: never.",
    )
    headrace_checkpoint_dir = Property(
        "headrace.checkpoint.dir",
        PATH,
        None,
        Group.HEADRACE,
        "Folder for checkpoint and state of `headrace run`, unless --checkpoint names one. In a "
        "query of yours with Spark 4.0 or 4.1: its checkpointLocation.",
    )
    headrace_table_unknown_columns = Property(
        "headrace.table.unknown.columns",
        choice(UnknownColumns),
        "fail",
        Group.HEADRACE,
        "What `headrace.table` does with a column that events have and the table (or the "
        "sample of documents) did not have when the query started: `fail` ends the query, "
        "which knows the column when it starts again; `drop` leaves the column out.",
    )
    headrace_spool_max_bytes = Property(
        "headrace.spool.max.bytes",
        size(1),
        "256MB",
        Group.HEADRACE,
        "Memory for log that is read ahead and not yet delivered, and for its index; never less "
        "than three ranges of log. One row change may exceed it.",
    )
    headrace_acknowledge_interval = Property(
        "headrace.acknowledge.interval",
        duration(),
        "10 s",
        Group.HEADRACE,
        "How long the position may lag on idle tables before an empty micro-batch moves it.",
    )
    headrace_slices = Property(
        "headrace.slices",
        integer(0, 65536),
        "0",
        Group.HEADRACE,
        "Slices, hence Spark tasks, per range; 0 is the number of cores.",
    )
    headrace_slice_order = Property(
        "headrace.slice.order",
        choice(SliceOrder),
        "key",
        Group.HEADRACE,
        "`key`: records of one key are in one slice; `position`: contiguous slices for a sink "
        "that orders by `sequence` itself.",
    )
    headrace_slice_transport = Property(
        "headrace.slice.transport",
        choice(SliceTransport),
        "auto",
        Group.HEADRACE,
        "How log bytes reach tasks: shared memory, inline (clusters), or chosen by the master.",
    )
    headrace_trigger = Property(
        "headrace.trigger",
        TRIGGER,
        "0 ms",
        Group.HEADRACE,
        "Trigger of the command line's query: `availableNow` (ends with what was in the log when "
        "it started), or the least interval between micro-batches.",
        aliases={"once": "availableNow"},
    )
    headrace_unknown_properties = Property(
        "headrace.unknown.properties",
        choice(UnknownProperties),
        "warn",
        Group.HEADRACE,
        "What to do about a property that is not known. When this is not set, one whose name is "
        "almost that of a known property is an error, and any other one a warning.",
    )
    event_format_version = Property(
        "event.format.version",
        one_of("current", "2.5"),
        "current",
        Group.HEADRACE,
        "Version of the event format: `2.5` is the envelope and source block of Debezium 2.3 to "
        "2.5, without context headers.",
    )
    headrace_sink_type = Property(
        "headrace.sink.type",
        TEXT,
        None,
        Group.SINK,
        "The command line's sink: `console`, `file`, `kafka`, one of a package, or a Spark format. "
        "Debezium Server's `debezium.sink.type` is the same.",
        formerly=("sink.type",),
    )
    headrace_sink = PassThrough(
        "headrace.sink.*", TEXT, Group.SINK, "Options of the sink, handed on without the prefix."
    )

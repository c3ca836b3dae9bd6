"""Options of sources that their connectors do not have: those of sinks, and of batch reads."""

from __future__ import annotations

from collections.abc import Mapping

OUTPUT, FOLDER = "headrace.sink.path", "headrace.sink.state"
CHECKPOINT, SYNC = "headrace.sink.checkpoint", "headrace.sink.sync"
BOUNDED = "headrace.query.bounded"
SITUATIONS = "headrace.query.situations"
"""An option of a batch read: it reads the states of this driver's sources instead of events."""
SINK_OPTIONS = frozenset((OUTPUT, FOLDER, CHECKPOINT, SYNC, BOUNDED))
"""Options of a source that its connector does not have. For a source that writes to a sink: the
output, the folder of the sink's state and the query's checkpoint (all on this host), and whether to
wait for the disk. If Spark does not report where ranges start: the query's checkpoint, and whether
the source ends with the log that exists at its start (`true` or `false`; missing: Spark's trigger,
which the user sets, decides)."""


def of_connector(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a source that are its connector's."""
    return {name: options[name] for name in options if name.lower() not in SINK_OPTIONS}

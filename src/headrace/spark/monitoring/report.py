"""The state of a query at one moment, for `headrace status` and for metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from headrace.connectors.states import State
from headrace.spark.monitoring.members import require_types

RESTARTING, FAILED, STOPPED = "restarting", "failed", "stopped"
"""States of a query whose source does not report: it is started again after an error, an error
ended it, or it was stopped."""
STATES = (*(state.value for state in State), RESTARTING, FAILED, STOPPED)
_BEGUN = tuple(state.value for state in State if state is not State.STARTING)
_OVER = (FAILED, STOPPED)
_DONE = (STOPPED, State.ENDED.value)
_SILENT_S = 15.0
"""Seconds without a report after which a query counts as blocked by its database or its sink; an
idle query reports every 10 seconds."""


@dataclass(frozen=True)
class Report:
    """The state of a query. Times are seconds since 1970. `process` made the report, at `time`.

    `query` is Spark's id of the query, `name` its name, `checkpoint` the folder of `headrace run`.
    `plugin` and `server` are the labels of Debezium's metrics. `state` is one of STATES, since
    `since`; `error` is the one that ended the query, or after which the source tries again
    (`attempts` times in a row so far, `retries` in total); `waits` says what the work waits for,
    since `waits_since`. `rows`, `batches` and `busy_seconds` count finished micro-batches since
    `started`, and `restarts` the starts after the first. `metrics` are those of the source, as of
    `reported`; `tables` are the figures of replicas.
    """

    time: float
    process: Mapping[str, Any]
    started: float
    query: str = ""
    name: str | None = None
    checkpoint: str | None = None
    plugin: str | None = None
    server: str | None = None
    state: str = State.STARTING.value
    since: float | None = None
    error: Mapping[str, Any] | None = None
    attempts: int = 0
    retries: int = 0
    waits: str | None = None
    waits_since: float | None = None
    warnings: Sequence[str] = ()
    restarts: int = 0
    rows: int = 0
    batches: int = 0
    busy_seconds: float = 0.0
    last_commit: float | None = None
    reported: float | None = None
    metrics: Mapping[str, Any] | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @staticmethod
    def from_json(members: Mapping[str, Any]) -> Report:
        """Read the object of `to_json`, also of another version. Raises TypeError for another
        object, or a member of another type."""
        known = {field.name for field in fields(Report)}
        require_types(members)
        return Report(**{name: value for name, value in members.items() if name in known})

    def to_json(self) -> dict[str, Any]:
        """Return the report by the names of the fields."""
        return asdict(self)

    @property
    def is_over(self) -> bool:
        """Whether the query ended."""
        return self.state in _OVER

    @property
    def is_ready(self) -> bool:
        """Whether streaming or a snapshot has begun, without an error."""
        return self.state in _BEGUN and self.error is None

    @property
    def database(self) -> Mapping[str, Any]:
        """The database's state of its log and of this reader; empty: not known yet."""
        return (self.metrics or {}).get("database") or {}

    @property
    def lag_bytes(self) -> int | None:
        """Bytes of log that are not acknowledged yet; None: unknown."""
        return self.database.get("lag_bytes")

    @property
    def retained_bytes(self) -> int | None:
        """Bytes of log that the database keeps because of this reader; None: unknown."""
        return self.database.get("retained_bytes")

    @property
    def oldest_unacknowledged_seconds(self) -> float | None:
        """Age of the oldest change that the source has and that is in no finished micro-batch, when
        the source last reported; 0: there is no such change; None: unknown."""
        metrics = self.metrics
        if metrics is None or metrics["snapshot"].get("SnapshotRunning"):
            return None
        oldest = metrics.get("oldest_unacknowledged_ms")
        if oldest is None:
            return 0.0 if metrics["streaming"].get("Connected") else None
        return float(oldest) / 1000

    def lag_seconds(self, now: float) -> float | None:
        """Return how far the sink may lag behind the source: the age of the oldest change that it
        does not have. After the interval in which an idle query reports, the time since the last
        report is added, because later commits are unknown. None: unknown, or nothing follows."""
        oldest = self.oldest_unacknowledged_seconds
        if oldest is None or self.reported is None or self.state in _DONE:
            return None
        silent = max(0.0, now - self.reported)
        return oldest + (silent if silent > _SILENT_S or oldest else 0.0)

    @property
    def failing_tables(self) -> list[str]:
        """Names of replicas that have stopped."""
        return [name for name, figures in self.tables.items() if figures.get("error")]

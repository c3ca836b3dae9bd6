"""Shows a stream on the terminal: lines of events, and below them a status line with rate and
lag."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from headrace.sinks.closed import output_closed
from headrace.sinks.console.event_line import Content, event_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_INDENT = 14  # the time and two spaces
_NARROWEST = 20
_RATE_WINDOW_S = 5.0


class Shown(NamedTuple):
    """A record as the driver collects it."""

    topic: str
    key: Content
    value: Content


class ConsoleSink:
    """A context manager; `write` goes to `foreachBatch`, `progress` to the supervisor.

    Of every micro-batch the first `lines` events in total order are printed, and the number of the
    others. The driver collects `take` rows of it, which `on_records` gets in order.
    """

    def __init__(
        self,
        *,
        lines: int = 40,
        take: int | None = None,
        console: Console | None = None,
        on_records: Callable[[Sequence[Shown], int], None] | None = None,
    ) -> None:
        self.console = console or Console(highlight=False, soft_wrap=False)
        self.total = 0
        self._lines = lines
        self._take = max(lines, take or 0)
        self._on_records = on_records
        self._counts: deque[tuple[float, int]] = deque()
        self._lag_ms: float | None = None
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(
                get_renderable=self._status, console=self.console, refresh_per_second=4,
                transient=True,
            )  # fmt: skip
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def write(self, frame: DataFrame, _batch: int) -> None:
        """Show a micro-batch: one pass over it, with a bounded number of rows to the driver. Raises
        HeadraceError("console.closed") when nobody reads the lines any more."""
        from pyspark.sql import Observation
        from pyspark.sql.functions import count, lit

        # The pass that finds the first rows also counts all rows.
        counted = Observation()
        events = frame.select("topic", "key", "value", "sequence")
        observed = events.observe(counted, count(lit(1)).alias("rows"))
        first = observed.orderBy("sequence").limit(self._take).collect()
        if first:
            records = [Shown(row["topic"], row["key"], row["value"]) for row in first]
            try:
                self.show(records, max(0, int(counted.get["rows"]) - len(records)))
            except (BrokenPipeError, SystemExit):  # rich would end the thread, which is Spark's
                raise output_closed() from None

    def show(self, records: Sequence[Shown], more: int) -> None:
        """Print records in the order given; `more` others were left out."""
        count = len(records) + more
        with self._lock:
            self.total += count
            self._counts.append((time.monotonic(), count))
            if records:
                self._lag_ms = _lag_ms(records[-1].value)
        for record in records[: self._lines]:
            line = event_line(*record)
            if not self.console.is_terminal:
                line.no_wrap, line.overflow = True, "ignore"
                self.console.print(line, crop=False, soft_wrap=True)
            else:
                self.console.print(_hanging(line, self.console))
        hidden = count - min(len(records), self._lines)
        if hidden:
            self.console.print(Text(f"… and {hidden:,} more", style="dim"))
        if self._on_records is not None:
            self._on_records(records, more)

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Take the supervisor's progress: an idle stream has no lag."""
        if not progress.get("numInputRows"):
            with self._lock:
                self._lag_ms = None

    def _status(self) -> Text:
        now = time.monotonic()
        with self._lock:
            while self._counts and now - self._counts[0][0] > _RATE_WINDOW_S:
                self._counts.popleft()
            rate = sum(count for _, count in self._counts) / _RATE_WINDOW_S
            lag, total = self._lag_ms, self.total
        text = Text(f"{total:,} events · {rate:,.0f}/s", style="bold")
        if lag is not None and self._counts:
            text.append(f" · lag {lag / 1000:,.2f} s" if lag >= 1000 else f" · lag {lag:,.0f} ms")
        return text


def _hanging(line: Text, console: Console) -> Text:
    """The line in the console's width: the rest is continued below the operation."""
    room = max(_NARROWEST, console.width - _INDENT)
    if line.cell_len <= console.width or console.width < _INDENT + _NARROWEST:
        return line
    indent = " " * _INDENT
    rest = line[_INDENT:].wrap(console, room, no_wrap=False)
    lines = [
        Text.assemble(line[:_INDENT] if not at else indent, text) for at, text in enumerate(rest)
    ]
    return Text("\n").join(lines)


def _lag_ms(value: Content) -> float | None:
    """Milliseconds from the change in the database to now, for a streamed event; None for
    others."""
    try:
        document = json.loads(value or "null")
        if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
            document = document["payload"]
        if document["op"] == "r":
            return None
        return max(0.0, time.time() * 1000 - float(document["source"]["ts_ms"]))
    except (ValueError, KeyError, TypeError):
        return None

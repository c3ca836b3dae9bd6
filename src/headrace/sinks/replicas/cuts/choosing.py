"""The choice of a consistent cut among those that queries have recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.cut import Cut


@dataclass(frozen=True)
class QueryCuts:
    """The listed cuts of the query with a state folder, the oldest first."""

    folder: Path
    cuts: Sequence[Cut]


def choose(queries: Sequence[QueryCuts], at: datetime | str | int | None = None) -> tuple[Cut, ...]:
    """Return the latest cut that all queries have at the same place of their source, one of each
    query. `at` is a time of the source, after which no change is in the cut, a position as text, or
    a place. Raises HeadraceError("replicas.no_cut"), ("replicas.no_common_cut"),
    ("replicas.other_source")."""
    for query in queries:
        if not query.cuts:
            raise HeadraceError(
                "replicas.no_cut",
                f"The query of {query.folder} has no consistent cut yet",
                "Let it run until the first copy of its tables is complete and the next "
                "transaction has ended.",
            )
    systems = sorted({query.cuts[-1].system for query in queries})
    if len(systems) > 1:
        raise HeadraceError(
            "replicas.other_source",
            f"The queries have different sources ({', '.join(systems)}), so that their tables "
            "have no position in common",
            "Name the folders of queries of one database.",
        )
    is_chosen, condition = _condition(at)
    chosen = [{cut.place: cut for cut in query.cuts if is_chosen(cut)} for query in queries]
    for query, cuts in zip(queries, chosen, strict=True):
        if not cuts:
            first, last = query.cuts[0], query.cuts[-1]
            raise HeadraceError(
                "replicas.no_cut",
                f"The query of {query.folder} has no consistent cut {condition}: its cuts are from "
                f"{_shown(first)} to {_shown(last)}",
                "Choose another one, or keep cuts longer by headrace.sink.cuts.keep.minutes.",
            )
    common = set.intersection(*map(set, chosen))
    if not common:
        raise HeadraceError(
            "replicas.no_common_cut",
            "The queries have no consistent cut at the same position; their last ones are at "
            + " and ".join(cuts[max(cuts)].position for cuts in chosen),
            "Let each of them read the log to its end while nothing changes "
            "(headrace.trigger=availableNow), or replicate the tables by one query.",
        )
    place = max(common)
    return tuple(cuts[place] for cuts in chosen)


def _condition(at: datetime | str | int | None) -> tuple[Callable[[Cut], bool], str]:
    """Return the condition of a cut, and its description for messages."""
    if isinstance(at, datetime):
        at_ms = at.timestamp() * 1000
        return lambda cut: cut.time_ms <= at_ms, f"at or before {at.isoformat()}"
    if isinstance(at, str):
        return lambda cut: cut.position == at, f"at the position {at}"
    if at is not None:
        return lambda cut: cut.place == at, f"at the place {at}"
    return lambda _: True, ""


def _shown(cut: Cut) -> str:
    if not cut.time_ms:
        return cut.position
    moment = datetime.fromtimestamp(cut.time_ms / 1000).astimezone()
    return f"{cut.position} ({moment.isoformat(timespec='milliseconds')})"

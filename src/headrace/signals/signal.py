"""Signals: requests of users to a running connector, parsed from any channel.

Any user may have written them, so every mistake in one is a ValueError with a sentence.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.signals.data_collections import check_expression

_MAX_COLLECTIONS = 10_000
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_MEMBERS = {
    "execute-snapshot": (
        "type",
        "data-collections",
        "additional-conditions",
        "additional-condition",
        "surrogate-key",
    ),
    "stop-snapshot": ("type", "data-collections"),
    "pause-snapshot": ("type",),
    "resume-snapshot": ("type",),
    "log": ("message",),
    "drop-transaction": ("transaction-id",),
}


@dataclass(frozen=True)
class Signal:
    """A signal as it was received: `data` is the text of a JSON object."""

    id: str
    type: str
    data: str | None = None


@dataclass(frozen=True)
class Condition:
    """An additional condition: an expression (any case) for its tables, and the filter."""

    collection: str
    filter: str


@dataclass(frozen=True)
class ExecuteSnapshot:
    """A request to read these tables; `collections` are expressions for `schema.table`. `condition`
    applies to the tables that none of `conditions` names."""

    collections: tuple[str, ...]
    blocking: bool = False
    conditions: tuple[Condition, ...] = ()
    surrogate_key: str | None = None
    condition: str | None = None


@dataclass(frozen=True)
class StopSnapshot:
    """A request to stop reading these tables; an empty tuple means all."""

    collections: tuple[str, ...] = ()


@dataclass(frozen=True)
class PauseSnapshot:
    """A request to read no further chunk."""


@dataclass(frozen=True)
class ResumeSnapshot:
    """A request to continue reading."""


@dataclass(frozen=True)
class LogMessage:
    """A request to write `message` to the log; `{}` stands for the position."""

    message: str


@dataclass(frozen=True)
class DropTransaction:
    """A request to leave out all changes of an open transaction, past and future. `transaction` is
    the id that events show."""

    transaction: str


@dataclass(frozen=True)
class WindowMark:
    """A watermark that the connector wrote itself."""

    opens: bool


Action = (
    ExecuteSnapshot
    | StopSnapshot
    | PauseSnapshot
    | ResumeSnapshot
    | LogMessage
    | DropTransaction
    | WindowMark
)


def parse_signal(text: str) -> Signal:
    """Read `{"id": …, "type": …, "data": {…}}`, the form in files and messages; a signal without
    `id` gets one. Raises ValueError with a sentence."""
    members = _loaded(text, "it")
    if not isinstance(members, dict) or not isinstance(members.get("type"), str):
        raise ValueError("it is not a JSON object with a type")
    identity, data = members.get("id"), members.get("data")
    return Signal(
        str(identity if isinstance(identity, str | int) and identity else uuid.uuid4()),
        members["type"],
        data if data is None or isinstance(data, str) else json.dumps(data),
    )


def parse_action(signal: Signal) -> Action:
    """Return the request of a signal. Raises ValueError with a sentence for the log."""
    match signal.type:
        case "snapshot-window-open" | "snapshot-window-close":
            return WindowMark(opens=signal.type.endswith("open"))
        case "pause-snapshot":
            return PauseSnapshot()
        case "resume-snapshot":
            return ResumeSnapshot()
        case "log":
            return LogMessage(str(_data(signal).get("message", "")))
        case "drop-transaction":
            transaction = _text(_data(signal), "transaction-id")
            if not transaction:
                raise ValueError("transaction-id is empty or missing")
            return DropTransaction(transaction)
        case "stop-snapshot":
            _kind(_data(signal))
            return StopSnapshot(_collections(_data(signal)))
        case "execute-snapshot":
            data = _data(signal)
            collections = _collections(data)
            if not collections:
                raise ValueError("data-collections is empty or missing")
            return ExecuteSnapshot(
                collections,
                _kind(data) == "blocking",
                _conditions(data),
                _text(data, "surrogate-key"),
                _text(data, "additional-condition"),
            )
    raise ValueError(f"its type {signal.type!r} is not known")


def unread_members(signal: Signal) -> list[str]:
    """Return the members of the signal's data that are not used: mistyped, or of another type of
    signal."""
    readable = _MEMBERS.get(signal.type)
    try:
        data = _data(signal)
    except ValueError:
        return []  # a type without data
    if readable is None:
        return []
    unread = [name for name in data if name not in readable]
    if signal.type == "execute-snapshot":
        for number, entry in enumerate(data.get("additional-conditions") or ()):
            names = (name for name in entry if name not in ("data-collection", "filter"))
            unread += [f"additional-conditions[{number}].{name}" for name in names]
    return unread


def _data(signal: Signal) -> Mapping[str, Any]:
    if signal.data is None or not signal.data.strip():
        return {}
    members = _loaded(signal.data, "its data")
    if not isinstance(members, dict):
        raise ValueError("its data is not a JSON object")
    return members


def _loaded(text: str, subject: str) -> Any:
    """Parse JSON; its texts must be storable in a database and a file. Raises ValueError."""
    try:
        value = json.loads(text)
        plain = json.dumps(value, ensure_ascii=False)
        plain.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{subject} holds half of a surrogate pair") from None
    except RecursionError:
        raise ValueError(f"{subject} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{subject} is not JSON ({error})") from None
    if _NUL.search(plain):
        raise ValueError(f"{subject} holds a NUL character")
    return value


def _text(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value or None


def _kind(data: Mapping[str, Any]) -> str:
    kind = (_text(data, "type") or "incremental").strip().lower()
    if kind not in ("incremental", "blocking"):
        raise ValueError(f"snapshot type {kind!r} is neither incremental nor blocking")
    return kind


def _collections(data: Mapping[str, Any]) -> tuple[str, ...]:
    listed = data.get("data-collections") or []
    if not isinstance(listed, list) or not all(isinstance(x, str) for x in listed):
        raise ValueError("data-collections is not a list of texts")
    if len(listed) > _MAX_COLLECTIONS:
        raise ValueError(f"data-collections has more than {_MAX_COLLECTIONS} entries")
    expressions = tuple(dict.fromkeys(x.strip() for x in listed if x.strip()))
    for expression in expressions:
        check_expression(expression)
    return expressions


def _conditions(data: Mapping[str, Any]) -> tuple[Condition, ...]:
    listed = data.get("additional-conditions") or []
    if isinstance(listed, list) and len(listed) > _MAX_COLLECTIONS:
        raise ValueError(f"additional-conditions has more than {_MAX_COLLECTIONS} entries")
    if not isinstance(listed, list) or not all(isinstance(x, dict) for x in listed):
        raise ValueError("additional-conditions is not a list of objects")
    conditions = []
    for entry in listed:
        collection, text = _text(entry, "data-collection"), _text(entry, "filter")
        if collection is None or text is None:
            raise ValueError("an additional condition lacks data-collection or filter")
        check_expression(collection)
        conditions.append(Condition(collection, text))
    return tuple(conditions)

"""Formats an event as one line: time, operation, topic, key, and the change."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

OPERATIONS = {
    "r": ("read", "blue"),
    "c": ("create", "green"),
    "u": ("update", "yellow"),
    "d": ("delete", "red"),
    "t": ("truncate", "bold red"),
    "m": ("message", "magenta"),
}
"""Debezium's operation codes, with the word and the colour of each."""
_LONGEST = 48
Content = str | bytes | bytearray | None
"""A key or value, in the type of its column."""
_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), "�")


def event_line(topic: str, key: Content, value: Content) -> Text:
    """Return the line of one record; key and value are JSON text with or without schemas, or
    anything else, or None. Bytes that are not JSON are shown in base64."""
    line = Text(no_wrap=True, overflow="ellipsis")
    event = _payload(value)
    envelope = event if isinstance(event, dict) and event.get("op") in OPERATIONS else None
    line.append(_time(envelope), style="dim")
    if value is None:
        line.append("  tombstone ", style="dim")
    elif envelope is None:
        line.append("  record    ", style="cyan")
    else:
        word, style = OPERATIONS[envelope["op"]]
        line.append(f"  {word:<10}", style=style)
    line.append(_clean(topic), style="bold")
    line.append("  ")
    line.append(_short_key(key), style="cyan")
    if envelope is not None:
        line.append("  ")
        members = _payload(key)
        _append_change(line, envelope, members if isinstance(members, dict) else {})
    elif value is not None:
        line.append("  ")
        line.append(_short(event))
    return line


def _append_change(line: Text, envelope: dict[str, Any], key: dict[str, Any]) -> None:
    """Append the columns that changed, or the columns of the row that are not in the key; for a
    deleted row without nulls, which stand for values that the log leaves out."""
    before, after = _row(envelope.get("before")), _row(envelope.get("after"))
    if envelope["op"] == "u" and isinstance(before, dict) and isinstance(after, dict):
        changed = [name for name in after if name not in before or before[name] != after[name]]
        for index, name in enumerate(changed):
            line.append(", " if index else "")
            line.append(f"{_clean(name)}: ", style="dim")
            line.append(_short(before.get(name)), style="red")
            line.append(" → ", style="dim")
            line.append(_short(after[name]), style="green")
        if not changed:
            line.append("no column changed", style="dim")
        return
    if isinstance(envelope.get("updateDescription"), dict):
        _append_description(line, envelope["updateDescription"])
        return
    row = after if isinstance(after, dict) else before
    if isinstance(row, dict):
        columns = {
            name: content
            for name, content in row.items()
            if not (name in key and key[name] == content)
            and not (content is None and envelope["op"] == "d")
        }
        for index, (name, content) in enumerate(columns.items()):
            line.append(", " if index else "")
            line.append(f"{_clean(name)}: ", style="dim")
            line.append(_short(content))
    elif "message" in envelope:
        line.append(_short(envelope["message"]))


def _append_description(line: Text, description: dict[str, Any]) -> None:
    """Append the changes of an update without the row before it."""
    updated = _row(description.get("updatedFields"))
    changes = dict(updated) if isinstance(updated, dict) else {}
    changes |= dict.fromkeys(description.get("removedFields") or (), "removed")
    for index, (name, content) in enumerate(changes.items()):
        line.append(", " if index else "")
        line.append(f"{_clean(name)}: ", style="dim")
        line.append("→ ", style="dim")
        line.append(_short(content), style="green")


def _row(state: object) -> object:
    """Return a row unchanged, but a document in JSON text as its members."""
    if isinstance(state, str) and state.startswith("{"):
        try:
            return json.loads(state)
        except ValueError:
            return state
    return state


def _payload(content: Content) -> Any:
    if content is None:
        return None
    try:
        document = json.loads(content)
    except ValueError:
        return content if isinstance(content, str) else base64.b64encode(content).decode()
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        return document["payload"]
    return document


def _short_key(key: Content) -> str:
    payload = _payload(key)
    if isinstance(payload, dict):
        return ", ".join(f"{_clean(name)}={_short(part)}" for name, part in payload.items())
    return "no key" if payload is None else _short(payload)


def _time(envelope: dict[str, Any] | None) -> str:
    """The time at which the database changed the row (UTC), else the time at which it was read."""
    if envelope is not None:
        source = envelope.get("source")
        stamps = (source.get("ts_ms") if isinstance(source, dict) else None, envelope.get("ts_ms"))
        for stamp in stamps:
            if isinstance(stamp, int) and 0 < stamp < 253_402_300_800_000:
                return f"{datetime.fromtimestamp(stamp / 1000, UTC):%H:%M:%S.%f}"[:-3]
    return " " * 12


def _short(content: object) -> str:
    if content is None:
        return "null"
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return _clean(text)


def _clean(text: str) -> str:
    """Replace control characters: data must not move the cursor or change colours."""
    return text.translate(_CONTROL)

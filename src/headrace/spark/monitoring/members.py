"""The types of a report's members in JSON, of this version or of another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_LARGEST = 2.0**63
_LAST_TIME = 32_503_680_000
"""The first second of the year 3000."""
_LARGEST_PID = (1 << 31) - 1

_Check = Callable[[Any], bool]


def require_types(members: Mapping[str, Any]) -> None:
    """Check the members of a report by name. Raises TypeError for a value that has another type, or
    is out of range, and for anything else than members."""
    if not isinstance(members, Mapping):
        raise TypeError("a report is an object")
    for name, member in members.items():
        if name in _CHECKS and not _CHECKS[name](member):
            raise TypeError(f"{name} has another type")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    """Return whether it is a number in the range of figures, which NaN is not."""
    is_of_type = isinstance(value, int | float) and not isinstance(value, bool)
    return is_of_type and -_LARGEST <= value < _LARGEST


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and _is_number(value)


def _is_time(value: Any) -> bool:
    return _is_number(value) and 0 <= value < _LAST_TIME


def _is_pid(value: Any) -> bool:
    return _is_count(value) and 0 < value <= _LARGEST_PID


def _or_null(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _list_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def _mapping_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, Mapping) and all(map(check, value.values()))


def _object(required: Mapping[str, _Check], optional: Mapping[str, _Check]) -> _Check:
    def check(value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and required.keys() <= value.keys()
            and all(
                member_check(value[name])
                for name, member_check in {**required, **optional}.items()
                if name in value
            )
        )

    return check


_mapping = _mapping_of(lambda _: True)
_null_or_text, _null_or_time, _null_or_number = map(_or_null, (_is_text, _is_time, _is_number))
_process = _object(
    {"pid": _is_pid, "hostname": _is_text}, {"began": _null_or_number, "host": _is_text}
)
_error = _object({"code": _is_text, "message": _is_text, "remedy": _is_text}, {})
_database = _object({}, {"lag_bytes": _null_or_number, "retained_bytes": _null_or_number})
_metrics = _object(
    {"snapshot": _mapping, "streaming": _mapping},
    {"database": _or_null(_database), "oldest_unacknowledged_ms": _null_or_number},
)
_table = _object({}, {"error": _null_or_text})
_CHECKS: Mapping[str, _Check] = {
    "time": _is_time,
    "process": _process,
    "started": _is_time,
    "query": _is_text,
    "name": _null_or_text,
    "checkpoint": _null_or_text,
    "plugin": _null_or_text,
    "server": _null_or_text,
    "state": _is_text,
    "since": _null_or_time,
    "error": _or_null(_error),
    "attempts": _is_count,
    "retries": _is_count,
    "waits": _null_or_text,
    "waits_since": _null_or_time,
    "warnings": _list_of(_is_text),
    "restarts": _is_count,
    "rows": _is_count,
    "batches": _is_count,
    "busy_seconds": _is_number,
    "last_commit": _null_or_time,
    "reported": _null_or_time,
    "metrics": _or_null(_metrics),
    "tables": _mapping_of(_table),
}

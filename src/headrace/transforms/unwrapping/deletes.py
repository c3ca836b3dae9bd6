"""The results of deletes and tombstones: `delete.tombstone.handling.mode`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from headrace.transforms.transform import FormerOption

MODE = "delete.tombstone.handling.mode"


class DeleteMode(StrEnum):
    """Handling of a delete, and of the tombstone after it."""

    DROP = "drop"
    """The delete and the tombstone are left out."""
    TOMBSTONE = "tombstone"
    """The delete becomes a null value with the row's schema; the tombstone is left out."""
    REWRITE = "rewrite"
    """The delete becomes the row before it with `__deleted`; the tombstone is left out."""
    REWRITE_WITH_TOMBSTONE = "rewrite-with-tombstone"
    """The delete becomes the row before it with `__deleted`; the tombstone stays."""
    DELETE_TO_TOMBSTONE = "delete-to-tombstone"
    """The delete becomes a null value without schema; the tombstone is left out."""

    @property
    def rewrites(self) -> bool:
        """Whether records have a flag for deletes."""
        return self in (DeleteMode.REWRITE, DeleteMode.REWRITE_WITH_TOMBSTONE)


_SUCCESSORS = {
    "drop.tombstones": MODE,
    "delete.handling.mode": MODE,
    "operation.header": "add.headers",
    "add.source.fields": "add.fields",
}
"""Options of Debezium before 2.5, and their successors."""
_FORMER_MODES = {
    ("true", "drop"): DeleteMode.DROP,
    ("true", "none"): DeleteMode.TOMBSTONE,
    ("true", "rewrite"): DeleteMode.REWRITE,
    ("false", "rewrite"): DeleteMode.REWRITE_WITH_TOMBSTONE,
    ("false", "drop"): DeleteMode.TOMBSTONE,
    ("false", "none"): DeleteMode.TOMBSTONE,
}


def is_debezium_compatible(options: Mapping[str, str]) -> bool:
    """Whether compatibility with Debezium 3.6 is configured."""
    return options.get("headrace.compatibility") == "debezium-3.6"


def former_options(options: Mapping[str, str]) -> Iterator[FormerOption]:
    """Yield replacements for options of Debezium before 2.5 that are given; with
    `headrace.compatibility=debezium-3.6` these options have no effect."""
    for former, successor in _SUCCESSORS.items():
        if former in options:
            current = {} if is_debezium_compatible(options) else _current(former, options)
            # An invalid value of a former option is an error, unless a successor overrides it.
            if current is not None or options.get(successor, "").strip():
                yield FormerOption(former, successor, current or {})


def _current(former: str, options: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return the current options for a former option; None if its value is not valid."""
    if former == "operation.header":
        return {"add.headers": "op"} if options[former].strip().lower() == "true" else {}
    if former == "add.source.fields":
        return {"add.fields": options[former]}
    drop = options.get("drop.tombstones", "true").strip().lower()
    handling = options.get("delete.handling.mode", "drop").strip().lower()
    mode = _FORMER_MODES.get((drop, handling))
    return None if mode is None else {MODE: str(mode)}

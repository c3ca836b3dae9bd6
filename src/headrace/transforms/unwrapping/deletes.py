"""What becomes of deletes and tombstones: `delete.tombstone.handling.mode`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from headrace.transforms.transform import Replacement

MODE = "delete.tombstone.handling.mode"


class DeleteMode(StrEnum):
    """What becomes of a delete, and of the tombstone behind it."""

    DROP = "drop"
    """Both are left out."""
    TOMBSTONE = "tombstone"
    """The delete becomes a null value with the row's schema; the tombstone is left out."""
    REWRITE = "rewrite"
    """The delete becomes the row before it with `__deleted`; the tombstone is left out."""
    REWRITE_WITH_TOMBSTONE = "rewrite-with-tombstone"
    """Likewise, and the tombstone stays."""
    DELETE_TO_TOMBSTONE = "delete-to-tombstone"
    """The delete becomes a null value without schema; the tombstone is left out."""

    @property
    def rewrites(self) -> bool:
        """Whether records say that they were deleted, or not."""
        return self in (DeleteMode.REWRITE, DeleteMode.REWRITE_WITH_TOMBSTONE)


_FORMER = ("drop.tombstones", "delete.handling.mode", "operation.header", "add.source.fields")
_FORMER_MODES = {
    ("true", "drop"): DeleteMode.DROP,
    ("true", "none"): DeleteMode.TOMBSTONE,
    ("true", "rewrite"): DeleteMode.REWRITE,
    ("false", "rewrite"): DeleteMode.REWRITE_WITH_TOMBSTONE,
    ("false", "drop"): DeleteMode.TOMBSTONE,
    ("false", "none"): DeleteMode.TOMBSTONE,
}


def is_as_released(options: Mapping[str, str]) -> bool:
    """Whether the quirks of Debezium 3.6 are asked for."""
    return options.get("headrace.compatibility") == "debezium-3.6"


def former_options(options: Mapping[str, str]) -> Iterator[Replacement]:
    """What stands for the options of Debezium before 2.5, as far as they are given: nothing does
    with `headrace.compatibility=debezium-3.6`, where they have no effect."""
    if is_as_released(options):
        yield from (Replacement(former, {}) for former in _FORMER if former in options)
        return
    drop = options.get("drop.tombstones", "true").strip().lower()
    handling = options.get("delete.handling.mode", "drop").strip().lower()
    mode = _FORMER_MODES.get((drop, handling))
    if mode is not None:
        for former in ("drop.tombstones", "delete.handling.mode"):
            if former in options:
                yield Replacement(former, {MODE: str(mode)})
    if "operation.header" in options:
        adds = options["operation.header"].strip().lower() == "true"
        yield Replacement("operation.header", {"add.headers": "op"} if adds else {})
    if "add.source.fields" in options:
        yield Replacement("add.source.fields", {"add.fields": options["add.source.fields"]})
